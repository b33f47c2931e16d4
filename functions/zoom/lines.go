package zoom

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
)

func (s stamp) time() time.Time { return time.Unix(s.sec, int64(s.nano)).UTC() }

// lines hands on each line after the first skip, without its end, and tells its
// number and where it ends. Errors about the bytes name the line.
func (t *table) lines(ctx context.Context, skip int64, f func(n int64, line string, end int64) error) error {
	in := t.obj.NewReader(ctx, objstore.ReadOptions{Part: readPart, Ahead: readAhead})
	defer in.Close()
	r := bufio.NewReaderSize(in, maxLine)
	off := int64(0)
	for n := int64(1); ; n++ {
		if n%csvTick == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return fail("csv", fmt.Sprintf("line %d", n), off, tooLarge("longer than %d bytes", maxLine))
		case errors.Is(err, io.EOF) && len(p) == 0:
			return nil
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		end := off + int64(len(p))
		if n > skip {
			if bad := f(n, strings.TrimRight(string(p), "\r\n"), end); bad != nil {
				if isFormat(bad) {
					return fail("csv", fmt.Sprintf("line %d", n), off, bad)
				}
				return bad
			}
		}
		if off = end; err != nil {
			return nil // the last line has no end
		}
	}
}

func isFormat(err error) bool {
	var e *formats.Error
	return !errors.As(err, &e) && (errors.Is(err, formats.ErrCorrupt) || errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrTooLarge))
}

// split cuts a line into cells at the commas that are in no quotes.
func (t *table) split(cells []string, line string) ([]string, error) {
	if strings.IndexByte(line, '"') < 0 {
		for {
			i := strings.IndexByte(line, t.comma)
			if i < 0 {
				return append(cells, line), nil
			}
			cells = append(cells, line[:i])
			line = line[i+1:]
		}
	}
	for {
		if !strings.HasPrefix(strings.TrimLeft(line, " "), `"`) {
			i := strings.IndexByte(line, t.comma)
			if i < 0 {
				return append(cells, line), nil
			}
			cells, line = append(cells, line[:i]), line[i+1:]
			continue
		}
		cell, rest, err := quoted(strings.TrimLeft(line, " ")[1:])
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
		rest = strings.TrimLeft(rest, " ")
		switch {
		case rest == "":
			return cells, nil
		case rest[0] != t.comma:
			return nil, corrupt("text behind a closing quote")
		}
		line = rest[1:]
	}
}

// quoted reads up to the closing quote; two of them stand for one.
func quoted(s string) (cell, rest string, err error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return "", "", corrupt("a quote that is not closed on its line")
		}
		b.WriteString(s[:i])
		if s = s[i+1:]; !strings.HasPrefix(s, `"`) {
			return b.String(), s, nil
		}
		b.WriteByte('"')
		s = s[1:]
	}
}

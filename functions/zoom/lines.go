package zoom

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/internal/kit"
)

func (s stamp) time() time.Time { return time.Unix(s.sec, int64(s.nano)).UTC() }

// lines calls f with each line after the first skip lines, without its end. n is the
// line's number, read how many bytes of the object are read by then. A line whose
// quotes are not closed includes the next one. Errors about the bytes name the line.
func (t *table) lines(ctx context.Context, skip int64, f func(n int64, line string, read int64) error) error {
	in, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer in.close()
	plain, err := readable(in.plain)
	if err != nil {
		return t.blame(in, 1, 0, err)
	}
	r := bufio.NewReaderSize(plain, maxLine)
	off := int64(0)
	for n := int64(1); ; n++ {
		if n%csvTick == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		first, at := n, off
		line, last, err := t.line(r, &n, &off, n <= skip)
		switch {
		case err != nil:
			return t.blame(in, first, at, err)
		case last && line == "":
			return nil
		}
		if n > skip {
			if err := f(n, line, in.read()); err != nil {
				return t.blame(in, first, at, err)
			}
		}
		if last {
			return nil
		}
	}
}

// blame adds the place in the text to err.
func (t *table) blame(in *unpacking, n, off int64, err error) error {
	if err = in.blame(err); unplaced(err) {
		return kit.Fail("csv", fmt.Sprintf("line %d", n), off, err)
	}
	return err
}

// line reads one line, or several if quotes join them, except if it is passed over. The
// header may have blank lines and remarks before it.
func (t *table) line(r *bufio.Reader, n, off *int64, pass bool) (line string, last bool, err error) {
	var long strings.Builder
	quoted := false
	for {
		p, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull), long.Len()+len(p) > maxLine:
			if quoted {
				return "", false, errOpen
			}
			return "", false, kit.TooLarge("longer than %d bytes", maxLine)
		case errors.Is(err, io.EOF):
			last = true
			if quoted && len(p) == 0 {
				return "", false, errOpen
			}
		case err != nil:
			return "", false, err
		}
		size := int64(len(p))
		if *off == 0 {
			p = bytes.TrimPrefix(p, []byte("\ufeff")) // the byte order mark
		}
		*off += size
		if bytes.IndexByte(p, 0) >= 0 {
			return "", false, kit.Corrupt("a NUL byte: the file is damaged, or no text")
		}
		text := string(p)
		heads := t.width == 0
		if pass || heads && !quoted && !isHeader(text) {
			return "", last, nil
		}
		if heads && !quoted && !t.said {
			if is, err := t.saysSeparator(text); is || err != nil {
				return "", last, err
			}
		}
		if quoted = scan(text, quoted, t.separators()); !quoted {
			line = strings.TrimRight(text, "\r\n")
			if long.Len() > 0 {
				long.WriteString(line)
				line = long.String()
			}
			if heads && !t.said {
				t.comma = separator(line)
			}
			return line, last, nil
		}
		if long.WriteString(text); last {
			return "", false, errOpen
		}
		*n++
	}
}

// errOpen is the error for the line where the open quote is.
var errOpen = kit.Corrupt("a quote that is not closed")

// isHeader reports whether a line is the header. Remarks and blank lines may come
// before it.
func isHeader(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#'
}

// anySeparator are the separators that tables use.
const anySeparator = ",;\t"

// separators are the characters that may end a cell. While the header is read, each of
// anySeparator may.
func (t *table) separators() string {
	if t.width == 0 && !t.said {
		return anySeparator
	}
	return string(rune(t.comma))
}

// separator is the separator that occurs most often in a header, outside of quotes.
func separator(line string) byte {
	counts := map[byte]int{}
	for quoted := false; line != ""; line = line[1:] {
		switch {
		case line[0] == '"':
			quoted = !quoted
		case !quoted:
			counts[line[0]]++
		}
	}
	best := byte(',')
	for _, c := range []byte(anySeparator) {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}

// scan reports whether a line ends inside quotes; quoted says that it begins inside
// them.
func scan(line string, quoted bool, separators string) bool {
	for {
		if !quoted {
			if strings.IndexByte(line, '"') < 0 {
				return false
			}
			cell := strings.TrimLeft(line, " ")
			if !strings.HasPrefix(cell, `"`) { // in its middle a quote is a character
				i := strings.IndexAny(line, separators)
				if i < 0 {
					return false
				}
				line = line[i+1:]
				continue
			}
			line, quoted = cell[1:], true
		}
		i := strings.IndexByte(line, '"')
		if i < 0 {
			return true
		}
		if line = line[i+1:]; strings.HasPrefix(line, `"`) {
			line = line[1:]
			continue
		}
		quoted = false
		i = strings.IndexAny(line, separators)
		if i < 0 {
			return false
		}
		line = line[i+1:]
	}
}

// unplaced reports whether err is about the text and has no place yet.
func unplaced(err error) bool {
	var e *formats.Error
	return !errors.As(err, &e) && kit.IsFormat(err)
}

// split cuts a line into cells at the separators outside of quotes.
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
			return nil, kit.Corrupt("text behind a closing quote")
		}
		line = rest[1:]
	}
}

// quoted reads up to the closing quote. Two quotes stand for one.
func quoted(s string) (cell, rest string, err error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return "", "", errOpen
		}
		b.WriteString(s[:i])
		if s = s[i+1:]; !strings.HasPrefix(s, `"`) {
			return b.String(), s, nil
		}
		b.WriteByte('"')
		s = s[1:]
	}
}

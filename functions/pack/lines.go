package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/farread/farread/functions/internal/kit"
)

// A cutter passes on the items of a stream, one at a time and in order.
type cutter struct {
	by    Records
	limit int64 // bound of an item's bytes: an item is held in memory
	most  int64 // items
	// emit gets each item, which is valid until it returns.
	emit func(p []byte) error

	n     int64 // items so far
	bytes int64 // bytes of the items
	text  bool  // all of them are UTF-8; the empty row is
	// open tells that the bytes after the last newline are an item, too.
	open bool
}

func newCutter(by Records, l Limits, emit func([]byte) error) *cutter {
	return &cutter{by: by, limit: min(l.Item, math.MaxInt32-16), most: l.Items, emit: emit, text: true}
}

// item passes on the next item.
func (c *cutter) item(p []byte) error {
	switch {
	case int64(len(p)) > c.limit:
		return kit.TooLarge("longer than %d bytes", c.limit)
	case c.n >= c.most:
		return kit.TooLarge("more than %d items", c.most)
	}
	c.text = c.text && utf8.Valid(p)
	c.n++
	c.bytes += int64(len(p))
	return c.emit(p)
}

// lineBuffer holds many lines, and stays in the processor's cache.
const lineBuffer = 256 << 10

// maxEmpty is the number of successive reads that may return no bytes.
const maxEmpty = 100

// lines cuts r at every newline. An item is a line without its newline, but with a
// carriage return before it. Errors give the number of the line, as editors count, and
// where it begins.
func (c *cutter) lines(r io.Reader) error {
	var (
		buf  = make([]byte, min(lineBuffer, c.limit+1))
		line int   // start of the incomplete line in buf
		seen int   // buf has no newline from line up to seen
		end  int   // end of the bytes in buf
		off  int64 // offset of buf in r
		idle int   // reads that brought nothing
	)
	bad := func(err error) error {
		if !kit.IsFormat(err) {
			return err
		}
		return kit.Fail(c.by.String(), fmt.Sprintf("line %d", c.n+1), off+int64(line), err)
	}
	for {
		n, err := r.Read(buf[end:])
		end += n
		for {
			k := bytes.IndexByte(buf[seen:end], '\n')
			if k < 0 {
				seen = end
				break
			}
			if err := c.item(buf[line : seen+k]); err != nil {
				return bad(err)
			}
			seen += k + 1
			line = seen
		}
		switch {
		case errors.Is(err, io.EOF):
			if c.open = line < end; c.open {
				return bad(c.item(buf[line:end]))
			}
			return nil
		case err != nil:
			return bad(err)
		case n > 0:
			idle = 0
		default:
			if idle++; idle > maxEmpty {
				return io.ErrNoProgress
			}
		}
		if line == end || end == len(buf) {
			copy(buf, buf[line:end])
			off += int64(line)
			line, seen, end = 0, seen-line, end-line
		}
		if end == len(buf) {
			if int64(end) > c.limit {
				return bad(kit.TooLarge("longer than %d bytes", c.limit))
			}
			more := make([]byte, min(2*int64(len(buf)), c.limit+1))
			copy(more, buf)
			buf = more
		}
	}
}

package zoom

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/farread/farread/functions/internal/kit"
)

// sniffText is how much of a text decides how its lines end.
const sniffText = 64 << 10

// readable makes a reader of UTF-8 with \n at the ends of lines, of the encoding that the
// first bytes tell: UTF-16 with a mark or without, and lines that end in \r alone.
func readable(in io.Reader) (io.Reader, error) {
	r := bufio.NewReaderSize(in, sniffText)
	p, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	is := func(a, b byte) bool { return len(p) >= 2 && p[0] == a && p[1] == b }
	switch {
	case is(0xff, 0xfe), len(p) == 4 && p[0] > 0 && p[1] == 0 && p[2] > 0 && p[3] == 0:
		r = bufio.NewReaderSize(&wide{r: r}, sniffText)
	case is(0xfe, 0xff), len(p) == 4 && p[0] == 0 && p[1] > 0 && p[2] == 0 && p[3] > 0:
		r = bufio.NewReaderSize(&wide{r: r, big: true}, sniffText)
	}
	if p, err = r.Peek(sniffText); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.IndexByte(p, '\n') < 0 && bytes.IndexByte(p, '\r') >= 0 {
		return returns{r}, nil
	}
	return r, nil
}

// wide reads UTF-16 as UTF-8.
type wide struct {
	r    *bufio.Reader
	big  bool
	high uint16 // first half of a pair
	out  []byte
}

func (w *wide) Read(p []byte) (int, error) {
	for len(w.out) == 0 {
		pair, err := w.r.Peek(2)
		if len(pair) < 2 {
			switch {
			case errors.Is(err, io.EOF) && len(pair) == 1:
				return 0, kit.Corrupt("truncated: half a character of UTF-16 at the end")
			case errors.Is(err, io.EOF) && w.high != 0:
				w.high = 0
				w.out = utf8.AppendRune(w.out[:0], utf8.RuneError)
				continue
			}
			return 0, err
		}
		// What lies in the buffer, at most half as long as p so that its UTF-8 mostly fits.
		n := min(w.r.Buffered(), max(len(p)/2, 2)) &^ 1
		in, err := w.r.Peek(n)
		if err != nil {
			return 0, err
		}
		w.out = w.out[:0]
		for i := 0; i < n; i += 2 {
			w.unit(uint16(in[i+w.at(1)])<<8 | uint16(in[i+w.at(0)]))
		}
		if _, err := w.r.Discard(n); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.out)
	w.out = w.out[n:]
	return n, nil
}

// at is where the low (0) or the high byte (1) of a unit stands.
func (w *wide) at(i int) int {
	if w.big {
		return 1 - i
	}
	return i
}

func (w *wide) unit(u uint16) {
	switch {
	case w.high != 0:
		r := utf16.DecodeRune(rune(w.high), rune(u))
		w.high = 0
		w.out = utf8.AppendRune(w.out, r)
	case utf16.IsSurrogate(rune(u)) && u < 0xdc00:
		w.high = u
	default:
		w.out = utf8.AppendRune(w.out, rune(u)) // RuneError for half a pair
	}
}

// returns reads lines that end in \r alone.
type returns struct{ r io.Reader }

func (l returns) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i := range p[:n] {
		if p[i] == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// latin reads text that is not UTF-8 as Windows-1252, of which Latin-1 is the most.
func latin(s string) string {
	const upper = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ" // 0x80 to 0x9f
	list := []rune(upper)
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c < 0x80 || c >= 0xa0:
			b.WriteRune(rune(c))
		default:
			b.WriteRune(list[c-0x80])
		}
	}
	return b.String()
}

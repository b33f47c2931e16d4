package render

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread/formats/dtype"
)

// A terminal shows items as NumPy prints them: in nested brackets, in lines of so many
// columns, and of more items than a page has only the first and last few along each axis.
const (
	ScreenColumns = 75 // of a terminal that does not tell its width
	Edge          = 3  // items that are shown at each end of an axis, if not all are
	screenItems   = 1000
)

// Shown is how many items along an axis of n stand for it where not all are shown: those at its ends, and one that
// stands for the others.
func Shown(n int64) int64 { return min(n, 2*Edge+1) }

const ellipsis = "..."

// hidden is the first axis along which the item at a place is not shown, or -1.
func hidden(c *counter) int {
	for i, n := range c.shape {
		if at := c.at[i]; n > 2*Edge && at >= Edge && at < n-Edge {
			return i
		}
	}
	return -1
}

// screenFile prints numbers, texts and times as numpy.array2string does. It holds the items
// that are shown.
type screenFile struct {
	d       dtype.DType
	c       counter
	columns int
	short   bool // only some items are shown
	shown   []byte
}

// newScreen makes a screenFile for lines of so many columns. It holds those
// that are shown.
func newScreen(d dtype.DType, shape []int64, columns int, short bool) *screenFile {
	n := int64(1)
	for _, k := range shape {
		n *= k
	}
	return &screenFile{d: d, c: newCounter(shape), columns: columns, short: short || n > screenItems}
}

func (f *screenFile) begin(io.Writer) error { return nil }

func (f *screenFile) items(_ io.Writer, p []byte) error {
	for item := range slices.Chunk(p, f.d.ItemSize()) {
		if !f.short || hidden(&f.c) < 0 {
			f.shown = append(f.shown, item...)
		}
		f.c.next()
	}
	return nil
}

func (f *screenFile) end(w io.Writer) error {
	words := wordsOf(f.d, f.shown)
	if len(f.c.shape) == 0 {
		_, err := io.WriteString(w, strings.Join(cellsOf(f.d.AppendCSV(nil, f.shown)), " ")+"\n")
		return err
	}
	if slices.Contains(f.c.shape, 0) {
		_, err := io.WriteString(w, "[]\n")
		return err
	}
	p := printer{shape: f.c.shape, short: f.short, words: words}
	text := p.axis(0, " ", f.columns)
	_, err := io.WriteString(w, text+"\n")
	return err
}

// A printer prints words in nested brackets.
type printer struct {
	shape []int64
	short bool
	words []string // the next ones
}

// axis prints all along an axis, in lines of so many columns. indent stands before all but
// the first line.
func (p *printer) axis(i int, indent string, columns int) string {
	if i == len(p.shape)-1 {
		return "[" + p.row(indent, columns-1) + "]"
	}
	var parts []string
	n, cut := p.along(i)
	for k := range n {
		if k == cut {
			parts = append(parts, ellipsis)
		}
		parts = append(parts, p.axis(i+1, indent+" ", columns-1))
	}
	return "[" + strings.Join(parts, strings.Repeat("\n", len(p.shape)-1-i)+indent) + "]"
}

// along is how many parts are shown along an axis, and before which the ellipsis stands; -1:
// none.
func (p *printer) along(i int) (n, cut int) {
	if p.short && p.shape[i] > 2*Edge {
		return 2 * Edge, Edge
	}
	return int(p.shape[i]), -1
}

// row prints words along the last axis. The bracket behind the last fits into the line, too.
func (p *printer) row(indent string, columns int) string {
	var b strings.Builder // whole lines
	var line strings.Builder
	at := len(indent)
	n, cut := p.along(len(p.shape) - 1)
	add := func(word string, first bool) {
		wide := utf8.RuneCountInString(word)
		switch {
		case first:
		case at+1+wide > columns && at+1 > len(indent):
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n" + indent)
			line.Reset()
			at = len(indent)
		default:
			line.WriteByte(' ')
			at++
		}
		line.WriteString(word)
		at += wide
	}
	for k := range n {
		if k == cut {
			add(ellipsis, false)
		}
		add(p.words[0], k == 0)
		p.words = p.words[1:]
	}
	return b.String() + line.String()
}

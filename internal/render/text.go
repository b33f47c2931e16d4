package render

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/internal/human"
)

// MaxText is how many items are shown as text at most: some pages.
const MaxText = 10_000

// textFile is a table for people, a plane of the last two axes at a time. Items with
// members get a row each.
type textFile struct {
	d     dtype.DType
	c     counter
	short bool // only some items are shown: those with members, on a terminal
	row   []string
	plane [][]string
	index string // index of the present plane
	some  bool   // some plane was written
}

// newText makes text for a terminal of so many columns, or for a file that keeps all items
// if there are none. short says that items are left out in any case.
func newText(d dtype.DType, shape []int64, columns int, short bool) encoder {
	f := &textFile{d: d, c: newCounter(shape)}
	switch {
	case f.c.done: // begin says that nothing is selected
	case !f.records() && columns > 0:
		return newScreen(d, shape, columns, short)
	case f.records():
		f.short = columns > 0 && newScreen(d, shape, columns, short).short
		f.plane = [][]string{cellsOf(d.AppendColumns(nil, ""))}
	}
	return f
}

func (f *textFile) records() bool { return f.d.Kind() == dtype.Struct }

func (f *textFile) begin(w io.Writer) error {
	if !f.c.done {
		return nil
	}
	_, err := fmt.Fprintf(w, "nothing selected: shape %s\n", human.Shape(f.c.shape))
	return err
}

// cellsOf takes a line of CSV apart.
func cellsOf(line []byte) []string {
	r := csv.NewReader(bytes.NewReader(line))
	r.LazyQuotes = true
	cells, err := r.Read()
	if err != nil {
		cells = []string{string(line)}
	}
	for i, c := range cells {
		cells[i] = human.Printable(c)
	}
	return cells
}

func (f *textFile) items(w io.Writer, p []byte) error {
	for item := range slices.Chunk(p, f.d.ItemSize()) {
		if err := f.item(w, item); err != nil {
			return err
		}
	}
	return nil
}

func (f *textFile) item(w io.Writer, item []byte) error {
	axes := len(f.c.at)
	if f.short && hidden(&f.c) >= 0 {
		if last := f.plane[len(f.plane)-1]; last[0] != ellipsis {
			f.plane = append(f.plane, []string{ellipsis})
		}
	} else {
		if len(f.plane) == 0 && len(f.row) == 0 && axes > 2 {
			f.index = strings.Trim(fmt.Sprint(f.c.at[:axes-2]), "[]")
		}
		f.row = append(f.row, cellsOf(f.d.AppendCSV(nil, item))...)
	}
	carried := f.c.next()
	if len(f.row) > 0 && (carried > 0 || f.c.done || f.records()) {
		f.plane, f.row = append(f.plane, f.row), nil
	}
	if len(f.plane) > 0 && (carried > 1 && !f.records() || f.c.done) {
		return f.show(w)
	}
	return nil
}

// show writes a plane, its columns flush right.
func (f *textFile) show(w io.Writer) error {
	var b strings.Builder
	if f.some {
		b.WriteByte('\n')
	}
	if f.index != "" && !f.records() {
		fmt.Fprintf(&b, "[%s, :, :]\n", strings.ReplaceAll(f.index, " ", ", "))
	}
	width := f.widths()
	for _, row := range f.plane {
		f.line(&b, row, width)
	}
	f.plane, f.some = nil, true
	_, err := io.WriteString(w, b.String())
	return err
}

// widths are the widths of the columns.
func (f *textFile) widths() []int {
	var width []int
	for _, row := range f.plane {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	return width
}

// line writes a row, its columns two spaces apart.
func (f *textFile) line(b *strings.Builder, row []string, width []int) {
	for i, cell := range row {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)) + cell)
	}
	b.WriteByte('\n')
}

func (f *textFile) end(io.Writer) error { return nil }

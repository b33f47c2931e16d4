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

// A terminal shows items as NumPy prints them: in lines of so many columns, and of
// more items than a page has only the first and last few along each axis.
const (
	screenColumns = 75
	screenItems   = 1000
	screenEdge    = 3
)

const ellipsis = "..."

// textFile is a table for people, a plane of the last two axes at a time. Items with
// members get a row each.
type textFile struct {
	d       dtype.DType
	c       counter
	columns int  // columns of a line; 0: any number
	short   bool // only some items are shown
	row     []string
	plane   [][]string
	index   string // index of the present plane
	some    bool   // some plane was written
	passed  bool   // planes are being skipped
}

// newText makes a textFile, for a terminal or for a file that keeps all items.
func newText(d dtype.DType, shape []int64, screen bool) *textFile {
	f := &textFile{d: d, c: newCounter(shape)}
	if screen {
		n := int64(1)
		for _, k := range shape {
			n *= k // at most MaxText
		}
		f.columns, f.short = screenColumns, n > screenItems
	}
	if f.records() {
		f.plane, f.columns = [][]string{cellsOf(d.AppendColumns(nil, ""))}, 0
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

// hidden is the first axis along which the next item is not shown, or -1.
func (f *textFile) hidden() int {
	if !f.short {
		return -1
	}
	for i, n := range f.c.shape {
		if at := f.c.at[i]; n > 2*screenEdge && at >= screenEdge && at < n-screenEdge {
			return i
		}
	}
	return -1
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
	switch hidden := f.hidden(); {
	case hidden < 0:
		if len(f.plane) == 0 && len(f.row) == 0 && axes > 2 {
			f.index = strings.Trim(fmt.Sprint(f.c.at[:axes-2]), "[]")
		}
		f.row = append(f.row, cellsOf(f.d.AppendCSV(nil, item))...)
		f.passed = false
	case f.records():
		if last := f.plane[len(f.plane)-1]; last[0] != ellipsis {
			f.plane = append(f.plane, []string{ellipsis})
		}
	case hidden < axes-2: // a plane
		if !f.passed {
			f.passed = true
			if _, err := io.WriteString(w, "\n"+ellipsis+"\n"); err != nil {
				return err
			}
		}
	case hidden == axes-1 && f.c.at[hidden] == screenEdge, hidden == axes-2 && f.c.at[hidden] == screenEdge && f.c.at[axes-1] == 0:
		f.row = append(f.row, ellipsis)
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

// widths are the widths of the columns; all the same for a single row that takes
// several lines.
func (f *textFile) widths() []int {
	var width []int
	most, all := 0, 0
	for _, row := range f.plane {
		for i, cell := range row {
			n := utf8.RuneCountInString(cell)
			if i == len(width) {
				width = append(width, 0)
			}
			width[i], most = max(width[i], n), max(most, n)
		}
	}
	for _, n := range width {
		all += n + len(gap)
	}
	if f.columns > 0 && len(f.plane) == 1 && all > f.columns+len(gap) {
		for i := range width {
			width[i] = most
		}
	}
	return width
}

// gap stands between columns.
const gap = "  "

// line writes a row, in several lines if it is too long for one. If there are several
// rows, the further lines are indented.
func (f *textFile) line(b *strings.Builder, row []string, width []int) {
	at, indent := 0, ""
	if len(f.plane) > 1 {
		indent = gap
	}
	for i, cell := range row {
		switch {
		case i == 0:
		case f.columns > 0 && at+len(gap)+width[i] > f.columns:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteString(gap)
			at += len(gap)
		}
		b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)) + cell)
		at += width[i]
	}
	b.WriteByte('\n')
}

func (f *textFile) end(io.Writer) error { return nil }

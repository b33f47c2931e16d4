package human

import (
	"io"
	"strings"
	"unicode/utf8"
)

// A Table is aligned text for people. Columns named with a leading ">" are flush
// right.
type Table struct {
	head  []string
	rows  [][]string
	width []int // widths of the columns that were printed before
}

// LongTable is how many rows decide the widths of columns. Longer tables are printed in
// parts, so that they need not be held in memory.
const LongTable = 20_000

// NewTable is a table with columns named head.
func NewTable(head ...string) *Table { return &Table{head: head} }

// Add adds a row. Text from files, keys or servers is made printable there.
func (t *Table) Add(cells ...string) {
	for i, c := range cells {
		cells[i] = Printable(c)
	}
	t.rows = append(t.rows, cells)
}

// Len is the number of rows that wait for Print.
func (t *Table) Len() int { return len(t.rows) }

// Print writes the table, without a head only its rows. Rows that are added later are
// written by another call, in columns at least as wide.
func (t *Table) Print(w io.Writer) error {
	begun := t.width != nil
	if !begun {
		t.width = make([]int, len(t.head))
	}
	width := t.width
	right := make([]bool, len(t.head))
	head := make([]string, len(t.head))
	titled := false
	for i, h := range t.head {
		head[i], right[i] = strings.CutPrefix(h, ">")
		width[i] = max(width[i], utf8.RuneCountInString(head[i]))
		titled = titled || head[i] != "" && !begun
	}
	for _, r := range t.rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b, l strings.Builder
	line := func(cells []string) {
		l.Reset()
		for i, c := range cells {
			if i > 0 {
				l.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if right[i] {
				l.WriteString(pad + c)
			} else {
				l.WriteString(c + pad)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " "))
		b.WriteByte('\n')
	}
	if titled {
		line(head)
	}
	for _, r := range t.rows {
		line(r)
	}
	t.rows = t.rows[:0]
	_, err := io.WriteString(w, b.String())
	return err
}

package pack

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/internal/kit"
)

// csv reads labels.csv: cells lie between commas, or, if the header has none, between
// semicolons or tabs.
func (t *labels) csv(dir string, b []byte) error {
	r := csv.NewReader(bytes.NewReader(b))
	r.TrimLeadingSpace = true
	r.Comma = commaOf(b)
	if r.Comma == '\t' {
		r.TrimLeadingSpace = false // tabs are spaces
	}
	rows, err := r.ReadAll()
	if err != nil {
		return fmt.Errorf("%w: %w", err, formats.ErrCorrupt)
	}
	if len(rows) == 0 {
		return nil
	}
	head, rows := rows[0], rows[1:]
	column, what, err := columnOf(head)
	if err != nil {
		return err
	}
	numbers := make([]bool, len(head))
	for i := range head {
		numbers[i] = allNumbers(rows, i)
	}
	other, named := alsoFile(head, what)
	for _, row := range rows {
		f := fields{}
		for i, v := range row {
			switch _, twice := f[head[i]]; {
			case i == column, twice && v == "":
			case twice && string(f[""]) != `""`: // only unnamed columns may occur twice
				return kit.Corrupt("labels with two columns without a name")
			default:
				f[head[i]] = cell(v, numbers[i])
			}
		}
		if err := t.put(dir, what, row[column], f); err != nil {
			return err
		}
		if other >= 0 {
			g := without(f, head[other])
			g[head[column]] = cell(row[column], numbers[column])
			t.spare = append(t.spare, spareLabel{id: row[column], dir: dir, column: named, name: row[other], f: g})
		}
	}
	return nil
}

// A spareLabel is a line with an id and a file. Where ids number the lines, the file says
// what it is about.
type spareLabel struct {
	id, dir, column, name string
	f                     fields
}

// alsoFile finds the column of a file beside one of ids, or -1.
func alsoFile(head []string, what string) (column int, name string) {
	if what != labelNames()[0] {
		return -1, ""
	}
	for _, want := range labelNames()[1:] {
		if i := slices.IndexFunc(head, func(name string) bool { return strings.EqualFold(name, want) }); i >= 0 {
			return i, want
		}
	}
	return -1, ""
}

// choose takes lines by their files if none of their ids is one of these names.
func (t *labels) choose(names map[string]int) error {
	if slices.ContainsFunc(t.spare, func(x spareLabel) bool { return names[x.id] > 0 }) {
		return nil
	}
	gone := map[string]bool{}
	for _, x := range t.spare {
		delete(t.byID, x.id)
		gone[x.id] = true
	}
	t.order = slices.DeleteFunc(t.order, func(id string) bool { return gone[id] })
	for _, x := range t.spare {
		if err := t.put(x.dir, x.column, x.name, x.f); err != nil {
			return err
		}
	}
	t.spare = nil
	return nil
}

// commaOf is what lies between the cells of the first line, outside of quotes.
func commaOf(b []byte) rune {
	var line []byte
	quoted := false
	for _, c := range b {
		if c == '"' {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if c == '\n' {
			break
		}
		line = append(line, c)
	}
	if !bytes.ContainsRune(line, ',') {
		for _, c := range ";\t" {
			if bytes.ContainsRune(line, c) {
				return c
			}
		}
	}
	return ','
}

// columnOf returns the column that says what a line is about, and its name. It trims the
// names of columns, and refuses two of one name.
func columnOf(head []string) (column int, what string, err error) {
	for i := range head {
		head[i] = strings.TrimSpace(head[i])
	}
	column = -1
	for _, want := range labelNames() {
		column = slices.IndexFunc(head, func(name string) bool { return strings.EqualFold(name, want) })
		if what = want; column >= 0 {
			break
		}
	}
	if column < 0 {
		return 0, "", kit.Corrupt("labels with the columns %s: want one called %s, which says what a line is about", quotedList(head), anyLabelName())
	}
	for i, name := range head {
		same := func(other string) bool { return other == name || i == column && strings.EqualFold(other, name) }
		if j := i + 1 + slices.IndexFunc(head[i+1:], same); name != "" && j > i {
			return 0, "", kit.Corrupt("labels with two columns called %.80q, %d and %d", name, i+1, j+1)
		}
	}
	return column, what, nil
}

// allNumbers reports whether all cells of a column that are not empty are numbers, and
// there is one.
func allNumbers(rows [][]string, column int) bool {
	some := false
	for _, row := range rows {
		v := strings.TrimSpace(row[column])
		if v == "" {
			continue
		}
		if !isNumber(v) {
			return false
		}
		some = true
	}
	return some
}

// isNumber reports whether JSON takes s for a number: 007 is none, and stays a text.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || isDigit(s[0])) && json.Valid([]byte(s))
}

// cell is a number as it is written, or a text. An empty cell among numbers is null.
func cell(v string, number bool) json.RawMessage {
	if !number {
		return text(v)
	}
	if v = strings.TrimSpace(v); v == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(v)
}

package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Figure is one line of the table of docs/reliability.md. Tests write them as
// lines of JSON.
type Figure struct {
	ID   string `json:"id"`   // id of the proof
	What string `json:"what"` // what was done
	Got  string `json:"got"`
	Goal string `json:"goal"`
	Hit  bool   `json:"hit"`
	Test string `json:"test"`
	Date string `json:"date"` // 2026-11-02
}

// ParseFigures parses lines of JSON, a Figure each, to the end.
func ParseFigures(r io.Reader) ([]Figure, error) {
	var out []Figure
	for d := json.NewDecoder(r); ; {
		var f Figure
		switch err := d.Decode(&f); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("figure %d: %w", len(out), err)
		}
		out = append(out, f)
	}
}

const tableHead = "| | what | figure | goal | | measured by | on |\n| --- | --- | --- | --- | --- | --- | --- |\n"

// row is a line of the table.
func (f Figure) row() string {
	hit := "**missed**"
	if f.Hit {
		hit = "hit"
	}
	cell := strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;")
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", f.ID, cell.Replace(f.What), cell.Replace(f.Got), cell.Replace(f.Goal), hit, cell.Replace("`"+f.Test+"`"), f.Date)
}

// Table is the table of the figures, sorted by proof, misses included. Lines of the old
// table stay if no figure is of the same proof and test.
func Table(fs []Figure, old string) string {
	var rows []string
	fresh := map[string]bool{}
	for _, f := range fs {
		fresh[f.ID+" `"+f.Test+"`"] = true
		rows = append(rows, f.row())
	}
	for line := range strings.Lines(old) {
		cells := strings.Split(line, " | ")
		if id, ok := strings.CutPrefix(cells[0], "| E"); ok && len(cells) == 7 && !fresh["E"+id+" "+cells[5]] {
			rows = append(rows, line)
		}
	}
	slices.SortStableFunc(rows, func(a, b string) int { return strings.Compare(a[:5], b[:5]) })
	return tableHead + strings.Join(rows, "")
}

// Between is what stands between the markers of that name in a document; "" if there
// are none.
func Between(doc, name string) string {
	_, rest, _ := strings.Cut(doc, "<!-- "+name+": begin -->\n")
	text, _, _ := strings.Cut(rest, "<!-- "+name+": end -->")
	return text
}

// Insert replaces what stands between the markers of that name in a document by text.
// Without such markers it fails.
func Insert(doc, name, text string) (string, error) {
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	before, rest, ok := strings.Cut(doc, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", fmt.Errorf("no markers %s", name)
	}
	return before + begin + text + end + after, nil
}

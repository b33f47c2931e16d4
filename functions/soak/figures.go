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
	ID   string `json:"id"`   // of the proof
	What string `json:"what"` // was done
	Got  string `json:"got"`
	Goal string `json:"goal"`
	Hit  bool   `json:"hit"`
	Test string `json:"test"`
}

// ReadFigures reads lines of JSON.
func ReadFigures(r io.Reader) ([]Figure, error) {
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

// Table is the figures by proof, misses included.
func Table(fs []Figure) string {
	var b strings.Builder
	b.WriteString("| | what | figure | goal | | test |\n| --- | --- | --- | --- | --- | --- |\n")
	fs = slices.Clone(fs)
	slices.SortStableFunc(fs, func(a, c Figure) int { return strings.Compare(a.ID, c.ID) })
	cell := strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;")
	for _, f := range fs {
		hit := "**missed**"
		if f.Hit {
			hit = "hit"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | `%s` |\n", f.ID, cell.Replace(f.What), cell.Replace(f.Got), cell.Replace(f.Goal), hit, f.Test)
	}
	return b.String()
}

// Insert puts text between the markers of that name in a document.
func Insert(doc, name, text string) (string, error) {
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	before, rest, ok := strings.Cut(doc, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", fmt.Errorf("no markers %s", name)
	}
	return before + begin + text + end + after, nil
}

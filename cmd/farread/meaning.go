package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/internal/human"
)

const (
	maxShown     = 16  // attributes and metalayers that info shows in its table; --json has all
	maxShownText = 200 // characters of each
)

// meaning adds dimensions with their ranges, attributes and the fill value.
func (a *arrayInfo) meaning(t *human.Table) {
	name := "dims"
	for i, dim := range a.Dims {
		text := human.Printable(dim)
		k := slices.IndexFunc(a.Coords, func(c farread.Coordinate) bool { return c.Dim == dim })
		if k >= 0 {
			text += " " + coordText(a.Coords[k])
		} else {
			text += ", " + human.Count(a.Shape[i])
		}
		t.Add(name, text)
		name = ""
	}
	if a.Fill != nil {
		t.Add("fill", human.Printable(strings.Trim(string(a.Fill), `"`)))
	}
	addJSON(t, "attrs", a.Attrs)
}

// coordText describes a coordinate: 2025-01-01 … 2025-12-31, 365 days; 90 … -90, 361 by -0.5.
func coordText(c farread.Coordinate) string {
	switch {
	case c.Array != "":
		return fmt.Sprintf("of %s, %s", human.Printable(c.Array), human.Count(c.N))
	case c.Unused != "":
		return "not used: " + human.Printable(c.Unused)
	case c.N == 0:
		return "without items"
	case c.N == 1:
		return human.Printable(c.First)
	}
	text := human.Printable(c.First) + " … " + human.Printable(c.Last) + ", " + human.Count(c.N)
	switch {
	case c.Time && c.By != "" && c.By[0] >= 'a':
		text += " " + c.By + "s"
	case c.By != "":
		text += " by " + c.By
	}
	if c.Units != "" && !c.Time {
		text += ", " + human.Printable(c.Units)
	}
	return text
}

// addJSON adds values under their names, in lines of a bounded number and length.
func addJSON(t *human.Table, title string, values map[string]json.RawMessage) {
	for i, name := range slices.Sorted(maps.Keys(values)) {
		if i == maxShown {
			t.Add("", fmt.Sprintf("and %s more", human.Count(int64(len(values)-i))))
			return
		}
		text := string(values[name])
		var s string
		if json.Unmarshal(values[name], &s) == nil {
			text = s
		}
		short := []rune(text)
		if len(short) > maxShownText {
			text = string(short[:maxShownText]) + "…"
		}
		t.Add(title, human.Printable(name)+": "+human.Printable(text))
		title = ""
	}
}

// decoded adds the metalayers of users that are msgpack: what the program knows is
// shown by itself.
func (i *frameInfo) decoded(t *human.Table) {
	own := []string{"b2nd", "caterva", "farread-index"}
	if i.arrayInfo != nil && (i.Dims != nil || i.Attrs != nil || i.Fill != nil) {
		own = append(own, arraymeta.Layer)
	}
	rest := maps.Clone(i.Metadata)
	maps.DeleteFunc(rest, func(name string, _ json.RawMessage) bool { return slices.Contains(own, name) })
	addJSON(t, "metadata", rest)
}

package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/zarr"
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
		t.Add("fill", human.Printable(fillText(a.ItemType, a.Fill)))
	}
	addJSON(t, "attrs", plainMissing(a.ItemType, a.Attrs))
}

// fillText is a fill value as people write it: NaT is stored as a number, and bytes in base64.
func fillText(items string, fill json.RawMessage) string {
	plain := strings.Trim(string(fill), `"`)
	d, err := dtype.Parse(items)
	if err != nil {
		return plain
	}
	item, err := zarr.ParseFill(d, fill)
	if err != nil {
		return plain
	}
	switch d.Kind() {
	case dtype.DateTime, dtype.Duration:
		return string(d.AppendCSV(nil, item))
	case dtype.Bytes, dtype.Text:
		text, _ := d.Text(item)
		return strconv.Quote(text)
	default:
		return plain
	}
}

// plainMissing returns attributes in which what says that an item is missing is a number: xarray writes that of floats
// into Zarr v3 as a float64 in base64.
func plainMissing(items string, attrs map[string]json.RawMessage) map[string]json.RawMessage {
	const name = "_FillValue"
	var text string
	if json.Unmarshal(attrs[name], &text) != nil {
		return attrs
	}
	p, err := base64.StdEncoding.DecodeString(text)
	if d, derr := dtype.Parse(items); err != nil || derr != nil || len(p) != 8 || d.Kind() != dtype.Float {
		return attrs
	}
	v := strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(p)), 'g', -1, 64)
	attrs = maps.Clone(attrs)
	attrs[name], _ = json.Marshal(v + " (" + text + ")") //nolint:errchkjson // a text
	return attrs
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

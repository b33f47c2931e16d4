package zarrface_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/internal/zarrface"
)

// coordinatesOf are those of an array of n items along x with the coordinate.
func coordinatesOf(t *testing.T, n int64, c arraymeta.Coord) zarrface.Coordinates {
	t.Helper()
	layer, err := arraymeta.Meta{Dims: []string{c.Dim}, Coords: []arraymeta.Coord{c}}.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dtype.Parse("<f4")
	if err != nil {
		t.Fatal(err)
	}
	f := zarrface.Facts{Meta: b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{4}, BlockShape: []int{4}, DType: "<f4"}, DType: d,
		Layers: []cframe.Metalayer{{Name: arraymeta.Layer, Data: layer}}}
	doc, coords, err := f.Document(zarrface.Options{Folder: true})
	if err != nil || !json.Valid(doc) {
		t.Fatal(err)
	}
	return coords
}

// TestShare: coordinates are shared if they have the same values, type and units, however they are
// written down; else they are left out, whatever comes after.
func TestShare(t *testing.T) {
	attrs := func(units string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"units": json.RawMessage(`"` + units + `"`), "note": json.RawMessage(`"` + units + ` too"`)}
	}
	x := arraymeta.Coord{Dim: "x", DType: "<i2", Start: "1", Step: "2", Attrs: attrs("m")}
	for _, c := range []struct {
		name  string
		n     int64
		other arraymeta.Coord
		same  bool
	}{
		{"as they are", 3, x, true},
		{"a list", 3, arraymeta.Coord{Dim: "x", DType: "<i2", Values: []byte{1, 0, 3, 0, 5, 0}, Attrs: attrs("m")}, true},
		{"another note", 3, arraymeta.Coord{Dim: "x", DType: "<i2", Start: "1", Step: "2", Attrs: map[string]json.RawMessage{"units": json.RawMessage(`"m"`)}}, true},
		{"another value", 3, arraymeta.Coord{Dim: "x", DType: "<i2", Values: []byte{1, 0, 3, 0, 6, 0}, Attrs: attrs("m")}, false},
		{"another step", 3, arraymeta.Coord{Dim: "x", DType: "<i2", Start: "1", Step: "3", Attrs: attrs("m")}, false},
		{"another length", 4, x, false},
		{"another type", 3, arraymeta.Coord{Dim: "x", DType: "<i4", Start: "1", Step: "2", Attrs: attrs("m")}, false},
		{"another unit", 3, arraymeta.Coord{Dim: "x", DType: "<i2", Start: "1", Step: "2", Attrs: attrs("km")}, false},
	} {
		none := zarrface.Coordinates{}
		s := zarrface.Share([]string{"n", "a", "b", "c"}, []zarrface.Coordinates{none, coordinatesOf(t, 3, x), coordinatesOf(t, c.n, c.other), coordinatesOf(t, 3, x)})
		switch {
		case c.same && (s.From["x"] != 1 || s.Docs["x"] == nil || len(s.Left) > 0),
			!c.same && (len(s.From)+len(s.Docs) > 0 || s.Left["x"] != "left out: a and b have other values of it"):
			t.Errorf("%s: %v, %v", c.name, s.From, s.Left)
		}
	}
	// An array of the name is no coordinate's.
	if s := zarrface.Share([]string{"x"}, []zarrface.Coordinates{coordinatesOf(t, 3, x)}); len(s.Docs)+len(s.Left) > 0 {
		t.Errorf("%v", s)
	}
}

// TestShareBounds: of many coordinates that differ some are named.
func TestShareBounds(t *testing.T) {
	var names []string
	var list []zarrface.Coordinates
	for i := range 300 {
		c := arraymeta.Coord{Dim: fmt.Sprint("x", i/2), DType: "<i2", Start: "1", Step: json.Number(fmt.Sprint(i + 1))}
		names, list = append(names, fmt.Sprint("a", i)), append(list, coordinatesOf(t, 3, c))
	}
	s := zarrface.Share(names, list)
	if keys := slices.Sorted(maps.Keys(s.Left)); len(s.Docs) > 0 || len(keys) != 100 {
		t.Errorf("%d documents, %s", len(s.Docs), strings.Join(keys, " "))
	}
}

package arraymeta_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
)

// TestFind: the layer counts first, then names that other programs leave, as layers or attributes; what
// cannot be read says nothing.
func TestFind(t *testing.T) {
	t.Parallel()
	layer := func(m arraymeta.Meta) arraymeta.Stored {
		p, err := m.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		return arraymeta.Stored{Name: arraymeta.Layer, Data: p}
	}
	text := func(name, text string) arraymeta.Stored {
		return arraymeta.Stored{Name: name, JSON: func() ([]byte, error) { return []byte(text), nil }}
	}
	broken := arraymeta.Stored{Name: arraymeta.Layer, Data: []byte("x")}
	names, other := layer(arraymeta.Meta{Dims: []string{"a", "b"}}), text("_ARRAY_DIMENSIONS", `["x","y"]`)
	for want, layers := range map[string][]arraymeta.Stored{
		"[a b] [0]":   {names, other},
		"[a b] [1]":   {broken, names},
		"[x y] [1]":   {broken, other},
		"[p q] [1]":   {other, text("dimension_names", `["p","q"]`)},
		"[x y] [0]":   {other, text("dimension_names", `["p","p"]`)},
		"[] []":       {text("dimension_names", `["p"]`), text("_ARRAY_DIMENSIONS", `["",null]`), text("other", `["p","q"]`)},
		"[x y] [1 0]": {other, layer(arraymeta.Meta{Attrs: map[string]json.RawMessage{"units": json.RawMessage(`"K"`)}})},
		"[u v] [0]":   {layer(arraymeta.Meta{Attrs: map[string]json.RawMessage{"_ARRAY_DIMENSIONS": json.RawMessage(`["u","v"]`)}})},
	} {
		m, used := arraymeta.Find(layers, []int64{2, 3}, formats.Limits{})
		if got := fmt.Sprint(m.Dims, used); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if m.Attrs["_ARRAY_DIMENSIONS"] != nil {
			t.Errorf("%s: names are an attribute, too", want)
		}
	}
}

package gateway

import (
	"encoding/json"
	"slices"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
)

// A meaning is what the metadata of an array says of its axes and items.
type meaning struct {
	Dims   []string                   `json:"dims,omitempty"`   // names of the axes
	Attrs  map[string]json.RawMessage `json:"attrs,omitempty"`  // attributes, of the layer for that alone
	Coords []coordInfo                `json:"coords,omitempty"` // where items lie along a dimension
}

// A coordInfo is a coordinate: the first value and the distance to the next, as text so
// that no digit of 64-bit integers is lost; or values as base64; or the array beside that
// has them.
type coordInfo struct {
	Dim    string                     `json:"dim"`
	DType  string                     `json:"dtype"`
	Start  string                     `json:"start,omitempty"`
	Step   string                     `json:"step,omitempty"`
	Values []byte                     `json:"values,omitempty"`
	Array  string                     `json:"array,omitempty"`
	Attrs  map[string]json.RawMessage `json:"attrs,omitempty"`
}

// meaningOf takes the layer of the metadata that is for that, or else names that other
// tools write.
func meaningOf(d *farread.Description) (m meaning) {
	if detail, ok := d.Detail.(farread.FrameDetail); ok && len(d.Shape) > 0 {
		for _, l := range detail.VLMetalayers {
			if l.Name != arraymeta.Layer {
				continue
			}
			told, err := arraymeta.Decode(l.Data, d.Shape, formats.Limits{})
			if err != nil {
				continue // a layer of that name that says something else
			}
			m.Dims, m.Attrs = told.Dims, told.Attrs
			for _, c := range told.Coords {
				if i := slices.Index(told.Dims, c.Dim); i < 0 || i >= len(d.Shape) || !c.Fits(d.Shape[i]) {
					continue // the array has been resized since
				}
				m.Coords = append(m.Coords, coordInfo{Dim: c.Dim, DType: c.DType, Start: c.Start.String(), Step: c.Step.String(), Values: c.Values, Array: c.Array, Attrs: c.Attrs})
			}
		}
	}
	if m.Dims == nil {
		m.Dims = dims(d)
	}
	return m
}

// dims are the names of the axes of an array, if its metadata has a name for each, and
// no name twice.
func dims(d *farread.Description) []string {
	for _, layer := range []string{"dimension_names", "_ARRAY_DIMENSIONS"} {
		var names []string
		if json.Unmarshal(d.Metadata[layer], &names) != nil || len(names) != len(d.Shape) || slices.Contains(names, "") {
			continue
		}
		if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) == len(names) {
			return names
		}
	}
	return nil
}

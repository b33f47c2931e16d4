package arraymeta

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/farread/farread/formats"
)

// A Stored is a metalayer of an array: its name, its bytes, and, asked for of few, the same as JSON.
type Stored struct {
	Name string
	Data []byte
	JSON func() ([]byte, error)
}

// Find returns what metalayers say an array of the shape means, and the numbers of those that say
// nothing besides. The first one called Layer that can be read counts; one that cannot says nothing, for
// the array can be read without it. Where that has no names of axes, those count that other
// programs leave, as a layer or an attribute: dimension_names, else _ARRAY_DIMENSIONS.
func Find(layers []Stored, shape []int64, limits formats.Limits) (m Meta, used []int) {
	for i, l := range layers {
		if l.Name != Layer {
			continue
		}
		if x, err := Decode(l.Data, shape, limits); err == nil {
			m, used = x, append(used, i)
			break
		}
	}
	for _, name := range []string{"dimension_names", "_ARRAY_DIMENSIONS"} {
		for i, l := range layers {
			if m.Dims != nil || l.Name != name {
				continue
			}
			if text, err := l.JSON(); err == nil {
				if m.Dims = NamesIn(text, len(shape)); m.Dims != nil {
					used = append(used, i)
				}
			}
		}
		if m.Dims != nil {
			return m, used
		}
		if m.Dims = NamesIn(m.Attrs[name], len(shape)); m.Dims != nil {
			m.Attrs = maps.Clone(m.Attrs)
			delete(m.Attrs, name)
		}
	}
	return m, used
}

// NamesIn returns the names of axes in a text of JSON; see Names. Other texts have none.
func NamesIn(text []byte, axes int) []string {
	var names []string
	if json.Unmarshal(text, &names) != nil || names == nil {
		return nil
	}
	return Names(names, axes)
}

// Names returns names if they are as many as there are axes, none empty and no two the same; else nil.
func Names(names []string, axes int) []string {
	if len(names) != axes {
		return nil
	}
	for i, n := range names {
		if n == "" || slices.Contains(names[:i], n) {
			return nil
		}
	}
	return names
}

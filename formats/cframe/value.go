package cframe

import (
	"bytes"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// NewMetalayer makes a metalayer of a Go value, in msgpack, as python-blosc2
// stores values that are assigned to meta and vlmeta. Maps of the types
// map[string]any, map[string]string and map[string]bool are written in the order
// of their keys, so that equal values are equal bytes; the order of other maps
// is random. A value that msgpack cannot hold is ErrRefused. The name is checked
// by the writer.
//
// There is no counterpart that decodes: the msgpack library allocates as much as
// counts in the data ask for, and the data come from outside.
func NewMetalayer(name string, value any) (Metalayer, error) {
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	e.SetSortMapKeys(true)
	e.UseCompactInts(true)
	if err := e.Encode(value); err != nil {
		return Metalayer{}, fmt.Errorf("metalayer %q: %w: %w", name, ErrRefused, err)
	}
	return Metalayer{Name: name, Data: b.Bytes()}, nil
}

package cframe

import (
	"bytes"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// NewMetalayer encodes a Go value in msgpack as a metalayer. python-blosc2
// encodes values that are assigned to meta and vlmeta in the same way. Maps of
// the types map[string]any, map[string]string and map[string]bool are written in
// the order of their keys, so equal values give equal bytes; the order of other
// maps is random. NewMetalayer returns ErrRefused if msgpack cannot encode the
// value. It does not check the name; the writer does.
//
// This package has no function that decodes into Go values: the msgpack library
// allocates as much memory as counts in the data claim, and the data may come
// from strangers. See AppendJSON.
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

package cframe

import (
	"bytes"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// NewMetalayer makes a metalayer of a Go value, in msgpack, as python-blosc2
// stores whatever is assigned to meta and vlmeta. Maps with text for keys are
// written in the order of these, so that equal values are equal bytes. What
// msgpack cannot hold is ErrRefused.
//
// There is no counterpart that decodes: the library allocates what counts in the
// data ask for, and the data come from outside. Metalayers that this package
// has to understand are read by position.
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

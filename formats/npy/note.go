package npy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
)

// NoteSuffix is added to the name of raw data for the name of its note:
// grid.raw lies beside grid.raw.json.
const NoteSuffix = ".json"

// MaxNote is the longest text that ParseNote takes, in bytes: as long as the
// longest header of a .npy of version 1.
const MaxNote = 64 << 10

// A Note describes raw bytes as an array, in a small JSON object beside them:
//
//	{"dtype": "<f4", "shape": [120, 256, 256], "order": "C", "offset": 0}
//
// The dtype is NumPy's text. With the order "F" the first axis runs fastest; "C"
// may be left out. The offset is how many bytes come before the items; 0 may be
// left out.
type Note struct {
	DType   dtype.DType
	Shape   []int64
	Fortran bool
	Offset  int64
}

// Header is the header that a .npy of the array would have.
func (n Note) Header() Header {
	return Header{DType: n.DType, Fortran: n.Fortran, Shape: n.Shape}
}

type noteText struct {
	DType  string  `json:"dtype"`
	Shape  []int64 `json:"shape"`
	Order  string  `json:"order,omitempty"`
	Offset int64   `json:"offset,omitempty"`
}

// ParseNote reads a note. Errors are *formats.Error with Format "note". Unknown
// fields, a missing dtype or shape, and values that no array can have match
// formats.ErrCorrupt; text above MaxNote, more than 64 axes and an array whose
// size is beyond int64 match ErrTooLarge; the errors of dtype.Parse are wrapped.
func ParseNote(p []byte) (Note, error) {
	var t noteText
	fail := func(err error) (Note, error) {
		return Note{}, &formats.Error{Format: "note", Off: -1, Err: err}
	}
	if len(p) > MaxNote {
		return fail(fmt.Errorf("%d bytes of JSON, over %d: %w", len(p), MaxNote, formats.ErrTooLarge))
	}
	d := json.NewDecoder(bytes.NewReader(p))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return fail(fmt.Errorf("%s: %w", plainly(err), formats.ErrCorrupt))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fail(fmt.Errorf("text after the object: %w", formats.ErrCorrupt))
	}
	switch {
	case t.DType == "" || t.Shape == nil:
		return fail(fmt.Errorf("dtype and shape are needed: %w", formats.ErrCorrupt))
	case t.Order != "" && t.Order != "C" && t.Order != "F":
		return fail(fmt.Errorf("order %q is neither C nor F: %w", t.Order, formats.ErrCorrupt))
	case t.Offset < 0:
		return fail(fmt.Errorf("offset %d is negative: %w", t.Offset, formats.ErrCorrupt))
	}
	n := Note{Fortran: t.Order == "F", Shape: t.Shape, Offset: t.Offset}
	var err error
	if n.DType, err = dtype.Parse(t.DType); err != nil {
		return fail(err)
	}
	if err := n.Header().check(); err != nil {
		return fail(err)
	}
	return n, nil
}

// plainly says what is wrong with a note, without the names of Go's types.
func plainly(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, io.EOF):
		return "no text"
	case !ok:
		return strings.TrimPrefix(err.Error(), "json: ")
	case wrong.Field == "":
		return fmt.Sprintf("%s, want an object", wrong.Value)
	}
	want := "text"
	switch wrong.Field {
	case "shape":
		want = "a list of lengths"
	case "offset":
		want = "a number of bytes"
	}
	return fmt.Sprintf("%s: %s, want %s", wrong.Field, wrong.Value, want)
}

// check makes sure that a .npy could have the shape.
func (h Header) check() error {
	if len(h.Shape) > nd.MaxDims {
		return fmt.Errorf("%d axes, over %d: %w", len(h.Shape), nd.MaxDims, formats.ErrTooLarge)
	}
	for _, s := range h.Shape {
		if s < 0 {
			return fmt.Errorf("shape %v has a negative length: %w", h.Shape, formats.ErrCorrupt)
		}
	}
	_, err := h.NBytes()
	return err
}

// AppendNote appends the text of n and a line end. The order "C" and the offset 0
// are left out.
func AppendNote(dst []byte, n Note) ([]byte, error) {
	t := noteText{DType: n.DType.String(), Shape: n.Shape, Offset: n.Offset}
	if t.Shape == nil {
		t.Shape = []int64{}
	}
	if n.Fortran {
		t.Order = "F"
	}
	b := bytes.NewBuffer(dst)
	e := json.NewEncoder(b) // which ends the line
	e.SetEscapeHTML(false)  // "<f4" is to be read by people
	err := e.Encode(t)
	return b.Bytes(), err
}

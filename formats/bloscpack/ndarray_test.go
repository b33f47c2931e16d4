package bloscpack_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
)

// TestArray: all spellings of a type that the Python tool has used, metadata that are
// not of an array, and impossible ones.
func TestArray(t *testing.T) {
	for _, c := range []struct {
		meta    string
		dtype   string // "": no array
		shape   []int64
		fortran bool
		err     error
	}{
		{meta: `{"dtype":"'<i4'","shape":[2,3],"order":"C","container":"numpy"}`, dtype: "<i4", shape: []int64{2, 3}},
		{meta: `{"dtype":"'<f8'","shape":[],"order":"F","container":"numpy"}`, dtype: "<f8", shape: []int64{}, fortran: true},
		{meta: ` {"dtype":"[('a', '<i4'), ('b', '|S5', (2, 3))]","shape":[7],"order":"C","container":"numpy","more":1}`, dtype: "[('a', '<i4'), ('b', 'S5', (2, 3))]", shape: []int64{7}},
		{meta: `{"dtype":"'<M8[25s]'","shape":[0,9223372036854775807],"order":"C","container":"numpy"}`, dtype: "<M8[25s]", shape: []int64{0, 1<<63 - 1}},
		// Before 0.7.2.
		{meta: `{"dtype":"<i4","shape":[3],"order":"C","container":"numpy"}`, dtype: "<i4", shape: []int64{3}},
		{meta: `{"dtype":"|b1","shape":[3],"order":"C","container":"numpy"}`, dtype: "|b1", shape: []int64{3}},
		{meta: `{"dtype":[["a","<i4"],["b","<f8"]],"shape":[3],"order":"C","container":"numpy"}`, dtype: "[('a', '<i4'), ('b', '<f8')]", shape: []int64{3}},
		{meta: `{"dtype":[["a","<i4",[2,3]],["b","<f8",4]],"shape":[3],"order":"C","container":"numpy"}`, dtype: "[('a', '<i4', (2, 3)), ('b', '<f8', (4,))]", shape: []int64{3}},
		{meta: `{"dtype":[["a",[["x","<i2"],["y","|S3"]]],[["title","b"],"<f8"]],"shape":[3],"order":"C","container":"numpy"}`, dtype: "[('a', [('x', '<i2'), ('y', 'S3')]), (('title', 'b'), '<f8')]", shape: []int64{3}},

		{meta: `{"dtype":"'<i4'","shape":[2,3],"order":"C"}`},
		{meta: `{"dtype":"'<i4'","shape":[2,3],"order":"C","container":"other"}`},
		{meta: `{"container":["numpy"]}`},
		{meta: `"numpy"`},
		{meta: `[]`},
		{meta: `null`},

		{meta: `{"dtype":"'<i4'","shape":[2,-3],"order":"C","container":"numpy"}`, err: formats.ErrCorrupt},
		{meta: `{"dtype":"'<i4'","shape":[2.5],"order":"C","container":"numpy"}`, err: formats.ErrCorrupt},
		{meta: `{"dtype":"'<i4'","shape":[9223372036854775807,9],"order":"C","container":"numpy"}`, err: formats.ErrCorrupt},
		{meta: `{"dtype":"'<i4'","shape":"2","order":"C","container":"numpy"}`, err: formats.ErrCorrupt},
		{meta: `{"dtype":"'<i4'","order":"C","container":"numpy"}`, err: formats.ErrCorrupt},
		{meta: `{"dtype":"'<i4'","shape":[1],"order":"Z","container":"numpy"}`, err: formats.ErrCorrupt},
		{meta: `{"dtype":"'|O'","shape":[1],"order":"C","container":"numpy"}`, err: formats.ErrUnsupported},
		{meta: `{"dtype":"__import__('os')","shape":[1],"order":"C","container":"numpy"}`, err: formats.ErrUnsupported},
		{meta: `{"dtype":[["a"]],"shape":[1],"order":"C","container":"numpy"}`, err: formats.ErrCorrupt},
		{meta: `{"dtype":[["a","<i4",[-1]]],"shape":[1],"order":"C","container":"numpy"}`, err: formats.ErrCorrupt},
		{meta: `{"dtype":5,"shape":[1],"order":"C","container":"numpy"}`, err: formats.ErrCorrupt},
		{meta: `{"shape":[1],"order":"C","container":"numpy"}`, err: formats.ErrCorrupt},
	} {
		h, err := bloscpack.Header{Version: 4, ChunkSize: -1, LastChunk: -1, Meta: true, MetaSize: int64(len(c.meta))}.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		f := open(t, append(h, c.meta...), bloscpack.Options{})
		a, ok, err := f.Array()
		switch {
		case !errors.Is(err, c.err):
			t.Errorf("%s: %v, want %v", c.meta, err, c.err)
		case c.err != nil:
		case ok != (c.dtype != ""):
			t.Errorf("%s: an array: %t", c.meta, ok)
		case ok && (a.DType.String() != c.dtype || a.Fortran != c.fortran || cmp.Diff(c.shape, a.Shape) != ""):
			t.Errorf("%s: %s %v %t, want %s", c.meta, a.DType, a.Shape, a.Fortran, c.dtype)
		}
	}
}

// TestArraySize: an array has the bytes of the chunks.
func TestArraySize(t *testing.T) {
	for n, want := range map[int]error{400: nil, 396: formats.ErrCorrupt, 404: formats.ErrCorrupt} {
		file := write(t, bloscpack.WriteOptions{ChunkSize: 100, Metadata: map[string]any{"dtype": "'<i4'", "shape": []int{10, 10}, "order": "C", "container": "numpy"}}, [][]byte{make([]byte, n)})
		if _, ok, err := open(t, file, bloscpack.Options{}).Array(); !ok || !errors.Is(err, want) {
			t.Errorf("%d bytes: %t, %v", n, ok, err)
		}
	}
}

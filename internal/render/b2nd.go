package render

import (
	"errors"
	"fmt"
	"io"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
)

// b2ndFile writes a contiguous frame with a b2nd metalayer, in chunks of the default
// shape. A Writer that cannot patch what is written gets it at the end.
type b2ndFile struct {
	d      dtype.DType
	shape  []int64
	memory int64
	layers []cframe.Metalayer
	cubes  bool
	w      *b2nd.Writer
	held   *patched
}

func (f *b2ndFile) begin(w io.Writer) (err error) {
	out, ok := w.(formats.Output)
	if !ok {
		f.held = &patched{most: f.memory}
		out = f.held
	}
	m := b2nd.Meta{Shape: f.shape, DType: f.d.String()}
	o := b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4}, Index: cframe.CheapIndex, MaxMemory: f.memory, VLMetalayers: f.layers}
	if f.cubes {
		cube := m
		cube.ChunkShape, cube.BlockShape = b2nd.ShapesFor(b2nd.Cubes, f.shape, f.d.ItemSize())
		if f.w, err = b2nd.NewWriter(out, cube, o); !errors.Is(err, formats.ErrTooLarge) {
			return err
		}
	}
	f.w, err = b2nd.NewWriter(out, m, o)
	return err
}

func (f *b2ndFile) items(_ io.Writer, p []byte) error {
	_, err := f.w.Write(p)
	return err
}

func (f *b2ndFile) end(w io.Writer) error {
	if err := f.w.Close(); err != nil || f.held == nil {
		return err
	}
	_, err := w.Write(f.held.p)
	return err
}

// patched is a file in memory.
type patched struct {
	p    []byte
	most int64
}

func (o *patched) Write(p []byte) (int, error) {
	if o.most > 0 && int64(len(o.p)+len(p)) > o.most {
		return 0, fmt.Errorf("a b2nd of more than %d bytes, which has to be in memory: write it to a file: %w", o.most, formats.ErrTooLarge)
	}
	o.p = append(o.p, p...)
	return len(p), nil
}

func (o *patched) Patch(off int64, p []byte) error {
	if off < 0 || off > int64(len(o.p))-int64(len(p)) {
		return fmt.Errorf("a patch of %d bytes at %d of %d: %w", len(p), off, len(o.p), formats.ErrCorrupt)
	}
	copy(o.p[off:], p)
	return nil
}

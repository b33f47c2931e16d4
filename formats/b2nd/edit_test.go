package b2nd_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/rangeio"
)

// A file is a formats.File in memory.
type file struct{ b []byte }

func (f *file) Size() int64 { return int64(len(f.b)) }

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.b).ReadAt(p, off)
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if grow := off + int64(len(p)) - int64(len(f.b)); grow > 0 {
		f.b = append(f.b, make([]byte, grow)...)
	}
	return copy(f.b[off:], p), nil
}

func (f *file) Truncate(n int64) error {
	if n > int64(len(f.b)) {
		return io.ErrShortWrite
	}
	f.b = f.b[:n]
	return nil
}

// resized is an oracle of Resize: what lies in both shapes stays.
func resized(items []byte, from, to []int64, size int) []byte {
	n, _ := nd.Prod(to)
	out := make([]byte, n*int64(size))
	both := make([]int64, len(to))
	for i := range to {
		both[i] = min(from[i], to[i])
	}
	at := make([]int64, len(to))
	nd.CopyBox(out, to, at, items, from, at, both, size)
	return out
}

// TestEdit applies random changes and compares with plain memory; the array that
// somebody opened before stays readable.
func TestEdit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawArray(rt)
		if len(x.meta.Shape) == 0 {
			rt.SkipNow()
		}
		f := &file{build(rt, x.meta, x.items, x.o)}
		shape, items := x.meta.Shape, x.items
		o := b2nd.EditOptions{Draft: rapid.Bool().Draw(rt, "draft"), Statistics: rapid.Bool().Draw(rt, "statistics"), Index: rapid.SampledFrom([]cframe.IndexChoice{cframe.NoIndex, cframe.WithIndex}).Draw(rt, "index")}
		e, err := b2nd.Edit(rt.Context(), f, o)
		if err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "changes") {
			switch what := rapid.SampledFrom([]string{"resize", "append", "write", "commit"}).Draw(rt, "change"); what {
			case "resize":
				to := make([]int64, len(shape))
				for i, n := range shape {
					to[i] = rapid.Int64Range(0, min(n+8, 60)).Draw(rt, "to")
				}
				if n, _ := nd.Prod(to); n > 20000 {
					continue
				}
				if err := e.Resize(to); err != nil {
					rt.Fatal(err)
				}
				shape, items = to, resized(items, shape, to, x.size)
			case "append":
				axis := rapid.IntRange(0, len(shape)-1).Draw(rt, "axis")
				layer := slices.Clone(shape)
				layer[axis] = 1
				n, _ := nd.Prod(layer)
				to := slices.Clone(shape)
				to[axis] += rapid.Int64Range(0, 9).Draw(rt, "layers")
				layer[axis] = to[axis] - shape[axis]
				more := numbers(n*layer[axis], x.size)
				if err := e.ExtendAxis(axis, more); err != nil {
					rt.Fatal(err)
				}
				if n == 0 { // nothing says how many layers
					continue
				}
				items = resized(items, shape, to, x.size)
				at := make([]int64, len(shape))
				at[axis] = shape[axis]
				nd.CopyBox(items, to, at, more, layer, make([]int64, len(shape)), layer, x.size)
				shape = to
			case "write":
				box := drawBox(rt, shape)
				n, _ := nd.Prod(box.Counts())
				p := bytes.Repeat([]byte{rapid.Byte().Draw(rt, "value")}, int(n)*x.size)
				copy(p[len(p)/2:], numbers(n, x.size))
				if err := e.WriteSlice(box, p); err != nil {
					rt.Fatal(err)
				}
				items = bytes.Clone(items)
				put(items, p, shape, x.size, box)
			case "commit":
				if err := e.Commit(); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if err := e.Close(); err != nil {
			rt.Fatal(err)
		}
		a := open(rt, f.b)
		if got := slice(rt, a, b2nd.Whole(shape)); !bytes.Equal(got, items) {
			rt.Fatal("other items")
		}
		if _, err := a.Verify(rt.Context(), nil); err != nil { // compares heads, places and statistics
			rt.Fatal(err)
		}
	})
}

// put is the reverse of cutInto.
func put(items, p []byte, shape []int64, size int, box b2nd.Box) {
	numbers := make([]byte, 8*len(items)/size)
	for i := range len(numbers) / 8 {
		for k := range 8 {
			numbers[8*i+k] = byte(i >> (8 * k))
		}
	}
	n, _ := nd.Prod(box.Counts())
	where := make([]byte, 8*n)
	cutInto(where, numbers, shape, 8, box)
	for i := range n {
		at := 0
		for k := range 8 {
			at |= int(where[8*i+int64(k)]) << (8 * k)
		}
		copy(items[at*size:][:size], p[i*int64(size):])
	}
}

// TestGrowAfterCut: what a cut left in the padding of the chunks at the edge, also
// by other programs, does not come back.
func TestGrowAfterCut(t *testing.T) {
	for _, name := range []string{"resized_shrink.b2nd", "make_full.b2nd", "dtype_struct.b2nd", "grown_then_written.b2nd"} {
		f := &file{load(t, name)}
		a, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(f, f.Size()), b2nd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shape := a.Shape()
		items := slice(t, a, b2nd.Whole(shape))
		e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{})
		if err != nil {
			t.Fatal(err)
		}
		to := make([]int64, len(shape))
		for i, n := range shape {
			to[i] = n + 13
		}
		if err := e.Resize(to); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if got := slice(t, open(t, f.b), b2nd.Whole(to)); !bytes.Equal(got, resized(items, shape, to, a.ItemSize())) {
			t.Errorf("%s: other items", name)
		}
		// The array that was open before reads as before.
		if got := slice(t, a, b2nd.Whole(shape)); !bytes.Equal(got, items) {
			t.Errorf("%s: other items in the array that was open", name)
		}
	}
}

func TestEditRefused(t *testing.T) {
	f := &file{build(t, b2nd.Meta{Shape: []int64{4, 4}, ChunkShape: []int{2, 2}, BlockShape: []int{2, 2}, DType: "|u1"}, numbers(16, 1), b2nd.WriteOptions{})}
	before := bytes.Clone(f.b)
	e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"axes":     func() error { return e.Resize([]int64{4}) },
		"negative": func() error { return e.Resize([]int64{4, -1}) },
		"huge":     func() error { return e.Resize([]int64{1 << 62, 1 << 62}) },
		"chunks":   func() error { return e.Resize([]int64{1 << 40, 4}) },
		"rows":     func() error { return e.Extend(make([]byte, 5)) },
		"outside":  func() error { return e.WriteSlice(b2nd.Sub([]int64{0, 0}, []int64{4, 5}), make([]byte, 20)) },
		"short":    func() error { return e.WriteSlice(b2nd.Sub([]int64{0, 0}, []int64{4, 4}), make([]byte, 15)) },
	} {
		if err := try(); !errors.Is(err, cframe.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := e.Close(); err != nil || !bytes.Equal(f.b, before) {
		t.Errorf("changed, %v", err)
	}
	for _, name := range []string{"shape_neg.b2nd", "chunk_max.b2nd", "ndim_3.b2nd"} {
		if _, err := b2nd.Edit(t.Context(), &file{load(t, "malformed/"+name)}, b2nd.EditOptions{}); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

// TestEditCaterva resizes an array of the older format, and gives one up.
func TestEditCaterva(t *testing.T) {
	m := b2nd.Meta{Shape: []int64{4}, ChunkShape: []int{4}, BlockShape: []int{2}}
	layer, err := b2nd.AppendMeta(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	layer = layer[:len(layer)-6]
	layer[0] = 0x95
	var out memory
	w, err := cframe.NewWriter(&out, cframe.WriteOptions{TypeSize: 2, BlockSize: 4, Metalayers: []cframe.Metalayer{{Name: "caterva", Data: layer}}})
	if err != nil {
		t.Fatal(err)
	}
	items := numbers(4, 2)
	if err := errors.Join(w.WriteChunk(items), w.Close()); err != nil {
		t.Fatal(err)
	}
	f := &file{out.Bytes()}
	for _, keep := range []bool{false, true} {
		before := bytes.Clone(f.b)
		e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{Encode: &blosc.EncodeOptions{Codec: blosc.Zstd}})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Extend([]byte{1, 2, 3, 4}); err != nil {
			t.Fatal(err)
		}
		if e.Meta().Shape[0] != 6 {
			t.Error(e.Meta())
		}
		if keep {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Abort(); err != nil || !keep && !bytes.Equal(f.b, before) {
			t.Errorf("given up, but changed, %v", err)
		}
	}
	a := open(t, f.b)
	if got := slice(t, a, b2nd.Whole(a.Shape())); a.DType().String() != "|V2" || !bytes.Equal(got, append(items, 1, 2, 3, 4)) {
		t.Errorf("%s %x", a.DType(), got)
	}
}

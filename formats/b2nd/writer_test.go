package b2nd_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
)

// A memory is an Output in memory.
type memory struct{ bytes.Buffer }

func (m *memory) Patch(off int64, p []byte) error {
	if off < 0 || off+int64(len(p)) > int64(m.Len()) {
		return fmt.Errorf("patch of [%d, +%d) of %d bytes", off, len(p), m.Len())
	}
	copy(m.Bytes()[off:], p)
	return nil
}

// A tester is *testing.T, B, F, or *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// build writes an array from a stream.
func build(t tester, m b2nd.Meta, items []byte, o b2nd.WriteOptions) []byte {
	t.Helper()
	var out memory
	w, err := b2nd.NewWriter(&out, m, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(items); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func open(t tester, b []byte) *b2nd.Array {
	t.Helper()
	a, err := b2nd.Open(t.Context(), reader(b), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// source reads boxes of items in memory.
func source(items []byte, shape []int64, size int) b2nd.ReadBox {
	return func(_ context.Context, box b2nd.Box, dst []byte) error {
		cutInto(dst, items, shape, size, box)
		return nil
	}
}

// cutInto is a plain slice: item by item, as an oracle.
func cutInto(dst, items []byte, shape []int64, size int, box b2nd.Box) {
	counts := box.Counts()
	n, err := nd.Prod(counts)
	if err != nil {
		panic(err)
	}
	at := make([]int64, len(shape))
	for k := range n {
		rest, off := k, int64(0)
		for i := len(shape) - 1; i >= 0; i-- {
			at[i] = rest % counts[i]
			rest /= counts[i]
		}
		for i := range shape {
			off = off*shape[i] + box.Start[i] + at[i]*box.Step[i]
		}
		copy(dst[k*int64(size):][:size], items[off*int64(size):])
	}
}

// numbers are n items of 8, 4, 2 or 1 bytes that count up, or bytes.
func numbers(n int64, size int) []byte {
	p := make([]byte, n*int64(size))
	for i := range n {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(i)*2654435761>>3)
		for k := range size {
			p[i*int64(size)+int64(k)] = b[k%8]
		}
	}
	return p
}

// A drawn array: shapes of every kind, small enough to be compared item by item.
type drawn struct {
	meta  b2nd.Meta
	size  int
	items []byte
	o     b2nd.WriteOptions
}

func drawArray(t *rapid.T) drawn {
	d := rapid.IntRange(0, 5).Draw(t, "axes")
	var x drawn
	x.size = rapid.SampledFrom([]int{1, 2, 3, 4, 8, 12, 16, 300}).Draw(t, "item")
	x.meta.DType = dtype.Opaque(x.size).String()
	n, most := int64(1), int64(2000)
	for i := range d {
		s := rapid.Int64Range(0, min(most/n+1, 40)).Draw(t, fmt.Sprintf("shape%d", i))
		if s == 0 && rapid.IntRange(0, 3).Draw(t, "keep0") > 0 {
			s = 1
		}
		x.meta.Shape = append(x.meta.Shape, s)
		c := rapid.IntRange(1, int(min(max(s, 1)+2, 20))).Draw(t, "chunk")
		b := rapid.IntRange(1, c).Draw(t, "block")
		if s == 0 && rapid.Bool().Draw(t, "chunks of none") { // as python-blosc2 makes them
			c, b = 0, 0
		}
		x.meta.ChunkShape = append(x.meta.ChunkShape, c)
		x.meta.BlockShape = append(x.meta.BlockShape, b)
		n *= max(s, 1)
	}
	n, _ = nd.Prod(x.meta.Shape)
	switch rapid.SampledFrom([]string{"numbers", "zeros", "mixed"}).Draw(t, "content") {
	case "numbers":
		x.items = numbers(n, x.size)
	case "zeros":
		x.items = make([]byte, n*int64(x.size))
	default:
		x.items = make([]byte, n*int64(x.size))
		copy(x.items[len(x.items)/2:], numbers(n, x.size))
	}
	x.o.Encode.Codec = rapid.SampledFrom([]blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.Zlib, blosc.LZ4HC, blosc.Zstd}).Draw(t, "codec")
	x.o.Encode.Level = 1
	x.o.Encode.Filters = rapid.SampledFrom([][]blosc.Filter{nil, {}, {{ID: blosc.BitShuffle}}, {{ID: blosc.Delta}, {ID: blosc.Shuffle}}}).Draw(t, "filters")
	x.o.Parallel = rapid.IntRange(1, 3).Draw(t, "parallel")
	return x
}

func drawBox(t *rapid.T, shape []int64) b2nd.Box {
	box := b2nd.Box{}
	for i, n := range shape {
		step := rapid.SampledFrom([]int64{1, 1, 1, 2, 3, 7, -1, -2, -5}).Draw(t, "step")
		a := rapid.Int64Range(0, n).Draw(t, fmt.Sprintf("from%d", i))
		b := rapid.Int64Range(0, n).Draw(t, fmt.Sprintf("to%d", i))
		if a > b {
			a, b = b, a
		}
		if step < 0 {
			a, b = b-1, a-1
		}
		box.Start, box.Stop, box.Step = append(box.Start, a), append(box.Stop, b), append(box.Step, step)
	}
	box.OutShape = box.Counts()
	return box
}

// TestRoundTrip writes arrays of all kinds by each way there is, reads slices,
// members and slabs of them, and compares with plain cuts of the items.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawArray(rt)
		file := build(rt, x.meta, x.items, x.o)
		var from memory
		x.o.Parallel = 1
		if err := b2nd.WriteFrom(t.Context(), &from, x.meta, source(x.items, x.meta.Shape, x.size), x.o); err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(file, from.Bytes()) {
			rt.Fatal("other bytes from a source than from a stream")
		}
		a := open(rt, file)
		if got := slice(rt, a, b2nd.Whole(x.meta.Shape)); !bytes.Equal(got, x.items) {
			rt.Fatal("other items")
		}
		serial, err := b2nd.Open(rt.Context(), reader(file), b2nd.Options{Parallel: 1})
		if err != nil {
			rt.Fatal(err)
		}
		cached := a.WithCache(rapid.Int64Range(0, 40000).Draw(rt, "cache"))
		for range 4 {
			box := drawBox(rt, x.meta.Shape)
			n, err := a.SizeOf(box)
			if err != nil {
				rt.Fatal(err)
			}
			want := make([]byte, n)
			cutInto(want, x.items, x.meta.Shape, x.size, box)
			if !bytes.Equal(slice(rt, a, box), want) || !bytes.Equal(slice(rt, serial, box), want) ||
				!bytes.Equal(slice(rt, cached, box), want) || !bytes.Equal(slice(rt, cached, box), want) {
				rt.Fatalf("slice %v:%v:%v: other items", box.Start, box.Stop, box.Step)
			}
			var w bytes.Buffer
			memory := 2 * int64(x.size) * rapid.Int64Range(1, 500).Draw(rt, "memory")
			if k, err := a.CopyTo(t.Context(), &w, box, memory); err != nil || k != n || !bytes.Equal(w.Bytes(), want) {
				rt.Fatalf("copy %v:%v:%v in %d bytes: %d, %v", box.Start, box.Stop, box.Step, memory, k, err)
			}
		}
	})
}

func TestField(t *testing.T) {
	const text = "[('a', '<i4'), ('b', '>f8', (2,)), ('c', 'S3')]"
	m := b2nd.Meta{Shape: []int64{11, 9}, ChunkShape: []int{4, 5}, BlockShape: []int{2, 2}, DType: text}
	items := numbers(99, 23)
	a := open(t, build(t, m, items, b2nd.WriteOptions{}))
	s, err := b2nd.ParseSlice("1::3, ::-2")
	if err != nil {
		t.Fatal(err)
	}
	box, err := s.Resolve(a.Shape())
	if err != nil {
		t.Fatal(err)
	}
	all := slice(t, a, box)
	for _, name := range []string{"a", "b", "c"} {
		f, err := a.Field(name)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for k := 0; k < len(all); k += 23 {
			want = append(want, all[k+f.Off:][:f.Size()]...)
		}
		got := make([]byte, len(want))
		if err := a.ReadField(t.Context(), got, box, f); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes, %v", name, err)
		}
	}
	if _, err := a.Field("d"); !errors.Is(err, formats.ErrNoEntry) {
		t.Error(err)
	}
}

func TestTyped(t *testing.T) {
	big := make([]byte, 0, 8*12)
	for i := range 12 {
		big = binary.BigEndian.AppendUint64(big, uint64(i*1000))
	}
	a := open(t, build(t, b2nd.Meta{Shape: []int64{3, 4}, ChunkShape: []int{2, 2}, BlockShape: []int{2, 1}, DType: ">i8"}, big, b2nd.WriteOptions{}))
	got, err := b2nd.Values[int64](t.Context(), a, b2nd.Sub([]int64{1, 1}, []int64{3, 3}))
	if err != nil || !slices.Equal(got, []int64{5000, 6000, 9000, 10000}) {
		t.Error(got, err)
	}
	if _, err := b2nd.Values[uint64](t.Context(), a, b2nd.Whole(a.Shape())); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := b2nd.Values[int32](t.Context(), a, b2nd.Whole(a.Shape())); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
	bools := open(t, build(t, b2nd.Meta{Shape: []int64{4}, DType: "|b1"}, []byte{0, 1, 7, 0}, b2nd.WriteOptions{}))
	if got, err := b2nd.Values[bool](t.Context(), bools, b2nd.Whole(bools.Shape())); err != nil || !slices.Equal(got, []bool{false, true, true, false}) {
		t.Error(got, err)
	}
	for size, text := range map[int]string{2: ">u2", 4: ">f4", 16: ">c16"} {
		p := numbers(6, size)
		a := open(t, build(t, b2nd.Meta{Shape: []int64{6}, DType: text}, p, b2nd.WriteOptions{}))
		var got, want []byte
		switch size {
		case 2:
			got = bigEndian(t, a, []uint16(nil))
		case 4:
			got = bigEndian(t, a, []float32(nil))
		default:
			got = bigEndian(t, a, []complex128(nil))
		}
		if want = p; !bytes.Equal(got, want) {
			t.Errorf("%s: % x, want % x", text, got, want)
		}
	}
	limited, err := b2nd.Open(t.Context(), reader(load(t, "make_huge_zeros.b2nd")), b2nd.Options{Limits: formats.Limits{MaxDecoded: 5 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b2nd.Values[uint8](t.Context(), limited, b2nd.Whole(limited.Shape())); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
}

// TestWriteValues: every type of numbers comes back, of any shape; a wrong number of
// values is refused before anything is written.
func TestWriteValues(t *testing.T) {
	writeRead(t, []int64{2, 3}, []float32{1, -2, 3, 4, 5, 6.5})
	writeRead(t, []int64{3}, []bool{true, false, true})
	writeRead(t, []int64{1, 2}, []complex128{1 + 2i, -3})
	writeRead(t, []int64{2}, []int8{-1, 2})
	writeRead(t, nil, []uint16{65535})
	writeRead(t, []int64{4, 0}, []int64{})
	for _, shape := range [][]int64{{2}, {-1}, {4}, nil, {1 << 40, 1 << 40}} {
		out := &memory{}
		if err := b2nd.WriteValues(out, shape, []int64{1, 2, 3}, b2nd.WriteOptions{}); !errors.Is(err, cframe.ErrRefused) || out.Len() > 0 {
			t.Errorf("%v: %v, %d bytes", shape, err, out.Len())
		}
	}
}

func writeRead[T b2nd.Number](t *testing.T, shape []int64, values []T) {
	t.Helper()
	out := &memory{}
	if err := b2nd.WriteValues(out, shape, values, b2nd.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	a := open(t, out.Bytes())
	got, err := b2nd.Values[T](t.Context(), a, b2nd.Whole(shape))
	if err != nil || !slices.Equal(got, values) || a.Meta().DType != b2nd.TypeOf[T]() {
		t.Errorf("%v of %s, %v, want %v", got, a.DType(), err, values)
	}
}

// bigEndian reads an array as numbers and writes them down, most significant
// byte first.
func bigEndian[T b2nd.Number](t *testing.T, a *b2nd.Array, _ []T) []byte {
	t.Helper()
	got, err := b2nd.Values[T](t.Context(), a, b2nd.Whole(a.Shape()))
	if err != nil {
		t.Fatal(err)
	}
	p, err := binary.Append(nil, binary.BigEndian, got)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBounds: whatever box a caller makes, nothing is read outside of the array.
func TestBounds(t *testing.T) {
	a := open(t, build(t, b2nd.Meta{Shape: []int64{5, 5}, DType: "|u1"}, numbers(25, 1), b2nd.WriteOptions{}))
	for _, box := range []b2nd.Box{
		b2nd.Sub([]int64{0}, []int64{5}),
		b2nd.Sub([]int64{0, 3}, []int64{5, 6}),
		b2nd.Sub([]int64{-1, 0}, []int64{5, 5}),
		{Start: []int64{4, 4}, Stop: []int64{-7, 0}, Step: []int64{-1, -1}},
		{Start: []int64{0, 0}, Stop: []int64{5, 5}, Step: []int64{1, 0}},
	} {
		if _, err := a.SizeOf(box); err == nil {
			t.Errorf("%v:%v:%v is inside %v", box.Start, box.Stop, box.Step, a.Shape())
		}
		if err := a.ReadSlice(t.Context(), make([]byte, 25), box); err == nil {
			t.Errorf("%v:%v:%v was read", box.Start, box.Stop, box.Step)
		}
	}
	for _, n := range []int{0, 24, 26} {
		if err := a.ReadSlice(t.Context(), make([]byte, n), b2nd.Whole(a.Shape())); err == nil {
			t.Errorf("25 items in %d bytes", n)
		}
	}
}

func TestStreams(t *testing.T) {
	m := b2nd.Meta{Shape: []int64{7, 6, 5}, ChunkShape: []int{3, 2, 4}, BlockShape: []int{2, 2, 3}, DType: "<u2"}
	items := numbers(210, 2)
	want := build(t, m, items, b2nd.WriteOptions{})
	t.Run("pieces", func(t *testing.T) {
		for seed := range uint64(5) {
			var out memory
			w, err := b2nd.NewWriter(&out, m, b2nd.WriteOptions{Parallel: int(seed)})
			if err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(seed, 1))
			for p := items; len(p) > 0; {
				n := min(1+rnd.IntN(90), len(p))
				if k, err := w.Write(p[:n]); k != n || err != nil {
					t.Fatal(k, err)
				}
				p = p[n:]
			}
			if err := w.Close(); err != nil || !bytes.Equal(out.Bytes(), want) {
				t.Errorf("other bytes, %v", err)
			}
		}
	})
	t.Run("reader", func(t *testing.T) {
		for extra := -1; extra <= 1; extra++ {
			var out memory
			w, err := b2nd.NewWriter(&out, m, b2nd.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			// Without bytes.Reader's WriteTo, which would call Write.
			_, err = io.Copy(w, struct{ io.Reader }{bytes.NewReader(append(slices.Clone(items), 1)[:len(items)+extra])})
			if extra <= 0 && err != nil {
				t.Fatal(err)
			}
			if err == nil {
				err = w.Close()
			}
			switch {
			case extra < 0 && !errors.Is(err, io.ErrUnexpectedEOF), extra > 0 && !errors.Is(err, cframe.ErrRefused), extra == 0 && err != nil:
				t.Errorf("%d bytes more: %v", extra, err)
			}
			w.Abort()
			if _, err := w.Write([]byte{1}); err == nil {
				t.Error("written after the end")
			}
		}
	})
	t.Run("reader fails", func(t *testing.T) {
		w, err := b2nd.NewWriter(&memory{}, m, b2nd.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		bad := errors.New("no more")
		if n, err := w.ReadFrom(io.MultiReader(bytes.NewReader(items[:100]), iotest.ErrReader(bad))); n != 100 || !errors.Is(err, bad) {
			t.Error(n, err)
		}
	})
	t.Run("metalayers", func(t *testing.T) {
		o := b2nd.WriteOptions{Metalayers: []cframe.Metalayer{{Name: "x", Data: []byte{1}}}, VLMetalayers: []cframe.Metalayer{{Name: "y", Data: []byte{0xc0}}}}
		f := open(t, build(t, m, items, o)).Frame()
		vl, err := f.VLMetalayers(t.Context())
		if ls := f.Metalayers(); len(ls) != 2 || ls[0].Name != "b2nd" || ls[1].Name != "x" || err != nil || len(vl) != 1 || vl[0].Name != "y" {
			t.Error(ls, vl, err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		for name, c := range map[string]struct {
			m    b2nd.Meta
			o    b2nd.WriteOptions
			want error
		}{
			"band":    {b2nd.Meta{Shape: []int64{1000, 1000, 1000}, ChunkShape: []int{100, 100, 100}, BlockShape: []int{10, 100, 100}, DType: "<f4"}, b2nd.WriteOptions{}, formats.ErrTooLarge},
			"chunk":   {b2nd.Meta{Shape: []int64{1 << 30}, ChunkShape: []int{1 << 29}, BlockShape: []int{1 << 16}, DType: "|u1"}, b2nd.WriteOptions{}, formats.ErrTooLarge},
			"overrun": {b2nd.Meta{Shape: []int64{1 << 40, 1 << 40}, ChunkShape: []int{1, 1}, BlockShape: []int{1, 1}, DType: "|u1"}, b2nd.WriteOptions{}, cframe.ErrRefused},
			"zero":    {b2nd.Meta{Shape: []int64{5}, ChunkShape: []int{0}, BlockShape: []int{0}, DType: "|u1"}, b2nd.WriteOptions{}, cframe.ErrRefused},
			"axes":    {b2nd.Meta{Shape: make([]int64, 17), ChunkShape: make([]int, 17), BlockShape: make([]int, 17), DType: "|u1"}, b2nd.WriteOptions{}, cframe.ErrRefused},
		} {
			var out memory
			if _, err := b2nd.NewWriter(&out, c.m, c.o); !errors.Is(err, c.want) || out.Len() > 0 {
				t.Errorf("%s: %v after %d bytes", name, err, out.Len())
			}
		}
		for _, m := range []b2nd.Meta{{Shape: []int64{1}}, {Shape: []int64{1}, DType: "nonsense"}} {
			if _, err := b2nd.NewWriter(&memory{}, m, b2nd.WriteOptions{}); err == nil {
				t.Errorf("%q was taken", m.DType)
			}
		}
	})
	t.Run("source fails", func(t *testing.T) {
		bad := errors.New("no more")
		n := 0
		err := b2nd.WriteFrom(t.Context(), &memory{}, m, func(context.Context, b2nd.Box, []byte) error {
			if n++; n > 3 {
				return bad
			}
			return nil
		}, b2nd.WriteOptions{Parallel: 1})
		if !errors.Is(err, bad) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b2nd.WriteFrom(ctx, &memory{}, m, source(items, m.Shape, 2), b2nd.WriteOptions{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

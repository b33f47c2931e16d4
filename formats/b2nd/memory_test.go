package b2nd_test

import (
	"context"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
)

// A scale is an Output that drops what it is given and notes what the heap holds,
// garbage not counted.
type scale struct {
	n, next int64
	most    uint64
}

func (s *scale) look() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.most = max(s.most, m.HeapAlloc)
}

func (s *scale) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	if s.n >= s.next {
		s.look()
		s.next = s.n + 2<<20
	}
	return len(p), nil
}

func (s *scale) Patch(int64, []byte) error { return nil }

// TestWriterMemory writes 64 MiB in 14 MiB, from a stream and from a source.
func TestWriterMemory(t *testing.T) {
	const limit = 14 << 20
	shape := []int64{16, 1024, 1024}
	piece := numbers(1<<18, 4)
	for name, m := range map[string]b2nd.Meta{
		"default shapes": {Shape: shape, DType: "<u4"},
		"bands":          {Shape: shape, DType: "<u4", ChunkShape: []int{1, 64, 256}, BlockShape: []int{1, 64, 64}},
		"cubes":          {Shape: shape, DType: "<u4", ChunkShape: []int{8, 32, 64}, BlockShape: []int{8, 32, 32}},
	} {
		o := b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}, MaxMemory: limit, Parallel: 4}
		measure := func(how string, f func(s *scale) error) {
			s := &scale{}
			s.look()
			before := s.most
			s.most = 0
			if err := f(s); err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
			}
			held := int64(s.most) - int64(before)
			t.Logf("%s, %s: %d MiB held, %d MiB written", name, how, held>>20, s.n>>20)
			if held > limit+1<<20 {
				t.Errorf("%s, %s: %d bytes held", name, how, held)
			}
		}
		if name != "cubes" { // whose rows of chunks are 32 MiB: refused, see TestStreams
			measure("stream", func(s *scale) error {
				w, err := b2nd.NewWriter(s, m, o)
				if err != nil {
					return err
				}
				for range 64 {
					if _, err := w.Write(piece); err != nil {
						return err
					}
				}
				return w.Close()
			})
		}
		measure("source", func(s *scale) error {
			return b2nd.WriteFrom(t.Context(), s, m, func(_ context.Context, _ b2nd.Box, dst []byte) error {
				for p := dst; len(p) > 0; {
					p = p[copy(p, piece):]
				}
				return nil
			}, o)
		})
	}
}

// TestCopyMemory copies a large array in little memory.
func TestCopyMemory(t *testing.T) {
	a := open(t, build(t, b2nd.Meta{Shape: []int64{64, 512, 256}, ChunkShape: []int{16, 512, 16}, BlockShape: []int{1, 64, 16}, DType: "<u4"}, numbers(64*512*256, 4),
		b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}}))
	s := &scale{}
	s.look()
	before := s.most
	const memory = 8 << 20
	n, err := a.CopyTo(t.Context(), s, b2nd.Whole(a.Shape()), memory)
	held := int64(s.most) - int64(before)
	t.Logf("%d MiB held", held>>20)
	if err != nil || n != 32<<20 || s.n != n || held > 4*memory {
		t.Errorf("%d bytes, %d held, %v", n, held, err)
	}
}

// TestCopySlabs: of a local array a slab is a row of chunks, or 4 MiB if that is more, but no
// more than half the memory.
func TestCopySlabs(t *testing.T) {
	t.Parallel()
	zeros := func(shape []int64, chunk []int) *b2nd.Array {
		n := int64(4)
		for _, k := range shape {
			n *= k
		}
		return open(t, build(t, b2nd.Meta{Shape: shape, ChunkShape: chunk, DType: "<u4"}, make([]byte, n), b2nd.WriteOptions{}))
	}
	high, low := zeros([]int64{40, 256, 512}, []int{12, 256, 512}), zeros([]int64{40, 256, 512}, []int{1, 128, 512})
	plane := int64(512 << 10)
	for _, c := range []struct {
		a      *b2nd.Array
		slice  string
		memory int64
		want   []int64 // planes of each slab
	}{
		{high, "...", 0, []int64{12, 12, 12, 4}},
		{high, "5:", 0, []int64{7, 12, 12, 4}},
		{high, "::3", 0, []int64{8, 6}}, // four of a row of chunks are 2 MiB: 4 MiB end with the second row
		{high, "...", 14 << 20, []int64{12, 12, 12, 4}},
		{high, "2", 0, []int64{1}},
		{low, "...", 0, []int64{8, 8, 8, 8, 8}},
		{low, "...", 4 << 20, slices.Repeat([]int64{4}, 10)},
	} {
		s, err := b2nd.ParseSlice(c.slice)
		if err != nil {
			t.Fatal(err)
		}
		box, err := s.Resolve(c.a.Shape())
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		n, err := c.a.CopyTo(t.Context(), writes(func(p []byte) { got = append(got, int64(len(p))/plane) }), box, c.memory)
		if want, _ := c.a.SizeOf(box); err != nil || n != want || !slices.Equal(got, c.want) {
			t.Errorf("%s in %d bytes: slabs of %v planes, want %v: %v", c.slice, c.memory, got, c.want, err)
		}
	}
}

// writes are told of each write.
type writes func(p []byte)

func (w writes) Write(p []byte) (int, error) { w(p); return len(p), nil }

func BenchmarkSlice(b *testing.B) {
	shape := []int64{256, 512, 512}
	a := open(b, build(b, b2nd.Meta{Shape: shape, DType: "<u4"}, numbers(256*512*512, 4), b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4}}))
	for _, x := range []struct {
		name string
		box  b2nd.Box
	}{
		{"10x10x10", b2nd.Sub([]int64{100, 100, 100}, []int64{110, 110, 110})},
		{"plane", b2nd.Sub([]int64{100, 0, 0}, []int64{101, 512, 512})},
		{"column", b2nd.Sub([]int64{0, 100, 100}, []int64{256, 101, 101})},
		{"whole", b2nd.Whole(shape)},
	} {
		b.Run(x.name, func(b *testing.B) {
			n, err := a.SizeOf(x.box)
			if err != nil {
				b.Fatal(err)
			}
			p := make([]byte, n)
			b.SetBytes(n)
			b.ReportAllocs()
			for b.Loop() {
				if err := a.ReadSlice(b.Context(), p, x.box); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCached reads a slice whose blocks are all kept, and planes of which
// the cache holds a few.
func BenchmarkCached(b *testing.B) {
	shape := []int64{256, 128, 128}
	a := open(b, build(b, b2nd.Meta{Shape: shape, DType: "<u4"}, numbers(256*128*128, 4), b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4}}))
	for _, x := range []struct {
		name string
		size int64
		step int64 // from one slice to the next
	}{{"hit", 16 << 20, 0}, {"evict", 1 << 20, 37}} {
		b.Run(x.name, func(b *testing.B) {
			a := a.WithCache(x.size)
			p := make([]byte, 10*10*10*4)
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				k := i * x.step % 240
				if err := a.ReadSlice(b.Context(), p, b2nd.Sub([]int64{k, 100, 100}, []int64{k + 10, 110, 110})); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	piece := numbers(1<<24, 4)
	for _, c := range []blosc.Codec{blosc.LZ4, blosc.Zstd} {
		b.Run(c.String(), func(b *testing.B) {
			b.SetBytes(int64(len(piece)))
			for b.Loop() {
				w, err := b2nd.NewWriter(&scale{}, b2nd.Meta{Shape: []int64{1 << 12, 1 << 12}, DType: "<u4"}, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: c, Level: 1}})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := w.Write(piece); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

var _ io.Writer = (*scale)(nil)

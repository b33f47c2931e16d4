package b2nd_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// A shared is an object made of pieces, which may be the same memory many times:
// a large array in little memory.
type shared struct {
	pieces [][]byte
	offs   []int64
	size   int64
	keep   map[*byte]bool // pieces that do not change
}

func (o *shared) Write(p []byte) (int, error) {
	if !o.keep[&p[0]] {
		p = bytes.Clone(p)
	}
	o.pieces, o.offs = append(o.pieces, p), append(o.offs, o.size)
	o.size += int64(len(p))
	return len(p), nil
}

func (o *shared) Patch(off int64, p []byte) error {
	if off != 0 || len(p) > len(o.pieces[0]) {
		return fmt.Errorf("patch of [%d, +%d)", off, len(p))
	}
	copy(o.pieces[0], p) // the header, written first
	return nil
}

func (o *shared) ReadAt(p []byte, off int64) (n int, err error) {
	k, ok := slices.BinarySearchFunc(o.offs, off, cmp.Compare[int64])
	if !ok {
		k--
	}
	for ; n < len(p) && k < len(o.pieces); k++ {
		c := copy(p[n:], o.pieces[k][off-o.offs[k]:])
		n, off = n+c, off+int64(c)
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// A bucket holds one such object under every key.
type bucket struct {
	*memstore.Bucket
	o *shared
}

func (b bucket) Get(_ context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	from, to := o.Range.Resolve(b.o.size)
	return io.NopCloser(io.NewSectionReader(b.o, from, to-from)), objstore.Info{Key: key, Size: b.o.size, ETag: `"1"`}, nil
}

// A far is a large array, with items that a function of their
// index tells.
type far struct {
	object *shared
	item   func(index []int64, p []byte)
	shape  []int64
}

// noise is a table of random numbers of some bits.
func noise(n, bits int) []uint32 {
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	out := make([]uint32, n)
	for i := range out {
		out[i] = rnd.Uint32() >> (32 - bits)
	}
	return out
}

// square is array a or b: 4096 x 4096 items of 4 bytes, all chunks different.
func square(t tester, chunk, block []int, ix cframe.IndexChoice) far {
	t.Helper()
	table := noise(1<<16, 24)
	f := far{object: &shared{}, shape: []int64{4096, 4096}}
	value := func(y, x int64) uint32 { return table[(y*4096+x+y*97)&0xffff] + uint32(y/64) }
	f.item = func(i []int64, p []byte) { binary.LittleEndian.PutUint32(p, value(i[0], i[1])) }
	m := b2nd.Meta{Shape: f.shape, ChunkShape: chunk, BlockShape: block, DType: "<u4"}
	o := b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}, Index: ix}
	err := b2nd.WriteFrom(t.Context(), f.object, m, func(_ context.Context, box b2nd.Box, dst []byte) error {
		k := 0
		for y := box.Start[0]; y < box.Stop[0]; y++ {
			for x := box.Start[1]; x < box.Stop[1]; x++ {
				binary.LittleEndian.PutUint32(dst[k:], value(y, x))
				k += 4
			}
		}
		return nil
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// cube is array c: 1000 x 512 x 512 items of 2 bytes in 4000 chunks, of which 32
// are different.
func cube(t tester, ix cframe.IndexChoice) far {
	t.Helper()
	const variants, side = 32, 256
	table := noise(1<<16, 13)
	value := func(v, y, x int64) uint16 {
		n := uint16(table[(y*side+x+v*4099)&0xffff])
		if y%2 == 0 { // half of the high bytes are alike, as in the design's 399 MB
			n &= 0xff
		}
		return n + uint16(v)<<8
	}
	f := far{object: &shared{keep: map[*byte]bool{}}, shape: []int64{1000, 512, 512}}
	variant := func(z, y, x int64) int64 { return (z*4 + y/side*2 + x/side) % 31 }
	f.item = func(i []int64, p []byte) {
		binary.LittleEndian.PutUint16(p, value(variant(i[0], i[1], i[2]), i[1]%side, i[2]%side))
	}
	enc := blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1, TypeSize: 2, BlockSize: 64 * 64 * 2}
	var chunks [variants][]byte
	for v := range chunks {
		var raw bytes.Buffer
		for b := range int64(16) { // blocks of 64 x 64, four a side
			for k := range int64(64 * 64) {
				_ = binary.Write(&raw, binary.LittleEndian, value(int64(v), b/4*64+k/64, b%4*64+k%64))
			}
		}
		c, err := blosc.AppendEncoded(nil, raw.Bytes(), enc)
		if err != nil {
			t.Fatal(err)
		}
		chunks[v] = c
		f.object.keep[&c[0]] = true
	}
	layer, err := b2nd.AppendMeta(nil, b2nd.Meta{Shape: f.shape, ChunkShape: []int{1, side, side}, BlockShape: []int{1, 64, 64}, DType: "<u2"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := cframe.NewWriter(f.object, cframe.WriteOptions{TypeSize: 2, ChunkSize: side * side * 2, BlockSize: 64 * 64 * 2, Encode: enc, Index: ix,
		Metalayers: []cframe.Metalayer{{Name: "b2nd", Data: layer}}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(4000) {
		if err := w.WriteEncoded(chunks[variant(n/4, n/2%2*side, n%2*side)]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

// check compares items with what they should be.
func (f *far) check(t *testing.T, box b2nd.Box, p []byte, size int) {
	t.Helper()
	counts, want := box.Counts(), make([]byte, size)
	at := make([]int64, len(counts))
	for k := range len(p) / size {
		rest := int64(k)
		for i := len(counts) - 1; i >= 0; i-- {
			at[i] = box.Start[i] + rest%counts[i]*box.Step[i]
			rest /= counts[i]
		}
		if f.item(at, want); !bytes.Equal(p[k*size:][:size], want) {
			t.Fatalf("item %v is %x, want %x", at, p[k*size:][:size], want)
		}
	}
}

// TestFarAway holds slices without an index and with one inside against fixed bounds, at
// 30 ms to the first byte and 80 MB/s a connection.
func TestFarAway(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 600 MB of arrays")
	}
	a, b, c := square(t, []int{512, 512}, []int{64, 64}, cframe.NoIndex), square(t, []int{512, 4096}, []int{8, 4096}, cframe.NoIndex), cube(t, cframe.NoIndex)
	ai, bi, ci := square(t, []int{512, 512}, []int{64, 64}, cframe.CheapIndex), square(t, []int{512, 4096}, []int{8, 4096}, cframe.CheapIndex), cube(t, cframe.CheapIndex)
	t.Logf("a %d, b %d, c %d bytes; with an index %d, %d, %d more", a.object.size, b.object.size, c.object.size,
		ai.object.size-a.object.size, bi.object.size-b.object.size, ci.object.size-c.object.size)
	fast := objstore.OpenOptions{Tail: 64 << 10}
	lean := objstore.OpenOptions{Head: 8 << 10, Tail: 16 << 10, Policy: rangeio.Lean()}
	chunk := a.object.size / 64
	for _, x := range []struct {
		name             string
		far              *far
		open             objstore.OpenOptions
		slice            string
		requests, phases int64
		bytes            int64
		most             time.Duration
	}{
		{"A1: a point of a, fast", &a, fast, "2000, 2000", 3, 2, chunk + 140_000, 75 * time.Millisecond},
		{"A2: a point of a, lean", &a, lean, "2000, 2000", 4, 3, 100_000, 105 * time.Millisecond},
		{"A4: a point of b, fast", &b, fast, "2000, 2000", 4, 3, 300_000, 105 * time.Millisecond},
		{"A5: 600x600 of a, fast", &a, fast, "0:600, 0:600", 6, 2, 4*chunk*105/100 + 130_000, 85 * time.Millisecond},
		{"A6: a column of c, fast", &c, fast, ":, 100, 100", 2002, 3, 8_000_000, 1300 * time.Millisecond},
		{"A6: a column of c, lean", &c, lean, ":, 100, 100", 2002, 3, 8_000_000, 1300 * time.Millisecond},
		{"A3: a point of a, fast, index", &ai, fast, "2000, 2000", 3, 2, 160_000, 75 * time.Millisecond},
		{"A3: a point of a, lean, index", &ai, lean, "2000, 2000", 3, 2, 64_000, 75 * time.Millisecond},
		{"A4: a point of b, fast, index", &bi, fast, "2000, 2000", 3, 2, 300_000, 75 * time.Millisecond},
		{"A5: 600x600 of a, fast, index", &ai, fast, "0:600, 0:600", 6, 2, 4*chunk*105/100 + 130_000, 85 * time.Millisecond},
		{"A6: a column of c, fast, index", &ci, fast, ":, 100, 100", 1010, 3, 7_000_000, 650 * time.Millisecond},
		{"A6: a column of c, lean, index", &ci, lean, ":, 100, 100", 1010, 3, 7_000_000, 650 * time.Millisecond},
		{"steps of c, fast, index", &ci, fast, "::-300, 10, ::200", 20, 3, 1_000_000, 105 * time.Millisecond},
		{"steps of c, fast", &c, fast, "::-300, 10, ::200", 30, 3, 3_000_000, 105 * time.Millisecond},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var count objstore.Counter
				bk := objstore.Chain(bucket{memstore.New(memstore.Config{}), x.far.object},
					simstore.Latency(30*time.Millisecond), simstore.Bandwidth(80_000_000), objstore.Count(&count))
				x.open.Counter = &count
				start := time.Now()
				obj, err := objstore.Open(t.Context(), bk, "x", x.open)
				if err != nil {
					t.Fatal(err)
				}
				arr, err := b2nd.Open(t.Context(), obj, b2nd.Options{Tail: x.open.Tail})
				if err != nil {
					t.Fatal(err)
				}
				arr = arr.WithCache(16 << 20)
				s, err := b2nd.ParseSlice(x.slice)
				if err != nil {
					t.Fatal(err)
				}
				box, err := s.Resolve(arr.Shape())
				if err != nil {
					t.Fatal(err)
				}
				p := slice(t, arr, box)
				took, st := time.Since(start), count.Stats()
				x.far.check(t, box, p, arr.ItemSize())
				t.Logf("%v, %d requests, %d phases, %d bytes", took, st.Requests, st.Phases, st.Bytes)
				if st.Requests > x.requests || st.Phases > x.phases || st.Bytes > x.bytes || took > x.most {
					t.Errorf("want at most %v, %d requests, %d phases, %d bytes", x.most, x.requests, x.phases, x.bytes)
				}
				// The same again.
				start = time.Now()
				again := slice(t, arr, box)
				if s := count.Stats(); s.Requests > st.Requests || time.Since(start) > 0 || !bytes.Equal(again, p) {
					t.Errorf("again: %d requests more", s.Requests-st.Requests)
				}
			})
		})
	}
	t.Run("A11: memory of a column of c", func(t *testing.T) { columnMemory(t, &c) })
}

// columnMemory: what a column of a thousand chunks holds at a time, by a reader
// that looks at each read.
func columnMemory(t *testing.T, c *far) {
	t.Helper()
	r := &watching{Reader: rangeio.FromReaderAt(c.object, c.object.size)}
	a, err := b2nd.Open(t.Context(), r, b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.heap = heaptest.Start()
	p := slice(t, a, b2nd.Sub([]int64{0, 100, 100}, []int64{1000, 101, 101}))
	held := r.heap.Live() - int64(len(p))
	t.Logf("%d KiB held at most", held>>10)
	if held > 64<<20 {
		t.Errorf("%d bytes held", held)
	}
}

// A watching reader notes the heap with every read.
type watching struct {
	rangeio.Reader
	heap *heaptest.Meter // nil: not yet
}

func (w *watching) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	w.look()
	return w.Reader.ReadRanges(ctx, spans)
}

func (w *watching) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	var n atomic.Int64
	return w.Reader.ReadEach(ctx, spans, func(i int) error {
		if n.Add(1)%100 == 1 {
			w.look()
		}
		return done(i)
	})
}

func (w *watching) look() {
	if w.heap != nil {
		w.heap.Look()
	}
}

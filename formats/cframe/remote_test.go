package cframe_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// A repeated is a large object in little memory: pieces that are equal to the
// one before share its bytes.
type repeated struct {
	pieces [][]byte
	offs   []int64
	size   int64
}

func (o *repeated) Write(p []byte) (int, error) {
	q := p
	if k := len(o.pieces); k > 0 && bytes.Equal(o.pieces[k-1], p) {
		q = o.pieces[k-1]
	} else {
		q = bytes.Clone(q)
	}
	o.pieces, o.offs = append(o.pieces, q), append(o.offs, o.size)
	o.size += int64(len(p))
	return len(p), nil
}

func (o *repeated) Patch(off int64, p []byte) error {
	for len(p) > 0 {
		k := o.find(off)
		q := bytes.Clone(o.pieces[k])
		n := copy(q[off-o.offs[k]:], p)
		o.pieces[k] = q
		p, off = p[n:], off+int64(n)
	}
	return nil
}

func (o *repeated) find(off int64) int {
	k, ok := slices.BinarySearchFunc(o.offs, off, cmp.Compare[int64])
	if !ok {
		k--
	}
	return k
}

func (o *repeated) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && off < o.size {
		k := o.find(off)
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
	o *repeated
}

func (b bucket) Get(_ context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	from, to := o.Range.Resolve(b.o.size)
	return io.NopCloser(io.NewSectionReader(b.o, from, to-from)), objstore.Info{Key: key, Size: b.o.size, ETag: `"1"`}, nil
}

// A far is a large array, all of whose chunks are equal.
type far struct {
	object *repeated
	chunk  []byte // decoded
	block  int
	stored int64 // encoded bytes of a chunk
}

// newFar makes n chunks of items of 4 or 2 bytes of which only some bits are
// noise.
func newFar(tb testing.TB, n, chunkLen, blockLen, item, bits int) far {
	tb.Helper()
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	f := far{object: &repeated{}, chunk: make([]byte, chunkLen), block: blockLen}
	for i := 0; i < chunkLen; i += item {
		if item == 4 {
			binary.LittleEndian.PutUint32(f.chunk[i:], rnd.Uint32()>>(32-bits))
		} else {
			// Half of the high bytes are zeros, so that LZ4 finds them. (Zstd keeps
			// channels, which no two bubbles of synctest may share.)
			shift := 32 - bits + bits/2*(i/4096%2)
			binary.LittleEndian.PutUint16(f.chunk[i:], uint16(rnd.Uint32()>>shift))
		}
	}
	enc := blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1, TypeSize: item, BlockSize: blockLen}
	chunk, err := blosc.AppendEncoded(nil, f.chunk, enc)
	if err != nil {
		tb.Fatal(err)
	}
	f.stored = int64(len(chunk))
	w, err := cframe.NewWriter(f.object, cframe.WriteOptions{TypeSize: item, ChunkSize: chunkLen, BlockSize: blockLen, Encode: enc})
	if err != nil {
		tb.Fatal(err)
	}
	for range n {
		if err := w.WriteEncoded(chunk); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f
}

// read reads wants and checks every block, and that each comes once.
func (f *far) read(ctx context.Context, t *testing.T, fr *cframe.Frame, wants []cframe.Want) {
	t.Helper()
	var mu sync.Mutex
	seen := map[[2]int]int{}
	err := fr.EachConcurrent(ctx, wants, func(want, block int, p []byte) error {
		mu.Lock()
		seen[[2]int{want, block}]++
		mu.Unlock()
		if !bytes.Equal(p, f.chunk[block*f.block:min((block+1)*f.block, len(f.chunk))]) {
			t.Errorf("want %d block %d: wrong bytes", want, block)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	count := 0
	for i, w := range wants {
		blocks := w.Blocks
		if blocks == nil {
			blocks = upTo(0, len(f.chunk)/f.block)
		}
		for _, b := range blocks {
			if seen[[2]int{i, b}] != 1 {
				t.Errorf("want %d block %d came %d times", i, b, seen[[2]int{i, b}])
			}
			count++
		}
	}
	if len(seen) != count {
		t.Errorf("%d blocks, want %d", len(seen), count)
	}
}

func upTo(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// grid lists the blocks of rows x cols blocks in a chunk of 8 x 8.
func grid(rows, cols int) (out []int) {
	for r := range rows {
		for c := range cols {
			out = append(out, r*8+c)
		}
	}
	return out
}

const rtt = 30 * time.Millisecond

// leanOpen are the options of who wants few bytes: 8 KiB hold any usual header,
// and 16 KiB the offsets of thousands of chunks.
var leanOpen = objstore.OpenOptions{Head: 8 << 10, Tail: 16 << 10, Policy: rangeio.Lean()}

// TestFarAway holds reading without an index against fixed bounds:
// a link of 30 ms to the first byte, and 80 MB/s a connection.
func TestFarAway(t *testing.T) {
	a := newFar(t, 64, 512*512*4, 64*64*4, 4, 24)
	b := newFar(t, 8, 512*4096*4, 8*4096*4, 4, 24)
	c := newFar(t, 4000, 256*256*2, 64*64*2, 2, 16)
	t.Logf("chunks of %d, %d, %d bytes", a.stored, b.stored, c.stored)
	square := []cframe.Want{{Chunk: 0}, {Chunk: 1, Blocks: grid(8, 2)}, {Chunk: 8, Blocks: grid(2, 8)}, {Chunk: 9, Blocks: grid(2, 2)}}
	column := make([]cframe.Want, 1000)
	for i := range column {
		column[i] = cframe.Want{Chunk: 4 * i, Blocks: []int{5}}
	}
	fast := objstore.OpenOptions{Tail: 64 << 10}
	few := objstore.OpenOptions{Tail: 64 << 10, Policy: rangeio.Few()}
	for _, tc := range []struct {
		name     string
		far      *far
		open     objstore.OpenOptions
		wants    []cframe.Want
		requests int64
		phases   int64
		bytes    int64
		most     time.Duration
	}{
		{"A1: a point of a, fast", &a, fast, []cframe.Want{{Chunk: 27, Blocks: []int{13}}}, 3, 2, a.stored + 128<<10, 75 * time.Millisecond},
		{"A2: a point of a, lean", &a, leanOpen, []cframe.Want{{Chunk: 27, Blocks: []int{13}}}, 4, 3, 100_000, 105 * time.Millisecond},
		{"A4: a point of b, fast", &b, fast, []cframe.Want{{Chunk: 3, Blocks: []int{40}}}, 4, 3, 300_000, 105 * time.Millisecond},
		{"A5: 600 x 600 of a, fast", &a, fast, square, 6, 2, 4*a.stored*105/100 + 128<<10, 85 * time.Millisecond},
		{"A6: a column of c, fast", &c, fast, column, 2002, 3, 8_000_000, 1300 * time.Millisecond},
		{"A6: a column of c, lean", &c, leanOpen, column, 2002, 3, 8_000_000, 1300 * time.Millisecond},
		{"a point of a, few", &a, few, []cframe.Want{{Chunk: 27, Blocks: []int{13}}}, 3, 2, a.stored + 128<<10, 75 * time.Millisecond},
		{"half of a, fast", &a, fast, []cframe.Want{{Chunk: 3}, {Chunk: 4}, {Chunk: 5, Blocks: upTo(0, 32)}, {Chunk: 60, Blocks: []int{0, 63}}}, 7, 2, 5 * a.stored, 85 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				explained, planning := tc.far.explain(t, tc.open, tc.wants)
				var count objstore.Counter
				start := time.Now()
				fr := tc.far.open(t, tc.open, &count)
				if s := count.Stats(); s.Requests > 2 || s.Phases != 1 {
					t.Errorf("open: %+v, want 2 requests in 1 phase", s)
				}
				tc.far.read(t.Context(), t, fr, tc.wants)
				took, s := time.Since(start), count.Stats()
				t.Logf("%v, %d requests, %d phases, %d bytes", took, s.Requests, s.Phases, s.Bytes)
				if s.Requests > tc.requests || s.Phases > tc.phases || s.Bytes > tc.bytes || took > tc.most {
					t.Errorf("want at most %v, %d requests, %d phases, %d bytes", tc.most, tc.requests, tc.phases, tc.bytes)
				}
				checkExplained(t, explained, planning, s)
			})
		})
	}
}

// open opens the frame as one that is far away.
func (f *far) open(t *testing.T, o objstore.OpenOptions, count *objstore.Counter) *cframe.Frame {
	t.Helper()
	o.Counter = count
	bk := objstore.Chain(bucket{memstore.New(memstore.Config{}), f.object}, simstore.Latency(rtt), simstore.Bandwidth(80_000_000), objstore.Count(count))
	obj, err := objstore.Open(t.Context(), bk, "x", o)
	if err != nil {
		t.Fatal(err)
	}
	fr, err := cframe.Open(t.Context(), obj, cframe.Options{Tail: o.Tail})
	if err != nil {
		t.Fatal(err)
	}
	return fr
}

// explain tells what reading takes by a frame of its own, and what it took to tell.
func (f *far) explain(t *testing.T, o objstore.OpenOptions, wants []cframe.Want) ([]rangeio.Planned, rangeio.Stats) {
	t.Helper()
	var count objstore.Counter
	q, err := f.open(t, o, &count).ExplainConcurrent(t.Context(), wants)
	if err != nil {
		t.Fatal(err)
	}
	return q, count.Stats()
}

// checkExplained holds what ExplainX said, and what it read to say so, against what was
// counted: they are the same.
func checkExplained(t *testing.T, q []rangeio.Planned, planning, s rangeio.Stats) {
	t.Helper()
	for _, r := range q {
		planning.Requests++
		planning.Bytes += r.Len
		if r.Estimated {
			t.Errorf("%+v is a guess", r)
		}
	}
	if planning.Phases++; planning != s {
		t.Errorf("explained as %+v, but it was %+v", planning, s)
	}
}

// TestColumnMemory: a column of a thousand chunks holds no more than what is in
// flight.
func TestColumnMemory(t *testing.T) {
	c := newFar(t, 1000, 256*256*2, 64*64*2, 2, 16)
	for _, whole := range []bool{false, true} {
		wants := make([]cframe.Want, 1000)
		for i := range wants {
			wants[i] = cframe.Want{Chunk: i, Blocks: []int{5}}
			if whole {
				wants[i].Blocks = nil
			}
		}
		fr, err := cframe.Open(t.Context(), rangeio.FromReaderAt(c.object, c.object.size), cframe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		var most, calls atomic.Int64
		err = fr.EachConcurrent(t.Context(), wants, func(int, int, []byte) error {
			if calls.Add(1)%200 == 100 {
				var m runtime.MemStats
				runtime.GC() // what is held, not what was
				runtime.ReadMemStats(&m)
				most.Store(max(most.Load(), int64(m.HeapAlloc)))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&now)
		held := most.Load() - int64(before.HeapAlloc)
		t.Logf("whole %t: %d MiB held at most, %d MiB allocated in all", whole, held>>20, (now.TotalAlloc-before.TotalAlloc)>>20)
		if held > 64<<20 {
			t.Errorf("whole %t: %d bytes held", whole, held)
		}
	}
}

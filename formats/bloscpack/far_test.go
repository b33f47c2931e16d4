package bloscpack_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// A huge is a file of many small items that is stored nowhere: its bytes are made when
// they are read.
type huge struct {
	items int64
	meta  []byte
	read  atomic.Int64
}

const hugeItem = 16 + 20 + 4 // a stored chunk of 20 bytes and adler32

func hugeText(i int64) []byte { return fmt.Appendf(nil, "record number %06d", i%1_000_000) }

func (h *huge) head() []byte {
	b, err := bloscpack.Header{Version: 4, Checksum: bloscpack.Adler32, TypeSize: 1, ChunkSize: -1, LastChunk: -1, Chunks: h.items,
		Offsets: true, Variable: true, Meta: len(h.meta) > 0, MetaSize: int64(len(h.meta))}.AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return append(b, h.meta...)
}

func (h *huge) table() int64 { return int64(bloscpack.HeaderLen + len(h.meta)) }
func (h *huge) body() int64  { return h.table() + 8*h.items }
func (h *huge) size() int64  { return h.body() + hugeItem*h.items }

func (h *huge) ReadAt(p []byte, off int64) (n int, err error) {
	h.read.Add(int64(len(p)))
	for n < len(p) && off < h.size() {
		var b []byte
		switch {
		case off < h.table():
			b = h.head()[off:]
		case off < h.body() && (off-h.table())%8 == 0 && len(p)-n >= 8:
			for ; off < h.body() && len(p)-n >= 8; n, off = n+8, off+8 {
				binary.LittleEndian.PutUint64(p[n:], uint64(h.body()+(off-h.table())/8*hugeItem))
			}
			continue
		case off < h.body():
			i := (off - h.table()) / 8
			b = binary.LittleEndian.AppendUint64(nil, uint64(h.body()+i*hugeItem))[(off-h.table())%8:]
		default:
			i := (off - h.body()) / hugeItem
			b = stored(hugeText(i), bloscpack.Adler32)[(off-h.body())%hugeItem:]
		}
		k := copy(p[n:], b)
		n, off = n+k, off+int64(k)
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// A hugeBucket holds one such object under every key.
type hugeBucket struct {
	*memstore.Bucket
	h *huge
}

func (b hugeBucket) Get(_ context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	from, to := o.Range.Resolve(b.h.size())
	return io.NopCloser(io.NewSectionReader(b.h, from, to-from)), objstore.Info{Key: key, Size: b.h.size(), ETag: `"1"`}, nil
}

// TestTenMillion reads items of a file whose table has 80 MB. A cold read takes two
// phases, and any number of reads takes little memory.
func TestTenMillion(t *testing.T) {
	for _, c := range []struct {
		policy rangeio.Policy
		head   int64
		bytes  int64
		meta   int
	}{{rangeio.Fast(), 64 << 10, 96 << 10, 0}, {rangeio.Lean(), 16 << 10, 64 << 10, 0}, {rangeio.Lean(), 16 << 10, 64 << 10, 12_000}} {
		h := &huge{items: 10_000_000}
		if c.meta > 0 {
			h.meta = append(append([]byte{'"'}, bytes.Repeat([]byte("m"), c.meta-2)...), '"')
		}
		for _, i := range []int64{0, 1, 2_000, 8_190, 1_234_567, h.items / 2, h.items - 1} {
			synctest.Test(t, func(t *testing.T) {
				b := objstore.Chain(hugeBucket{memstore.New(memstore.Config{Name: "b"}), h}, simstore.Latency(30*time.Millisecond))
				begin := time.Now()
				o := objstore.OpenOptions{Head: c.head, Policy: c.policy}
				if off, n := bloscpack.Hint(i); n > 0 && off+n > c.head {
					o.Also = objstore.Range{Off: max(off, c.head), Len: off + n - max(off, c.head)}
				}
				ob, err := objstore.Open(t.Context(), b, "k", o)
				if err != nil {
					t.Fatal(err)
				}
				f, err := bloscpack.Open(t.Context(), ob, bloscpack.Options{Item: i, Head: c.head})
				if err != nil {
					t.Fatal(err)
				}
				p, err := f.AppendItem(t.Context(), nil, i)
				if err != nil || !bytes.Equal(p, hugeText(i)) {
					t.Fatalf("item %d: %q, %v", i, p, err)
				}
				if d := time.Since(begin); d != 60*time.Millisecond {
					t.Errorf("item %d: %v", i, d)
				}
				if s := ob.Stats(); s.Phases > 2 || s.Requests > 3 || s.Bytes > c.bytes+hugeItem {
					t.Errorf("item %d with %d bytes of metadata: %+v", i, c.meta, s)
				}
			})
		}
	}
}

// TestManyNames: metadata that are longer than the head, and push the table away from
// the place that the hint expects, cost one phase.
func TestManyNames(t *testing.T) {
	h := &huge{items: 1_000_000, meta: append(append([]byte{'"'}, bytes.Repeat([]byte("m"), 300_000)...), '"')}
	for _, i := range []int64{0, 1, 2_047, 2_048, 123_456, h.items - 1} {
		o := objstore.OpenOptions{Head: 64 << 10}
		if off, n := bloscpack.Hint(i); off+n > o.Head {
			o.Also = objstore.Range{Off: max(off, o.Head), Len: off + n - max(off, o.Head)}
		}
		ob, err := objstore.Open(t.Context(), hugeBucket{memstore.New(memstore.Config{Name: "b"}), h}, "k", o)
		if err != nil {
			t.Fatal(err)
		}
		f, err := bloscpack.Open(t.Context(), ob, bloscpack.Options{Item: i})
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.AppendItem(t.Context(), nil, i)
		if err != nil || !bytes.Equal(p, hugeText(i)) {
			t.Fatalf("item %d: %q, %v", i, p, err)
		}
		if s := ob.Stats(); s.Phases > 3 || s.Bytes > 400_000 {
			t.Errorf("item %d: %+v", i, s)
		}
	}
}

// TestMemory: ten million items, known by 80 MB of offsets, in less than 64 MiB.
func TestMemory(t *testing.T) {
	h := &huge{items: 10_000_000}
	reads, scanned := 3000, int64(300_000)
	if racetest.On {
		h.items, reads, scanned = 1_000_000, 300, 30_000
	}
	m := heaptest.Start()
	f, err := bloscpack.Open(t.Context(), rangeio.FromReaderAt(h, h.size()), bloscpack.Options{Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var buf []byte
	for k := range reads {
		i := rnd.Int64N(h.items)
		if buf, err = f.AppendItem(t.Context(), buf[:0], i); err != nil || !bytes.Equal(buf, hugeText(i)) {
			t.Fatalf("item %d: %q, %v", i, buf, err)
		}
		if k%100 == 0 {
			m.Look()
		}
	}
	count := int64(0)
	if err := f.Entries(t.Context(), 0, f.Len(), false, func(i int64, e bloscpack.Entry) error {
		if count++; i%500_000 == 0 {
			m.Look()
		}
		if e.Off != h.body()+i*hugeItem {
			return fmt.Errorf("entry %d at %d", i, e.Off)
		}
		return nil
	}); err != nil || count != h.items {
		t.Fatal(count, err)
	}
	from := h.items - scanned
	if err := f.Each(t.Context(), from, h.items, func(i int64, p []byte) error {
		if i%10_000 == 0 {
			m.Look()
		}
		if i%1000 == 0 && !bytes.Equal(p, hugeText(i)) {
			return fmt.Errorf("item %d: %q", i, p)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB live, a heap of %d", m.Live()>>20, m.Heap()>>20)
	if m.Heap() > 64<<20 {
		t.Errorf("%d bytes of heap", m.Heap())
	}
	runtime.KeepAlive(f)
}

// countReads counts planned reads.
type countReads struct {
	rangeio.Reader
	reads, bytes int64
}

func (c *countReads) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	atomic.AddInt64(&c.reads, 1)
	for _, s := range spans {
		atomic.AddInt64(&c.bytes, int64(len(s.P)))
	}
	return c.Reader.ReadRanges(ctx, spans)
}

// TestFollow: small chunks of a file without a table are read through, large ones are
// jumped over.
func TestFollow(t *testing.T) {
	small := write(t, bloscpack.WriteOptions{NoOffsets: true, ChunkSize: 100}, [][]byte{samples(2 << 20)})
	r := &countReads{Reader: reader(small)}
	f, err := bloscpack.Open(t.Context(), r, bloscpack.Options{})
	if err != nil || f.Len() < 20_000 {
		t.Fatal(f.Len(), err)
	}
	if err := f.Entries(t.Context(), 0, f.Len(), true, func(int64, bloscpack.Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if r.reads > 8 {
		t.Errorf("%d reads for %d small chunks in %d bytes", r.reads, f.Len(), len(small))
	}
	last, err := f.AppendItem(t.Context(), nil, f.Len()-1)
	if err != nil || !bytes.HasSuffix(samples(2<<20), last) {
		t.Errorf("the last chunk: %v", err)
	}
	n := r.reads
	for _, i := range []int64{5, 17_000, f.Len() - 1} {
		if p, err := f.AppendItem(t.Context(), nil, i); err != nil || !bytes.Equal(p, samples(2 << 20)[100*i:100*i+int64(len(p))]) {
			t.Errorf("chunk %d: %v", i, err)
		}
	}
	if r.reads != n+3 {
		t.Errorf("%d reads for three chunks whose places are known", r.reads-n)
	}

	large := write(t, bloscpack.WriteOptions{NoOffsets: true, ChunkSize: 1 << 20}, [][]byte{samples(12 << 20)})
	r = &countReads{Reader: reader(large)}
	if f, err = bloscpack.Open(t.Context(), r, bloscpack.Options{Policy: rangeio.Lean()}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Entry(t.Context(), f.Len()-1); err != nil || r.reads > f.Len()+2 || r.bytes > 400<<10 {
		t.Errorf("%d reads of %d bytes for %d large chunks, %v", r.reads, r.bytes, f.Len(), err)
	}
}

// TestNeighbours: a few items are one request.
func TestNeighbours(t *testing.T) {
	h := &huge{items: 50_000}
	r := &countReads{Reader: rangeio.FromReaderAt(h, h.size())}
	f, err := bloscpack.Open(t.Context(), r, bloscpack.Options{})
	if err != nil || r.reads != 1 {
		t.Fatal(r.reads, err)
	}
	items, err := f.AppendItems(t.Context(), nil, 1000, 1100)
	if err != nil || len(items) != 100 || !bytes.Equal(items[99], hugeText(1099)) || r.reads != 2 || r.bytes != 64<<10+100*hugeItem {
		t.Errorf("%d items, %d reads, %d bytes, %v", len(items), r.reads, r.bytes, err)
	}
	// Entries that the head does not have cost one more page of the table, once.
	for k, want := range []int64{4, 5, 6} {
		if _, err := f.AppendItem(t.Context(), nil, 40_000+int64(k)); err != nil || r.reads != want {
			t.Errorf("item %d: %d reads in all, %v", 40_000+k, r.reads, err)
		}
	}
}

// TestScattered: items that lie in another order than their numbers are not read
// twice.
func TestScattered(t *testing.T) {
	var items [][]byte
	var order []int
	for i := range 30_000 {
		items, order = append(items, hugeText(int64(i))), append(order, 29_999-i)
	}
	for name, order := range map[string][]int{"reversed": order, "shuffled": rand.New(rand.NewPCG(3, 4)).Perm(len(items))} {
		file := byHand(t, bloscpack.Adler32, items, order, 0)
		r := &countReads{Reader: reader(file)}
		f, err := bloscpack.Open(t.Context(), r, bloscpack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.bytes = 0
		if _, err := f.AppendItem(t.Context(), nil, 100); err != nil || r.bytes > 16<<10 {
			t.Errorf("%s: an item: %d bytes, %v", name, r.bytes, err)
		}
		r.bytes = 0
		got, err := collect(t.Context(), f)
		if err != nil || !bytes.Equal(bytes.Join(got, nil), bytes.Join(items, nil)) {
			t.Errorf("%s: %v", name, err)
		}
		if most := int64(len(file)) * 21 / 10; r.bytes > most {
			t.Errorf("%s: %d bytes of a file of %d", name, r.bytes, len(file))
		}
	}
}

// TestScanFromAfar: windows of a scan do not depend on each other.
func TestScanFromAfar(t *testing.T) {
	h := &huge{items: 60_000} // a table of 480 KB, chunks of 2.4 MB
	synctest.Test(t, func(t *testing.T) {
		b := objstore.Chain(hugeBucket{memstore.New(memstore.Config{Name: "b"}), h}, simstore.Latency(30*time.Millisecond))
		ob, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Policy: rangeio.Fast()})
		if err != nil {
			t.Fatal(err)
		}
		f, err := bloscpack.Open(t.Context(), ob, bloscpack.Options{Window: 256 << 10})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		begin := time.Now()
		if err := f.Each(t.Context(), 0, f.Len(), func(i int64, p []byte) error { n += len(p); return nil }); err != nil || n != 20*60_000 {
			t.Fatal(n, err)
		}
		// The head and the table in front of the chunks, and one phase of chunks.
		if s := ob.Stats(); s.Phases != 3 || s.Bytes > h.size()+64<<10 {
			t.Errorf("%+v for a file of %d bytes in %v", s, h.size(), time.Since(begin))
		}
		for _, scan := range []bool{false, true} {
			before, n := ob.Stats(), 0
			if err := f.Entries(t.Context(), 0, f.Len(), scan, func(i int64, e bloscpack.Entry) error {
				if n++; e.Off != h.body()+i*hugeItem || scan && e.NBytes != 20 {
					t.Errorf("entry %d: %+v", i, e)
				}
				return nil
			}); err != nil || n != 60_000 {
				t.Fatal(n, err)
			}
			// The table, then headers in spans that reach over the bytes between.
			s := ob.Stats()
			if s.Phases-before.Phases > 2 || s.Requests-before.Requests > 20 {
				t.Errorf("entries, scan %t: %+v, before %+v", scan, s, before)
			}
		}
		plan, err := f.ExplainItems(t.Context(), 0, f.Len())
		if err != nil || len(plan) < 9 {
			t.Errorf("%d requests explained, %v", len(plan), err)
		}
	})
}

package objstore_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/parquet-go/parquet-go"

	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
	"github.com/farread/farread/rangeio/rangeiotest"
)

func randomBytes(n int) []byte {
	p := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func put(tb testing.TB, b objstore.Bucket, key string, data []byte) {
	tb.Helper()
	if _, err := objstore.Put(context.Background(), b, key, bytes.NewReader(data), objstore.PutOptions{}); err != nil {
		tb.Fatal(err)
	}
}

// open puts data into a fresh bucket behind m and opens it.
func open(tb testing.TB, data []byte, o objstore.OpenOptions, m ...objstore.Middleware) (*objstore.Object, objstore.Bucket) {
	tb.Helper()
	b := memstore.New(memstore.Config{})
	put(tb, b, "k", data)
	obj, err := objstore.Open(context.Background(), objstore.Chain(b, m...), "k", o)
	if err != nil {
		tb.Fatal(err)
	}
	return obj, b
}

func TestObjectIsAReader(t *testing.T) {
	for _, size := range []int{0, 1, 100, 64 << 10, 64<<10 + 1, 300 << 10} {
		for _, o := range []objstore.OpenOptions{
			{}, {Head: 10}, {Head: 10, Tail: 20}, {Head: 1 << 20, Tail: 1 << 20},
			{Head: 7, Tail: 100, Policy: rangeio.Lean(), Cache: objstore.NewCache(3000, 512)},
			{Head: 7, Cache: objstore.NewCache(0, 100)},
			{Head: 7, Tail: 50, Also: objstore.Range{Off: 60, Len: 70 << 10}},
		} {
			data := randomBytes(size)
			obj, _ := open(t, data, o)
			rangeiotest.Test(t, obj, data)
			if err := iotest.TestReader(io.NewSectionReader(obj, 0, obj.Size()), data); err != nil {
				t.Errorf("size %d, %+v: %v", size, o, err)
			}
		}
	}
}

func TestRequestsOfAnObject(t *testing.T) {
	data := randomBytes(8 << 20)
	var log tracetest.Log
	obj, _ := open(t, data, objstore.OpenOptions{Tail: 16 << 10}, log.Middleware())
	log.Step("open, head 64 KiB, tail 16 KiB")
	read := func(title string, spans ...rangeio.Span) {
		if err := obj.ReadRanges(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
		for _, s := range spans {
			if !bytes.Equal(s.P, data[s.Off:s.End()]) {
				t.Fatalf("%s: wrong bytes at %d", title, s.Off)
			}
		}
		log.Step(title)
	}
	span := func(off, n int64) rangeio.Span { return rangeio.Span{Off: off, P: make([]byte, n)} }
	read("inside head and tail: nothing", span(0, 64<<10), span(8<<20-100, 100))
	read("across the end of the head: only the rest", span(64<<10-10, 30))
	read("two spans 20 KiB apart: one request", span(1<<20, 1000), span(1<<20+21<<10, 1000))
	read("two spans 100 KiB apart: two requests", span(1<<20, 1000), span(1<<20+101<<10, 1000))
	read("5 MiB: three pieces", span(2<<20, 5<<20))
	at := func(title string, off int64, n int) {
		p := make([]byte, n)
		if _, err := obj.ReadAt(p, off); err != nil || !bytes.Equal(p, data[off:off+int64(n)]) {
			t.Fatalf("%s: %v", title, err)
		}
		log.Step(title)
	}
	at("ReadAt: the block", 3<<20+5, 10)
	at("ReadAt of it again: nothing", 3<<20+500, 4096)
	at("ReadAt across blocks: those that are not there, in one request", 3<<20+60<<10, 100<<10)
	at("ReadAt of 1 MiB: past the cache", 4<<20+1, 1<<20)
	log.Golden(t, "testdata/object.trace")
}

// TestAlso: bytes asked for together with the head are kept, whatever part of
// them the object has.
func TestAlso(t *testing.T) {
	data := randomBytes(1 << 20)
	var log tracetest.Log
	open := func(r objstore.Range) *objstore.Object {
		obj, _ := open(t, data, objstore.OpenOptions{Head: 1000, Also: r}, log.Middleware())
		log.Step(fmt.Sprintf("open, head 1000 bytes and %v", r))
		return obj
	}
	read := func(obj *objstore.Object, title string, off, n int64) {
		p := make([]byte, n)
		if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: off, P: p}}); err != nil || !bytes.Equal(p, data[off:off+n]) {
			t.Fatalf("%s: %v", title, err)
		}
		log.Step(title)
	}
	obj := open(objstore.Range{Off: 500000, Len: 10000})
	read(obj, "inside: nothing", 500010, 9990)
	read(obj, "its beginning and what is before: that alone", 499000, 1500)
	read(obj, "its end and what is behind: that alone", 509000, 5000)
	read(obj, "all around it: all", 490000, 30000)
	read(open(objstore.Range{Off: 900, Len: 1000}), "behind the head: nothing", 800, 1100)
	read(open(objstore.Range{Off: 1<<20 - 100, Len: 1000}), "the last bytes: nothing", 1<<20-100, 100)
	read(open(objstore.Range{Off: 2 << 20, Len: 1000}), "past the end", 1<<20-100, 100)
	log.Golden(t, "testdata/also.trace")
}

func TestReadEach(t *testing.T) {
	data := randomBytes(3 << 20)
	obj, _ := open(t, data, objstore.OpenOptions{Tail: 1000})
	var spans []rangeio.Span
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := r.IntN(20000)
		spans = append(spans, rangeio.Span{Off: r.Int64N(int64(len(data) - n)), P: make([]byte, n)})
	}
	spans = append(spans, rangeio.Span{Off: 5, P: make([]byte, 5)}, rangeio.Span{Off: 5}, rangeio.Span{Off: 0, P: make([]byte, len(data))})
	var mu sync.Mutex
	seen := map[int]int{}
	err := obj.ReadEach(t.Context(), spans, func(i int) error {
		mu.Lock()
		defer mu.Unlock()
		seen[i]++
		if s := spans[i]; !bytes.Equal(s.P, data[s.Off:s.End()]) {
			return fmt.Errorf("span %d is not full", i)
		}
		return nil
	})
	if err != nil || len(seen) != len(spans) {
		t.Fatalf("%v, %d of %d done", err, len(seen), len(spans))
	}
	for i, n := range seen {
		if n != 1 {
			t.Errorf("span %d done %d times", i, n)
		}
	}
	boom := errors.New("boom")
	if err := obj.ReadEach(t.Context(), spans, func(int) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("error of done: %v", err)
	}
	if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: obj.Size(), P: make([]byte, 1)}}); !errors.Is(err, rangeio.ErrOutside) {
		t.Errorf("span outside: %v", err)
	}
}

func TestPinned(t *testing.T) {
	data := randomBytes(1 << 20)
	obj, b := open(t, data, objstore.OpenOptions{Head: 10})
	put(t, b, "k", data)
	if _, err := obj.ReadAt(make([]byte, 5), 5000); !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("ReadAt: %v, want ErrChanged", err)
	}
	if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: 5000, P: make([]byte, 5)}}); !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("ReadRanges: %v, want ErrChanged", err)
	}
	if err := b.Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if _, err := obj.ReadAt(make([]byte, 5), 5000); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("deleted: %v, want ErrNotFound", err)
	}
	if _, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{}); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("open: %v", err)
	}
}

func TestVersionOutlivesReplacement(t *testing.T) {
	b := memstore.New(memstore.Config{Versioned: true})
	old, young := randomBytes(300<<10), make([]byte, 400<<10)
	put(t, b, "k", old)
	obj, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, "k", young)
	rangeiotest.Test(t, obj, old)
	again, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{VersionID: obj.Info().VersionID, Tail: 100})
	if err != nil {
		t.Fatal(err)
	}
	rangeiotest.Test(t, again, old)
}

func TestOpenIfMatch(t *testing.T) {
	obj, b := open(t, []byte("one"), objstore.OpenOptions{})
	put(t, b, "k", []byte("two"))
	_, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{IfMatch: obj.Info().ETag})
	if !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
}

// TestPlainReaders bounds the requests of scattered small reads by readers that know
// only io.ReaderAt.
func TestPlainReaders(t *testing.T) {
	check := func(t *testing.T, data []byte, read func(r io.ReaderAt, size int64) int) {
		t.Helper()
		obj, _ := open(t, data, objstore.OpenOptions{Tail: 64 << 10})
		rangeiotest.MaxRequests(t, obj, 4)
		rangeiotest.MaxBytes(t, obj, 400_000)
		if n := read(obj.WithContext(t.Context()), obj.Size()); n < 9000 {
			t.Fatalf("read %d bytes: too few to prove anything", n)
		}
	}
	t.Run("zip", func(t *testing.T) {
		var buf bytes.Buffer
		w, body := zip.NewWriter(&buf), randomBytes(30000)
		for i := range 300 {
			f, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("dir/%04d.bin", i), Method: zip.Store})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(body); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		check(t, buf.Bytes(), func(r io.ReaderAt, size int64) int {
			z, err := zip.NewReader(r, size)
			if err != nil {
				t.Fatal(err)
			}
			f, err := z.Open("dir/0150.bin")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			p := make([]byte, 9500)
			n, err := io.ReadFull(f, p)
			if err != nil || !bytes.Equal(p, body[:9500]) {
				t.Fatal(n, err)
			}
			return n
		})
	})
	t.Run("parquet", func(t *testing.T) {
		type row struct {
			ID    int64
			Value float64
			Name  string
		}
		var buf bytes.Buffer
		w := parquet.NewGenericWriter[row](&buf)
		for i := range 200_000 {
			r := rand.New(rand.NewPCG(uint64(i), 0))
			if _, err := w.Write([]row{{int64(i), r.Float64(), fmt.Sprint(r.Uint64())}}); err != nil {
				t.Fatal(err)
			}
			if i%20_000 == 19_999 {
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		check(t, buf.Bytes(), func(r io.ReaderAt, size int64) int {
			f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
			if err != nil {
				t.Fatal(err)
			}
			ids := make([]parquet.Value, 1200)
			pages := f.RowGroups()[3].ColumnChunks()[0].Pages()
			defer pages.Close()
			page, err := pages.ReadPage()
			if err != nil {
				t.Fatal(err)
			}
			n, err := page.Values().ReadValues(ids)
			if (err != nil && err != io.EOF) || n != len(ids) || ids[7].Int64() != 60_007 {
				t.Fatal(n, err, ids[7])
			}
			return n * 8
		})
	})
}

func TestCachedReadAllocatesNothing(t *testing.T) {
	obj, _ := open(t, randomBytes(1<<20), objstore.OpenOptions{})
	p := make([]byte, 5000)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := obj.ReadAt(p, 500_000); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestStream(t *testing.T) {
	data := randomBytes(1 << 20)
	obj, _ := open(t, data, objstore.OpenOptions{Tail: 100})
	for _, o := range []objstore.ReadOptions{{}, {Part: 1000}, {Part: 70 << 10, Ahead: 1}, {Off: 5, Len: 99, Part: 10}, {Off: 1 << 20}, {Off: 100 << 10, Len: 1 << 30, Part: 123456, Ahead: 7}} {
		from, to := objstore.Range{Off: o.Off, Len: o.Len}.Resolve(int64(len(data)))
		r := obj.NewReader(t.Context(), o)
		if err := iotest.TestReader(r, data[from:to]); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
		r.Close()
		r = obj.NewReader(t.Context(), o)
		var buf bytes.Buffer
		if _, err := io.Copy(&buf, r); err != nil || !bytes.Equal(buf.Bytes(), data[from:to]) {
			t.Errorf("%+v: copy: %v", o, err)
		}
		r.Close()
		if _, err := r.Read(make([]byte, 1)); err == nil {
			t.Error("read after close succeeds")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := obj.NewReader(ctx, objstore.ReadOptions{Part: 1000})
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func BenchmarkReadAtCached(b *testing.B) {
	obj, _ := open(b, randomBytes(1<<20), objstore.OpenOptions{})
	p := make([]byte, 4096)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := obj.ReadAt(p, 500_000); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadAtEvicting reads blocks in turn, one more than the cache holds.
func BenchmarkReadAtEvicting(b *testing.B) {
	const block = 4096
	obj, _ := open(b, randomBytes(1<<20), objstore.OpenOptions{Head: 1, Cache: objstore.NewCache(15*block, block)})
	p := make([]byte, 100)
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		if _, err := obj.ReadAt(p, (1+i%16)*block); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadRanges(b *testing.B) {
	obj, _ := open(b, randomBytes(8<<20), objstore.OpenOptions{Head: 1024})
	var spans []rangeio.Span
	for i := range int64(64) {
		spans = append(spans, rangeio.Span{Off: 4096 + i*(100<<10), P: make([]byte, 64<<10)})
	}
	b.SetBytes(64 * 64 << 10)
	b.ReportAllocs()
	for b.Loop() {
		if err := obj.ReadRanges(b.Context(), spans); err != nil {
			b.Fatal(err)
		}
	}
}

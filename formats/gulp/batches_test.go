package gulp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/rangeio"
	"github.com/farread/farread/rangeio/rangeiotest"
)

// A counted folder plans its reads as a store would, and counts them.
type counted struct {
	*folder

	mu      sync.Mutex
	readers map[string]*rangeiotest.Reader
	broken  error // of reads of data
}

func (c *counted) Open(_ context.Context, name string) (rangeio.Reader, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := rangeiotest.New(c.objects[name], rangeio.Fast())
	c.readers[name] = r
	if strings.HasPrefix(name, "data") {
		return &breaking{r, c}, nil
	}
	return r, nil
}

type breaking struct {
	*rangeiotest.Reader

	c *counted
}

func (b *breaking) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	if b.c.broken != nil {
		return b.c.broken
	}
	return b.Reader.ReadRanges(ctx, spans)
}

// requests are those of all data.
func (c *counted) requests() (n, size int64) {
	for name, r := range c.readers {
		if strings.HasPrefix(name, "data") {
			n, size = n+r.Stats().Requests, size+r.Stats().Bytes
		}
	}
	return n, size
}

// pictures is a dataset of chunks with so many ids, of one to three frames of about size
// bytes.
func pictures(tb testing.TB, chunks, ids, size int, o gulp.Options) (*gulp.Dataset, *counted) {
	tb.Helper()
	f := &counted{folder: newFolder(), readers: map[string]*rangeiotest.Reader{}}
	for k := range chunks {
		var data, meta bytes.Buffer
		w := gulp.NewWriter(&data, gulp.WriteOptions{})
		for i := range ids {
			for n := range 1 + i%3 {
				if err := w.WriteFrame(fmt.Sprintf("%d/%d", k, i), pictureOf(fmt.Sprintf("%d/%d", k, i), n, size)); err != nil {
					tb.Fatal(err)
				}
			}
		}
		if err := w.WriteMeta(&meta); err != nil {
			tb.Fatal(err)
		}
		p := gulp.ChunkPair(k)
		f.objects[p.Data], f.objects[p.Meta] = data.Bytes(), meta.Bytes()
	}
	d, err := gulp.OpenDataset(tb.Context(), f, o)
	if err != nil {
		tb.Fatal(err)
	}
	return d, f
}

func pictureOf(id string, n, size int) []byte {
	name := fmt.Sprintf("%s frame %d;", id, n)
	return []byte(strings.Repeat(name, size/len(name)+n+1)[:size+n*7+len(id)%3])
}

// TestBatches: every sample of an order comes once, in order, with its own bytes, whatever
// the order, the length of batches and the memory; and a cursor within goes on behind its batch.
func TestBatches(t *testing.T) {
	const chunks, size = 3, 500
	ids := racetest.Share(100, 4)
	for _, c := range []struct {
		o      gulp.OrderOptions
		n      int
		window int64
	}{
		{gulp.OrderOptions{}, 7, 4 << 20}, {gulp.OrderOptions{Frames: true, Seed: 3}, 64, 8 << 10}, {gulp.OrderOptions{Block: 20, Frames: true}, 32, 4 << 20},
		{gulp.OrderOptions{Block: 20, Window: 60}, 1, 16 << 10}, {gulp.OrderOptions{Block: 7, Window: 1000, World: 2, Rank: 1, Workers: 2}, 1000, 1},
		{gulp.OrderOptions{Sequential: true, Frames: true}, 10, 4 << 20}, {gulp.OrderOptions{Block: 1000, Epoch: 9}, 33, 2000},
	} {
		d, _ := pictures(t, chunks, ids, size, gulp.Options{Window: c.window})
		order, err := d.Order(t.Context(), c.o)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := d.Order(t.Context(), c.o)
		if err != nil {
			t.Fatal(err)
		}
		loans, total, batch := bufpool.Loans(), int64(0), 0
		for b, err := range d.Batches(t.Context(), order, c.n) {
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range b.Samples {
				want, _ := plain.Next()
				if s.Sample != want {
					t.Fatalf("%+v: sample %+v, want %+v", c, s.Sample, want)
				}
				frames, err := s.Chunk.Frames(s.ID)
				if err != nil {
					t.Fatal(err)
				}
				if c.o.Frames {
					frames = 1
				}
				if len(s.Frames) != frames {
					t.Fatalf("%s: %d frames, want %d", s.ID, len(s.Frames), frames)
				}
				for i, p := range s.Frames {
					if !bytes.Equal(p, pictureOf(s.ID, s.Frame+i, size)) {
						t.Fatalf("%s, frame %d: other bytes, %.60q", s.ID, s.Frame+i, p)
					}
				}
			}
			total += int64(len(b.Samples))
			if batch++; order.Cursor().Next != total {
				t.Fatalf("a cursor at %d of %d", order.Cursor().Next, total)
			}
			if len(b.Samples) != c.n && total != order.Len() {
				t.Fatalf("batch %d has %d samples", batch, len(b.Samples))
			}
		}
		if total != order.Len() || bufpool.Loans() != loans {
			t.Errorf("%+v: %d of %d samples, %d buffers kept", c, total, order.Len(), bufpool.Loans()-loans)
		}
		for b, err := range d.Batches(t.Context(), order, c.n) {
			t.Errorf("after the end: %v, %v", b, err)
		}
	}
}

// TestBatchesRequests: an order of blocks takes about a request a block, and drops nothing; a full
// shuffle one for each frame, where the reader joins none.
func TestBatchesRequests(t *testing.T) {
	racetest.Skip(t, racetest.Large)
	const frames, size, block = 3 * 2000, 12_000, 50
	for _, c := range []struct {
		o    gulp.OrderOptions
		most int64
	}{
		{gulp.OrderOptions{Frames: true, Block: block}, frames/block + 3 + 2*3},
		{gulp.OrderOptions{Frames: true, Sequential: true, Block: block, Window: 16 * block}, frames/block + 3},
	} {
		d, f := pictures(t, 3, 1000, size, gulp.Options{Window: 32 << 20})
		order, err := d.Order(t.Context(), c.o)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for b, err := range d.Batches(t.Context(), order, 128) {
			if err != nil {
				t.Fatal(err)
			}
			total += len(b.Samples)
		}
		n, read := f.requests()
		sum, err := d.Totals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if t.Logf("%+v: %d requests, %d bytes for %d", c.o, n, read, sum.Bytes); n > c.most || read > sum.Bytes+sum.Padding+16*c.most*(32<<10) || total != int(sum.Frames) {
			t.Errorf("%+v: %d requests, want at most %d; %d bytes for %d", c.o, n, c.most, read, sum.Bytes)
		}
	}
}

// TestBatchesEnd: errors, ends and cancelled contexts leave nothing behind.
func TestBatchesEnd(t *testing.T) {
	d, f := pictures(t, 2, 300, 900, gulp.Options{Window: 16 << 10})
	order := func() *gulp.Order {
		w, err := d.Order(t.Context(), gulp.OrderOptions{Block: 10, Frames: true})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	loans := bufpool.Loans()
	w := order()
	for b, err := range d.Batches(t.Context(), w, 20) {
		if err != nil || len(b.Samples) != 20 {
			t.Fatal(err)
		}
		if w.Cursor().Next == 60 {
			break
		}
	}
	again, err := d.Resume(t.Context(), w.Cursor())
	if err != nil || again.Cursor().Next != 60 {
		t.Fatalf("%+v, %v", again.Cursor(), err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	mine, n := errors.New("enough"), 0
	for _, err := range d.Batches(ctx, order(), 20) {
		if n++; n == 2 {
			cancel(mine)
		}
		if n > 2 && !errors.Is(err, mine) {
			t.Errorf("cancelled: %v", err)
		}
	}
	f.broken = errors.New("no such wire")
	var errs []error
	for b, err := range d.Batches(t.Context(), order(), 20) {
		if b != nil || err == nil {
			t.Fatalf("%v, %v", b, err)
		}
		errs = append(errs, err)
	}
	if len(errs) != 1 || !errors.Is(errs[0], f.broken) || !strings.Contains(errs[0].Error(), "meta_") {
		t.Errorf("%v", errs)
	}
	f.broken = nil
	small, err := gulp.OpenDataset(t.Context(), f, gulp.Options{Limits: formats.Limits{MaxDecoded: 905}})
	if err != nil {
		t.Fatal(err)
	}
	w, err = small.Order(t.Context(), gulp.OrderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	errs = nil
	for _, err := range small.Batches(t.Context(), w, 3) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) != 1 || !errors.Is(errs[0], formats.ErrTooLarge) {
		t.Errorf("%v", errs)
	}
	for _, bad := range [](func() (*gulp.Order, int)){func() (*gulp.Order, int) { return w, 3 }, func() (*gulp.Order, int) { return order(), 0 }} {
		o, n := bad()
		if got := slices.Collect(first(d.Batches(t.Context(), o, n))); len(got) != 1 || got[0] != nil {
			t.Errorf("%v", got)
		}
	}
	if bufpool.Loans() != loans {
		t.Errorf("%d buffers kept", bufpool.Loans()-loans)
	}
}

// first are the first values of pairs.
func first[A, B any](seq func(func(A, B) bool)) func(func(A) bool) {
	return func(yield func(A) bool) { seq(func(a A, _ B) bool { return yield(a) }) }
}

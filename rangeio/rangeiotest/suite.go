package rangeiotest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/farread/farread/rangeio"
)

// Test checks that r keeps the contract of rangeio.Reader. r is a reader of an object
// with the bytes want. If r is a [Counter], Test also checks that wrong spans send no
// request. It reads want some thirty times: a few hundred KiB are enough.
func Test(t *testing.T, r rangeio.Reader, want []byte) {
	t.Helper()
	s := suite{r, want}
	if got := r.Size(); got != int64(len(want)) {
		t.Fatalf("Size is %d, want %d", got, len(want))
	}
	t.Run("Layouts", s.layouts)
	t.Run("Random", s.random)
	t.Run("Outside", s.outside)
	t.Run("Each", s.each)
	t.Run("EachStops", s.eachStops)
	t.Run("Cancelled", s.cancelled)
	t.Run("Concurrent", s.concurrent)
	t.Run("Section", s.section)
	t.Run("ReaderAt", s.readerAt)
}

type suite struct {
	r    rangeio.Reader
	want []byte
}

// guard stands behind each buffer and must survive.
const guard = 0xa5

// spans makes buffers for pairs of offset and length, cut to the object.
func (s suite) spans(ranges [][2]int64) []rangeio.Span {
	size := int64(len(s.want))
	out := make([]rangeio.Span, 0, len(ranges))
	for _, r := range ranges {
		off := min(max(r[0], 0), size)
		n := min(max(r[1], 0), size-off)
		p := bytes.Repeat([]byte{guard}, int(n)+8)
		out = append(out, rangeio.Span{Off: off, P: p[:n]}) // with room behind: nothing may be written there
	}
	return out
}

func (s suite) check(t *testing.T, spans []rangeio.Span) {
	t.Helper()
	for i, sp := range spans {
		s.checkOne(t, i, sp)
	}
}

func (s suite) checkOne(t *testing.T, i int, sp rangeio.Span) {
	t.Helper()
	n := len(sp.P)
	if want := s.want[sp.Off:sp.End()]; !bytes.Equal(sp.P, want) {
		k := 0
		for sp.P[k] == want[k] {
			k++
		}
		t.Errorf("span %d, [%d, +%d): byte %d is %#x, want %#x", i, sp.Off, n, k, sp.P[k], want[k])
	}
	if full := sp.P[:cap(sp.P)]; n+8 <= len(full) && !bytes.Equal(full[n:n+8], bytes.Repeat([]byte{guard}, 8)) {
		t.Errorf("span %d, [%d, +%d): bytes behind its buffer were written", i, sp.Off, n)
	}
}

func (s suite) layouts(t *testing.T) {
	n := int64(len(s.want))
	for _, c := range []struct {
		name   string
		ranges [][2]int64
	}{
		{"none", nil},
		{"empty", [][2]int64{{0, 0}, {n / 2, 0}, {n, 0}}},
		{"whole", [][2]int64{{0, n}}},
		{"first and last byte", [][2]int64{{0, 1}, {n - 1, 1}}},
		{"backwards", [][2]int64{{n * 3 / 4, 100}, {n / 2, 100}, {n / 4, 100}, {0, 100}}},
		{"adjacent", [][2]int64{{10, 10}, {20, 10}, {30, 10}}},
		{"same", [][2]int64{{n / 3, 50}, {n / 3, 50}, {n / 3, 50}}},
		{"overlapping", [][2]int64{{5, 100}, {50, 100}, {90, 3}, {149, 10}}},
		{"nested", [][2]int64{{0, n}, {n / 4, n / 2}, {n / 2, 1}}},
		{"whole and empty", [][2]int64{{n, 0}, {0, n}, {0, 0}}},
		{"far apart", [][2]int64{{0, 7}, {n - 7, 7}, {n / 2, 7}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			spans := s.spans(c.ranges)
			if err := s.r.ReadRanges(t.Context(), spans); err != nil {
				t.Fatal(err)
			}
			s.check(t, spans)
		})
	}
}

func (s suite) some(rnd *rand.Rand) []rangeio.Span {
	n := int64(len(s.want)) + 1
	ranges := make([][2]int64, rnd.IntN(40))
	for i := range ranges {
		ranges[i] = [2]int64{rnd.Int64N(n), rnd.Int64N(1 + n/20)}
	}
	return s.spans(ranges)
}

func (s suite) random(t *testing.T) {
	for seed := range uint64(10) {
		spans := s.some(rand.New(rand.NewPCG(seed, 1)))
		if err := s.r.ReadRanges(t.Context(), spans); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s.check(t, spans)
	}
}

func (s suite) outside(t *testing.T) {
	n := int64(len(s.want))
	good := rangeio.Span{Off: 0, P: make([]byte, min(n, 10))}
	for _, bad := range []rangeio.Span{
		{Off: -1, P: make([]byte, 1)},
		{Off: -1},
		{Off: n + 1},
		{Off: n, P: make([]byte, 1)},
		{Off: n - 1, P: make([]byte, 2)},
		{Off: math.MaxInt64, P: make([]byte, 1)},
		{Off: math.MinInt64, P: make([]byte, 1)},
	} {
		var before rangeio.Stats
		c, counts := s.r.(Counter)
		if counts {
			before = c.Stats()
		}
		if err := s.r.ReadRanges(t.Context(), []rangeio.Span{good, bad}); !errors.Is(err, rangeio.ErrOutside) {
			t.Errorf("ReadRanges [%d, +%d) of %d: want ErrOutside, got %v", bad.Off, len(bad.P), n, err)
		}
		err := s.r.ReadEach(t.Context(), []rangeio.Span{good, bad}, func(i int) error {
			t.Errorf("done(%d) although a span is outside", i)
			return nil
		})
		if !errors.Is(err, rangeio.ErrOutside) {
			t.Errorf("ReadEach [%d, +%d) of %d: want ErrOutside, got %v", bad.Off, len(bad.P), n, err)
		}
		if counts && c.Stats() != before {
			t.Errorf("[%d, +%d) of %d: %+v became %+v, want no request", bad.Off, len(bad.P), n, before, c.Stats())
		}
	}
}

func (s suite) each(t *testing.T) {
	for seed := range uint64(5) {
		spans := s.some(rand.New(rand.NewPCG(seed, 2)))
		calls := make([]atomic.Int32, len(spans))
		err := s.r.ReadEach(t.Context(), spans, func(i int) error {
			calls[i].Add(1)
			s.checkOne(t, i, spans[i]) // full at this moment, not only at the end
			return nil
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("seed %d: done(%d) called %d times", seed, i, n)
			}
		}
	}
}

func (s suite) eachStops(t *testing.T) {
	n := int64(len(s.want))
	spans := s.spans([][2]int64{{0, 10}, {n / 2, 10}, {n - 10, 10}, {0, n}})
	stop := errors.New("stop")
	var inside, returned atomic.Bool
	err := s.r.ReadEach(t.Context(), spans, func(int) error {
		if returned.Load() {
			t.Error("done called after ReadEach had returned")
		}
		inside.Store(true)
		return stop
	})
	returned.Store(true)
	if !errors.Is(err, stop) {
		t.Errorf("want the error of done, got %v", err)
	}
	if !inside.Load() {
		t.Error("done was never called")
	}
	again := s.spans([][2]int64{{0, n}})
	if err := s.r.ReadRanges(t.Context(), again); err != nil {
		t.Errorf("the next read: %v", err)
	} else {
		s.check(t, again)
	}
}

// cancelled: a reader may answer from memory, but never with other bytes, and
// must tell why when it fails.
func (s suite) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spans := s.spans([][2]int64{{0, int64(len(s.want))}})
	if err := s.r.ReadRanges(ctx, spans); err == nil {
		s.check(t, spans)
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("want context.Canceled, got %v", err)
	}
}

func (s suite) concurrent(t *testing.T) {
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(g, 3))
			for range 4 {
				spans := s.some(rnd)
				if err := s.r.ReadRanges(t.Context(), spans); err != nil {
					t.Errorf("goroutine %d: %v", g, err)
					return
				}
				s.check(t, spans)
			}
		})
	}
	wg.Wait()
}

func (s suite) section(t *testing.T) {
	n := int64(len(s.want))
	off, size := n/3, n/2
	part := suite{rangeio.Section(s.r, off, size), s.want[off : off+size]}
	spans := part.spans([][2]int64{{0, size}, {size / 2, 9}, {size, 0}})
	if err := part.r.ReadRanges(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	part.check(t, spans)
	if err := part.r.ReadRanges(t.Context(), []rangeio.Span{{Off: size, P: make([]byte, 1)}}); !errors.Is(err, rangeio.ErrOutside) {
		t.Errorf("a span behind the section, inside the object: want ErrOutside, got %v", err)
	}
}

// readerAt reads byte by byte in places, so it takes the beginning only.
func (s suite) readerAt(t *testing.T) {
	n := min(len(s.want), 600)
	at := rangeio.WithContext(t.Context(), rangeio.Section(s.r, 0, int64(n)))
	if err := iotest.TestReader(io.NewSectionReader(at, 0, int64(n)), s.want[:n]); err != nil {
		t.Error(err)
	}
}

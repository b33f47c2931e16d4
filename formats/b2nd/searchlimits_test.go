package b2nd_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/racetest"
)

func boxOf(t *testing.T, a *b2nd.Array, text string) b2nd.Box {
	t.Helper()
	s, err := b2nd.ParseSlice(text)
	if err != nil {
		t.Fatal(err)
	}
	box, err := s.Resolve(a.Shape())
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSearchMemory: a search of few items of many blocks, all of which match, holds no
// more than it may, and reads no more blocks at once than that has room for, if rows of
// them fit. Where they fit, no block is read twice.
func TestSearchMemory(t *testing.T) {
	const memory = 1 << 20
	n := int64(32 << 20)
	if racetest.On {
		n /= 4
	}
	items := make([]byte, n)
	x := uint32(1)
	for i := range items {
		x = x*1664525 + 1013904223
		items[i] = byte(x>>24) | 1
	}
	for name, tc := range map[string]struct {
		m     b2nd.Meta
		slice string
		rows  bool // a row of blocks fits
	}{
		"steps":           {b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{1 << 20}, BlockShape: []int{4096}}, "::1024", true},
		"steps backwards": {b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{1 << 20}, BlockShape: []int{4096}}, "::-1024", true},
		"wide steps":      {b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{1 << 20}, BlockShape: []int{4096}}, "5::5000", true},
		"a column":        {b2nd.Meta{Shape: []int64{n >> 10, 1024}, ChunkShape: []int{1024, 1024}, BlockShape: []int{64, 64}}, ":, 70:72", true},
		"long rows":       {b2nd.Meta{Shape: []int64{16, n >> 4}, ChunkShape: []int{16, 1 << 16}, BlockShape: []int{16, 256}}, ":, ::128", false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.m.DType = "|u1"
			a := open(t, build(t, tc.m, items, b2nd.WriteOptions{Index: cframe.WithIndex}))
			box := boxOf(t, a, tc.slice)
			block := tc.m.BlockShape[0]
			if len(tc.m.BlockShape) > 1 {
				block *= tc.m.BlockShape[1]
			}
			p := bind(t, "v > 0", a.DType())
			if _, err := a.Statistics(t.Context()); err != nil { // what later reads hold, too
				t.Fatal(err)
			}
			// The least of three: what the collector has not seen yet on a busy machine counts as held.
			held, most, hits := int64(math.MaxInt64), 0, int64(0)
			var r b2nd.SearchReport
			var err error
			for try := 0; try < 3 && held > 8*memory && err == nil; try++ {
				_ = heap() // pools are empty after the second
				before, now, reads := heap(), int64(0), 0
				hits = 0
				r, err = a.Search(t.Context(), box, p, b2nd.SearchOptions{Memory: memory, Reads: func(b int) { most = max(most, b) }}, func(h b2nd.Hit) error {
					if reads++; reads%8 == 1 {
						now = max(now, heap()-before)
					}
					hits += int64(len(h.At))
					return nil
				})
				held = min(held, now)
			}
			if want, _ := box.Items(); err != nil || hits != want {
				t.Fatalf("%d items, want %d, %v", hits, want, err)
			}
			t.Logf("at most %d KiB of blocks a read, %d KiB held; %+v", most*block>>10, held>>10, r)
			if tc.rows && (most*block > memory || r.BlocksRead != r.Blocks) {
				t.Errorf("a read of %d bytes of blocks, memory is %d; %+v", most*block, memory, r)
			}
			if !racetest.On && held > 8*memory { // the items, their flags, and what decoding holds
				t.Errorf("%d bytes held, memory is %d", held, memory)
			}
		})
	}
}

// TestSearchEnds: items of chunks of zeros cost nothing to find, and yet a search ends
// with its context.
func TestSearchEnds(t *testing.T) {
	t.Parallel()
	const n = 1 << 24
	m := b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{1 << 20}, BlockShape: []int{1 << 16}, DType: "|u1"}
	a := open(t, build(t, m, make([]byte, n), b2nd.WriteOptions{Index: cframe.WithIndex}))
	box, p := boxOf(t, a, ":"), bind(t, "v == 0", a.DType())
	for _, memory := range []int64{4096, 1 << 20, 0} {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		calls := 0
		_, err := a.Search(ctx, box, p, b2nd.SearchOptions{Memory: memory}, func(b2nd.Hit) error {
			if calls++; calls == 3 {
				cancel(why)
			}
			return nil
		})
		if calls != 3 || !errors.Is(err, why) {
			t.Errorf("memory %d: %d calls, %v", memory, calls, err)
		}
		if _, _, err := a.ExplainSearch(ctx, box, p, b2nd.SearchOptions{Memory: memory}); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("memory %d: a plan after the end: %v", memory, err)
		}
		cancel(nil)
	}
}

package gulp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/racetest"
)

// TestOrderOfBlocks checks the promises of an order of blocks: over all ranks and workers
// every sample comes once, shares are even, and a cursor resumes with exactly the rest.
func TestOrderOfBlocks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 40), 0, 6).Draw(r, "counts")
		o := gulp.OrderOptions{
			Seed: rapid.Uint64().Draw(r, "seed"), Epoch: rapid.Uint64().Draw(r, "epoch"), Sequential: rapid.Bool().Draw(r, "sequential"),
			World: rapid.IntRange(1, 4).Draw(r, "world"), Workers: rapid.IntRange(0, 3).Draw(r, "workers"), Frames: rapid.Bool().Draw(r, "frames"),
		}
		if o.Block = rapid.IntRange(0, 50).Draw(r, "block"); o.Block > 0 {
			o.Window = rapid.IntRange(0, 90).Draw(r, "window")
		}
		d, all := manyIDs(t, counts)
		seen := map[int64]int{}
		shares := o.World * max(o.Workers, 1)
		for share := range shares {
			o.Rank, o.Worker = share/max(o.Workers, 1), share%max(o.Workers, 1)
			w, err := d.Order(t.Context(), o)
			if err != nil {
				r.Fatal(err)
			}
			if n := int(w.Len()); n < len(all)/shares || n > len(all)/shares+1 {
				r.Fatalf("share %d of %d has %d of %d", share, shares, n, len(all))
			}
			stop := rapid.IntRange(0, int(w.Len())).Draw(r, "stop")
			for range stop {
				s, _ := w.Next()
				seen[s.N]++
			}
			text, err := json.Marshal(w.Cursor())
			if err != nil {
				r.Fatal(err)
			}
			var c gulp.Cursor
			if err := json.Unmarshal(text, &c); err != nil {
				r.Fatal(err)
			}
			again, err := d.Resume(t.Context(), c)
			if err != nil {
				r.Fatal(err)
			}
			for s := range w.All() {
				if x, ok := again.Next(); !ok || x.N != s.N || all[x.N] != x.ID {
					r.Fatalf("resumed with %+v, %v; want %+v", x, ok, s)
				}
				seen[s.N]++
			}
			if _, more := again.Next(); more {
				r.Fatal("more after the end")
			}
		}
		for n := range all {
			if seen[int64(n)] != 1 {
				r.Fatalf("sample %d came %d times", n, seen[int64(n)])
			}
		}
		if len(seen) != len(all) {
			r.Fatalf("%d samples of %d", len(seen), len(all))
		}
	})
}

// TestOrderOfBlocksPinned pins the order of blocks: another one breaks cursors.
func TestOrderOfBlocksPinned(t *testing.T) {
	d, _ := manyIDs(t, []int{4, 3, 5})
	for want, o := range map[string]gulp.OrderOptions{
		"1 2 0 3 4 11 5 7 6 9 8 10": {Seed: 42, Block: 3, Window: 6},
		"1 2 3 5 0 4 6 10 7 8 9 11": {Seed: 42, Epoch: 1, Block: 3, Window: 6},
		"7 6 8 10 9 5":              {Seed: 42, Block: 5, World: 2, Rank: 1},
		"0 1 2 3 4 5 6 7 8 9 10 11": {Block: 3, Sequential: true},
		"6 7 8 9 10 11":             {Block: 3, Sequential: true, World: 2, Rank: 1},
	} {
		w, err := d.Order(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for s := range w.All() {
			got = append(got, fmt.Sprint(s.N))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%+v: %q, want %q", o, text, want)
		}
	}
}

// TestOrderOfBlocksQuality measures what the documentation says of an order of blocks: how
// far a sample moves, how often its neighbour follows it, and of how many blocks a batch is.
func TestOrderOfBlocksQuality(t *testing.T) {
	racetest.Skip(t, racetest.Alone)
	const n, block, window, batch = 40_000, 64, 1024, 256
	d, _ := manyIDs(t, []int{n / 2, n / 2})
	for _, o := range []gulp.OrderOptions{{Seed: 1, Block: block, Window: window}, {Seed: 1}} {
		w, err := d.Order(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var moved float64
		var near, sources, batches int
		of := map[int64]bool{}
		last := int64(-1000)
		for i := range int64(n) {
			s, _ := w.Next()
			moved += math.Abs(float64(s.N - i))
			if gap := s.N - last; -block < gap && gap < block {
				near++
			}
			last = s.N
			if of[s.N/block] = true; i%batch == batch-1 {
				sources, batches = sources+len(of), batches+1
				clear(of)
			}
		}
		t.Logf("block %d: moved %.3f of the dataset, %.4f of samples follow one of their run, a batch of %d is of %.1f runs",
			o.Block, moved/n/n, float64(near)/n, batch, float64(sources)/float64(batches))
		if moved /= n * n; moved < 0.31 || moved > 0.36 {
			t.Errorf("block %d: samples move by %.3f of the dataset", o.Block, moved)
		}
		if most := 1.2 * float64(block-1) / (window - 1); o.Block > 0 && float64(near)/n > most {
			t.Errorf("%.4f of samples follow one of their run", float64(near)/n)
		}
	}
}

func TestOrderOfBlocksErrors(t *testing.T) {
	d, _ := manyIDs(t, []int{4, 3})
	w, err := d.Order(t.Context(), gulp.OrderOptions{Block: 2})
	if err != nil {
		t.Fatal(err)
	}
	good := w.Cursor()
	for _, change := range []func(c *gulp.Cursor){
		func(c *gulp.Cursor) { c.Version = 1 }, func(c *gulp.Cursor) { c.Block = 0 }, func(c *gulp.Cursor) { c.Block = -1 },
		func(c *gulp.Cursor) { c.Window = -1 }, func(c *gulp.Cursor) { c.Workers = -1 }, func(c *gulp.Cursor) { c.Worker = 1 },
		func(c *gulp.Cursor) { c.World, c.Workers = math.MaxInt32, 2 },
	} {
		c := good
		change(&c)
		if _, err := d.Resume(t.Context(), c); !errors.Is(err, gulp.ErrCursor) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, change := range []func(c *gulp.Cursor){ // as long as can be
		func(c *gulp.Cursor) { c.Block = math.MaxInt }, func(c *gulp.Cursor) { c.Window = math.MaxInt },
		func(c *gulp.Cursor) { c.Window, c.Block = math.MaxInt, math.MaxInt },
	} {
		c := good
		change(&c)
		w, err := d.Resume(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for s := range w.All() {
			got = append(got, s.N)
		}
		if slices.Sort(got); !slices.Equal(got, []int64{0, 1, 2, 3, 4, 5, 6}) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for _, o := range []gulp.OrderOptions{{Block: -1}, {Window: 5}, {Block: 2, Window: -1}, {Workers: -1}, {Workers: 2, Worker: 2}, {Worker: 1}} {
		if _, err := d.Order(t.Context(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

package frameindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/stats"
	"github.com/farread/farread/internal/racetest"
)

// statsOf is about items of a type, in chunks of so many blocks.
func statsOf(tb testing.TB, text string, blocks int) StatsOf {
	tb.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	cols, err := stats.Columns(d, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return StatsOf{Columns: cols, Blocks: blocks, About: 77}
}

// some returns the Stats of random items of all columns, of one block after the other.
func some(of StatsOf, r *rand.Rand, at int) (list []stats.Stat) {
	for range of.Blocks {
		for _, c := range of.Columns[:of.columns()] {
			var p []byte
			for i := range r.IntN(6) { // none at all is padding
				switch c.Type().Kind() {
				case dtype.Float:
					p = binary.LittleEndian.AppendUint64(p, math.Float64bits(map[bool]float64{true: math.NaN(), false: r.NormFloat64()}[r.IntN(9) == 0]))
				default:
					p = binary.LittleEndian.AppendUint32(p, uint32(at+i))
				}
			}
			list = append(list, ofColumn(c, p))
		}
	}
	return list
}

// ofColumn sums up numbers of a column that lie side by side.
func ofColumn(c stats.Column, p []byte) stats.Stat {
	alone, _ := stats.Columns(c.Type(), nil)
	return alone[0].Of(p)
}

// buildStats makes an index with statistics, and returns them by chunk.
func buildStats(tb testing.TB, of StatsOf, list [][]byte) (p []byte, want [][]stats.Stat) {
	tb.Helper()
	var b Builder
	b.Stats(of)
	r := rand.New(rand.NewPCG(1, 2))
	for i, c := range list {
		b.Add(HeadOf(c))
		want = append(want, some(of, r, i))
		b.AddStats(want[i])
	}
	if !b.Trim(1 << 30) {
		tb.Fatal("too long")
	}
	ix, err := b.Finish(State{Sum{1, 2}, Sum{3}}, index.Binding{Size: 9, ETag: "e"})
	if err != nil {
		tb.Fatal(err)
	}
	return index.Beside(ix, 0), want
}

// merged merges the Stats of the blocks of a chunk, by column.
func merged(list []stats.Stat, n int) []stats.Stat {
	out := make([]stats.Stat, n)
	for i, s := range list {
		out[i%n] = out[i%n].Merge(s)
	}
	return out
}

// TestStatsReadBack: statistics come back, of any columns and chunks, in one planned read
// for all pages, and the second time without a read.
func TestStatsReadBack(t *testing.T) {
	t.Parallel()
	racetest.Skip(t, racetest.Alone)
	for _, blocks := range []int{1, 7, 3000, maxStatBlocks + 1} {
		n := 2500
		if blocks > 7 {
			n = 3
		}
		of := statsOf(t, "[('a', '<f8'), ('name', 'S3'), ('b', '<u4')]", blocks)
		p, want := buildStats(t, of, chunks(t, n))
		o := options(n)
		o.Tail = 1
		c := &counting{Reader: reader(p)}
		x, err := Open(t.Context(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.Stats(of, n)
		if err != nil || s == nil || s.Columns() != 2 || s.HasBlocks() != (blocks == 7 || blocks == 3000) || s.Bytes() < 100 || s.Bytes() > int64(len(p)) {
			t.Fatalf("%d blocks: %+v, %v", blocks, s, err)
		}
		every := make([]int, n)
		var all []stats.Stat
		for i := range every {
			every[i] = i
			all = append(all, merged(want[i], 2)...)
		}
		got, err := s.All(t.Context(), []int{1, 0})
		if total := merged(all, 2); err != nil || !cmp.Equal(got, []stats.Stat{total[1], total[0]}) {
			t.Errorf("all: %+v, want %+v, %v", got, total, err)
		}
		for _, list := range [][]int{{n - 1}, {0, 1, n - 1}, every} {
			for again := range 2 {
				before := c.n
				err := s.Chunks(t.Context(), []int{0, 1}, list, func(i int, got []stats.Stat) error {
					if w := merged(want[list[i]], 2); !cmp.Equal(got, w) {
						t.Fatalf("chunk %d: %+v, want %+v", list[i], got, w)
					}
					return nil
				})
				if err == nil && s.HasBlocks() {
					err = s.Blocks(t.Context(), []int{1}, list, func(i int, got []stats.Stat) error {
						for k := range got {
							if got[k] != want[list[i]][2*k+1] {
								t.Fatalf("chunk %d, block %d: %+v", list[i], k, got[k])
							}
						}
						return nil
					})
				}
				if err != nil || c.n > before+2 || again == 1 && c.n != before {
					t.Errorf("%d reads, %v", c.n-before, err)
				}
			}
		}
		if !s.Held([]int{1}, every) || x.HeldBytes() < 1000 {
			t.Error("not held")
		}
		stop := errors.New("stop")
		if err := s.Chunks(t.Context(), []int{0}, every, func(int, []stats.Stat) error { return stop }); !errors.Is(err, stop) {
			t.Error(err)
		}
	}
}

// TestStatsOfOther: statistics about other items, or of other columns, are not used, and
// the heads are.
func TestStatsOfOther(t *testing.T) {
	t.Parallel()
	list := chunks(t, 30)
	of := statsOf(t, "[('a', '<f8'), ('b', '<u4')]", 4)
	p, _ := buildStats(t, of, list)
	x, err := Open(t.Context(), reader(p), options(30))
	if err != nil {
		t.Fatal(err)
	}
	other := of
	other.About++
	more := statsOf(t, "[('a', '<f8'), ('b', '<u4'), ('c', '<u4')]", 4)
	wider := of
	wider.Blocks = 5
	for name, o := range map[string]StatsOf{"type": other, "columns": more, "blocks": wider} {
		if s, err := x.Stats(o, 30); s != nil || !errors.Is(err, index.ErrUnusable) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if s, err := x.Stats(statsOf(t, "S4", 4), 30); s != nil || err != nil {
		t.Errorf("of text: %+v, %v", s, err)
	}
	x, err = Open(t.Context(), reader(build(t, list)), options(30))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := x.Stats(of, 30); s != nil || err != nil {
		t.Errorf("without statistics: %+v, %v", s, err)
	}
}

// TestTrim: statistics go first, those of blocks before those of chunks; statistics that
// lack a chunk are dropped.
func TestTrim(t *testing.T) {
	t.Parallel()
	racetest.Skip(t, racetest.Alone)
	list := chunks(t, 2000)
	of := statsOf(t, "<f8", 20)
	r := rand.New(rand.NewPCG(1, 2))
	make1 := func(n int) *Builder {
		var b Builder
		b.Stats(of)
		for i, c := range list {
			if b.Add(HeadOf(c)); i < n {
				b.AddStats(some(of, r, i))
			}
		}
		b.endStats()
		return &b
	}
	heads := make1(0).Len()
	for _, c := range []struct {
		most           int64
		n              int
		fits           bool
		stats, ofBlock bool
	}{
		{1 << 30, 2000, true, true, true}, {heads + 100_000, 2000, true, true, false}, {heads + 100, 2000, true, false, false},
		{heads - 1, 2000, false, false, false}, {1 << 30, 1999, true, false, false},
	} {
		b := make1(c.n)
		if got := b.Trim(c.most); got != c.fits || (b.stats != nil) != c.stats || b.stats != nil && (len(b.stats.block) > 0) != c.ofBlock {
			t.Errorf("%+v: %t, %+v", c, got, b.stats)
		}
		ix, err := b.Finish(State{Sum{1, 2}, Sum{3}}, index.Binding{Size: 9, ETag: "e"})
		if err != nil {
			t.Fatal(err)
		}
		x, err := Open(t.Context(), reader(index.Beside(ix, 0)), options(2000))
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.Stats(of, 2000)
		if err != nil || (s != nil) != c.stats || s != nil && s.HasBlocks() != c.ofBlock {
			t.Errorf("%+v: %+v, %v", c, s, err)
		}
	}
}

// TestStatsDamaged: a flipped bit of any third byte gives the same statistics or an error about the
// index, never others.
func TestStatsDamaged(t *testing.T) {
	t.Parallel()
	racetest.Skip(t, racetest.Alone)
	list := chunks(t, 24)
	of := statsOf(t, "[('a', '<f8'), ('b', '<u4')]", 4)
	p, want := buildStats(t, of, list)
	for i := 0; i < len(p); i += 3 {
		q := bytes.Clone(p)
		q[i] ^= 1 << (i % 8)
		x, err := Open(t.Context(), reader(q), options(24))
		var s *Stats
		if err == nil {
			s, err = x.Stats(of, 24)
		}
		if err == nil && s != nil {
			err = readAllStats(t, s, func(chunk int, got []stats.Stat) {
				if !cmp.Equal(got, want[chunk]) {
					t.Fatalf("byte %d, chunk %d: %+v, want %+v", i, chunk, got, want[chunk])
				}
			})
		}
		if err != nil && !errors.Is(err, index.ErrUnusable) && !errors.Is(err, formats.ErrTooLarge) {
			t.Fatal(i, err)
		}
	}
}

// readAllStats reads all statistics of two columns.
func readAllStats(tb testing.TB, s *Stats, blocks func(chunk int, list []stats.Stat)) error {
	tb.Helper()
	every := make([]int, s.chunks)
	for i := range every {
		every[i] = i
	}
	cols := make([]int, s.Columns())
	for i := range cols {
		cols[i] = i
	}
	_, err := s.All(tb.Context(), cols)
	if err == nil {
		err = s.Chunks(tb.Context(), cols, every, func(int, []stats.Stat) error { return nil })
	}
	if err == nil && s.HasBlocks() {
		err = s.Blocks(tb.Context(), cols, every, func(i int, list []stats.Stat) error {
			blocks(i, list)
			return nil
		})
	}
	return err
}

// FuzzStats: checksums are right, and pages and their bounds anything. No read panics,
// hangs, or gives a Stat that is none.
func FuzzStats(f *testing.F) {
	of := statsOf(f, "[('a', '<f8'), ('b', '<u4')]", 4)
	r := rand.New(rand.NewPCG(1, 2))
	list := some(of, r, 1)
	page := func(c, n int) []byte {
		var column []stats.Stat
		for i := range n {
			column = append(column, list[(2*i+c)%len(list)])
		}
		p, err := of.Columns[c].AppendPage(nil, column)
		if err != nil {
			f.Fatal(err)
		}
		return p
	}
	f.Add(page(0, 1), page(1, 1), page(0, 5), page(1, 5), page(0, 20), page(1, 20), int64(19), int64(20), int64(4), int64(77))
	f.Add(page(0, 1), page(1, 1), page(0, 5), page(1, 5), page(0, 8), page(1, 20), int64(7), int64(8), int64(4), int64(77))
	f.Fuzz(func(t *testing.T, a0, a1, c0, c1, b0, b1 []byte, last, count, lastChunk, about int64) {
		if last < 0 || count < 0 || lastChunk < 0 || last > 1<<40 || lastChunk > 1<<40 {
			return
		}
		var b index.Builder
		var all []*index.SectionBuilder
		for i, p := range [][]byte{a0, a1, c0, c1, b0, b1} {
			s := b.Section(index.Name{Kind: int64(sectionStatsAll + i/2), Of: int64(i % 2), Level: about})
			switch i / 2 {
			case 0:
				s.Add(0, 0, 1, p)
			case 1:
				s.Add(0, lastChunk, lastChunk+1, p)
			default:
				s.Add(0, last, count, p)
			}
			all = append(all, s)
		}
		heads := b.Section(index.Name{Kind: sectionStarts})
		heads.Add(0, 4, 5, make([]byte, 5))
		meta := append([]byte{metaVersion, 5, 1, 2}, make([]byte, 2*sumLen-2)...)
		meta[2+sumLen] = 3 // as options says
		ix, err := b.Finish(append(all, heads), options(5).Bind, meta)
		if err != nil {
			t.Fatal(err)
		}
		x, err := Open(t.Context(), reader(index.Beside(ix, 0)), options(5))
		var s *Stats
		if err == nil {
			s, err = x.Stats(of, 5)
		}
		if err == nil && s != nil {
			err = readAllStats(t, s, func(_ int, list []stats.Stat) {
				for _, v := range list {
					if v.NaN > v.Items || v.Fill > v.Items || v.Ranged && v.Min > v.Max {
						t.Fatalf("%+v", v)
					}
				}
			})
		}
		if err != nil && !errors.Is(err, index.ErrUnusable) {
			t.Fatal(err)
		}
	})
}

package zoomindex

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/zoomcache"
)

// phases makes stamps of some rates in turn, most with a gap behind.
func phases(rt *rapid.T) []int64 {
	seed := rapid.Uint64().Draw(rt, "seed")
	r := rand.New(rand.NewPCG(seed, 3))
	var out []int64
	last := int64(0)
	for k := range rapid.IntRange(1, 8).Draw(rt, "phases") {
		step := rapid.SampledFrom([]int64{1, 10, 60, 1000, 12_345}).Draw(rt, fmt.Sprintf("step %d", k))
		jitter := rapid.SampledFrom([]int64{0, 0, 2, 5}).Draw(rt, "jitter")
		burst := rapid.SampledFrom([]int{0, 0, 0, 10, 700}).Draw(rt, "burst")
		for i := range rapid.IntRange(1, 6000).Draw(rt, "samples") {
			d := step
			if jitter > 0 {
				d += r.Int64N(step*jitter/3 + 1)
			}
			if burst > 0 && i%burst == 0 {
				d += step * int64(burst)
			}
			last += d
			out = append(out, last)
		}
		last += step * rapid.SampledFrom([]int64{0, 15, 200, 5_000, 300_000}).Draw(rt, "gap")
	}
	return out
}

// hole says which of the times without samples inside a point is one that nobody would
// draw over: it takes more than three of its columns, and many times what is
// usual around.
func (s *series) hole(p *Point, column float64) (at int64, ok bool) {
	for k := s.from(p.Entry, true); k+1 < len(s.off) && s.off[k+1] <= p.Exit; k++ {
		d := s.off[k+1] - s.off[k]
		if float64(d) <= 3*column {
			continue
		}
		around := func(i, j int) int64 {
			var list []int64
			for i = max(i, 0); i+1 < min(j, len(s.off)); i++ {
				list = append(list, s.off[i+1]-s.off[i])
			}
			if len(list) < 10 {
				return d
			}
			slices.Sort(list)
			return list[len(list)*9/10]
		}
		if usual := max(around(k-40, k+1), around(k+1, k+42)); d > 60*usual {
			return s.off[k], true
		}
	}
	return 0, false
}

// TestViewGaps: for any rates and gaps, each point sums up exactly the samples between
// its ends, and no point goes across a gap that is wider than its column.
func TestViewGaps(t *testing.T) {
	t.Parallel()
	racetest.Skip(t, racetest.Alone)
	rapid.Check(t, func(rt *rapid.T) {
		off := phases(rt)
		c := viewCase{track: zoomcache.Track{Codec: zoomcache.Codec{Kind: rapid.SampledFrom([]zoomcache.Kind{zoomcache.F64, zoomcache.I16, zoomcache.Unit}).Draw(rt, "kind")}, Rate: zoomcache.Rate{Num: 1, Den: 1}, Variable: true},
			n: len(off), mark: rapid.SampledFrom([]int{7, 100, 1024, 5000}).Draw(rt, "mark")}
		i := -1
		c.stamps = func(*rand.Rand, int64) int64 { i++; return off[i] }
		if k := c.track.Codec.Kind; k != zoomcache.Unit {
			c.values = func(r *rand.Rand, i int) zoomcache.Number {
				if k == zoomcache.I16 {
					return zoomcache.NewInt(zoomcache.I16, int64(int16(r.Uint32())))
				}
				return zoomcache.NewFloat(zoomcache.F64, float64(i)+r.Float64())
			}
		}
		x := NewBuilder([]zoomcache.Track{{Number: 5, Codec: c.track.Codec, Variable: true}, {Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}}, WriteOptions{NoBins: rapid.IntRange(0, 4).Draw(rt, "no bins") == 0})
		file, s := c.write(t, x)
		f := openView(t, file)
		r, err := f.Recompute(t.Context(), nil)
		if err != nil || !r.Indexed || r.Wrong > 0 {
			rt.Fatalf("%+v, %v", r, err)
		}
		for k := range 4 {
			from, to := int64(zoomcache.FirstOffset), int64(zoomcache.LastOffset)
			if k > 0 {
				a := rapid.Int64Range(off[0], off[len(off)-1]).Draw(rt, "from")
				from, to = a, rapid.Int64Range(a, off[len(off)-1]).Draw(rt, "to")
			}
			width := rapid.SampledFrom([]int{1, 20, 100, 300, 1200}).Draw(rt, "width")
			v, err := f.View(t.Context(), 5, from, to, width)
			if err != nil || !v.Indexed {
				rt.Fatal(v.Indexed, err)
			}
			s.check(t, c.track.Codec.Kind, &v, from, to, true)
			column := (float64(min(to, off[len(off)-1])) - float64(max(from, off[0])) + 1) / float64(width)
			for n := range v.Points {
				if at, bad := s.hole(&v.Points[n], column); bad {
					rt.Fatalf("[%d, %d] width %d, column %.0f: point %d [%d, %d] of level %d, bin %d goes over a gap at %d", from, to, width, column, n, v.Points[n].Entry, v.Points[n].Exit, v.Level, v.Bin, at)
				}
			}
		}
	})
}

// TestViewAround: there are about as many points as asked for, at any rate: one in each
// column that has samples, and none in others.
func TestViewAround(t *testing.T) {
	t.Parallel()
	c := viewCase{track: zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: zoomcache.Rate{Num: 1, Den: 1}, Variable: true}, n: 160_000, mark: 1024}
	c.values = func(_ *rand.Rand, i int) zoomcache.Number { return zoomcache.NewFloat(zoomcache.F64, float64(i%1000)) }
	i := 0
	c.stamps = func(_ *rand.Rand, last int64) int64 {
		if i++; i == 30_000 || i == 100_001 {
			return last + 12_000
		}
		return last + 1
	}
	x := NewBuilder([]zoomcache.Track{{Number: 5, Codec: c.track.Codec, Variable: true}, {Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}}, WriteOptions{})
	file, s := c.write(t, x)
	f := openView(t, file)
	for _, width := range []int{300, 1200, 5000, 20_000} {
		v, err := f.View(t.Context(), 5, zoomcache.FirstOffset, zoomcache.LastOffset, width)
		if err != nil {
			t.Fatal(err)
		}
		s.check(t, zoomcache.F64, &v, zoomcache.FirstOffset, zoomcache.LastOffset, true)
		const share = 160_000.0 / 184_000
		if n := float64(len(v.Points)); n < 0.9*share*float64(width) || n > float64(width) {
			t.Errorf("width %d: %v points, %d and level %d", width, n, v.Bin, v.Level)
		}
		for k := range v.Points {
			if at, bad := s.hole(&v.Points[k], 184_000/float64(width)); bad {
				t.Errorf("width %d: a gap at %d is drawn over", width, at)
			}
		}
	}
	var plan int64
	reads, err := f.ExplainView(t.Context(), 5, zoomcache.FirstOffset, zoomcache.LastOffset, 1200)
	for _, r := range reads {
		plan += r.Len
	}
	if err != nil || len(reads) > 1 || plan > 100<<10 {
		t.Errorf("%v, %v", reads, err)
	}
}

// TestIndexOfBefore: older indexes have spans that go across gaps. Such an index is
// read and verified.
func TestIndexOfBefore(t *testing.T) {
	t.Parallel()
	for _, c := range sampledCases() {
		if !c.track.Variable || c.name == "backward" {
			continue
		}
		x := NewBuilder([]zoomcache.Track{{Number: 5, Codec: c.track.Codec, Variable: true}, {Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}}, WriteOptions{})
		for _, k := range x.tracks {
			k.gaps = false
		}
		file, s := c.write(t, x)
		f := openView(t, file)
		if r, err := f.Recompute(t.Context(), nil); err != nil || !r.Indexed || r.Wrong > 0 {
			t.Fatalf("%s: %+v, %v", c.name, r, err)
		}
		for _, width := range []int{1, 30, 1000, 10_000} {
			v, err := f.View(t.Context(), 5, zoomcache.FirstOffset, zoomcache.LastOffset, width)
			if err != nil || !v.Indexed {
				t.Fatal(c.name, v.Indexed, err)
			}
			s.check(t, x.tracks[0].t.Codec.Kind, &v, zoomcache.FirstOffset, zoomcache.LastOffset, true)
		}
	}
}

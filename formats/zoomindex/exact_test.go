package zoomindex

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/racetest"
)

// evenly returns Until for windows of a length.
func evenly(length int64) func(off int64) int64 {
	return func(off int64) int64 {
		k := off / length
		if off%length < 0 {
			k--
		}
		return k*length + length - 1
	}
}

// summed returns the case with integers of which many spans have sums.
func (c *viewCase) summed(r *rand.Rand) *viewCase {
	small := *c
	if k := c.track.Codec.Kind; c.values != nil && k != zoomcache.Bool && !k.Float() && k != zoomcache.Integer {
		top := int64(1) << (4 + 8*(c.seed%3))
		small.values = func(r *rand.Rand, i int) zoomcache.Number {
			v := r.Int64N(top) * int64(1+i/3000)
			if k.Unsigned() {
				return zoomcache.NewUint(k, uint64(v)&keyMask(keyWidth(k)))
			}
			return number(k, intKey(v-top/2, keyWidth(k), true))
		}
	}
	return &small
}

// TestExact: spans and what is left are all samples, none twice; spans are in one window each;
// and what is told of them is exact, by brute force.
func TestExact(t *testing.T) {
	t.Parallel()
	spans, sums := 0, 0
	for _, c := range sampledCases() {
		r := rand.New(rand.NewPCG(c.seed, 3))
		c := c.summed(r)
		tracks := []zoomcache.Track{c.track, {Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: c.track.Rate}}
		tracks[0].Number = 5
		file, s := c.write(t, NewBuilder(tracks, WriteOptions{}))
		f := openView(t, file)
		least, most := s.off[0], s.off[0]
		for _, off := range s.off {
			least, most = min(least, off), max(most, off)
		}
		if got, err := f.Extent(t.Context(), 5); err != nil || got.Entry != least || got.Exit != most || got.Samples != int64(len(s.off)) {
			t.Fatalf("%s: %+v, %v, want %d to %d", c.name, got, err, least, most)
		}
		for n := range 5 {
			from, to := int64(zoomcache.FirstOffset), int64(zoomcache.LastOffset)
			if n > 2 {
				from = least + r.Int64N(most-least+1)
				to = from + r.Int64N(most-from+1)
			}
			length := 1 + (most-least)>>r.IntN(9)
			o := ExactOptions{Until: evenly(length), Sums: n%2 == 1}
			if n == 0 {
				o.Until = func(int64) int64 { return math.MaxInt64 }
			}
			in := make([]int, len(s.off)) // how often a sample came
			got, err := f.Exact(t.Context(), 5, from, to, o, func(k *Known) error {
				spans++
				if o.Until(k.Entry) < k.Exit || k.Entry < from || k.Exit > to {
					t.Errorf("%s: span %d to %d lies across windows, or out of %d to %d", c.name, k.Entry, k.Exit, from, to)
				}
				s.known(t, c, k, in, o.Sums)
				if o.Sums && k.Channels[0].Summed {
					sums++
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			for i, off := range s.off {
				for _, r := range got.Rest {
					if off >= r.From && off <= r.To {
						in[i]++
					}
				}
				want := 0
				if off >= from && off <= to {
					want = 1
				}
				if in[i] != want {
					t.Fatalf("%s, %d to %d by %d: sample %d at %d is there %d times, left are %v", c.name, from, to, length, i, off, in[i], got.Rest)
				}
			}
		}
	}
	if spans < 50 || sums < 20 && !racetest.On { // few of the cases run then
		t.Errorf("%d spans, %d sums", spans, sums)
	}
}

// known compares a span with its samples.
func (s *series) known(t *testing.T, c *viewCase, k *Known, in []int, sums bool) {
	t.Helper()
	from, _ := slices.BinarySearch(s.off, k.Entry)
	to, _ := slices.BinarySearch(s.off, k.Exit+1)
	for i := from; i < to; i++ {
		in[i]++
	}
	if n := int64(to - from); n != k.Count {
		t.Errorf("%s: span %d to %d of %d samples, want %d", c.name, k.Entry, k.Exit, k.Count, n)
	}
	if c.values == nil {
		return
	}
	for ch := range k.Channels {
		got := &k.Channels[ch]
		var lo, hi zoomcache.Number
		nan, sum, some := int64(0), new(big.Int), false
		for i := from; i < to; i++ {
			v := s.v[i*s.width+ch]
			if v.Float() != v.Float() {
				nan++
				continue
			}
			if !some || less(v, lo) {
				lo = v
			}
			if !some || less(hi, v) {
				hi = v
			}
			some = true
			if !v.Kind().Float() {
				sum.Add(sum, v.Big())
			}
		}
		if nan != got.NaN || some && (!equal(lo, got.Min) || !equal(hi, got.Max)) {
			t.Errorf("%s: span %d to %d: %+v, want %d NaN, %v to %v", c.name, k.Entry, k.Exit, got, nan, lo, hi)
		}
		if sums && !got.Summed || got.Summed && sum.Cmp(big.NewInt(got.Sum)) != 0 {
			t.Errorf("%s: span %d to %d: sum %d (%v), want %v", c.name, k.Entry, k.Exit, got.Sum, got.Summed, sum)
		}
	}
}

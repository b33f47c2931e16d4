package zoomindex

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
)

// TestGolden: files with their indexes, and the numbers of views, have the bits that they
// have on every processor: no product is fused with a sum.
func TestGolden(t *testing.T) {
	t.Parallel()
	rate := zoomcache.Rate{Num: 1000, Den: 1}
	values := func(r *rand.Rand, _ int) zoomcache.Number {
		if r.IntN(1000) == 0 {
			return zoomcache.NewFloat(zoomcache.F64, math.NaN())
		}
		return zoomcache.NewFloat(zoomcache.F64, r.Float64()-0.25)
	}
	stamps := func(r *rand.Rand, last int64) int64 { return last + 1 + r.Int64N(4) + r.Int64N(500)/499*r.Int64N(5000) }
	for _, c := range []struct {
		viewCase
		want uint64
	}{
		{viewCase{"f64", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate}, 6_000, 1024, 1, values, nil}, 0x5a2780b3fbb97d25},
		{viewCase{"two of variable rate", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F64, Channels: 2}, Rate: rate, Variable: true}, 4_000, 900, 2, values, stamps}, 0x34c05c110b4f6285},
		{viewCase{"i64", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I64, Channels: 2}, Rate: rate}, 4_000, 1000, 3, func(r *rand.Rand, _ int) zoomcache.Number {
			return zoomcache.NewInt(zoomcache.I64, r.Int64())
		}, nil}, 0x487f3387968484b4},
	} {
		a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
		a.Number = 5
		file, s := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
		h := fnv.New64a()
		_, _ = h.Write(file)
		f := openView(t, file)
		for _, width := range []int{1, 7, 300} {
			v, err := f.View(t.Context(), 5, 1, s.off[len(s.off)-1], width)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(h, "%+v", v)
		}
		if got := h.Sum64(); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}

package zoomindex

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
)

// TestBands: bins in columns make the sheets that a stat for each bin makes.
func TestBands(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 22))
	odd := []float64{0, math.Copysign(0, -1), 1, -1}
	great := append(slices.Clone(odd), math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e200)
	strange := append(slices.Clone(great), math.NaN(), math.Inf(1))
	of := func(n int, some []float64) *zoomcache.Values {
		v := make([]float64, n)
		for i := range v {
			if v[i] = 100 * r.NormFloat64(); r.IntN(3) == 0 {
				v[i] = some[r.IntN(len(some))]
			}
		}
		return &zoomcache.Values{Kind: zoomcache.F64, N: n, F64: v}
	}
	small := func(n int, mask int16) *zoomcache.Values {
		v := make([]int16, n)
		for i := range v {
			v[i] = int16(r.Uint32()) & mask
		}
		return &zoomcache.Values{Kind: zoomcache.I16, N: n, I16: v}
	}
	for _, n := range []int{1, 24, 25, 26, 99, 100, 101, 399, 1000, 1024} {
		for _, size := range []int{25, 100} {
			for _, steps := range [][]int{{1}, {1, 2, 2, 2}, {1, 4}, {1, 2, 4, 4}} {
				for _, v := range []*zoomcache.Values{of(n, odd), of(n, great), {Kind: zoomcache.F64, N: n, F64: make([]float64, n)}, small(n, -1), small(n, 3), small(n, 0)} {
					checkBands(t, v, size, steps)
				}
				if n > 200 {
					var b bands
					if b.gather(of(n, strange), size, n) {
						t.Error("NaN and infinities in columns")
					}
				}
			}
		}
	}
}

// checkBands makes sheets of levels of bins, each steps times as long as those of the one before.
func checkBands(t *testing.T, v *zoomcache.Values, size int, steps []int) {
	t.Helper()
	var b bands
	if !b.gather(v, size, v.N) {
		for _, x := range v.F64 {
			if math.Abs(x) > 1e100 {
				return // a sum may be too great
			}
		}
		t.Fatal("not gathered")
	}
	st := make([]stat, (v.N+size-1)/size)
	gatherBins(st, v, 1, size, v.N)
	for _, step := range steps {
		b.join(step)
		st = joinBins(st, 1, step)
		size *= step
		l := layout{kind: v.Kind, width: 1, bin: true}
		want, got := newSheet(l, false), newSheet(l, false)
		for range 2 { // the second time behind others
			entry := want.last + 3
			want.addBins(entry, size, v.N, st)
			got.addBands(entry, &b, 0, len(b.lo))
			if b.tail.n > 0 {
				got.add(entry+int64(len(b.lo)*size), entry+int64(v.N)-1, b.tail.n, []stat{b.tail})
			}
		}
		if want.held, want.next = got.held, got.next; !reflect.DeepEqual(got, want) {
			t.Fatalf("%d values of %v in bins of %d: %+v, want %+v", v.N, v.Kind, size, got, want)
		}
	}
	joinBins(st, 1, len(st))
	if got := b.whole(); got != st[0] {
		t.Fatalf("%d values of %v: %+v, want %+v", v.N, v.Kind, got, st[0])
	}
}

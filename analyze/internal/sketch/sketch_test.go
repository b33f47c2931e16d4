package sketch_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/analyze/internal/sketch"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/racetest"
)

func numbers(rnd *rand.Rand, kind, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		switch kind {
		case 0:
			list[i] = rnd.NormFloat64()
		case 1:
			for list[i] = math.NaN(); math.IsNaN(list[i]); {
				list[i] = math.Float64frombits(rnd.Uint64())
			}
		case 2:
			list[i] = float64(rnd.IntN(7) - 3)
		case 3:
			list[i] = math.Exp(20 * rnd.NormFloat64())
		default:
			list[i] = []float64{math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1}[rnd.IntN(5)]
		}
	}
	return list
}

// TestQuantiles: quantiles are within the error of the sorted numbers, exact at the ends,
// and the same however the numbers are split and merged.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	qs := []float64{0, 0.001, 0.25, 0.5, 0.9, 0.999, 1}
	for round := range racetest.Share(300, 8) { // one goroutine
		list := numbers(rnd, round%5, 1+rnd.IntN(400))
		var all, merged sketch.Sketch
		all.Add(list)
		for left := list; len(left) > 0; {
			k := 1 + rnd.IntN(len(left))
			var s sketch.Sketch
			s.Add(left[:k])
			back, err := sketch.Restore(s.State())
			if err != nil {
				t.Fatal(err)
			}
			merged.Merge(back)
			left = left[k:]
		}
		if d := cmp.Diff(all.State(), merged.State()); d != "" {
			t.Fatalf("round %d: %s", round, d)
		}
		sorted := slices.Sorted(slices.Values(list))
		for i, got := range all.Quantiles(qs, false) {
			want := sorted[int(math.Floor(qs[i]*float64(len(list)-1)))]
			off := math.Abs(got - want)
			if got == want {
				off = 0
			}
			if !(off <= math.Abs(want)*sketch.RelativeError || off <= 0x1p-1031) || (i == 0 || i == len(qs)-1) && got != want {
				t.Fatalf("round %d: quantile %v: %v, want %v", round, qs[i], got, want)
			}
		}
	}
}

// TestWhole: small integers are exact.
func TestWhole(t *testing.T) {
	t.Parallel()
	var s sketch.Sketch
	var list []float64
	for i := -511; i < 512; i += 3 {
		list = append(list, float64(i))
	}
	s.Add(list)
	for i, v := range list {
		if got := s.Quantiles([]float64{(float64(i) + 0.5) / float64(len(list)-1)}, true)[0]; i < len(list)-1 && got != v {
			t.Errorf("%v, want %v", got, v)
		}
	}
	var none sketch.Sketch
	if got := none.Quantiles([]float64{0.5}, true)[0]; !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}

// TestRestore: states that no sketch has are refused.
func TestRestore(t *testing.T) {
	t.Parallel()
	for _, bad := range []sketch.State{
		{"0x1p+00", "0x0p+00", []sketch.Bucket{{1, 1}}},
		{"x", "0x0p+00", []sketch.Bucket{{1, 1}}},
		{"NaN", "0x0p+00", []sketch.Bucket{{1, 1}}},
		{"0x0p+00", "0x1p+00", []sketch.Bucket{{1, 0}}},
		{"0x0p+00", "0x1p+00", []sketch.Bucket{{1, 1}, {1, 1}}},
		{"0x0p+00", "0x1p+00", []sketch.Bucket{{1 << 30, 1}}},
		{"0x0p+00", "0x1p+00", []sketch.Bucket{{-1 << 30, 1}}},
		{"0x0p+00", "0x1p+00", []sketch.Bucket{{1, math.MaxInt64}, {2, 1}}},
	} {
		if _, err := sketch.Restore(bad); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	list := numbers(rand.New(rand.NewPCG(1, 2)), 0, 4096)
	b.SetBytes(int64(len(list)) * 8)
	var s sketch.Sketch
	for b.Loop() {
		s.Add(list)
	}
}

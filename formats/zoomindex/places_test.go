package zoomindex

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNth: it is the number that lies there in order, if many are alike, too.
func TestNth(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(41, 42))
	for n := 1; n < 100; n++ {
		for _, most := range []int64{1, 2, 5, 1 << 40} {
			v := make([]int64, n)
			for i := range v {
				v[i] = r.Int64N(most)
			}
			sorted := slices.Sorted(slices.Values(v))
			for range 5 {
				k := r.IntN(n)
				if got := nth(slices.Clone(v), k); got != sorted[k] {
					t.Fatalf("number %d of %d is %d, want %d", k, v, got, sorted[k])
				}
			}
			if got := nth(sorted, n/2); got != sorted[n/2] {
				t.Fatalf("number %d of %d in order is %d", n/2, sorted, got)
			}
		}
	}
}

package backfill

import (
	"testing"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore/memstore"
)

// TestPlan: batches are small first, and larger in long listings; the same objects have the
// same plan, and others another. Without results nothing is counted, and all has failed for
// now once the run has ended.
func TestPlan(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, c := range []struct{ n, batches, last int }{{0, 0, 0}, {5, 1, 5}, {23, 3, 3}, {10_000, 1000, 10}, {10_230, 1003, 30}} {
		for range 2 {
			b := endless{memstore.New(memstore.Config{}), c.n}
			p, err := NewPlan(t.Context(), Options{Name: "uploads", Bucket: b, Handler: handlerOf(b, functions.Rules{everything()}, nil)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			ids[p.ID] = true
			seen, last := 0, 0
			err = p.batches(func(n int, b batch) error {
				seen += len(b.Keys)
				if last = len(b.Keys); b.Name != batchName(n) || b.Job != everything().Job || b.Bucket != "uploads" {
					t.Errorf("batch %d: %+v", n, b)
				}
				return nil
			})
			if err != nil || p.Batches != c.batches || seen != c.n || last != c.last || p.Objects != int64(c.n) {
				t.Errorf("%d objects: %d batches, %d in the last, %d in all: %v", c.n, p.Batches, last, seen, err)
			}
			r := p.Results(b, Input{}, "")
			for _, ended := range []bool{false, true} {
				got, err := r.Report(ended)
				want := int64(0)
				if ended {
					want = int64(c.n)
				}
				if err != nil || got.Retry != want || got.Listed != int64(c.n) || got.Complete != (ended && c.n == 0) || len(got.Failures) != min(c.batches, maxFailures)*int(min(want, 1)) {
					t.Errorf("%d objects, ended %v: %+v, %v", c.n, ended, got, err)
				}
			}
		}
	}
	if len(ids) != 5 {
		t.Errorf("%d plans", len(ids))
	}
}

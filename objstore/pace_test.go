package objstore_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// TestPaceInAQueue: a round trip is as long as it is, however many requests wait for
// their place in a Limit, and gaps are bounded by it.
func TestPaceInAQueue(t *testing.T) {
	t.Parallel()
	const size, bandwidth = 1 << 20, 10 << 20
	for _, places := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			mem := memstore.New(memstore.Config{})
			put(t, mem, "k", randomBytes(size))
			b := objstore.Chain(mem, objstore.Limit(places), simstore.Latency(rtt), simstore.Bandwidth(bandwidth))
			var pace objstore.Pace
			obj, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 1, Pace: &pace, Policy: rangeio.Policy{MaxGap: 8 << 20, Free: 1}})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 12 {
				wg.Go(func() {
					if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: 1, P: make([]byte, size/2)}}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			first, bps := pace.Estimate()
			if off := bps/bandwidth - 1; first != rtt || off < -0.001 || off > 0.001 {
				t.Errorf("places for %d: a round trip of %v, %.0f bytes a second", places, first, bps)
			}
			if gap, want := obj.Policy().MaxGap, int64(rtt.Seconds()*bps); gap != want {
				t.Errorf("places for %d: gaps of %d bytes, want %d", places, gap, want)
			}
		})
	}
}

package objstore_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// TestAidPatience: an object that its reader can do without is given up after 2 s of silence, or after what is slow for
// its store; at most after half of the limit, and also if there is none.
func TestAidPatience(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers time.Duration // of the store, before it falls silent
		stall   time.Duration
		least   time.Duration
		most    time.Duration
	}{
		{"of a quick store", 20 * time.Millisecond, 0, 2 * time.Second, 2 * time.Second},
		{"of a slow store", 1500 * time.Millisecond, 0, 4500 * time.Millisecond, 9 * time.Second},
		{"of a slow store, little patience", 1500 * time.Millisecond, 6 * time.Second, 3 * time.Second, 3 * time.Second},
		{"little patience", 20 * time.Millisecond, 3 * time.Second, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"endless patience", 20 * time.Millisecond, -1, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memstore.New(memstore.Config{})
				put(t, mem, "k", plain()[:1<<20])
				var silent atomic.Bool
				b := objstore.Chain(mem, objstore.Hedge(&objstore.Pace{}), simstore.Replace(func(ctx context.Context, _ simstore.Call) error {
					if silent.Load() {
						<-ctx.Done()
						return context.Cause(ctx)
					}
					time.Sleep(c.answers)
					return nil
				}))
				for range 40 {
					if _, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 1}); err != nil {
						t.Fatal(err)
					}
				}
				silent.Store(true)
				start := time.Now()
				_, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 1, Aid: true, Stall: c.stall})
				if took := time.Since(start); !errors.Is(err, objstore.ErrUnavailable) || took < c.least || took > c.most {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

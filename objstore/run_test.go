package objstore_test

import (
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// TestRuns: a run is what one request of a large read brings, and nothing of it is kept.
func TestRuns(t *testing.T) {
	const mib = 1 << 20
	o, err := objstore.Open(t.Context(), zeros{memstore.New(memstore.Config{})}, "x", objstore.OpenOptions{Head: mib, Tail: mib, Also: objstore.Range{Off: 100 * mib, Len: mib}})
	if err != nil {
		t.Fatal(err)
	}
	if o.Runs(10*mib, 2*mib) {
		t.Error("a run without Long")
	}
	long, _ := o.Long(128 * mib)
	r, ok := long.(rangeio.Runner)
	if !ok {
		t.Fatal("Long returned no Runner")
	}
	for _, c := range []struct {
		off, n int64
		want   bool
	}{
		{mib, 8 * mib, true},
		{mib - 1, 8 * mib, false}, // head
		{mib, 9 * mib, true},
		{mib, 9*mib + 1, false}, // two requests
		{mib, mib, false},       // may be joined with others
		{92 * mib, 8 * mib, true},
		{92*mib + 1, 8 * mib, false}, // also
		{101 * mib, 8 * mib, true},
		{1<<30 - 9*mib, 8 * mib, true},
		{1<<30 - 9*mib + 1, 8 * mib, false}, // tail
		{1<<30 - mib, 8 * mib, false},
		{-1, 8 * mib, false},
	} {
		if got := r.Runs(c.off, c.n); got != c.want {
			t.Errorf("[%d, +%d): %v", c.off, c.n, got)
		}
	}
	before, pieces := o.Stats(), 0
	p := make([]byte, 4*mib)
	err = r.ReadRun(t.Context(), &rangeio.Run{Off: 10 * mib, Lens: []int64{4 * mib, 3 * mib, mib}, Memory: func(int, time.Duration) ([]byte, error) { return p, nil }, Done: func(int) { pieces++ }})
	s := o.Stats()
	if err != nil || pieces != 3 || s.Requests-before.Requests != 1 || s.Bytes-before.Bytes != 8*mib || s.Phases-before.Phases != 1 {
		t.Errorf("%d pieces by %d requests, %d bytes, %d phases: %v", pieces, s.Requests-before.Requests, s.Bytes-before.Bytes, s.Phases-before.Phases, err)
	}
}

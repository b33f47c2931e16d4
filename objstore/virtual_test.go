package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

const rtt = 30 * time.Millisecond

// The policies were chosen by these layouts and this model (30 ms to the first byte, 90
// MB/s a connection). The clock is virtual, so the test compares the number of round
// trips and the bytes, to the millisecond.
func TestPoliciesInVirtualTime(t *testing.T) {
	data := randomBytes(48 << 20)
	layout := func(n, length, stride int) (spans []rangeio.Span) {
		for i := range n {
			spans = append(spans, rangeio.Span{Off: int64(1<<20 + i*stride), P: make([]byte, length)})
		}
		return spans
	}
	for _, tc := range []struct {
		name     string
		spans    []rangeio.Span
		policy   rangeio.Policy
		most     time.Duration
		requests int64
		over     float64 // bytes received for each wanted
	}{
		{"16 x 64 KiB, gaps of 192 KiB, fast", layout(16, 64<<10, 256<<10), rangeio.Fast(), 31 * time.Millisecond, 16, 1},
		{"16 x 64 KiB, gaps of 192 KiB, few", layout(16, 64<<10, 256<<10), rangeio.Few(), 80 * time.Millisecond, 1, 3.9},
		{"16 x 64 KiB, gaps of 192 KiB, lean", layout(16, 64<<10, 256<<10), rangeio.Lean(), 31 * time.Millisecond, 16, 1},
		{"256 x 16 KiB, gaps of 64 KiB, fast", layout(256, 16<<10, 80<<10), rangeio.Fast(), 36 * time.Millisecond, 64, 4},
		{"256 x 16 KiB, gaps of 64 KiB, few", layout(256, 16<<10, 80<<10), rangeio.Few(), 220 * time.Millisecond, 2, 5},
		{"256 x 16 KiB, gaps of 64 KiB, lean", layout(256, 16<<10, 80<<10), rangeio.Lean(), 125 * time.Millisecond, 240, 1.25},
		{"one range of 32 MiB, fast", layout(1, 32<<20, 0), rangeio.Fast(), 54 * time.Millisecond, 16, 1},
		{"one range of 32 MiB, never split", layout(1, 32<<20, 0), rangeio.Policy{Parallel: 1}, 404 * time.Millisecond, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memstore.New(memstore.Config{})
				put(t, mem, "k", data)
				b := objstore.Chain(mem, simstore.Latency(rtt), simstore.Bandwidth(90_000_000))
				obj, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 1, Policy: tc.policy})
				if err != nil {
					t.Fatal(err)
				}
				before, start := obj.Stats(), time.Now()
				if err := obj.ReadRanges(t.Context(), tc.spans); err != nil {
					t.Fatal(err)
				}
				took, after := time.Since(start), obj.Stats()
				var wanted float64
				for _, s := range tc.spans {
					if wanted += float64(len(s.P)); !bytes.Equal(s.P, data[s.Off:s.End()]) {
						t.Fatal("wrong bytes")
					}
				}
				over := float64(after.Bytes-before.Bytes) / wanted
				t.Logf("%v, %d requests, %.2f bytes a byte", took, after.Requests-before.Requests, over)
				if took > tc.most || after.Requests-before.Requests > tc.requests || over > tc.over+0.001 {
					t.Errorf("%v, %d requests, %.2f bytes a byte; at most %v, %d, %.2f", took, after.Requests-before.Requests, over, tc.most, tc.requests, tc.over)
				}
				if after.Phases != 2 {
					t.Errorf("%d phases: open and one read are 2", after.Phases)
				}
			})
		})
	}
}

func TestOpenIsOneRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c objstore.Counter
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", randomBytes(1<<20))
		b := objstore.Chain(mem, simstore.Latency(rtt), objstore.Count(&c))
		start := time.Now()
		if _, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Tail: 64 << 10, Counter: &c}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != rtt {
			t.Errorf("open with head and tail took %v, want one round trip of %v", took, rtt)
		}
		if s := c.Stats(); s.Requests != 2 || s.Phases != 1 {
			t.Errorf("%+v, want 2 requests in 1 phase", s)
		}
	})
}

// TestPhases: what depends on nothing shares a phase, whatever the clock says.
func TestPhasesOfDependentReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c objstore.Counter
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", randomBytes(1<<20))
		o := objstore.OpenOptions{Head: 1, Counter: &c}
		ctx := rangeio.OnePhase(t.Context())
		var obj *objstore.Object
		for range 3 {
			var err error
			if obj, err = objstore.Open(ctx, mem, "k", o); err != nil {
				t.Fatal(err)
			}
		}
		if n := c.Stats().Phases; n != 1 {
			t.Errorf("three opens marked as one phase: %d", n)
		}
		for range 2 {
			if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: 5, P: make([]byte, 5)}}); err != nil {
				t.Fatal(err)
			}
		}
		if n := c.Stats().Phases; n != 3 {
			t.Errorf("two reads after another: phase %d, want 3", n)
		}
	})
}

func TestStalledBodyIsContinued(t *testing.T) {
	data := randomBytes(1 << 20)
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", data)
		b := objstore.Chain(mem, simstore.Stall(2, 1000))
		obj, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 1, Stall: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 5000)
		start := time.Now()
		if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: 100, P: p}}); err != nil || !bytes.Equal(p, data[100:5100]) {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 2500*time.Millisecond {
			t.Errorf("took %v, want half of the 5 s, after which a body is continued elsewhere", took)
		}
		if s := obj.Stats(); s.Retries != 1 || s.Bytes != 5001 {
			t.Errorf("%+v: the body was not continued from its last byte", s)
		}
	})
}

func TestStalledForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", randomBytes(1<<20))
		for _, resumes := range []int{2, 20} { // they do not multiply what a call may take
			start := time.Now()
			obj, err := objstore.Open(t.Context(), objstore.Chain(mem, simstore.Stall(1, 0)), "k", objstore.OpenOptions{Head: 1, Stall: time.Second, Resumes: resumes})
			if took := time.Since(start); !errors.Is(err, objstore.ErrUnavailable) || took != time.Second {
				t.Errorf("%v %v after %v, want ErrUnavailable after 1 s", obj, err, took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := objstore.Open(ctx, objstore.Chain(mem, simstore.Stall(1, 0)), "k", objstore.OpenOptions{Head: 1, Stall: -1})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want DeadlineExceeded", err)
		}
	})
}

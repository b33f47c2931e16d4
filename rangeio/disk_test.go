package rangeio_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/rangeio"
)

// TestDisk: reads that wait are made side by side, until they no longer do; an error
// ends them.
func TestDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := rangeio.NewDisk()
		spans := make([]rangeio.Span, 131)
		for i := range spans {
			spans[i] = rangeio.Span{Off: int64(i), P: make([]byte, 1)}
		}
		spans[7].P = nil
		each, bad := time.Duration(0), error(nil)
		read := func(s rangeio.Span) error {
			time.Sleep(each)
			if s.Off == 100 {
				return bad
			}
			return nil
		}
		var calls atomic.Int64
		pass := func() (time.Duration, error) {
			calls.Store(0)
			start := time.Now()
			err := d.Read(t.Context(), spans, read, func(int) error { calls.Add(1); return nil })
			return time.Since(start), err
		}
		for _, c := range []struct {
			each, took time.Duration
			slow       bool
		}{
			{0, 0, false},
			{time.Second, 5 * time.Second, true}, // three, and 127 in two turns
			{time.Second, 3 * time.Second, true},
			{0, 0, false}, // as many quick ones as it takes
		} {
			each = c.each
			if took, err := pass(); took != c.took || err != nil || calls.Load() != 131 || d.Slow() != c.slow {
				t.Errorf("reads of %v: %v, %v, %d done, slow %t", c.each, took, err, calls.Load(), d.Slow())
			}
		}
		for _, each = range []time.Duration{0, time.Second} {
			bad = errors.New("bad")
			if _, err := pass(); !errors.Is(err, bad) {
				t.Errorf("%v, want the error of the read", err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Read(ctx, spans, read, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

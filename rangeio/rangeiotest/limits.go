// Package rangeiotest helps to test readers of ranges: a conformance suite for
// every [rangeio.Reader], a [Reader] over memory that counts and traces requests,
// and limits on the requests of a test, for users' own tests too.
package rangeiotest

import (
	"testing"

	"github.com/farread/farread/rangeio"
)

// A Counter counts the quantities that Limits bound. A Reader of this package is
// a Counter, and so are objstore.Object and objstore.Counter.
type Counter interface {
	Stats() rangeio.Stats
}

// MaxRequests fails t at its end if, from this call on, c counted more than n
// requests. Call it before the reads that it is about:
//
//	rangeiotest.MaxRequests(t, obj, 2)
func MaxRequests(t testing.TB, c Counter, n int64) {
	t.Helper()
	limit(t, c, "requests", n, func(s rangeio.Stats) int64 { return s.Requests })
}

// MaxBytes is MaxRequests for the bytes of bodies received.
func MaxBytes(t testing.TB, c Counter, n int64) {
	t.Helper()
	limit(t, c, "bytes", n, func(s rangeio.Stats) int64 { return s.Bytes })
}

// MaxPhases is MaxRequests for dependent phases; see [rangeio.Phases].
func MaxPhases(t testing.TB, c Counter, n int64) {
	t.Helper()
	limit(t, c, "phases", n, func(s rangeio.Stats) int64 { return s.Phases })
}

func limit(t testing.TB, c Counter, what string, n int64, value func(rangeio.Stats) int64) {
	t.Helper()
	before := value(c.Stats())
	t.Cleanup(func() {
		t.Helper()
		s := c.Stats()
		if got := value(s) - before; got > n {
			t.Errorf("%d %s, at most %d allowed (in all: %d requests, %d bytes, %d phases, %d retries, %d cache hits)",
				got, what, n, s.Requests, s.Bytes, s.Phases, s.Retries, s.CacheHits)
		}
	})
}

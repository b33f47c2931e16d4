package rangeiotest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/farread/farread/rangeio"
	"github.com/farread/farread/rangeio/rangeiotest"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func data(n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(p) // never fails
	return p
}

func TestReaders(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 100, 70_001} {
		want := data(size)
		for name, r := range map[string]rangeio.Reader{
			"fast":     rangeiotest.New(want, rangeio.Fast()),
			"few":      rangeiotest.New(want, rangeio.Few()),
			"lean":     rangeiotest.New(want, rangeio.Lean()),
			"zero":     rangeiotest.New(want, rangeio.Policy{}),
			"split":    rangeiotest.New(want, rangeio.Policy{Free: 10, MaxGap: 1000, MaxLen: 777, OverRead: 1, Parallel: 2}),
			"readerat": rangeio.FromReaderAt(bytes.NewReader(want), int64(size)),
			"section":  rangeio.Section(rangeiotest.New(append([]byte("before"), append(want, "behind"...)...), rangeio.Fast()), 6, int64(size)),
		} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				t.Parallel()
				rangeiotest.Test(t, r, want)
			})
		}
	}
}

func TestTraceAndStats(t *testing.T) {
	t.Parallel()
	want := data(1 << 20)
	r := rangeiotest.New(want, rangeio.Policy{Free: 100, Parallel: 1})
	rangeiotest.MaxRequests(t, r, 3)
	rangeiotest.MaxBytes(t, r, 160)
	rangeiotest.MaxPhases(t, r, 2)
	for _, spans := range [][]rangeio.Span{
		{{Off: 500_000, P: make([]byte, 50)}, {Off: 0, P: make([]byte, 10)}, {Off: 50, P: make([]byte, 10)}},
		{{Off: 7, P: make([]byte, 50)}},
		{{Off: 7}},
	} {
		if err := r.ReadRanges(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"0+60 spans=2", "500000+50 spans=1", "7+50 spans=1"}, r.Trace()); d != "" {
		t.Error(d)
	}
	if got := r.Trace(); got != nil {
		t.Errorf("a second Trace repeats %v", got)
	}
	if d := cmp.Diff(rangeio.Stats{Requests: 3, Bytes: 160, Phases: 2}, r.Stats()); d != "" {
		t.Error(d)
	}
}

// recorder stands in for the test that exceeds its limits.
type recorder struct {
	testing.TB
	cleanup []func()
	errors  []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// TestLimits: spending before the call is free, spending exactly the limit is
// allowed, one more is reported, at the end.
func TestLimits(t *testing.T) {
	t.Parallel()
	r := rangeiotest.New(data(1000), rangeio.Policy{})
	read := func() {
		if err := r.ReadRanges(t.Context(), []rangeio.Span{{Off: 0, P: make([]byte, 10)}}); err != nil {
			t.Fatal(err)
		}
	}
	read()
	rec := &recorder{TB: t}
	rangeiotest.MaxRequests(rec, r, 2)
	rangeiotest.MaxBytes(rec, r, 20)
	rangeiotest.MaxPhases(rec, r, 2)
	read()
	read()
	end := func() []string {
		rec.errors = nil
		for _, f := range rec.cleanup {
			f()
		}
		return rec.errors
	}
	if got := end(); len(got) > 0 {
		t.Errorf("within the limits, but: %q", got)
	}
	read()
	got := end()
	for i, want := range []string{"3 requests, at most 2 allowed", "30 bytes, at most 20 allowed", "3 phases, at most 2 allowed"} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("message %d of %q: want %q", i, got, want)
		}
	}
}

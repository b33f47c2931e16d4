package objstore_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// zeros has one object of 1 GiB, which is not kept anywhere.
type zeros struct{ objstore.Bucket }

func (zeros) Get(_ context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	in := objstore.Info{Key: key, Size: 1 << 30, ETag: `"zeros"`}
	from, to := o.Range.Resolve(in.Size)
	return io.NopCloser(bytes.NewReader(make([]byte, to-from))), in, nil
}

// TestLargeRequests: a large read is cut into longer requests the larger it is,
// up to 8 MiB, once 16 of the policy's own would not hold it; many small spans
// and policies with longer requests, or none, stay as they are.
func TestLargeRequests(t *testing.T) {
	bk := zeros{memstore.New(memstore.Config{})}
	const mib = 1 << 20
	buf := make([]byte, 160*mib) // never touched
	for _, c := range []struct {
		name     string
		policy   rangeio.Policy
		total    int64
		spans    int64
		requests int
		longest  int64
	}{
		{"small", rangeio.Fast(), 20 * mib, 1, 10, 2 * mib},
		{"as much as 16 requests hold", rangeio.Fast(), 32 * mib, 1, 16, 2 * mib},
		{"twice as much", rangeio.Fast(), 64 * mib, 1, 16, 4 * mib},
		{"more", rangeio.Fast(), 160 * mib, 1, 20, 8 * mib},
		{"lean", rangeio.Lean(), 160 * mib, 1, 20, 8 * mib},
		{"few", rangeio.Few(), 160 * mib, 1, 10, 16 * mib},
		{"never split", rangeio.Policy{Free: 1}, 160 * mib, 1, 1, 160 * mib},
		{"many small spans", rangeio.Fast(), 64 * mib, 128, 32, 2 * mib},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := objstore.Open(t.Context(), bk, "x", objstore.OpenOptions{Policy: c.policy})
			if err != nil {
				t.Fatal(err)
			}
			var spans []rangeio.Span
			for i, n := int64(0), c.total/c.spans; i < c.spans; i++ {
				spans = append(spans, rangeio.Span{Off: mib + i*n, P: buf[i*n : (i+1)*n]})
			}
			var longest, total int64
			plan := o.Plan(spans)
			for _, r := range plan {
				longest, total = max(longest, r.Len), total+r.Len
			}
			if len(plan) != c.requests || longest != c.longest || total != c.total {
				t.Errorf("%d requests, the longest of %d bytes, %d in all", len(plan), longest, total)
			}
		})
	}
}

// TestLong: spans of a call make requests as long as those of one call for all bytes in
// flight, and no longer than before where that is less, or the policy never splits.
func TestLong(t *testing.T) {
	bk := zeros{memstore.New(memstore.Config{})}
	const mib = 1 << 20
	for _, c := range []struct {
		name    string
		policy  rangeio.Policy
		flight  int64
		most    int64
		lengths []int64 // of the requests for 12 MiB
	}{
		{"little in flight", rangeio.Fast(), 16 * mib, 0, []int64{2 * mib, 2 * mib, 2 * mib, 2 * mib, 2 * mib, 2 * mib}},
		{"much", rangeio.Fast(), 64 * mib, 4 * mib, []int64{4 * mib, 4 * mib, 4 * mib}},
		{"more than requests may have", rangeio.Fast(), 1 << 40, 8 * mib, []int64{6 * mib, 6 * mib}},
		{"few", rangeio.Few(), 64 * mib, 0, []int64{12 * mib}},
		{"never split", rangeio.Policy{Free: 1}, 64 * mib, 0, []int64{12 * mib}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := objstore.Open(t.Context(), bk, "x", objstore.OpenOptions{Policy: c.policy})
			if err != nil {
				t.Fatal(err)
			}
			r, most := rangeio.Long(o, c.flight)
			if most != c.most {
				t.Errorf("requests of %d bytes", most)
			}
			spans := []rangeio.Span{{Off: mib, P: make([]byte, 12*mib)}}
			var lengths []int64
			for _, q := range rangeio.PlanOf(r, spans) {
				lengths = append(lengths, q.Len)
			}
			if !slices.Equal(lengths, c.lengths) {
				t.Errorf("planned %d", lengths)
			}
			before := o.Stats().Requests
			if err := r.ReadRanges(t.Context(), spans); err != nil {
				t.Fatal(err)
			}
			if n := o.Stats().Requests - before; n != int64(len(c.lengths)) {
				t.Errorf("made %d requests", n)
			}
		})
	}
}

package objstore_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// TestInOrder: one answer of a stream that takes 300 ms longer than the others is asked
// again after 100 ms, since all behind it wait. If the order does not matter, it is waited
// for.
func TestInOrder(t *testing.T) {
	const part = 64 << 10
	data := randomBytes(40 * part)
	for _, tc := range []struct {
		name   string
		read   func(ctx context.Context, o *objstore.Object) error
		hedged int64
		most   time.Duration
	}{
		{"stream", func(ctx context.Context, o *objstore.Object) error {
			r := o.NewReader(ctx, objstore.ReadOptions{Part: part, Ahead: 3})
			defer r.Close()
			_, err := io.Copy(io.Discard, r)
			return err
		}, 1, 430 * time.Millisecond},
		{"spans", func(ctx context.Context, o *objstore.Object) error {
			var spans []rangeio.Span
			for off := int64(0); off < o.Size(); off += part {
				spans = append(spans, rangeio.Span{Off: off, P: make([]byte, part-40<<10)})
			}
			return o.ReadRanges(ctx, spans)
		}, 0, 331 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			mem := memstore.New(memstore.Config{})
			put(t, mem, "k", data)
			late := simstore.Replace(func(ctx context.Context, c simstore.Call) error {
				if c.N != 25 {
					return nil
				}
				select {
				case <-time.After(300 * time.Millisecond):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			o, err := objstore.Open(t.Context(), objstore.Chain(mem, objstore.Hedge(&objstore.Pace{}), late, simstore.Latency(rtt)), "k", objstore.OpenOptions{Head: 1})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if err := tc.read(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if took, s := time.Since(start), o.Stats(); s.Hedged != tc.hedged || took > tc.most {
				t.Errorf("%s: %d hedges in %v, want %d in %v", tc.name, s.Hedged, took, tc.hedged, tc.most)
			}
		})
	}
}

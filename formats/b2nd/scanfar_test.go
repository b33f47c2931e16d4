package b2nd_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// TestScanFar reads 256 MiB from connections of 80 MB/s with the memory of two goroutines.
// A client that has all bytes in flight at once, in ranges of 8 MiB, takes 30 ms and 105.
// What takes its pieces in any order is nearly as fast; who takes them in order holds them
// until their turn, and has 128 MiB in flight.
func TestScanFar(t *testing.T) {
	racetest.Skip(t, racetest.Large)
	const chunks = 64
	for _, c := range []struct {
		name        string
		bits, level int
		least       float64
		read        func(ctx context.Context, o *objstore.Object, a *b2nd.Array) error
	}{
		{"slice, encoded", 24, 1, 0.9, func(ctx context.Context, _ *objstore.Object, a *b2nd.Array) error {
			return a.ReadSlice(ctx, make([]byte, chunks*4<<20), b2nd.Whole(a.Shape()))
		}},
		{"verify, stored", 32, blosc.LevelStore, 0.6, func(ctx context.Context, _ *objstore.Object, a *b2nd.Array) error {
			_, err := a.Frame().Verify(ctx, nil)
			return err
		}},
		{"copy, stored", 32, blosc.LevelStore, 0.4, func(ctx context.Context, _ *objstore.Object, a *b2nd.Array) error {
			_, err := a.CopyTo(ctx, io.Discard, b2nd.Whole(a.Shape()), 0)
			return err
		}},
		{"stream, stored", 32, blosc.LevelStore, 0.4, func(ctx context.Context, o *objstore.Object, _ *b2nd.Array) error {
			r := o.NewReader(ctx, objstore.ReadOptions{})
			defer r.Close()
			_, err := io.Copy(io.Discard, r)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			object, _ := planes(t, chunks, c.bits, c.level)
			synctest.Test(t, func(t *testing.T) {
				bk := objstore.Chain(bucket{memstore.New(memstore.Config{}), object}, simstore.Latency(30*time.Millisecond), simstore.Bandwidth(80_000_000))
				start := time.Now()
				fetchAll(t, bk, object.size)
				bare := time.Since(start)
				start = time.Now()
				obj, err := objstore.Open(t.Context(), bk, "x", objstore.OpenOptions{Tail: 64 << 10})
				if err != nil {
					t.Fatal(err)
				}
				a, err := b2nd.Open(t.Context(), obj, b2nd.Options{Tail: 64 << 10, Parallel: 2})
				if err != nil {
					t.Fatal(err)
				}
				if err := c.read(t.Context(), obj, a); err != nil {
					t.Fatal(err)
				}
				took, s := time.Since(start), obj.Stats()
				t.Logf("%v, bare %v: %.2f; %d requests", took, bare, bare.Seconds()/took.Seconds(), s.Requests)
				if bare.Seconds() < c.least*took.Seconds() {
					t.Errorf("%v, a bare client %v", took, bare)
				}
				if s.Requests > chunks/2+3 {
					t.Errorf("%d requests for %d chunks", s.Requests, chunks)
				}
			})
		})
	}
}

// fetchAll fetches an object in ranges side by side.
func fetchAll(t *testing.T, b objstore.Bucket, size int64) {
	t.Helper()
	const part = 8 << 20
	n := int((size + part - 1) / part)
	err := par.Do(t.Context(), n, n, func(ctx context.Context, i int) error {
		rc, _, err := b.Get(ctx, "x", objstore.GetOptions{Range: objstore.Range{Off: int64(i) * part, Len: min(part, size-int64(i)*part)}})
		if err != nil {
			return err
		}
		defer rc.Close()
		_, err = io.Copy(io.Discard, rc)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

package cframe_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// TestScan: all of a frame, opened and read, takes little longer than a
// client that knows its size takes to fetch the bytes in ranges of 8 MiB side by
// side, which has all of them in memory in the end. The time of decoding is none
// here; bench/ has both.
func TestScan(t *testing.T) {
	const rate = 80_000_000
	for _, tc := range []struct {
		name     string
		n, chunk int
		least    float64
	}{
		{"chunks of 4 MiB", 64, 4 << 20, 0.8},
		{"chunks of 128 KiB", 2000, 128 << 10, 0.8},
		{"chunks of 32 MiB", 8, 32 << 20, 0.7}, // each in one piece of the budget
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFar(t, tc.n, tc.chunk, tc.chunk/4, 4, 24)
			synctest.Test(t, func(t *testing.T) {
				bk := objstore.Chain(bucket{memstore.New(memstore.Config{}), f.object}, simstore.Latency(rtt), simstore.Bandwidth(rate))
				bare := time.Hour
				for _, flight := range []int{8, 16, 32} {
					start := time.Now()
					fetchAll(t, bk, f.object.size, flight)
					bare = min(bare, time.Since(start))
				}
				start := time.Now()
				obj, err := objstore.Open(t.Context(), bk, "x", objstore.OpenOptions{Tail: 64 << 10})
				if err != nil {
					t.Fatal(err)
				}
				fr, err := cframe.Open(t.Context(), obj, cframe.Options{Parallel: 8}) // a machine that decodes as fast as the bare client fetches
				if err != nil {
					t.Fatal(err)
				}
				wants := make([]cframe.Want, tc.n)
				for i := range wants {
					wants[i] = cframe.Want{Chunk: i, Kept: tc.chunk}
				}
				if err := fr.EachConcurrent(t.Context(), wants, func(int, int, []byte) error { return nil }); err != nil {
					t.Fatal(err)
				}
				took := time.Since(start)
				t.Logf("%d MiB: %v, bare %v: %.2f", f.object.size>>20, took, bare, float64(bare)/float64(took))
				if float64(bare) < tc.least*float64(took) {
					t.Errorf("%v, a bare client %v", took, bare)
				}
			})
		})
	}
}

// fetchAll fetches an object in ranges, flight of them side by side.
func fetchAll(t *testing.T, b objstore.Bucket, size int64, flight int) {
	t.Helper()
	const part = 8 << 20
	err := par.Do(t.Context(), int((size+part-1)/part), flight, func(ctx context.Context, i int) error {
		rc, _, err := b.Get(ctx, "x", objstore.GetOptions{Range: objstore.Range{Off: int64(i) * part, Len: min(part, size-int64(i)*part)}})
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, rc)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

package cframe_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// TestStoredScan: a frame whose chunks are stored as they are takes as long as fetching
// its bytes in ranges of 8 MiB side by side: into memory, and to verify it.
func TestStoredScan(t *testing.T) {
	racetest.Skip(t, racetest.Large)
	const n, chunk, rate = 64, 4 << 20, 80_000_000
	f := newFar(t, n, chunk, chunk/4, 4, 32)
	if f.stored != chunk+32 {
		t.Fatalf("%d bytes: the chunks are not stored as they are", f.stored)
	}
	dst := make([]byte, n*chunk)
	for name, read := range map[string]func(ctx context.Context, fr *cframe.Frame) error{
		"into memory": func(ctx context.Context, fr *cframe.Frame) error { return fr.ReadBytes(ctx, dst, 0) },
		"verify": func(ctx context.Context, fr *cframe.Frame) error {
			_, err := fr.Verify(ctx, nil)
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			bk := objstore.Chain(bucket{memstore.New(memstore.Config{}), f.object}, simstore.Latency(rtt), simstore.Bandwidth(rate))
			bare := time.Hour
			for _, flight := range []int{8, 16, 32} {
				start := time.Now()
				fetchAll(t, bk, f.object.size, flight)
				bare = min(bare, time.Since(start))
			}
			obj, err := objstore.Open(t.Context(), bk, "x", objstore.OpenOptions{Tail: 64 << 10})
			if err != nil {
				t.Fatal(err)
			}
			fr, err := cframe.Open(t.Context(), obj, cframe.Options{Parallel: 8})
			if err != nil {
				t.Fatal(err)
			}
			start, before := time.Now(), obj.Stats()
			if err := read(t.Context(), fr); err != nil {
				t.Fatal(err)
			}
			took, s := time.Since(start), obj.Stats()
			t.Logf("%s: %v, bare %v: %.2f; %d requests, %d phases", name, took, bare, float64(bare)/float64(took), s.Requests-before.Requests, s.Phases-before.Phases)
			if float64(bare) < 0.8*float64(took) {
				t.Errorf("%s: %v, a bare client %v", name, took, bare)
			}
		})
	}
}

package cframe_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// TestRuns scans a frame by requests of several chunks, each chunk in memory of its own.
func TestRuns(t *testing.T) {
	const n, chunk, memory = 70, 1 << 20, 48 << 20
	f := newFar(t, n, chunk, chunk/4, 4, 24)
	wants := make([]cframe.Want, n)
	for i := range wants {
		wants[i] = cframe.Want{Chunk: i, Kept: chunk}
	}
	errEnough := errors.New("enough")
	for _, tc := range []struct {
		name     string
		way      func() objstore.Middleware
		asks     bool // who takes a chunk reads the object, too
		fail     bool
		slow     time.Duration // to take a block
		requests int64         // at most
	}{
		{name: "as it comes", requests: 40},
		{name: "bodies break", way: func() objstore.Middleware { return simstore.Cut(3, 1<<20) }, requests: 80},
		{name: "who has the memory waits for a connection", way: func() objstore.Middleware { return objstore.Limit(4) }, asks: true, requests: 200},
		{name: "who takes them is slow", slow: time.Second / 2, requests: 150}, // longer than a store may be silent
		{name: "an error", fail: true, requests: 40},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				way := []objstore.Middleware{simstore.Latency(rtt), simstore.Bandwidth(80_000_000)}
				if tc.way != nil {
					way = append(way, tc.way())
				}
				bk := objstore.Chain(bucket{memstore.New(memstore.Config{}), f.object}, way...)
				obj, err := objstore.Open(t.Context(), bk, "x", objstore.OpenOptions{Tail: 64 << 10})
				if err != nil {
					t.Fatal(err)
				}
				fr, err := cframe.Open(t.Context(), obj, cframe.Options{Parallel: 2, Memory: memory})
				if err != nil {
					t.Fatal(err)
				}
				loans, before := bufpool.Loans(), obj.Stats()
				var blocks, wrong atomic.Int64
				err = fr.EachConcurrent(t.Context(), wants, func(_, block int, p []byte) error {
					time.Sleep(tc.slow)
					if tc.asks {
						if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: 1 << 20, P: make([]byte, 1)}}); err != nil {
							return err
						}
					}
					if !bytes.Equal(p, f.chunk[block*f.block:][:len(p)]) {
						wrong.Add(1)
					}
					if blocks.Add(1) == 50 && tc.fail {
						return errEnough
					}
					return nil
				})
				if tc.fail {
					if !errors.Is(err, errEnough) {
						t.Errorf("%v, not %v", err, errEnough)
					}
				} else if err != nil || blocks.Load() != 4*n {
					t.Errorf("%d blocks of %d: %v", blocks.Load(), 4*n, err)
				}
				s := obj.Stats()
				requests := s.Requests - before.Requests
				if tc.asks {
					requests -= 4 * n
				}
				t.Logf("%d requests", requests)
				if wrong.Load() > 0 || requests > tc.requests || bufpool.Loans() != loans {
					t.Errorf("%d wrong blocks, %d requests, %d buffers not returned", wrong.Load(), requests, bufpool.Loans()-loans)
				}
			})
		})
	}
}

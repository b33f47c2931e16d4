package cframe_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/rangeio"
)

// started is how many goroutines this process has started so far.
func started(t *testing.T) uint64 {
	t.Helper()
	s := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		t.Skip("this Go does not count goroutines")
	}
	return s[0].Value.Uint64()
}

// pointsOf wants one block of each chunk.
func pointsOf(f *cframe.Frame, blocks int) []cframe.Want {
	wants := make([]cframe.Want, f.Chunks())
	for i := range wants {
		wants[i] = cframe.Want{Chunk: i, Blocks: []int{i % blocks}}
	}
	return wants
}

// TestLocalStartsNothing: reads of a local frame by one decoder start no goroutine,
// through an open file and by a path, and give every buffer back.
func TestLocalStartsNothing(t *testing.T) {
	a := newFar(t, 64, 512*512*4, 64*64*4, 4, 24)
	dir := t.TempDir()
	data := make([]byte, a.object.size)
	if _, err := a.object.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ob, err := objstore.Open(t.Context(), b, "x", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]rangeio.Reader{"file": rangeio.FromReaderAt(bytes.NewReader(data), int64(len(data))), "path": ob} {
		f, err := cframe.Open(t.Context(), r, cframe.Options{Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		wants := pointsOf(f, 64)
		least := uint64(1 << 62) // other tests, and the garbage collector, start some
		for range 20 {
			var seen int
			before, loans := started(t), bufpool.Loans()
			if err := f.EachConcurrent(t.Context(), wants, func(want, block int, p []byte) error {
				if block != wants[want].Blocks[0] {
					t.Errorf("%s: block %d of chunk %d", name, block, want)
				}
				seen++ // in this goroutine
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			least = min(least, started(t)-before)
			if seen != len(wants) || bufpool.Loans() != loans {
				t.Errorf("%s: %d blocks, %d buffers kept", name, seen, bufpool.Loans()-loans)
			}
		}
		if least > 0 {
			t.Errorf("%s: each read started %d goroutines", name, least)
		}
	}
}

// slowDisk takes a while for each read, of as many at a time as are asked for.
type slowDisk struct {
	io.ReaderAt
	each      time.Duration
	now, most atomic.Int64
}

func (s *slowDisk) ReadAt(p []byte, off int64) (int, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	<-time.After(s.each)
	return s.ReaderAt.ReadAt(p, off)
}

// TestSlowDisk: local reads that turn out to wait are made side by side; quick ones
// never are more than the decoders.
func TestSlowDisk(t *testing.T) {
	const chunks = 400
	a := newFar(t, chunks, 512*512*4, 64*64*4, 4, 24)
	for _, c := range []struct {
		name     string
		each     time.Duration
		parallel int
		most     time.Duration
		flight   int64
	}{
		{"a disk of 5 ms", 5 * time.Millisecond, 1, 2 * chunks * 5 * time.Millisecond / 8, 64},
		{"a disk of 5 ms, two decoders", 5 * time.Millisecond, 2, 2 * chunks * 5 * time.Millisecond / 8, 64},
		{"memory", 2 * time.Microsecond, 2, time.Second, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &slowDisk{ReaderAt: a.object, each: c.each}
				f, err := cframe.Open(t.Context(), rangeio.FromReaderAt(d, a.object.size), cframe.Options{Parallel: c.parallel})
				if err != nil {
					t.Fatal(err)
				}
				var seen atomic.Int64
				d.most.Store(0)
				start := time.Now()
				if err := f.EachConcurrent(t.Context(), pointsOf(f, 64), func(int, int, []byte) error { seen.Add(1); return nil }); err != nil {
					t.Fatal(err)
				}
				took := time.Since(start)
				if seen.Load() != chunks || took > c.most || d.most.Load() > c.flight {
					t.Errorf("%d blocks in %v, at most %v allowed; %d reads at a time, %d allowed", seen.Load(), took, c.most, d.most.Load(), c.flight)
				}
			})
		})
	}
}

// TestLocalAsFar: the same wants give the same blocks from a local frame and from
// one that is far, and damage is told of the same chunk.
func TestLocalAsFar(t *testing.T) {
	a := newFar(t, 40, 512*512*4, 64*64*4, 4, 24)
	for _, damaged := range []int{-1, 0, 17, 39} {
		data := make([]byte, a.object.size)
		if _, err := a.object.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		near := rangeio.FromReaderAt(bytes.NewReader(data), int64(len(data)))
		f, err := cframe.Open(t.Context(), near, cframe.Options{Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		if damaged >= 0 {
			c, err := f.Chunk(t.Context(), damaged)
			if err != nil {
				t.Fatal(err)
			}
			clear(data[c.Off:][:64])
		}
		g, err := cframe.Open(t.Context(), hidden{near}, cframe.Options{Policy: rangeio.Lean()})
		if err != nil {
			t.Fatal(err)
		}
		var wants []cframe.Want
		for i := range f.Chunks() {
			w := cframe.Want{Chunk: i, Blocks: []int{}}
			for b := range 64 {
				if rand.IntN(20) == 0 {
					w.Blocks = append(w.Blocks, b)
				}
			}
			if i%7 == 0 {
				w.Blocks = nil
			}
			wants = append(wants, w)
		}
		wants = append(wants, cframe.Want{Chunk: max(damaged, 0), Blocks: []int{3}})
		x, errX := gathered(t.Context(), f, wants)
		y, errY := gathered(t.Context(), g, wants)
		if damaged < 0 && (errX != nil || errY != nil || !bytes.Equal(x, y)) {
			t.Errorf("%v, %v; the same bytes: %t", errX, errY, bytes.Equal(x, y))
		}
		if damaged >= 0 && (errX == nil || errY == nil || errX.Error() != errY.Error()) {
			t.Errorf("chunk %d damaged: %v; from afar %v", damaged, errX, errY)
		}
	}
}

// hidden does not say that it is local.
type hidden struct{ rangeio.Reader }

// gathered reads wants into a place for each block.
func gathered(ctx context.Context, f *cframe.Frame, wants []cframe.Want) ([]byte, error) {
	size, chunk := f.Info().BlockSize, f.Info().ChunkSize
	out := make([]byte, len(wants)*chunk)
	err := f.EachConcurrent(ctx, wants, func(want, block int, p []byte) error {
		copy(out[want*chunk+max(block, 0)*size:], p)
		return nil
	})
	return out, err
}

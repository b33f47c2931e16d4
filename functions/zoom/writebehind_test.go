package zoom

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/formats/zoomcache"
)

// slowly is an output that takes a while, and knows whether it is written to.
type slowly struct {
	bytes.Buffer
	busy  atomic.Bool
	room  int
	short bool // of a write, without an error
}

var errFull = errors.New("no room")

func (s *slowly) Write(p []byte) (int, error) {
	s.busy.Store(true)
	defer s.busy.Store(false)
	time.Sleep(2 * time.Millisecond)
	if s.Len()+len(p) > s.room {
		if s.short {
			return 0, nil
		}
		return 0, errFull
	}
	return s.Buffer.Write(p)
}

// TestWriteBehind: bytes come in order, whether they are taken or written; an error comes with a
// later call, once; what was taken before comes back as memory.
func TestWriteBehind(t *testing.T) {
	t.Parallel()
	out := &slowly{room: 1000}
	b := &writeBehind{w: out}
	first, second := []byte("ab"), []byte("cde")
	if free, err := b.Take(first); free != nil || err != nil {
		t.Fatalf("%q, %v", free, err)
	}
	free, err := b.Take(second)
	if err != nil || &free[0] != &first[0] {
		t.Fatalf("%q, %v", free, err)
	}
	if n, err := b.Write([]byte("f")); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := b.wait(); err != nil || out.String() != "abcdef" {
		t.Fatalf("%q, %v", out.String(), err)
	}
	for _, short := range []bool{false, true} {
		out := &slowly{room: 1, short: short}
		b, want := &writeBehind{w: out}, errFull
		if short {
			want = io.ErrShortWrite
		}
		if _, err := b.Take([]byte("ab")); err != nil {
			t.Fatal(err)
		}
		if n, err := b.Write([]byte("c")); n != 0 || !errors.Is(err, want) {
			t.Errorf("%d, %v", n, err)
		}
		if err := b.wait(); err != nil || out.Len() > 0 {
			t.Errorf("%q, %v", out.String(), err)
		}
	}
}

// ending is a series of zeros that ends with an error of its own, or none.
type ending struct {
	blocks int
	err    error
}

func (e ending) About() About {
	return About{Format: "raw", Tracks: []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}}
}

func (e ending) Each(_ context.Context, _ int, f func(*Block) error) error {
	v := make([]int16, 1<<16)
	for range e.blocks {
		if err := f(&Block{Columns: []Column{{Values: zoomcache.Values{Kind: zoomcache.I16, N: len(v), I16: v}}}}); err != nil {
			return err
		}
	}
	return e.err
}

// TestWriteGivenUp: when Write returns, however it ends, nothing writes any more.
func TestWriteGivenUp(t *testing.T) { //nolint:paralleltest // it needs two processors
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	errSource := errors.New("the source ends")
	for name, c := range map[string]struct {
		room int
		err  error
		want error
	}{"full": {1 << 20, nil, errFull}, "source": {1 << 30, errSource, errSource}, "whole": {1 << 30, nil, nil}} {
		for _, parallel := range []int{1, 2} {
			out := &slowly{room: c.room}
			_, err := Write(t.Context(), out, ending{30, c.err}, WriteOptions{Parallel: parallel})
			if out.busy.Load() {
				t.Errorf("%s, %d goroutines: something is still written", name, parallel)
			}
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%s, %d goroutines: %v", name, parallel, err)
			}
		}
	}
}

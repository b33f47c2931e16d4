package cframe

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// TestStartsWait: whoever waits for another to find the starts of chunks leaves when his
// own context ends.
func TestStartsWait(t *testing.T) {
	b := write(t, WriteOptions{ChunkSize: VaryingSizes, TypeSize: 1, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}}, func(w *Writer) {
		for i := range 3 {
			must(t, w.WriteChunk(ramp(1000+i, i)))
		}
	})
	g := &gated{Reader: rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), waiting: make(chan struct{}, 8)}
	f, err := Open(t.Context(), g, Options{})
	must(t, err)
	open := make(chan struct{})
	g.wait.Store(&open)
	first := make(chan error, 1)
	dst := make([]byte, 1500)
	go func() { first <- f.ReadBytes(t.Context(), dst, 0) }()
	<-g.waiting
	ctx, cancel := context.WithCancelCause(t.Context())
	second := make(chan error, 1)
	go func() { second <- f.ReadBytes(ctx, make([]byte, 10), 0) }()
	gone := errors.New("gone")
	cancel(gone)
	if err := <-second; !errors.Is(err, gone) {
		t.Errorf("the second: %v", err)
	}
	g.wait.Store(nil)
	close(open)
	if err := <-first; err != nil || !bytes.Equal(dst[:1000], ramp(1000, 0)) {
		t.Errorf("the first: %v", err)
	}
}

// TestEachHeader: headers come in order and as ChunkHeaders gives them, and a range that
// is not there is refused before the first.
func TestEachHeader(t *testing.T) {
	const n = scanBatch + 10
	b := write(t, WriteOptions{ChunkSize: VaryingSizes, TypeSize: 1}, func(w *Writer) {
		for i := range n {
			must(t, w.WriteChunk(ramp(1+i%7, i)))
		}
	})
	f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), Options{})
	must(t, err)
	want, err := f.ChunkHeaders(t.Context(), 3, n)
	must(t, err)
	next := 3
	must(t, f.EachHeader(t.Context(), 3, n, func(i int, _ ChunkInfo, h blosc.Header) error {
		if i != next || h != want[i-3] {
			t.Fatalf("chunk %d after %d: %+v", i, next, h)
		}
		next++
		return nil
	}))
	if next != n {
		t.Errorf("ended at %d of %d", next, n)
	}
	stop := errors.New("stop")
	if err := f.EachHeader(t.Context(), 0, n, func(int, ChunkInfo, blosc.Header) error { return stop }); err != stop {
		t.Errorf("%v", err)
	}
	for _, r := range [][2]int{{0, n + 1}, {-1, 1}, {2, 1}} {
		err := f.EachHeader(t.Context(), r[0], r[1], func(int, ChunkInfo, blosc.Header) error { t.Error("called"); return nil })
		if !errors.Is(err, formats.ErrNoEntry) {
			t.Errorf("%v: %v", r, err)
		}
	}
}

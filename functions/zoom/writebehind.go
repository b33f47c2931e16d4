package zoom

import (
	"bytes"
	"io"
	"runtime"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/par"
)

// A writeBehind writes what it takes on a goroutine, while the Writer makes what follows: of a
// file in the page cache the system takes as long to copy it as the Writer to make it. One write
// is under way at a time, in order.
type writeBehind struct {
	w    io.Writer
	done chan error // of the write that is under way; nil: there is none
	busy []byte     // its bytes
}

var _ zoomcache.Taker = (*writeBehind)(nil)

// outputOf is w, or a writeBehind if goroutines may be used, whose end the caller waits for.
func outputOf(w io.Writer, parallel int) (out io.Writer, end func() error) {
	if parallel == 1 || runtime.GOMAXPROCS(0) == 1 {
		return w, func() error { return nil }
	}
	b := &writeBehind{w: w}
	return b, b.wait
}

// Take implements zoomcache.Taker.
func (b *writeBehind) Take(p []byte) ([]byte, error) {
	free := b.busy
	if err := b.wait(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	b.done, b.busy = done, p
	go func() {
		_, err := bytes.NewReader(p).WriteTo(b.w) // a short write is an error
		done <- err
	}()
	par.Offer()
	return free, nil
}

// Write implements io.Writer.
func (b *writeBehind) Write(p []byte) (int, error) {
	if err := b.wait(); err != nil {
		return 0, err
	}
	return b.w.Write(p)
}

// wait returns the error of the write that was under way, once.
func (b *writeBehind) wait() error {
	if b.done == nil {
		return nil
	}
	err := <-b.done
	b.done = nil
	return err
}

package objstore

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/farread/farread/internal/silence"
)

// An asking is a Get and perhaps its hedge: a second, equal Get that is made at the
// same time if the answer to the first takes longer than usual. The first answer wins.
// The other Get is cancelled; if it still brings a body, the body is closed unread, so
// only one body is ever read. Until a hedge is made, there is no goroutine and no timer
// except the timer of the clock.
type asking struct {
	o      *object
	clock  *silence.Clock
	key    string
	g      GetOptions
	cancel context.CancelFunc // ends the first Get

	mu    sync.Mutex
	over  bool // it is decided which Get won: the first one, or the hedge
	hedge *hedge
	won   bool // the hedge was answered first; set by settle
}

// A hedge is the second Get. Its result may be read after done is closed.
type hedge struct {
	done chan struct{}
	end  func()
	won  bool // the hedge was answered before the first Get; guarded by asking.mu
	rc   io.ReadCloser
	in   Info
}

// Slow implements silence.Watcher. It makes the hedge.
func (a *asking) Slow() {
	a.mu.Lock()
	if a.over || a.clock.Context().Err() != nil || !a.o.usual.spend() {
		a.mu.Unlock()
		return
	}
	clock := silence.Aside(a.clock.Context())
	h := &hedge{done: make(chan struct{}), end: clock.Stop}
	a.hedge = h
	a.mu.Unlock()

	o := a.o
	o.count.AddRequest()
	o.hedged()
	o.log(clock.Context(), slog.LevelDebug, "get is slow: asked again", a.key, a.g.Range, 0)
	rc, in, err := o.b.Get(clock.Context(), a.key, a.g)
	a.mu.Lock()
	lost := a.over
	if h.won = err == nil && !lost; h.won {
		h.rc, h.in = rc, in
	}
	a.mu.Unlock()
	close(h.done)
	switch {
	case h.won:
		a.cancel()
	case err == nil:
		_ = rc.Close() // the body is not read
		fallthrough
	default:
		h.end()
	}
}

// settle decides between the first Get, whose result are rc, in and err, and the hedge.
// It returns the result of the winner. end ends the context of its body.
func (a *asking) settle(rc io.ReadCloser, in Info, err error) (_ io.ReadCloser, _ Info, end func(), _ error) {
	h := a.decide(err)
	if h != nil { // the first Get has failed, or it has lost
		a.clock.Run()
		select {
		case <-h.done:
		case <-a.clock.Context().Done():
		}
		a.mu.Lock()
		a.over = true
		won := h.won
		a.mu.Unlock()
		if ended := a.clock.Context().Err(); ended != nil && err != nil {
			err = ended
		}
		if a.won = won; won {
			if err == nil {
				_ = rc.Close() // the body is not read
			}
			a.cancel()
			return h.rc, h.in, h.end, nil
		}
		h.end()
	}
	if err != nil {
		a.cancel()
	}
	return rc, in, a.cancel, err
}

// decide notes that the first Get has ended with err. It returns the hedge if the hedge
// has won, or if the first Get failed and the hedge may still bring an answer.
// Otherwise it returns nil: the first Get has won.
func (a *asking) decide(err error) *hedge {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.hedge
	if h == nil || !h.won && (err == nil || classified(err) && !errors.Is(err, ErrThrottled)) {
		a.over = true
		if h != nil {
			h.end()
		}
		return nil
	}
	return h
}

package objstore

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/farread/farread/internal/silence"
)

// Hedge lets Objects that are opened on the bucket ask a slow store twice. A request that
// waits for its answer longer than is usual (1 s at first) is made once more beside it,
// and the answer that comes first wins. A body that brings nothing for longer than is
// usual, and at least 1 s, is continued on another connection. p has what is usual for
// the store, and the budget: two such requests may be made at first, then one for 20
// requests of all Objects with the same p. If a Limit below has no free place at once,
// no second request is made. Files of a [Filler] are never hedged, nor are Objects whose
// OpenOptions.Stall is negative.
func Hedge(p *Pace) Middleware {
	return func(b Bucket) Bucket { return &hedged{b, p} }
}

// hedged changes no call: Open finds it, and the Object does the rest.
type hedged struct {
	Bucket
	p *Pace
}

func (b *hedged) Unwrap() Bucket { return b.Bucket }

func (b *hedged) filled(context.Context, string, GetOptions, time.Time) {}

// hedging returns what is known of the store of b, if Objects of b hedge requests.
func hedging(b Bucket) *usual {
	h, ok := As[*hedged](b)
	if _, local := As[Filler](b); !ok || local {
		return nil
	}
	return &h.p.usual
}

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

// A hedge is the second Get. Its result may be read after done is closed. If the hedge
// has lost, it has no body open by then.
type hedge struct {
	done  chan struct{}
	alone chan struct{} // closed if the first Get fails
	end   func()        // ends the hedge's context, and gives its places back
	won   bool          // the hedge was answered before the first Get; guarded by asking.mu
	rc    io.ReadCloser
	in    Info
	err   error // of a hedge that has won: the object is not there, or is another one
}

// Slow implements silence.Watcher. It makes the hedge.
func (a *asking) Slow() {
	h, ctx := a.begin()
	if h == nil {
		return
	}
	o := a.o
	o.count.AddRequest()
	o.hedged()
	o.log(ctx, slog.LevelDebug, "get is slow: asked again", a.key, a.g.Range, 0)
	rc, in, err := o.b.Get(ctx, a.key, a.g)
	denied := errors.Is(err, ErrDenied)
	if denied && !o.o.Aid {
		rc, in, denied, err = a.confirm(ctx, h, err)
	}
	a.mu.Lock()
	lost := a.over
	if h.won = !lost && (err == nil || gone(err) || denied); h.won {
		h.rc, h.in, h.err = rc, in, err
	}
	a.mu.Unlock()
	switch {
	case h.won && err != nil:
		a.cancel()
		h.end()
	case h.won:
		a.cancel()
	case err == nil:
		_ = rc.Close() // the body is not read
		fallthrough
	default:
		h.end()
	}
	close(h.done)
}

// gone reports whether err is an answer about the object, which another server of the
// store would give as well: it is not there, or not the pinned one any more.
func gone(err error) bool { return errors.Is(err, ErrNotFound) || errors.Is(err, ErrChanged) }

// confirm asks once more after a hedge was denied with err: by servers that answer so for
// objects that are not there, and by all for credentials that another server of the store
// may know already. It waits in between, so that the first Get can still win, and does not
// ask if that fails meanwhile, or the budget is spent. sure means that the hedge was denied
// twice.
func (a *asking) confirm(ctx context.Context, h *hedge, err error) (rc io.ReadCloser, in Info, sure bool, _ error) {
	wait := time.NewTimer(a.o.o.Stall / 8)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-h.alone:
		return nil, in, false, err
	case <-ctx.Done():
		return nil, in, false, err
	}
	if !a.o.usual.spend() {
		return nil, in, false, err
	}
	a.o.count.AddRequest()
	a.o.hedged()
	a.o.log(ctx, slog.LevelDebug, "get is slow and was denied: asked again", a.key, a.g.Range, 0)
	rc, in, err = a.o.b.Get(ctx, a.key, a.g)
	return rc, in, errors.Is(err, ErrDenied), err
}

// begin begins a hedge, or returns nil if there must be none: the call is over, the
// budget is spent, or a Limit has no free place at once.
func (a *asking) begin() (*hedge, context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.clock.Context().Err() != nil {
		return nil, nil
	}
	clock := silence.Aside(a.clock.Context())
	ctx, leave, ok := placeNow(clock.Context(), a.o.b)
	if !ok || !a.o.usual.spend() {
		leave()
		clock.Stop()
		return nil, nil
	}
	a.hedge = &hedge{done: make(chan struct{}), alone: make(chan struct{}), end: func() { clock.Stop(); leave() }}
	return a.hedge, ctx
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
		if !won {
			h.finish()
		}
		if ended := a.clock.Context().Err(); ended != nil && err != nil {
			err = ended
		}
		if a.won = won; won {
			if err == nil {
				_ = rc.Close() // the body is not read
			}
			a.cancel()
			return h.rc, h.in, h.end, h.err
		}
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
	h := a.hedge
	if h == nil || !h.won && (err == nil || classified(err) && !errors.Is(err, ErrThrottled)) {
		a.over = true
		a.mu.Unlock()
		if h != nil {
			h.finish()
		}
		return nil
	}
	if err != nil {
		close(h.alone)
	}
	a.mu.Unlock()
	return h
}

// finish ends a hedge that has lost and waits for it, as a Get waits for its cancelled
// request: nothing of it outlives the call.
func (h *hedge) finish() {
	h.end()
	<-h.done
}

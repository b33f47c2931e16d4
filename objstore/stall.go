package objstore

import (
	"context"
	"sync/atomic"
	"time"
)

// A watch ends a call that brings nothing for a while. It runs from the moment
// a request is sent and is moved by every byte; it rests while the call waits
// for something else than the store. A nil watch does nothing.
type watch struct {
	timer *time.Timer
	after time.Duration
	fired atomic.Bool
}

type watchKey struct{}

// watched returns a context that ends when nothing came for d; d <= 0: never.
func watched(ctx context.Context, d time.Duration) (context.Context, *watch, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if d <= 0 {
		return ctx, nil, cancel
	}
	w := &watch{after: d}
	w.timer = time.AfterFunc(d, func() {
		w.fired.Store(true)
		cancel()
	})
	return context.WithValue(ctx, watchKey{}, w), w, cancel
}

func (w *watch) alive() {
	if w != nil {
		w.timer.Reset(w.after)
	}
}

func (w *watch) rest() {
	if w != nil {
		w.timer.Stop()
	}
}

func (w *watch) stalled() bool { return w != nil && w.fired.Load() }

// Alive tells the Object behind ctx that its call has not stalled: drivers call
// it for every request they send, so that waiting before a repetition does not
// count as silence of the store. Without an Object behind ctx it does nothing.
func Alive(ctx context.Context) {
	w, _ := ctx.Value(watchKey{}).(*watch)
	w.alive()
}

// resting stops the watch behind ctx while a middleware makes a call wait.
func resting(ctx context.Context) (awake func()) {
	w, _ := ctx.Value(watchKey{}).(*watch)
	w.rest()
	return w.alive
}

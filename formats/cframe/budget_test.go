package cframe

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestBudget: what is held never exceeds the budget, who is cancelled blocks
// nobody, and what is longer than all of it goes alone.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := budgetOf(1024)
		all, err := b.take(t.Context(), 5000)
		if err != nil || all != 1024 {
			t.Fatal(all, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() {
			_, err := b.take(ctx, 1000) // first in the queue
			errs <- err
		}()
		synctest.Wait()
		var got atomic.Int64
		for range 4 {
			go func() {
				n, err := b.take(t.Context(), 200) // a buffer of 256
				if err != nil {
					t.Error(err)
				}
				got.Add(int64(n))
			}()
		}
		synctest.Wait()
		if got.Load() != 0 {
			t.Fatalf("%d bytes beside all of them", got.Load())
		}
		b.give(512) // a part: not enough for the first, and nobody passes it
		synctest.Wait()
		if got.Load() != 0 {
			t.Fatalf("%d bytes went past the first in the queue", got.Load())
		}
		cancel()
		synctest.Wait()
		if err := <-errs; !errors.Is(err, context.Canceled) || got.Load() != 512 {
			t.Fatalf("%v, and %d bytes to those behind", err, got.Load())
		}
		b.give(512)
		synctest.Wait()
		if got.Load() != 1024 || b.left != 0 {
			t.Fatalf("%d bytes, %d left", got.Load(), b.left)
		}
	})
}

func budgetOf(n int64) *budget {
	b := new(budget)
	b.reset(n)
	return b
}

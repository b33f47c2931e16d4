package parts

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/farread/farread/analyze"
)

const (
	ahead      = 16       // parts that are read before the one that is merged
	mergeBytes = 64 << 20 // that they take where the function merges
)

// Merge calls take with the results of all parts in their order. A part that is missing
// matches ErrMissing. Lines that are read ahead take at most room bytes, unless a single
// one has more.
func (f Folder) Merge(ctx context.Context, p *Plan, room int64, take func(part int, result []byte) error) error {
	sizes, err := f.whole(ctx, p)
	if err != nil {
		return err
	}
	return f.merge(ctx, p, sizes, room, take)
}

// whole returns the stored bytes of all parts, of which none may be missing.
func (f Folder) whole(ctx context.Context, p *Plan) ([]int64, error) {
	sizes, err := f.list(ctx, 0, p.Parts)
	if err != nil {
		return nil, err
	}
	if slices.Contains(sizes, absent) {
		missing := missingOf(sizes, 0)
		return nil, fmt.Errorf("%d of %d parts are %w: %s", len(missing), p.Parts, ErrMissing, Spelled(missing))
	}
	return sizes, nil
}

// merge takes parts of known sizes. Room is taken in the order of the parts, so that none
// waits for what later ones hold.
func (f Folder) merge(ctx context.Context, p *Plan, sizes []int64, room int64, take func(part int, result []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	type read struct {
		result []byte
		err    error
	}
	queue := make(chan chan read, ahead)
	held := semaphore.NewWeighted(max(room, 1))
	cost := func(part int) int64 { return min(sizes[part], max(room, 1)) }
	defer func() {
		cancel()
		for one := range queue { // whoever was started has ended when merge returns
			<-one
		}
	}()
	go func() {
		defer close(queue)
		for part := range p.Parts {
			if held.Acquire(ctx, cost(part)) != nil {
				return
			}
			one := make(chan read, 1)
			select {
			case queue <- one:
			case <-ctx.Done():
				return
			}
			go func() {
				result, err := f.part(ctx, p, part)
				one <- read{result, err}
			}()
		}
	}()
	for part := range p.Parts {
		one, ok := <-queue
		if !ok {
			return context.Cause(ctx)
		}
		r := <-one
		if r.err != nil {
			return r.err
		}
		if err := take(part, r.result); err != nil {
			return &analyze.PartError{Part: part, Err: err}
		}
		held.Release(cost(part))
	}
	return nil
}

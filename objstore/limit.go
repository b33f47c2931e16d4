package objstore

import (
	"context"
	"io"
	"sync"
)

// Limit lets at most n calls of Get, Head, Tags, Delete and DeleteIf run at once, over
// every bucket that the returned Middleware wraps and every Object opened on them. A
// Get holds its place until its body is closed, has ended or has failed. Waiting
// ends when ctx does. An n below 1 means no limit.
//
// Writers and listings hold no place: both stay open while their caller does
// other things, and a job that reads through the same limit while it writes
// would wait for itself. A bucket that is wrapped twice takes one place for a call, if
// what lies between passes the context on.
func Limit(n int) Middleware {
	if n < 1 {
		return func(b Bucket) Bucket { return b }
	}
	slots := make(chan struct{}, n)
	return func(b Bucket) Bucket {
		w := &limited{b, slots}
		if hasTags(b) {
			return limitedTags{w}
		}
		return w
	}
}

type limited struct {
	Bucket
	slots chan struct{}
}

// holds is the key of a context under which a call of a Limit holds its place.
type holds struct{ slots chan struct{} }

func (b *limited) Unwrap() Bucket { return b.Bucket }

// enter waits for a free place, and gives the context of the call that holds it. leave
// frees it; a second call of leave does nothing.
func (b *limited) enter(ctx context.Context, op, key string, r Range) (in context.Context, leave func(), err error) {
	err = ctx.Err() // a free place must not win against a context that has ended
	if err == nil {
		if ctx.Value(holds{b.slots}) != nil {
			return ctx, func() {}, nil
		}
		defer resting(ctx)()
		select {
		case b.slots <- struct{}{}:
			return context.WithValue(ctx, holds{b.slots}, true), sync.OnceFunc(func() { <-b.slots }), nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return nil, nil, &Error{Op: op, Bucket: b.Name(), Key: key, Range: r, Err: err}
}

// placeNow takes a place for one call of b in every Limit around it, and waits for none.
// It returns false if a Limit has no free place. leave frees the places, and may be
// called in any case, and twice. The context is that of the call.
func placeNow(ctx context.Context, b Bucket) (in context.Context, leave func(), ok bool) {
	var free []chan struct{}
	leave = sync.OnceFunc(func() {
		for _, slots := range free {
			<-slots
		}
	})
	for ok = true; ok; {
		w, wraps := b.(Wrapper)
		if !wraps {
			return ctx, leave, true
		}
		if l, limits := b.(interface{ places() chan struct{} }); limits && ctx.Value(holds{l.places()}) == nil {
			select {
			case l.places() <- struct{}{}:
				free = append(free, l.places())
				ctx = context.WithValue(ctx, holds{l.places()}, true)
			default:
				ok = false
			}
		}
		b = w.Unwrap()
	}
	return ctx, leave, false
}

func (b *limited) places() chan struct{} { return b.slots }

func (b *limited) Get(ctx context.Context, key string, o GetOptions) (io.ReadCloser, Info, error) {
	ctx, leave, err := b.enter(ctx, "get", key, o.Range)
	if err != nil {
		return nil, Info{}, err
	}
	r, info, err := b.Bucket.Get(ctx, key, o)
	if err != nil {
		leave()
		return nil, info, err
	}
	return &watchedBody{rc: r, end: func(error) { leave() }}, info, nil
}

func (b *limited) Head(ctx context.Context, key string) (Info, error) {
	ctx, leave, err := b.enter(ctx, "head", key, Range{})
	if err != nil {
		return Info{}, err
	}
	defer leave()
	return b.Bucket.Head(ctx, key)
}

func (b *limited) Delete(ctx context.Context, key string) error {
	ctx, leave, err := b.enter(ctx, "delete", key, Range{})
	if err != nil {
		return err
	}
	defer leave()
	return b.Bucket.Delete(ctx, key)
}

func (b *limited) DeleteIf(ctx context.Context, key, etag string) error {
	ctx, leave, err := b.enter(ctx, "delete", key, Range{})
	if err != nil {
		return err
	}
	defer leave()
	return DeleteIf(ctx, b.Bucket, key, etag)
}

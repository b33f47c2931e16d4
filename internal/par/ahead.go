package par

import "context"

// Ahead runs produce in a goroutine of its own, one result ahead of what the
// caller takes. produce gives ok false at the end; drop gets what nobody takes. The
// first error, of either, ends it; it returns once produce has.
func Ahead[T any](ctx context.Context, produce func(ctx context.Context) (v T, ok bool, err error), drop func(T), take func(T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		v   T
		err error
	}
	results := make(chan result)
	go func() {
		defer close(results)
		for ctx.Err() == nil {
			v, ok, err := produce(ctx)
			if err == nil && !ok {
				return
			}
			select {
			case results <- result{v, err}:
			case <-ctx.Done():
				if err == nil {
					drop(v)
				}
				return
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() {
		cancel()
		for r := range results { // the producer has ended when results is closed
			if r.err == nil {
				drop(r.v)
			}
		}
	}()
	for r := range results {
		if r.err != nil {
			return r.err
		}
		if err := take(r.v); err != nil {
			return err
		}
	}
	return ctx.Err()
}

package objstore

import (
	"context"
	"errors"
)

// Again calls f. If f fails with ErrChanged, because an object was replaced while f
// read it, Again calls f once more. f must open the objects that it reads, so that
// the second call reads the new objects, and it must be safe to call f twice. If an
// object is replaced again, Again returns the error of the second call.
func Again(ctx context.Context, f func() error) error {
	err := f()
	if errors.Is(err, ErrChanged) && ctx.Err() == nil {
		err = f()
	}
	return err
}

// Current reports whether the object is still the one that Open saw: the same version,
// ETag, date and size, as far as the store tells them. A deleted object is not
// current; that is not an error. It costs one HEAD. The object may be replaced right
// after the call; reads check the pin themselves.
func (o *Object) Current(ctx context.Context) (bool, error) {
	in, err := o.b.Head(ctx, o.info.Key)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	return o.same(in) == nil, nil
}

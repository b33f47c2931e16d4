package objstore

import (
	"context"
	"errors"
)

// Again runs f, and once more if it failed with ErrChanged: an object was replaced
// while f read it, and opened anew by f it is another one, whole. So f opens what it
// reads, and what it has given out before must do no harm. A third object in the time
// of one f is the error of the second run.
func Again(ctx context.Context, f func() error) error {
	err := f()
	if errors.Is(err, ErrChanged) && ctx.Err() == nil {
		err = f()
	}
	return err
}

// Current says whether the object is still the one that Open saw: the same version,
// ETag, date and size, as far as the store tells them. An object that is gone is not
// current, and that is no error. It costs one HEAD. What Current finds true may change
// at once; reads are held against the pin by themselves.
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

package simstore

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/farread/farread/objstore"
)

// A Call describes a call that is about to be made.
type Call struct {
	N     int64          // place among the calls of this middleware, from 1
	Op    string         // "get", "head", "list", "tags", "put" (the commit of a write) or "delete"
	Key   string         // key, or the prefix of a list
	Range objstore.Range // range of a get
}

// A Rule lets some calls fail. Each rule counts the calls that match its Op and
// Key separately. If several rules let a call fail, the first one's error is
// returned.
type Rule struct {
	Op    string // "" fits every operation; see Call
	Key   string // "" fits every key
	From  int64  // first call to fail, from 1; 0 is 1
	Times int64  // calls from there on that the rule is about; 0: all
	Every int64  // every Every-th matching call fails: 2 fails the first, the third …; 0 means 1
	// Status is an HTTP status, classified by objstore.StatusError. Err, if set,
	// is the cause instead, and should match a sentinel of objstore. A rule with
	// neither is objstore.ErrUnavailable.
	Status int
	Err    error
}

func (r Rule) fits(c Call) bool {
	return (r.Op == "" || r.Op == c.Op) && (r.Key == "" || r.Key == c.Key)
}

// fails reports whether the n-th call that matches the rule fails.
func (r Rule) fails(n int64) bool {
	from := max(r.From, 1)
	return n >= from && (r.Times == 0 || n < from+r.Times) && (n-from)%max(r.Every, 1) == 0
}

func (r Rule) error(w wrapper, c Call) error {
	err := r.Err
	switch {
	case err != nil:
	case r.Status != 0:
		err = objstore.StatusError(r.Status)
	default:
		err = objstore.ErrUnavailable
	}
	return &objstore.Error{Op: c.Op, Bucket: w.Name(), Key: c.Key, Range: c.Range, Status: r.Status, Err: fmt.Errorf("simulated: %w", err)}
}

// Fault lets calls fail by rules, without asking the bucket behind it. A Commit that
// fails aborts the write. Without rules it changes nothing.
func Fault(rules ...Rule) objstore.Middleware {
	if len(rules) == 0 {
		return same
	}
	rules = slices.Clone(rules)
	seen := make([]atomic.Int64, len(rules))
	return func(b objstore.Bucket) objstore.Bucket {
		w := wrapper{b}
		return before(func(_ context.Context, c Call) error {
			var err error
			for i, r := range rules {
				if r.fits(c) && r.fails(seen[i].Add(1)) && err == nil {
					err = r.error(w, c)
				}
			}
			return err
		})(b)
	}
}

// Replace calls hook before each call is made: hook may replace the object in the
// bucket behind, between two reads of one reader, and fail the call by returning
// an error. It runs in the goroutine of the call and must be safe for concurrent use
// if calls are made side by side. A nil hook changes nothing.
//
// To replace the object before the third call:
//
//	simstore.Replace(func(ctx context.Context, c simstore.Call) error {
//		if c.N != 3 {
//			return nil
//		}
//		_, err := objstore.Put(ctx, mem, c.Key, other, objstore.PutOptions{})
//		return err
//	})
func Replace(hook func(context.Context, Call) error) objstore.Middleware {
	if hook == nil {
		return same
	}
	return before(hook)
}

// before calls f before each call. If f returns an error, the call fails with it.
func before(f func(context.Context, Call) error) objstore.Middleware {
	n := new(atomic.Int64)
	return func(b objstore.Bucket) objstore.Bucket {
		w := wrapper{b}
		h := &hooked{w, func(ctx context.Context, op, key string, r objstore.Range) error {
			err := f(ctx, Call{N: n.Add(1), Op: op, Key: key, Range: r})
			if err == nil {
				return nil
			}
			if _, ok := err.(*objstore.Error); ok { //nolint:errorlint // only one that is complete already
				return err
			}
			return w.fail(op, key, r, err)
		}}
		if _, ok := objstore.As[objstore.Tagger](b); ok {
			return hookedTags{h}
		}
		return h
	}
}

type hooked struct {
	wrapper
	f func(ctx context.Context, op, key string, r objstore.Range) error
}

func (b *hooked) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	if err := b.f(ctx, "get", key, o.Range); err != nil {
		return nil, objstore.Info{}, err
	}
	return b.Bucket.Get(ctx, key, o)
}

func (b *hooked) Head(ctx context.Context, key string) (objstore.Info, error) {
	if err := b.f(ctx, "head", key, objstore.Range{}); err != nil {
		return objstore.Info{}, err
	}
	return b.Bucket.Head(ctx, key)
}

func (b *hooked) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return listed(ctx, b, prefix, b.Bucket.List(ctx, prefix))
}

func (b *hooked) ListAfter(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return listed(ctx, b, prefix, objstore.ListAfter(ctx, b.Bucket, prefix, after))
}

func (b *hooked) ListFolder(ctx context.Context, prefix, after string) iter.Seq2[objstore.FolderEntry, error] {
	return listed(ctx, b, prefix, objstore.ListFolder(ctx, b.Bucket, prefix, after))
}

// listed is a listing behind the hook.
func listed[T any](ctx context.Context, b *hooked, prefix string, list iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := b.f(ctx, "list", prefix, objstore.Range{}); err != nil {
			var none T
			yield(none, err)
			return
		}
		list(yield)
	}
}

// hookedTags is hooked around a bucket with tags.
type hookedTags struct{ *hooked }

func (b hookedTags) Tags(ctx context.Context, key, versionID string) (map[string]string, error) {
	if err := b.f(ctx, "tags", key, objstore.Range{}); err != nil {
		return nil, err
	}
	return objstore.Tags(ctx, b.Bucket, key, versionID)
}

func (b *hooked) DeleteIf(ctx context.Context, key, etag string) error {
	if err := b.f(ctx, "delete", key, objstore.Range{}); err != nil {
		return err
	}
	return objstore.DeleteIf(ctx, b.Bucket, key, etag)
}

func (b *hooked) Delete(ctx context.Context, key string) error {
	if err := b.f(ctx, "delete", key, objstore.Range{}); err != nil {
		return err
	}
	return b.Bucket.Delete(ctx, key)
}

func (b *hooked) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	w, err := b.Bucket.Create(ctx, key, o)
	if err != nil {
		return nil, err
	}
	return &hookedWriter{w, b, key}, nil
}

type hookedWriter struct {
	objstore.Writer
	b   *hooked
	key string
}

// If the hook fails a Commit, Commit drops what was written.
func (w *hookedWriter) Commit(ctx context.Context) (objstore.Info, error) {
	if err := w.b.f(ctx, "put", w.key, objstore.Range{}); err != nil {
		w.Abort()
		return objstore.Info{}, err
	}
	return w.Writer.Commit(ctx)
}

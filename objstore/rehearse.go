package objstore

import (
	"context"
	"fmt"
)

// A Step is a request that a rehearsed Writer would have made.
type Step struct {
	Op  string // "create" an upload, "part", "copy", "complete" an upload; "put": the whole object; "delete" it
	Len int64  // bytes of a part, of a copied range, or of the object; else 0
}

// A Rehearser is a bucket that tells what writing costs. Ask through the function Rehearse.
type Rehearser interface {
	// Rehearse is as the function Rehearse.
	Rehearse(ctx context.Context, key string, o PutOptions, step func(Step)) (Writer, error)
}

// Rehearse is Create for a Writer that sends nothing: in place of each request that writes it
// calls step, perhaps from several goroutines at a time, when the request would have been made. What
// Splice has to read is read. Commit publishes nothing; its Info has no ETag, and no condition is checked. A bucket that is no
// Rehearser has one step, a "put" of all bytes.
func Rehearse(ctx context.Context, b Bucket, key string, o PutOptions, step func(Step)) (Writer, error) {
	if r, ok := As[Rehearser](b); ok {
		return r.Rehearse(ctx, key, o, step)
	}
	return &unsent{key: key, name: b.Name(), step: step}, nil
}

// unsent counts what is written.
type unsent struct {
	key, name string
	step      func(Step)
	size      int64
}

func (u *unsent) Write(p []byte) (int, error) {
	u.size += int64(len(p))
	return len(p), nil
}

func (u *unsent) head(n int64) error {
	if n < 0 || n > min(u.size, HeadSize) {
		return &Error{Op: "put", Bucket: u.name, Key: u.key, Err: fmt.Errorf("change of the first %d of %d bytes: %w", n, u.size, ErrInvalid)}
	}
	return nil
}

// Patch implements Writer.
func (u *unsent) Patch(off int64, p []byte) error { return u.head(off + int64(len(p))) }

// Rehead implements Writer.
func (u *unsent) Rehead(n int64, p []byte) error {
	u.size += int64(len(p)) - n
	return u.head(min(n, u.size))
}

// Commit implements Writer.
func (u *unsent) Commit(context.Context) (Info, error) {
	u.step(Step{"put", u.size})
	return Info{Key: u.key, Size: u.size}, nil
}

// Abort implements Writer.
func (u *unsent) Abort() {}

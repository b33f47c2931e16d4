package memstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/farread/farread/objstore"
)

// body reads from the data of one version.
type body struct {
	ended func() error // the context's Err

	mu     sync.Mutex // Close may come while a Read is under way
	rest   []byte
	closed bool
}

var errClosed = errors.New("read of a closed body")

func (r *body) Read(p []byte) (int, error) {
	if err := r.ended(); err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return 0, fmt.Errorf("%w: %w", errClosed, objstore.ErrInvalid)
	case len(p) == 0:
		return 0, nil
	case len(r.rest) == 0:
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *body) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.rest = true, nil
	return nil
}

// writer collects an object until Commit.
type writer struct {
	b     *Bucket
	key   string
	o     objstore.PutOptions
	ended func() error // Err of Create's context
	data  []byte
	grown int   // number of bytes that Rehead added to the head
	re    bool  // Rehead was called
	err   error // the error of all later calls
}

// Create starts an object. The Writer keeps all of it in memory until Commit, which
// checks the conditions of o and publishes the object in one step.
func (b *Bucket) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	err := cmp.Or(ctx.Err(), checkKey(key))
	if err == nil && o.IfAbsent && o.IfMatch != "" {
		err = fmt.Errorf("both IfAbsent and IfMatch: %w", objstore.ErrInvalid)
	}
	if err != nil {
		return nil, b.fail("put", key, err)
	}
	o.Meta = lower(o.Meta)
	return &writer{b: b, key: key, o: o, ended: ctx.Err}, nil
}

// check is the reason why a call cannot go on, or nil.
func (w *writer) check() error {
	if w.err != nil {
		return w.err
	}
	if err := w.ended(); err != nil {
		return w.stop(err)
	}
	return nil
}

// stop drops everything. Later calls return err.
func (w *writer) stop(err error) error {
	w.data, w.err = nil, w.b.fail("put", w.key, err)
	return w.err
}

func (w *writer) Write(p []byte) (int, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	if m := w.b.c.MaxObject; m > 0 && int64(len(p)) > m-int64(len(w.data)) {
		return 0, w.stop(fmt.Errorf("object over %d bytes: %w", m, objstore.ErrInvalid))
	}
	w.data = append(w.data, p...)
	return len(p), nil
}

func (w *writer) Patch(off int64, p []byte) error {
	if err := w.check(); err != nil {
		return err
	}
	head := int64(w.head())
	if off < 0 || off > head || int64(len(p)) > head-off {
		return w.b.fail("put", w.key, fmt.Errorf("patch [%d, +%d) of a head of %d bytes: %w", off, len(p), head, objstore.ErrInvalid))
	}
	copy(w.data[off:], p)
	return nil
}

// head is how many bytes at the beginning may still be changed.
func (w *writer) head() int { return min(len(w.data)-w.grown, objstore.HeadSize) + w.grown }

func (w *writer) Rehead(n int64, p []byte) error {
	if err := w.check(); err != nil {
		return err
	}
	if head := int64(w.head()); w.re || n < 0 || n > head || int64(len(p)) < n {
		return w.b.fail("put", w.key, fmt.Errorf("%d bytes for the first %d of a head of %d: %w", len(p), n, head, objstore.ErrInvalid))
	}
	more := len(p) - int(n)
	if m := w.b.c.MaxObject; m > 0 && int64(more) > m-int64(len(w.data)) {
		return w.stop(fmt.Errorf("object over %d bytes: %w", m, objstore.ErrInvalid))
	}
	w.data = append(p[:len(p):len(p)], w.data[n:]...)
	w.grown, w.re = more, true
	return nil
}

func (w *writer) Commit(ctx context.Context) (objstore.Info, error) {
	if err := w.check(); err != nil {
		return objstore.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return objstore.Info{}, w.stop(err)
	}
	info, err := w.b.publish(w.key, w.data, w.o)
	if err != nil {
		return objstore.Info{}, w.stop(err)
	}
	w.data, w.err = nil, w.b.fail("put", w.key, fmt.Errorf("already committed: %w", objstore.ErrInvalid))
	return info, nil
}

func (w *writer) Abort() {
	if w.err == nil {
		w.stop(fmt.Errorf("aborted: %w", objstore.ErrInvalid)) //nolint:errcheck // kept for later calls
	}
}

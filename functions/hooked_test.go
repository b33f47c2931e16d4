package functions

import (
	"context"
	"iter"
	"sync"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A hooked bucket calls a hook before every Head, List, DeleteIf, Create, Write and
// Commit. If the hook fails, so does the call. The bucket keeps a list of the calls.
type hooked struct {
	objstore.Bucket

	mu   sync.Mutex // one hook after the other: a Pair asks for both of its objects at once
	fail func(op, key string) error
	ops  []string
}

func (h *hooked) do(op, key string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op+" "+key)
	if h.fail == nil {
		return nil
	}
	return h.fail(op, key)
}

func (h *hooked) Head(ctx context.Context, key string) (objstore.Info, error) {
	if err := h.do("head", key); err != nil {
		return objstore.Info{}, err
	}
	return h.Bucket.Head(ctx, key)
}

func (h *hooked) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	if err := h.do("list", prefix); err != nil {
		return func(yield func(objstore.Info, error) bool) { yield(objstore.Info{}, err) }
	}
	return h.Bucket.List(ctx, prefix)
}

func (h *hooked) DeleteIf(ctx context.Context, key, etag string) error {
	if err := h.do("delete", key); err != nil {
		return err
	}
	return objstore.DeleteIf(ctx, h.Bucket, key, etag)
}

func (h *hooked) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	if err := h.do("create", key); err != nil {
		return nil, err
	}
	w, err := h.Bucket.Create(ctx, key, o)
	return &hookedWriter{w, h, key}, err
}

type hookedWriter struct {
	objstore.Writer

	h   *hooked
	key string
}

func (w *hookedWriter) Write(p []byte) (int, error) {
	if err := w.h.do("write", w.key); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

func (w *hookedWriter) Commit(ctx context.Context) (objstore.Info, error) {
	if err := w.h.do("commit", w.key); err != nil {
		return objstore.Info{}, err
	}
	return w.Writer.Commit(ctx)
}

func (w *hookedWriter) Abort() {
	_ = w.h.do("abort", w.key) // an abort does not fail
	w.Writer.Abort()
}

func newHooked() *hooked {
	return &hooked{Bucket: memstore.New(memstore.Config{Name: "mem://x"})}
}

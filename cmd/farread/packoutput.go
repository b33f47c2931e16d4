package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// An output is a row of gulp chunks that are being written. Data objects are published
// as they end, indexes together at the end, when labels are known. Without an index,
// data belong to nothing.
//
// An interrupt must never leave an index without its data. So a Commit that has begun
// is not cut off at once. Data are never deleted if their index may be there, or may
// still arrive.
type output struct {
	b         objstore.Bucket
	force     bool
	chunks    []*outChunk
	published []string
}

type outChunk struct {
	pair   gulp.Pair
	w      *gulp.Writer
	data   objstore.Writer
	mark   string // in the metadata of the data: tells them from data of another writer
	hold   func() bool
	cancel context.CancelFunc
	info   objstore.Info // of the data, once they are published
	tried  bool          // Commit of the data was called
	done   bool          // data are published
	atRisk bool          // the index may be there, or may still arrive
	whole  bool          // both objects are published
}

const (
	// metaMark is the name of outChunk.mark in an object's metadata.
	metaMark = "farread-writer"
	// sideBySide is how many small requests are under way at a time: each waits
	// for its round trip, 30 ms on S3, not for bytes.
	sideBySide = 16
)

// patient is ctx, but ends only d after ctx does: work that must not be torn apart may
// end by itself. All such times together are less than grace.
func patient(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return late, func() { stop(); cancel() }
}

// begin starts another chunk.
func (o *output) begin(ctx context.Context, pair gulp.Pair) (*gulp.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &outChunk{pair: pair, mark: rand.Text()}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx)) // so that Commit can outlive ctx
	data, err := o.b.Create(own, pair.Data, objstore.PutOptions{IfAbsent: !o.force, ContentType: "application/octet-stream",
		Meta: map[string]string{functions.MetaMarker: "1", metaMark: c.mark}})
	if err != nil {
		cancel()
		return nil, err
	}
	c.cancel, c.hold = cancel, context.AfterFunc(ctx, cancel)
	c.data, c.w = data, gulp.NewWriter(data, gulp.WriteOptions{})
	o.chunks = append(o.chunks, c)
	return c.w, nil
}

// end publishes the data of the last chunk.
func (o *output) end(ctx context.Context) (err error) {
	c := o.chunks[len(o.chunks)-1]
	if c.done {
		return nil
	}
	if !c.hold() {
		return context.Cause(ctx)
	}
	late, cancel := patient(ctx, grace/2)
	defer cancel()
	defer c.cancel()
	defer context.AfterFunc(late, c.cancel)()
	c.tried = true
	c.info, err = c.data.Commit(late)
	c.done = err == nil
	return err
}

// finish publishes the rest, indexes last. If it is interrupted before the first
// index, it publishes none. If it is interrupted later, it goes on for a moment, which
// is enough for hundreds of chunks. Whole chunks stay in any case.
func (o *output) finish(ctx context.Context) error {
	if len(o.chunks) == 0 {
		return nil
	}
	if err := o.end(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil && !o.force { // with force the old data are gone: their index must follow
		return context.Cause(ctx)
	}
	late, cancel := patient(ctx, grace/2)
	defer cancel()
	var g errgroup.Group
	var failed atomic.Bool
	g.SetLimit(sideBySide)
	for _, c := range o.chunks {
		g.Go(func() error {
			if failed.Load() || late.Err() != nil {
				return late.Err()
			}
			err := o.index(late, c)
			if err != nil {
				err = o.settle(ctx, c, err)
			}
			c.whole = err == nil
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	err := g.Wait()
	var rest []*outChunk
	for _, c := range o.chunks {
		if !c.whole {
			rest = append(rest, c)
			continue
		}
		o.published = append(o.published, join(o.b.Name(), c.pair.Data), join(o.b.Name(), c.pair.Meta))
	}
	o.chunks = rest // abort leaves the others alone
	return err
}

func (o *output) index(ctx context.Context, c *outChunk) error {
	meta := map[string]string{functions.MetaMarker: "1", functions.MetaDataETag: c.info.ETag}
	if c.info.VersionID != "" {
		meta[functions.MetaDataVersion] = c.info.VersionID
	}
	w, err := o.b.Create(ctx, c.pair.Meta, objstore.PutOptions{IfAbsent: !o.force, ContentType: "application/json", Meta: meta})
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := c.w.WriteMeta(w); err != nil {
		return err
	}
	c.atRisk = true
	_, err = w.Commit(ctx)
	return err
}

// settle finds out the state of an index whose Commit returned err: nil if the index
// is there after all. Otherwise the chunk stays at risk, unless the index is known to
// be gone for good: refused, or deleted while no request for it can be on its way any
// more.
func (o *output) settle(ctx context.Context, c *outChunk, err error) error {
	if !c.atRisk {
		return err
	}
	ctx, cancel := patient(ctx, grace/8)
	defer cancel()
	there, headErr := o.b.Head(ctx, c.pair.Meta)
	var e *objstore.Error
	answered := isLocal(o.b) || errors.As(err, &e) && e.Status != 0
	switch {
	case headErr == nil && c.info.ETag != "" && there.Meta[functions.MetaDataETag] == c.info.ETag:
		return nil
	case errors.Is(err, objstore.ErrDenied), errors.Is(err, objstore.ErrInvalid), errors.Is(err, objstore.ErrExists):
		c.atRisk = false
	case answered && errors.Is(headErr, objstore.ErrNotFound):
		c.atRisk = o.b.Delete(ctx, c.pair.Meta) != nil
	}
	return err
}

func isLocal(b objstore.Bucket) bool { return strings.HasPrefix(b.Name(), "file://") }

// abort removes data that got no index. A chunk that was replaced by force keeps its
// new data: the old ones are gone.
func (o *output) abort(ctx context.Context) {
	ctx, cancel := patient(ctx, grace/4)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(sideBySide)
	for _, c := range o.chunks {
		g.Go(func() error {
			o.takeBack(ctx, c)
			return nil
		})
	}
	_ = g.Wait() // its functions return nil
	o.chunks = nil
}

// takeBack drops one chunk. If anything of it stays, it does not belong to the
// dataset.
func (o *output) takeBack(ctx context.Context, c *outChunk) {
	c.data.Abort() // harmless after Commit
	c.cancel()
	if !c.tried || c.atRisk || o.force {
		return
	}
	if !c.done { // was it published though the answer was lost, or is it another writer's?
		info, err := o.b.Head(ctx, c.pair.Data)
		if err != nil || info.Meta[metaMark] != c.mark {
			return
		}
	}
	_ = o.b.Delete(ctx, c.pair.Data) // there is nothing better to do
}

// A roller writes a dataset. If a chunk is full when a new id comes, it begins another
// chunk.
type roller struct {
	ctx   context.Context //nolint:containedctx // pack.Frames has no room for it; lives as long as one command
	out   *output
	max   int64
	next  int // number of the next chunk
	dir   string
	taken func(id string) bool
	at    map[string]*gulp.Writer // id to chunk
	now   *gulp.Writer
}

// WriteFrame implements pack.Frames.
func (r *roller) WriteFrame(id string, payload []byte) error {
	w, known := r.at[id]
	switch {
	case known && w != r.now:
		return fmt.Errorf("the frames of id %s lie apart in SRC, more than a chunk: %w", printable(id), formats.ErrUnsupported)
	case !known:
		if r.taken(id) {
			return fmt.Errorf("id %s is in the dataset already: %w", printable(id), objstore.ErrExists)
		}
		if err := r.roll(); err != nil {
			return err
		}
		r.at[id] = r.now
	}
	return r.now.WriteFrame(id, payload)
}

func (r *roller) roll() error {
	if r.now != nil {
		if r.now.Totals().DataBytes < r.max {
			return nil
		}
		if err := r.out.end(r.ctx); err != nil {
			return err
		}
	}
	pair := gulp.ChunkPair(r.next)
	r.next++
	var err error
	r.now, err = r.out.begin(r.ctx, gulp.Pair{Data: r.dir + pair.Data, Meta: r.dir + pair.Meta})
	return err
}

// AddMeta implements pack.Frames.
func (r *roller) AddMeta(id string, meta json.RawMessage) error { return r.at[id].AddMeta(id, meta) }

// Reorder lists the frames of an id in another order.
func (r *roller) Reorder(id string, order []int) error {
	return (&guard{w: r.at[id]}).Reorder(id, order)
}

// packDataset writes new chunks into a dataset, which may exist already.
func (a *app) packDataset(ctx context.Context, inputs []input, dst string, chunk int64, rep *packReport) error {
	if !strings.HasSuffix(dst, "/") {
		dst += "/"
	}
	next, taken := 0, func(string) bool { return false }
	d, err := a.client.OpenGulpDataset(ctx, dst, farread.GulpOptions{})
	if err == nil {
		err = d.Load(ctx)
		next, taken = d.Next(), func(id string) bool {
			_, _, err := d.Find(ctx, id)
			return err == nil
		}
	}
	if err != nil && !errors.Is(err, objstore.ErrNotFound) {
		return at(dst, err)
	}
	b, prefix, err := a.client.Bucket(ctx, dst)
	if err != nil {
		return at(dst, err)
	}
	o := &output{b: b}
	defer newFolder(b)()
	defer o.abort(ctx)
	r := &roller{ctx: ctx, out: o, max: chunk, next: next, dir: prefix, at: map[string]*gulp.Writer{}, taken: taken}
	err = a.stream(ctx, inputs, r, rep)
	if err == nil {
		err = o.finish(ctx)
	}
	if errors.Is(err, objstore.ErrExists) {
		return err
	}
	rep.Outputs = o.published
	return err
}

package sink

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

// Chunks is a row of gulp chunks that are being written. Data objects are published
// as they end, indexes together at the end, when labels are known. Without an index,
// data belong to nothing.
//
// An interrupt must never leave an index without its data. So a Commit that has begun
// is not cut off at once. Data are never deleted if their index may be there, or may
// still arrive.
type Chunks struct {
	b         objstore.Bucket
	force     bool
	chunks    []*chunk
	published []gulp.Pair
	unindexed error // why a chunk has no index beside it
}

// NewChunks is a row of chunks in b. With force they replace chunks that exist.
func NewChunks(b objstore.Bucket, force bool) *Chunks { return &Chunks{b: b, force: force} }

// Published are the chunks that have appeared.
func (o *Chunks) Published() []gulp.Pair { return o.published }

// Unindexed returns why chunks that have appeared have no index beside them, although
// they should. They can be read without.
func (o *Chunks) Unindexed() error { return o.unindexed }

type chunk struct {
	pair   gulp.Pair
	w      *gulp.Writer
	data   objstore.Writer
	mark   string // mark in the metadata of the data, to distinguish them from another writer's
	hold   func() bool
	cancel context.CancelFunc
	info   objstore.Info // Info of the data after they are published
	tried  bool          // Commit of the data was called
	done   bool          // data are published
	atRisk bool          // the index may be there, or may still arrive
	whole  bool          // both objects are published

	unindexed error // why there is no index beside them
}

const (
	// metaMark is the name of chunk.mark in an object's metadata.
	metaMark = "farread-writer"
	// sideBySide is how many small requests are under way at a time: each waits
	// for its round trip, 30 ms on S3, not for bytes.
	sideBySide = 16
)

// patient returns a copy of ctx that ends d later than ctx, so that work that must not
// be interrupted can finish. All such times together are less than Grace.
func patient(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return late, func() { stop(); cancel() }
}

// Begin starts another chunk.
func (o *Chunks) Begin(ctx context.Context, pair gulp.Pair) (*gulp.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &chunk{pair: pair, mark: rand.Text()}
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
func (o *Chunks) end(ctx context.Context) (err error) {
	c := o.chunks[len(o.chunks)-1]
	if c.done {
		return nil
	}
	if !c.hold() {
		return context.Cause(ctx)
	}
	late, cancel := patient(ctx, Grace/2)
	defer cancel()
	defer c.cancel()
	defer context.AfterFunc(late, c.cancel)()
	c.tried = true
	c.info, err = c.data.Commit(late)
	c.done = err == nil
	return err
}

// Finish publishes the rest, indexes last. If it is interrupted before the first
// index, it publishes none. If it is interrupted later, it goes on for a moment, which
// is enough for hundreds of chunks. Whole chunks stay in any case.
func (o *Chunks) Finish(ctx context.Context) error {
	if len(o.chunks) == 0 {
		return nil
	}
	if err := o.end(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil && !o.force { // with force the old data are replaced already: the index must follow
		return context.Cause(ctx)
	}
	late, cancel := patient(ctx, Grace/2)
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
	var rest []*chunk
	for _, c := range o.chunks {
		if !c.whole {
			rest = append(rest, c)
			continue
		}
		o.published = append(o.published, c.pair)
		o.unindexed = errors.Join(o.unindexed, c.unindexed)
	}
	o.chunks = rest // Abort leaves the others alone
	return err
}

func (o *Chunks) index(ctx context.Context, c *chunk) error {
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
	info, err := w.Commit(ctx)
	if err == nil {
		c.unindexed = o.beside(ctx, c, info)
	}
	return err
}

// beside writes the index beside a chunk whose objects are there. If it is not worth one,
// beside removes that of the chunk that was there before.
func (o *Chunks) beside(ctx context.Context, c *chunk, meta objstore.Info) error {
	p, err := pack.BuildIndex(c.w, c.info, meta)
	if err != nil {
		return err
	}
	key := c.pair.Data + index.Suffix
	if p == nil {
		if o.force {
			_ = o.b.Delete(ctx, key) // readers pass it over where it stays
		}
		return nil
	}
	_, err = objstore.Put(ctx, o.b, key, bytes.NewReader(p), objstore.PutOptions{ContentType: "application/octet-stream",
		Meta: map[string]string{functions.MetaMarker: "1"}})
	return err
}

// settle finds out the state of an index whose Commit returned err: nil if the index
// is there after all. Otherwise the chunk stays at risk, unless the index is known to
// be gone for good: refused, or deleted while no request for it can be on its way any
// more.
func (o *Chunks) settle(ctx context.Context, c *chunk, err error) error {
	if !c.atRisk {
		return err
	}
	ctx, cancel := patient(ctx, Grace/8)
	defer cancel()
	there, headErr := o.b.Head(ctx, c.pair.Meta)
	var e *objstore.Error
	_, local := Local(o.b)
	answered := local || errors.As(err, &e) && e.Status != 0
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

// Abort removes data that got no index. A chunk that was replaced by force keeps its
// new data: the old ones are gone.
func (o *Chunks) Abort(ctx context.Context) {
	ctx, cancel := patient(ctx, Grace/4)
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
func (o *Chunks) takeBack(ctx context.Context, c *chunk) {
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
	_ = o.b.Delete(ctx, c.pair.Data) // an error here does not matter: nothing else can be done
}

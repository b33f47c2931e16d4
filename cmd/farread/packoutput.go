package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// An output is a row of gulp chunks that are being written. Data objects are
// published as they end, indexes together at the end, when labels are known;
// without an index data are not part of anything.
type output struct {
	b         objstore.Bucket
	force     bool
	chunks    []*outChunk
	published []string
}

type outChunk struct {
	pair gulp.Pair
	w    *gulp.Writer
	data objstore.Writer
	info objstore.Info // of the data, once there
	done bool          // data are published
}

// begin starts another chunk.
func (o *output) begin(ctx context.Context, pair gulp.Pair) (*gulp.Writer, error) {
	data, err := o.b.Create(ctx, pair.Data, objstore.PutOptions{IfAbsent: !o.force,
		ContentType: "application/octet-stream", Meta: map[string]string{functions.MetaMarker: "1"}})
	if err != nil {
		return nil, err
	}
	c := &outChunk{pair: pair, data: data, w: gulp.NewWriter(data, gulp.WriterOptions{})}
	o.chunks = append(o.chunks, c)
	return c.w, nil
}

// end publishes the data of the last chunk.
func (o *output) end(ctx context.Context) (err error) {
	c := o.chunks[len(o.chunks)-1]
	if c.done {
		return nil
	}
	c.info, err = c.data.Commit(ctx)
	c.done = err == nil
	return err
}

// finish publishes what is left, indexes last.
func (o *output) finish(ctx context.Context) error {
	if len(o.chunks) == 0 {
		return nil
	}
	if err := o.end(ctx); err != nil {
		return err
	}
	for len(o.chunks) > 0 {
		c := o.chunks[0]
		if err := o.index(ctx, c); err != nil {
			return err
		}
		o.published = append(o.published, join(o.b.Name(), c.pair.Data), join(o.b.Name(), c.pair.Meta))
		o.chunks = o.chunks[1:] // complete: abort leaves it alone
	}
	return nil
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
	_, err = w.Commit(ctx)
	return err
}

// abort removes data that got no index. A chunk that was replaced by force
// keeps its new data: the old are gone.
func (o *output) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace/2)
	defer cancel()
	for _, c := range o.chunks {
		if !c.done {
			c.data.Abort()
		} else if !o.force {
			_ = o.b.Delete(ctx, c.pair.Data) // what stays is not part of the dataset
		}
	}
	o.chunks = nil
}

// A roller writes a dataset: it begins another chunk when one is full and a new
// id comes.
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

// packDataset writes new chunks into a dataset, which may be there already.
func (a *app) packDataset(ctx context.Context, inputs []input, dst string, chunk int64, rep *packReport) error {
	if !strings.HasSuffix(dst, "/") {
		dst += "/"
	}
	d, err := a.client.OpenGulpDataset(ctx, dst, farread.GulpOptions{})
	if err != nil {
		return at(dst, err)
	}
	if err := d.Load(ctx); err != nil {
		return at(dst, err)
	}
	b, prefix, err := a.client.Bucket(ctx, dst)
	if err != nil {
		return at(dst, err)
	}
	o := &output{b: b}
	defer newFolder(b)()
	defer o.abort(ctx)
	r := &roller{ctx: ctx, out: o, max: chunk, next: d.Next(), dir: prefix, at: map[string]*gulp.Writer{},
		taken: func(id string) bool {
			_, _, err := d.Find(ctx, id)
			return err == nil
		}}
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

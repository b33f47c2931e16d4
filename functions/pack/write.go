package pack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// Target is where a packing by hand goes.
type Target struct {
	Bucket  objstore.Bucket
	Replace bool // objects that are there already; else they are objstore.ErrExists
}

// put describes one object of the target.
func (t Target) put(ctx context.Context, key, contentType string, meta map[string]string) (objstore.Writer, error) {
	return t.Bucket.Create(ctx, key, objstore.PutOptions{ContentType: contentType, Meta: meta, IfAbsent: !t.Replace})
}

// named are the metadata of an index: which data object it belongs to.
func named(data objstore.Info) map[string]string {
	m := map[string]string{functions.MetaMarker: "1", functions.MetaDataETag: data.ETag}
	if data.VersionID != "" {
		m[functions.MetaDataVersion] = data.VersionID
	}
	return m
}

// ToPair packs src into one pair: the data object first, then the index, which
// names the data by ETag. After an error no index was published.
func ToPair(ctx context.Context, src Source, t Target, dataKey, metaKey string, o Options) (Result, error) {
	data, err := t.put(ctx, dataKey, "application/octet-stream", map[string]string{functions.MetaMarker: "1"})
	if err != nil {
		return Result{}, err
	}
	defer data.Abort()
	w := gulp.NewWriter(data, o.Gulp)
	res, err := Stream(ctx, src, w, o)
	if err != nil {
		return res, err
	}
	info, err := data.Commit(ctx)
	if err != nil {
		return res, err
	}
	index, err := t.put(ctx, metaKey, "application/json", named(info))
	if err != nil {
		return res, err
	}
	defer index.Abort()
	if err := w.WriteMeta(index); err != nil {
		return res, err
	}
	_, err = index.Commit(ctx)
	return res, err
}

// errApart is met by writers that need every id in one piece.
var errApart = errors.New("the frames of an id do not lie side by side in the order of their names, which a dataset of several chunks needs")

// ToDataset packs src into chunks data_N.gulp and meta_N.gmeta under prefix (""
// or ending in a slash). An id is never split, and its frames must lie side by
// side in the upload, in order; else it fails with formats.ErrUnsupported.
// Chunks are published as they fill up. Labels have to be known before their
// frames, so an archive is looked through for them first: a tar is read twice,
// of a zip only the labels.
func ToDataset(ctx context.Context, src Source, t Target, prefix string, d gulp.DatasetOptions, o Options) (Result, []gulp.Pair, error) {
	w := gulp.NewDatasetWriter(&output{t: t, prefix: prefix}, d)
	res, err := StreamDataset(ctx, src, w, o)
	if err != nil {
		w.Abort()
		return res, nil, err
	}
	pairs, err := w.Close(ctx)
	return res, pairs, err
}

// StreamDataset is ToDataset into a writer that the caller made and closes: to
// append to a dataset, say.
func StreamDataset(ctx context.Context, src Source, w *gulp.DatasetWriter, o Options) (Result, error) {
	c, ok := src.(chooser)
	if !ok {
		return Result{}, fmt.Errorf("a source of another package: %w", errors.ErrUnsupported)
	}
	s := newStream(src, nil, o)
	rows := &rollover{ctx: ctx, w: w, s: s, bases: map[string]int{}}
	s.w = rows
	look := &survey{about: s.about, bases: rows.bases, last: map[string]string{}}
	if err := c.choose(ctx, look.see, s.named(s.file)); err != nil {
		return s.res, err
	}
	if look.err != nil {
		return s.res, look.err
	}
	s.entries, s.read = 0, 0
	if err := c.choose(ctx, func(name string) bool { return !isLabels(name) }, s.named(s.file)); err != nil {
		return s.res, err
	}
	if s.res.Frames == 0 {
		return s.res, fail(s.about.Format, "", -1, unsupported("no JPEG in it"))
	}
	for _, t := range s.order {
		if err := s.mend(t); err != nil { // finds names that are there twice
			return s.res, err
		}
	}
	s.res.Unlabelled = int64(s.labels.unused())
	return s.res, nil
}

// survey looks at the names of an upload before anything is written.
type survey struct {
	about About
	bases map[string]int    // how many ids end in it
	last  map[string]string // name of the last frame of an id
	id    string
	err   error // the first reason why the upload cannot become a dataset
}

// see notes a name, and keeps labels.
func (v *survey) see(name string) bool {
	if isLabels(name) {
		return true
	}
	if isJunk(name) || v.err != nil {
		return false
	}
	id, base := idOf(name, v.about.Name), path.Base(name)
	prev, seen := v.last[id]
	switch {
	case !seen:
		v.bases[path.Base(id)]++
	case id != v.id, natural(prev, base) > 0:
		v.err = fail(v.about.Format, fmt.Sprintf("%q", name), -1, fmt.Errorf("%w: %w", errApart, formats.ErrUnsupported))
	}
	v.id, v.last[id] = id, base
	return false
}

// rollover hands whole ids to a dataset writer.
type rollover struct {
	ctx   context.Context //nolint:containedctx // Frames has no room for one; lives as long as one StreamDataset
	w     *gulp.DatasetWriter
	s     *stream
	bases map[string]int
	id    string
	any   bool
	done  map[string]struct{}
}

func (r *rollover) WriteFrame(id string, payload []byte) error {
	if !r.any || r.id != id {
		if _, ok := r.done[id]; ok {
			return fmt.Errorf("id %.80q: %w: %w", id, errApart, formats.ErrUnsupported)
		}
		if r.done == nil {
			r.done = map[string]struct{}{}
		}
		r.done[id] = struct{}{}
		meta, err := r.s.labels.of(id, r.bases[path.Base(id)] == 1)
		if err != nil {
			return err
		}
		if err := r.w.Begin(r.ctx, id, meta...); err != nil {
			return err
		}
		r.id, r.any = id, true
	}
	return r.w.WriteFrame(payload)
}

// AddMeta is not called: labels go in with the first frame.
func (r *rollover) AddMeta(string, json.RawMessage) error { return nil }

// output makes the objects of a dataset in a bucket.
type output struct {
	t      Target
	prefix string
	data   objstore.Info // committed last
}

func (p *output) Create(ctx context.Context, name string) (gulp.Object, error) {
	isMeta := path.Ext(name) == gulp.MetaSuffix
	kind, meta := "application/octet-stream", map[string]string{functions.MetaMarker: "1"}
	if isMeta {
		kind, meta = "application/json", named(p.data)
	}
	w, err := p.t.put(ctx, p.prefix+name, kind, meta)
	if err != nil {
		return nil, err
	}
	return &outputObject{w, p, isMeta}, nil
}

type outputObject struct {
	w    objstore.Writer
	p    *output
	meta bool
}

func (o *outputObject) Write(p []byte) (int, error) { return o.w.Write(p) }

func (o *outputObject) Abort() { o.w.Abort() }

func (o *outputObject) Commit(ctx context.Context) error {
	info, err := o.w.Commit(ctx)
	if err == nil && !o.meta {
		o.p.data = info
	}
	return err
}

var _ io.Writer = (*outputObject)(nil)

package pack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// MetaPlan is the name of the ID of a plan in the metadata of an object that it made.
const MetaPlan = "farread-plan"

// ErrOtherList is matched by the error for a list of files that is not of the plan.
var ErrOtherList = errors.New("not the list of this plan")

// ChunksBuckets are where a ChunksWork reads and writes.
type ChunksBuckets struct {
	Source, Dest objstore.Bucket
	Work         objstore.Bucket // of the plan
	Dir          string          // the folder of the plan, with its slash
}

// A ChunksWork does a ChunksPlan. Part makes the data object of a chunk, which belongs to
// nothing yet, and leaves its .gmeta beside the plan. Finish publishes all of these, since
// nothing of a dataset shows before all images were read. Both may be called again and on
// several machines at the same time: what is there stays as it is.
type ChunksWork struct {
	plan  ChunksPlan
	at    ChunksBuckets
	o     Options
	parts []chunkLine // that were taken
}

// ParseChunksPlan reads what json.Marshal wrote of a ChunksPlan.
func ParseChunksPlan(text []byte) (*ChunksPlan, error) {
	var p ChunksPlan
	if err := json.Unmarshal(text, &p); err != nil || p.Version != chunksVersion || p.Kind != KindChunks || p.ID == "" || p.Parts < 1 || p.First < 0 {
		return nil, fmt.Errorf("no plan of chunks of images: %w", formats.ErrCorrupt)
	}
	return &p, nil
}

// NewChunksWork returns the work of a plan.
func NewChunksWork(p *ChunksPlan, at ChunksBuckets, o Options) *ChunksWork {
	o.Layout = p.Layout
	return &ChunksWork{plan: *p, at: at, o: o}
}

// ID identifies the plan.
func (w *ChunksWork) ID() string { return w.plan.ID }

// Parts returns the number of chunks.
func (w *ChunksWork) Parts() int { return w.plan.Parts }

// A chunkLine is the result of a part.
type chunkLine struct {
	IDs        int64  `json:"ids"`
	Frames     int64  `json:"frames"`
	Bytes      int64  `json:"bytes"`
	Others     int64  `json:"others,omitempty"`
	Labels     int64  `json:"labels,omitempty"` // texts of samples
	Unlabelled int64  `json:"unlabelled,omitempty"`
	First      string `json:"first_unlabelled,omitempty"`
	Size       int64  `json:"size"` // of the data object
	ETag       string `json:"etag"`
	Version    string `json:"version,omitempty"`
}

// keys are the objects of a part.
func (w *ChunksWork) keys(part int) (pair gulp.Pair, staged string) {
	pair = gulp.ChunkPair(w.plan.First + part)
	return gulp.Pair{Data: w.plan.Dest.Prefix + pair.Data, Meta: w.plan.Dest.Prefix + pair.Meta}, fmt.Sprintf("%smeta/%08d%s", w.at.Dir, part, gulp.MetaSuffix)
}

// Part makes a chunk and returns its numbers, a small JSON. If an image is not the one that
// was listed, the error names it and matches objstore.ErrChanged or objstore.ErrNotFound;
// a data object of somebody else is functions.ErrTaken.
func (w *ChunksWork) Part(ctx context.Context, part int) ([]byte, error) {
	list, err := w.list(ctx, part)
	if err != nil {
		return nil, err
	}
	src, err := w.source(list)
	if err != nil {
		return nil, err
	}
	pair, staged := w.keys(part)
	info, err := w.ours(ctx, pair.Data)
	var g *gulp.Writer
	var res Result
	fill := func(out io.Writer) error {
		g = gulp.NewWriter(out, w.o.Gulp)
		res, err = streamList(ctx, src, list, g, w.o)
		return err
	}
	switch {
	case err == nil: // from a try that ended before its result was kept
		err = fill(io.Discard)
		if err == nil && g.Totals().DataBytes != info.Size {
			err = fmt.Errorf("%s: %d bytes, not %d: %w", pair.Data, info.Size, g.Totals().DataBytes, formats.ErrCorrupt)
		}
	case errors.Is(err, objstore.ErrNotFound):
		info, err = w.create(ctx, w.at.Dest, pair.Data, objstore.PutOptions{ContentType: "application/octet-stream", Meta: w.mark()}, fill)
	}
	if err != nil {
		return nil, err
	}
	if _, err := w.create(ctx, w.at.Work, staged, objstore.PutOptions{ContentType: "application/json", Meta: w.mark()}, g.WriteMeta); err != nil {
		return nil, err
	}
	return json.Marshal(chunkLine{
		IDs: res.IDs, Frames: res.Frames, Bytes: res.Bytes, Others: res.Others, Labels: res.Labels, Unlabelled: res.Unlabelled, First: res.FirstUnlabelled,
		Size: info.Size, ETag: info.ETag, Version: info.VersionID,
	})
}

// maxList bounds the list of a part: four million files of some hundred bytes.
const maxList = 1 << 30

// list reads the files of a part.
func (w *ChunksWork) list(ctx context.Context, part int) (*chunkList, error) {
	key := w.at.Dir + ChunkListKey(part)
	r, in, err := w.at.Work.Get(ctx, key, objstore.GetOptions{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if in.Size > maxList {
		return nil, fmt.Errorf("%s: %d bytes: %w", key, in.Size, formats.ErrTooLarge)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var l chunkList
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", key, err, formats.ErrCorrupt)
	}
	if l.Plan != w.plan.ID || l.Part != part {
		return nil, fmt.Errorf("%s: %w: %w", key, ErrOtherList, formats.ErrCorrupt)
	}
	return &l, nil
}

// source is the files of a list.
func (w *ChunksWork) source(list *chunkList) (*prefix, error) {
	p := newPrefix(w.at.Source, w.plan.Source.Prefix, w.o)
	p.about.Name, p.pinned = w.plan.Name, true
	for _, f := range list.Files {
		name, err := cleanName(f.Key, p.l)
		if err != nil {
			return nil, kit.Fail("folder", fmt.Sprintf("%.200q", f.Key), -1, err)
		}
		p.about.Size += f.Size
		p.members = append(p.members, remote{name, w.plan.Source.Prefix + f.Key, f.ETag, f.Size})
	}
	return p, nil
}

// streamList is Stream for the files of a list.
func streamList(ctx context.Context, src *prefix, list *chunkList, w Frames, o Options) (Result, error) {
	s := newStream(src, w, o)
	s.l.Entries = max(s.l.Entries, int64(len(list.Files)))
	s.labels.found = list.Labels
	if list.Labels == nil {
		s.labels.found = map[string][]fields{}
	}
	s.told = map[string]string{}
	for i, f := range list.Files {
		if f.ID != "" {
			s.told[src.members[i].name] = f.ID
		}
	}
	err := src.Each(ctx, s.named(s.file))
	if err == nil {
		err = s.finish()
	}
	return s.res, err
}

// mark is the metadata of what a plan makes.
func (w *ChunksWork) mark() map[string]string {
	return map[string]string{functions.MetaMarker: "1", MetaPlan: w.plan.ID}
}

// create writes an object that nobody else has written. If this plan has been faster, it
// returns that one.
func (w *ChunksWork) create(ctx context.Context, b objstore.Bucket, key string, o objstore.PutOptions, fill func(io.Writer) error) (objstore.Info, error) {
	o.IfAbsent = true
	out, err := b.Create(ctx, key, o)
	if err == nil {
		defer out.Abort()
		if err := fill(out); err != nil {
			return objstore.Info{}, err
		}
		var info objstore.Info
		if info, err = out.Commit(ctx); err == nil {
			return info, nil
		}
	}
	if errors.Is(err, objstore.ErrExists) {
		return w.oursIn(ctx, b, key)
	}
	return objstore.Info{}, err
}

// ours returns an object of the dataset that this plan has made.
func (w *ChunksWork) ours(ctx context.Context, key string) (objstore.Info, error) {
	return w.oursIn(ctx, w.at.Dest, key)
}

func (w *ChunksWork) oursIn(ctx context.Context, b objstore.Bucket, key string) (objstore.Info, error) {
	info, err := b.Head(ctx, key)
	if err == nil && info.Meta[MetaPlan] != w.plan.ID {
		err = fmt.Errorf("%s is not of this plan: %w: %w", key, functions.ErrTaken, formats.ErrUnsupported)
	}
	return info, err
}

// Take takes the result of a part. The parts come in their order.
func (w *ChunksWork) Take(part int, result []byte) error {
	var l chunkLine
	if err := json.Unmarshal(result, &l); err != nil || l.ETag == "" {
		return fmt.Errorf("no numbers of a chunk: %w", formats.ErrCorrupt)
	}
	w.parts = append(w.parts, l)
	return nil
}

// ChunksAnswers are what has come out of a ChunksPlan.
type ChunksAnswers struct {
	Plan   string `json:"plan"`
	First  int    `json:"first"`  // number of the first chunk
	Chunks int    `json:"chunks"` // how many there are
	Result Result `json:"result"`
}

// Pairs returns the names of the chunks.
func (a *ChunksAnswers) Pairs() []gulp.Pair {
	out := make([]gulp.Pair, a.Chunks)
	for i := range out {
		out[i] = gulp.ChunkPair(a.First + i)
	}
	return out
}

// Finish publishes the chunks, and returns a ChunksAnswers as JSON.
func (w *ChunksWork) Finish(ctx context.Context) ([]byte, error) {
	if len(w.parts) != w.plan.Parts {
		return nil, fmt.Errorf("%d of %d parts: %w", len(w.parts), w.plan.Parts, formats.ErrNoEntry)
	}
	there, err := w.there(ctx)
	if err != nil {
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	const sideBySide = 8 // each holds one .gmeta where it makes an index
	g.SetLimit(sideBySide)
	for part := range w.parts {
		pair, _ := w.keys(part)
		if there[pair.Data+index.Suffix] {
			continue // it comes last
		}
		g.Go(func() error { return w.publish(gctx, part, there[pair.Meta]) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return json.Marshal(w.answers())
}

func (w *ChunksWork) answers() ChunksAnswers {
	p := &w.plan
	a := ChunksAnswers{Plan: p.ID, First: p.First, Chunks: p.Parts, Result: Result{
		Layout: p.Layout, Labels: p.Labels, Unlabelled: p.Unlabelled, FirstUnlabelled: p.FirstUnlabelled,
	}}
	r := &a.Result
	for _, l := range w.parts {
		r.IDs += l.IDs
		r.Frames += l.Frames
		r.Bytes += l.Bytes
		r.Others += l.Others
		r.Labels += l.Labels
		r.Unlabelled += l.Unlabelled
		r.FirstUnlabelled = cmp.Or(r.FirstUnlabelled, l.First)
	}
	return a
}

// there lists the dataset.
func (w *ChunksWork) there(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	for in, err := range objstore.ListFolder(ctx, w.at.Dest, w.plan.Dest.Prefix, "") {
		if err != nil {
			return nil, err
		}
		out[in.Key] = true
	}
	return out, nil
}

// publish makes a chunk visible: its .gmeta, which names the data by ETag, and then the
// index beside them.
func (w *ChunksWork) publish(ctx context.Context, part int, there bool) error {
	pair, staged := w.keys(part)
	l := &w.parts[part]
	var info objstore.Info
	var err error
	if there {
		info, err = w.ours(ctx, pair.Meta)
	} else {
		meta := w.mark()
		meta[functions.MetaDataETag] = l.ETag
		if l.Version != "" {
			meta[functions.MetaDataVersion] = l.Version
		}
		info, err = w.create(ctx, w.at.Dest, pair.Meta, objstore.PutOptions{ContentType: "application/json", Meta: meta}, func(out io.Writer) error {
			r, _, err := w.at.Work.Get(ctx, staged, objstore.GetOptions{})
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(out, r)
			return err
		})
	}
	if err != nil {
		return err
	}
	return w.beside(ctx, pair, l, info)
}

// beside writes the index of a chunk, if it is worth one, as BuildIndex makes it. Readers
// do without if it cannot be.
func (w *ChunksWork) beside(ctx context.Context, pair gulp.Pair, l *chunkLine, meta objstore.Info) error {
	if !gulpindex.Worth(meta.Size) {
		return nil
	}
	text, err := objstore.Open(ctx, w.at.Dest, pair.Meta, objstore.OpenOptions{IfMatch: meta.ETag})
	if err != nil {
		return err
	}
	c, err := gulp.Open(ctx, text, sized(l.Size), gulp.Options{Limits: w.o.Gulp.Limits})
	if err != nil {
		return err
	}
	p, err := BuildIndex(c, objstore.Info{Size: l.Size, ETag: l.ETag}, meta)
	if err != nil || p == nil {
		if kit.IsFormat(err) {
			err = nil // such as an id of 3 KiB
		}
		return err
	}
	_, err = objstore.Put(ctx, w.at.Dest, pair.Data+index.Suffix, bytes.NewReader(p), objstore.PutOptions{ContentType: "application/octet-stream", Meta: w.mark()})
	return err
}

// sized is a data object of which nothing is read.
type sized int64

func (s sized) Size() int64 { return int64(s) }

func (s sized) ReadRanges(context.Context, []rangeio.Span) error { return formats.ErrUnsupported }

func (s sized) ReadEach(context.Context, []rangeio.Span, func(int) error) error {
	return formats.ErrUnsupported
}

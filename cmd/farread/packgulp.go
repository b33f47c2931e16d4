package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// packReport is the JSON of `pack` for gulps.
type packReport struct {
	Format     string   `json:"format"`
	Outputs    []string `json:"outputs"`
	IDs        int64    `json:"ids"`
	Frames     int64    `json:"frames"`
	Bytes      int64    `json:"bytes"`
	Skipped    int64    `json:"skipped"`
	Unlabelled int64    `json:"labels_without_frames"`
	Labels     int64    `json:"labels"`
	Unordered  int64    `json:"ids_reordered"`
	Layout     string   `json:"layout,omitempty"` // of several inputs: that of the last one
	Others     int64    `json:"other_images"`     // images of another kind than JPEG
	Unchanged  bool     `json:"unchanged"`        // this version of the source was already packed

	unlabelled string // what the first label without frames is about
	found      bool   // the layout was found by names
}

func (r *packReport) add(n pack.Result) {
	r.IDs += n.IDs
	r.Frames += n.Frames
	r.Bytes += n.Bytes
	r.Skipped += n.Skipped
	r.Unlabelled += n.Unlabelled
	r.Unordered += n.Unordered
	r.Labels += n.Labels
	r.Others += n.Others
	r.Layout = string(n.Layout)
	if r.unlabelled == "" {
		r.unlabelled = n.FirstUnlabelled
	}
}

// defaultGulpChunk is the default of gulp.DatasetOptions.
const defaultGulpChunk = 256 << 20

// packGulp packs JPEGs.
func packGulp(ctx context.Context, a *app, srcs []string, dst target, f *packFlags) error {
	pair, isPair := gulp.PairOf(dst.key)
	if f.on.on != "" {
		return a.packChunks(ctx, srcs, dst, f)
	}
	inputs, err := a.inputs(ctx, srcs, ownFiles(dst.bucket, dst.key, pair, isPair))
	if err != nil {
		return err
	}
	toS3 := strings.HasPrefix(dst.bucket.Name(), "s3://")
	if isPair && len(inputs) == 1 && toS3 {
		if err := asWorker(ctx, &inputs[0], dst.bucket, pair); err != nil {
			return err
		}
	}
	layout, err := f.gulpLayout()
	if err != nil {
		return err
	}
	rep := packReport{Format: gulp.Format, found: layout == pack.ByNames}
	switch {
	case !isPair:
		err = a.packDataset(ctx, inputs, dst.uri, f.gulpChunk(), layout, &rep)
	case len(inputs) == 1 && inputs[0].upload != nil && toS3:
		err = a.publish(ctx, inputs[0], dst.bucket, pair, f, layout, &rep)
	default:
		err = a.packPair(ctx, inputs, dst.bucket, pair, f, layout, &rep)
	}
	if err != nil {
		return err
	}
	return a.packedReport(rep)
}

// gulpLayout is the layout that the flags say.
func (f *packFlags) gulpLayout() (pack.Layout, error) {
	layout, err := pack.ParseLayout(f.layout)
	if err != nil {
		return "", usagef("--layout %s: want one of %s", f.layout, strings.Join(pack.Layouts(), ", "))
	}
	return layout, nil
}

// gulpChunk is how many bytes a chunk of a dataset has.
func (f *packFlags) gulpChunk() int64 {
	if f.chunk == 0 {
		return defaultGulpChunk
	}
	return int64(f.chunk)
}

// packedReport prints the report of a pack into gulps.
func (a *app) packedReport(r packReport) error {
	if a.flags.json {
		return writeJSON(a.stdout, r)
	}
	return a.tellPacked(r)
}

func (a *app) tellPacked(r packReport) error {
	if r.Unchanged {
		_, err := fmt.Fprintf(a.stdout, "unchanged: %s holds this version already\n", human.Printable(r.Outputs[0]))
		return err
	}
	text := fmt.Sprintf("%s of %s, %s", human.Plural(r.Frames, "frame"), human.Plural(r.IDs, "id"), human.Size(r.Bytes))
	if r.Skipped > 0 {
		text += fmt.Sprintf("; %s passed over", human.Plural(r.Skipped, "other file"))
	}
	if r.Others > 0 {
		text += fmt.Sprintf("; %s of another kind than JPEG", human.Plural(r.Others, "image"))
	}
	switch {
	case r.Unlabelled > 0 && r.Unlabelled == r.Labels:
		text += fmt.Sprintf("; none of %s is about an image here (the first: %s)", human.Plural(r.Labels, "label"), human.Printable(r.unlabelled))
	case r.Unlabelled > 0:
		text += fmt.Sprintf("; %s of %s without frames (the first: %s)", human.Count(r.Unlabelled), human.Plural(r.Labels, "label"), human.Printable(r.unlabelled))
	}
	if l := pack.Layout(r.Layout); l != pack.ByNames && (r.found || l != pack.Clips) {
		text += "\n  layout " + l.String()
		if r.found {
			text += " (found by names; --layout says otherwise)"
		}
	}
	for _, o := range r.Outputs {
		text += "\n  " + human.Printable(o)
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

// stream packs the inputs into w, one after the other.
func (a *app) stream(ctx context.Context, inputs []input, w pack.Frames, layout pack.Layout, rep *packReport) error {
	total := int64(0)
	for _, in := range inputs {
		if n := in.source.About().Size; n < 0 || total < 0 {
			total = -1
		} else {
			total += n
		}
	}
	bar := a.newBar("pack", total)
	defer bar.clear()
	g := &guard{w: w, before: map[string]bool{}, now: map[string]bool{}}
	var done int64
	for _, in := range inputs {
		res, err := pack.Stream(ctx, in.source, g, pack.Options{Layout: layout, Progress: func(read, total int64) { bar.set(done+read, total) }})
		if err != nil {
			return at(in.uri, err)
		}
		done += max(0, in.source.About().Size)
		g.next()
		rep.add(res)
	}
	return nil
}

// packPair writes one gulp chunk.
func (a *app) packPair(ctx context.Context, inputs []input, b objstore.Bucket, pair gulp.Pair, f *packFlags, layout pack.Layout, rep *packReport) error {
	if !f.force {
		for _, key := range []string{pair.Data, pair.Meta} {
			if _, err := b.Head(ctx, key); err == nil {
				return taken(b, key)
			} else if !errors.Is(err, objstore.ErrNotFound) {
				return err
			}
		}
	}
	o := sink.NewChunks(b, f.force)
	w, err := o.Begin(ctx, pair)
	if err != nil {
		return err
	}
	defer o.Abort(ctx)
	if err := a.stream(ctx, inputs, w, layout, rep); err != nil {
		return err
	}
	if err := o.Finish(ctx); err != nil {
		return err
	}
	a.unindexed(o.Unindexed())
	rep.Outputs = published(o, b)
	return nil
}

// unindexed tells why a gulp chunk has no index beside it, if it should have one.
func (a *app) unindexed(err error) {
	if err != nil {
		a.remark("no index beside the gulp, which can be read without: %v", err)
	}
}

func taken(b objstore.Bucket, key string) error {
	return fmt.Errorf("%s exists (--force replaces it): %w", human.Printable(join(b.Name(), key)), objstore.ErrExists)
}

// asWorker sets the job that a worker runs for an input, if DST is the output of this
// job: command and worker must then agree on who made DST, in whichever order they run.
func asWorker(ctx context.Context, in *input, b objstore.Bucket, pair gulp.Pair) error {
	prefixFor := func(key string) (string, bool) {
		prefix, ok := strings.CutSuffix(pair.Data, functions.OutputKey("", key, gulp.DataSuffix))
		return prefix, ok && functions.OutputKey(prefix, key, gulp.DataSuffix) == pair.Data &&
			functions.OutputKey(prefix, key, gulp.MetaSuffix) == pair.Meta
	}
	if in.upload != nil {
		if prefix, ok := prefixFor(in.upload.Key); ok {
			in.job = &pack.Job{Out: b, Prefix: prefix}
		}
		return nil
	}
	bucket, ok := "", false
	if in.bucket != nil {
		bucket, ok = strings.CutPrefix(in.bucket.Name(), "s3://")
	}
	for _, name := range []string{"_SUCCESS", "manifest.json"} {
		prefix, fits := prefixFor(in.key + name)
		if !ok || !fits {
			continue
		}
		info, err := in.bucket.Head(ctx, in.key+name)
		if errors.Is(err, objstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return at(in.uri, err)
		}
		in.upload = &functions.Upload{Bucket: bucket, Key: info.Key, ETag: info.ETag, VersionID: info.VersionID, Size: info.Size}
		in.job = &pack.Job{Out: b, Prefix: prefix}
		return nil
	}
	return nil
}

// cliLayout is what a pair records of how it was made.
func cliLayout(l pack.Layout) string {
	if l == pack.ByNames {
		return "cli"
	}
	return "cli layout=" + string(l)
}

// publish runs the job of the pack function on one upload.
func (a *app) publish(ctx context.Context, in input, b objstore.Bucket, pair gulp.Pair, f *packFlags, layout pack.Layout, rep *packReport) error {
	if in.job != nil {
		in.job.Replace, in.job.Options.Layout = f.force, layout
		in.job.Options.Done = func(r pack.Result) { *rep = packReport{Format: gulp.Format, found: rep.found}; rep.add(r) }
	}
	p := functions.Pair{Bucket: b, Data: pair.Data, Meta: pair.Meta, Layout: cliLayout(layout), Replace: f.force, Unsided: a.unindexed}
	var w *gulp.Writer
	pack.IndexPair(&p, func() *gulp.Writer { return w })
	run := func() ([]objstore.Info, error) {
		if in.job != nil {
			return in.job.Run(ctx, in.bucket, *in.upload)
		}
		return p.Publish(ctx, in.bucket, *in.upload, func(ctx context.Context, u functions.Upload, data io.Writer) (func(io.Writer) error, error) {
			again := in
			if u != *in.upload {
				ob, err := objstore.Open(ctx, in.bucket, u.Key, objstore.OpenOptions{IfMatch: u.ETag, VersionID: u.VersionID})
				if err != nil {
					return nil, err
				}
				if again.source, err = pack.Archive(ctx, ob, pack.Options{}); err != nil {
					return nil, err
				}
			}
			w = gulp.NewWriter(data, gulp.WriteOptions{})
			*rep = packReport{Format: gulp.Format, found: rep.found}
			return w.WriteMeta, a.stream(ctx, []input{again}, w, layout, rep)
		})
	}
	infos, err := run()
	if errors.Is(err, functions.ErrTaken) {
		return taken(b, pair.Data)
	}
	rep.Unchanged = len(infos) == 0
	if in.job != nil && len(infos) > 0 {
		rep.Bytes = infos[0].Size
	}
	rep.Outputs = []string{join(b.Name(), pair.Data), join(b.Name(), pair.Meta)}
	return err
}

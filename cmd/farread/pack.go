package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

const packLong = `Pack images into a gulp, untouched. SRC is a tar, tar.gz, tar.zst or zip of JPEGs,
a folder of them, local or a prefix of a bucket, or local JPEG files. Each folder in
it becomes an id; files in no folder belong to their name before the last "_" or
"-" and a number. labels.csv or labels.json in SRC become meta_data, else the
folder above an id's folder is its label.

DST decides what is made:
  x.gulp                 one gulp chunk, x.gulp and x.gmeta
  folder/ --format gulp  a dataset of chunks data_N.gulp, meta_N.gmeta; one that
                         is there is appended to; a chunk ends with the id by
                         which its data reach --chunk bytes

A chunk DST that exists is refused with exit code 5 unless --force is given, and so
is an id that the dataset has already. Nothing shows before all of it was read: data
go first, and the index, which makes them visible, last. An interrupt leaves a
dataset as it was, or with whole new chunks.

Files of DST that lie in SRC are passed over: a folder may be packed into itself.

From S3 to S3 this is the very job that the pack function runs: the output carries
its source's version, and packing the same version again does nothing.`

type packFlags struct {
	format string
	chunk  sizeFlag
	force  bool
}

func newPack(a *app) *cobra.Command {
	var f packFlags
	f.chunk = 256 << 20 // the default of gulp.DatasetOptions
	c := &cobra.Command{
		Use: "pack SRC... DST", Short: "An upload into a container: JPEGs into a gulp",
		Long: packLong,
		Example: `  farread pack photos.tar.zst photos.gulp
  farread pack s3://uploads/clips/sunrise.tar s3://frames/clips/sunrise.tar.gulp
  farread pack day1/ day2/ s3://frames/train/ --format gulp --chunk 64MiB`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("missing SRC or DST")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pack(cmd.Context(), args[:len(args)-1], args[len(args)-1], f)
		},
	}
	c.Flags().StringVar(&f.format, "format", "", "container for a DST without a suffix: gulp")
	c.Flags().Var(&f.chunk, "chunk", "a chunk of a dataset ends with the id that reaches this size; an id is never split")
	c.Flags().BoolVar(&f.force, "force", false, "replace a DST that exists")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{gulp.Format}, cobra.ShellCompDirectiveNoFileComp)) // fails for unknown flags only
	return c
}

// packReport is the JSON of `pack`.
type packReport struct {
	Format     string   `json:"format"`
	Outputs    []string `json:"outputs"`
	IDs        int64    `json:"ids"`
	Frames     int64    `json:"frames"`
	Bytes      int64    `json:"bytes"`
	Skipped    int64    `json:"skipped"`
	Unlabelled int64    `json:"labels_without_frames"`
	Unordered  int64    `json:"ids_reordered"`
	Unchanged  bool     `json:"unchanged"` // this version of the source was packed already
}

func (r *packReport) add(n pack.Result) {
	r.IDs += n.IDs
	r.Frames += n.Frames
	r.Bytes += n.Bytes
	r.Skipped += n.Skipped
	r.Unlabelled += n.Unlabelled
	r.Unordered += n.Unordered
}

func (a *app) pack(ctx context.Context, srcs []string, dst string, f packFlags) error {
	b, key, err := a.client.Bucket(ctx, dst)
	if err != nil {
		return at(dst, err)
	}
	pair, isPair := gulp.PairOf(key)
	switch {
	case f.format != "" && f.format != gulp.Format:
		return fmt.Errorf("format %q: this version packs gulp only: %w", f.format, formats.ErrUnsupported)
	case f.format == "" && !isPair && path.Ext(key) != "":
		return fmt.Errorf("%s: this version packs %s only: %w", printable(dst), gulp.DataSuffix, formats.ErrUnsupported)
	case f.format == "" && !isPair:
		return usagef("DST %q names no format: end it in %s, or add --format gulp for a dataset", dst, gulp.DataSuffix)
	}
	inputs, err := a.inputs(ctx, srcs, ownFiles(b, key, pair, isPair))
	if err != nil {
		return err
	}
	if isPair && len(inputs) == 1 && strings.HasPrefix(b.Name(), "s3://") {
		if err := asWorker(ctx, &inputs[0], b, pair); err != nil {
			return err
		}
	}
	rep := packReport{Format: gulp.Format}
	defer newFolder(b)()
	switch {
	case !isPair:
		err = a.packDataset(ctx, inputs, dst, int64(f.chunk), &rep)
	case len(inputs) == 1 && inputs[0].upload != nil && strings.HasPrefix(b.Name(), "s3://"):
		err = a.publish(ctx, inputs[0], b, pair, f.force, &rep)
	default:
		err = a.packPair(ctx, inputs, b, pair, f.force, &rep)
	}
	if err != nil {
		return err
	}
	if a.flags.json {
		return writeJSON(a.stdout, rep)
	}
	return a.tellPacked(rep)
}

// newFolder returns what removes the local folder of a bucket again if it is
// not there yet and nothing comes to lie in it.
func newFolder(b objstore.Bucket) func() {
	dir, local := strings.CutPrefix(b.Name(), "file://")
	if _, err := os.Stat(dir); !local || err == nil {
		return func() {}
	}
	return func() { _ = os.Remove(dir) } // fails where there is something in it
}

func (a *app) tellPacked(r packReport) error {
	if r.Unchanged {
		_, err := fmt.Fprintf(a.stdout, "unchanged: %s holds this version already\n", printable(r.Outputs[0]))
		return err
	}
	text := fmt.Sprintf("%s of %s, %s", plural(r.Frames, "frame"), plural(r.IDs, "id"), humanSize(r.Bytes))
	if r.Skipped > 0 {
		text += fmt.Sprintf("; %s passed over", plural(r.Skipped, "other file"))
	}
	if r.Unlabelled > 0 {
		text += fmt.Sprintf("; %s without frames", plural(r.Unlabelled, "label"))
	}
	for _, o := range r.Outputs {
		text += "\n  " + printable(o)
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

// stream packs the inputs into w, one after the other.
func (a *app) stream(ctx context.Context, inputs []input, w pack.Frames, rep *packReport) error {
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
		res, err := pack.Stream(ctx, in.source, g, pack.Options{Progress: func(p pack.Progress) { bar.set(done + p.Read) }})
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
func (a *app) packPair(ctx context.Context, inputs []input, b objstore.Bucket, pair gulp.Pair, force bool, rep *packReport) error {
	if !force {
		for _, key := range []string{pair.Data, pair.Meta} {
			if _, err := b.Head(ctx, key); err == nil {
				return taken(b, key)
			} else if !errors.Is(err, objstore.ErrNotFound) {
				return err
			}
		}
	}
	o := output{b: b, force: force}
	w, err := o.begin(ctx, pair)
	if err != nil {
		return err
	}
	defer o.abort(ctx)
	if err := a.stream(ctx, inputs, w, rep); err != nil {
		return err
	}
	if err := o.finish(ctx); err != nil {
		return err
	}
	rep.Outputs = o.published
	return nil
}

func taken(b objstore.Bucket, key string) error {
	return fmt.Errorf("%s exists (--force replaces it): %w", printable(join(b.Name(), key)), objstore.ErrExists)
}

// asWorker finds the job that a worker runs for an input, if its output has the
// name of DST: then the two must agree on who made it, whoever comes first.
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

// publish runs the job of the pack function on one upload.
func (a *app) publish(ctx context.Context, in input, b objstore.Bucket, pair gulp.Pair, force bool, rep *packReport) error {
	if in.job != nil {
		in.job.Options.Progress = func(p pack.Progress) { rep.IDs, rep.Frames = p.IDs, p.Frames }
	}
	p := functions.Pair{Bucket: b, Data: pair.Data, Meta: pair.Meta, Layout: "cli"}
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
			w := gulp.NewWriter(data, gulp.WriterOptions{})
			*rep = packReport{Format: gulp.Format}
			return w.WriteMeta, a.stream(ctx, []input{again}, w, rep)
		})
	}
	infos, err := run()
	if errors.Is(err, functions.ErrTaken) {
		if !force {
			return taken(b, pair.Data)
		}
		for _, key := range []string{pair.Meta, pair.Data} {
			if err := b.Delete(ctx, key); err != nil {
				return err
			}
		}
		infos, err = run()
	}
	rep.Unchanged = len(infos) == 0
	if in.job != nil && len(infos) > 0 {
		rep.Bytes = infos[0].Size
	}
	rep.Outputs = []string{join(b.Name(), pair.Data), join(b.Name(), pair.Meta)}
	return err
}

package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

// layoutVersion must change if the same upload would give other bytes.
const layoutVersion = "gulp-1"

// slowest is the rate by which a job's time is estimated before it is begun: a
// function of 512 MB reads and writes about 70 MB/s side by side.
const slowest = 20 << 20

// New is the functions.JobMaker of packing with the given options. The maker refuses
// rules whose fields would have no effect.
func New(o Options) functions.JobMaker {
	return func(r functions.Rule, out objstore.Bucket) (functions.Job, error) {
		if r.Chunk > 0 && r.Format != bloscpack.Format {
			return nil, fmt.Errorf("chunk %d: a worker writes one pair for each upload; farread pack writes datasets: %w", r.Chunk, kit.ErrRule)
		}
		enc, err := ParseCodec(r.Codec)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, kit.ErrRule)
		}
		by, err := ParseRecords(r.Records)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", err, kit.ErrRule)
		case by != ByContent && r.Format != bloscpack.Format:
			return nil, fmt.Errorf("records %s: of bloscpack only: %w", by, kit.ErrRule)
		case r.Chunk > 0 && by != ByContent && by != Chunks:
			return nil, fmt.Errorf("chunk %d: %s are items of their own length: %w", r.Chunk, by, kit.ErrRule)
		case r.Chunk > maxRuleChunk:
			return nil, fmt.Errorf("chunk %d, over %d: %w", r.Chunk, maxRuleChunk, kit.ErrRule)
		}
		layout, err := ParseLayout(r.Layout)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", err, kit.ErrRule)
		case layout != ByNames && r.Format != gulp.Format:
			return nil, fmt.Errorf("layout %s: of gulp only: %w", r.Layout, kit.ErrRule)
		}
		o := o
		o.Layout = layout
		j := &Job{Out: out, Prefix: r.Out.Prefix, To: r.Joined(), Format: r.Format, Encode: enc, Options: o, Records: by}
		j.Items = ItemWrite{Chunk: r.Chunk, Parallel: runtime.GOMAXPROCS(0)}
		if r.Codec != "" {
			j.Items.Encode = &enc
		}
		return j, nil
	}
}

// maxRuleChunk is the largest chunk that a worker holds more than once.
const maxRuleChunk = 32 << 20

// A Job packs uploads under Prefix of Out: images into gulp pairs, arrays into
// b2nd, text, other files and all else into Bloscpack. It implements functions.Job
// and is safe for concurrent use if its callbacks are.
type Job struct {
	Out     objstore.Bucket
	Prefix  string
	To      string              // key of the dataset that all uploads become; "": each has an output of its own
	Format  string              // format of outputs: "gulp", "b2nd", "bloscpack"; "": by content
	Encode  blosc.EncodeOptions // encoding of arrays; New sets DefaultEncode unless the rule has a codec
	Records Records             // for "bloscpack": says how the upload is cut into records
	Items   ItemWrite           // options of Bloscpack files; the job sets Seal and MaxAppend
	Options Options
	Replace bool // replace outputs that were made from something else, instead of functions.ErrTaken
}

// Run packs the upload u of src. An archive's key gets ".gulp" and ".gmeta"; a
// "_SUCCESS" or "manifest.json" packs its folder. A JPEG or a labels file (under a rule
// for gulps any image) by itself is functions.ErrSkip: it waits for its folder's marker. A .npy gets
// ".b2nd", a .npz an object for each member, "x.npz/name.b2nd", and raw data with
// a note beside them (npy.Note) are an array, too. Lines of text, the files of an
// archive whose first file is no JPEG, and all other bytes get ".blp". If this version,
// or a newer one, is packed, Run writes nothing and returns nothing. If the content has
// become of another kind, Run deletes the output of the older version. An upload that
// the rule's format does not take is a permanent failure. If there is a To, the array of
// an upload joins that dataset: see functions.Joined.
func (j *Job) Run(ctx context.Context, src objstore.Bucket, u functions.Upload) ([]objstore.Info, error) {
	folder, _, closing := functions.Closing(u.Key)
	if isLabels(u.Key) && !j.forced() {
		return nil, fmt.Errorf("labels wait for the marker of their folder: %w", functions.ErrSkip)
	}
	obj, u, err := kit.Open(ctx, src, u)
	if errors.Is(err, objstore.ErrChanged) && !closing && j.To == "" {
		if failed := j.replaced(ctx, src, u); failed != nil {
			return nil, failed
		}
	}
	if err != nil {
		return nil, err
	}
	f, err := look(ctx, obj)
	if err != nil {
		return nil, err
	}
	if !closing && !j.forced() && (obj.Size() > 0 || !j.takesEmpty(u.Key)) {
		if infos, ok, err := j.arrays(ctx, src, u, f); ok || err != nil {
			return infos, err
		}
	}
	it, first, err := j.items(ctx, src, f, closing)
	switch {
	case err != nil:
		return nil, err
	case it != nil:
		return j.publishItems(ctx, src, u, it)
	case j.Format != "" && j.Format != gulp.Format:
		return nil, kit.Fail("upload", u.Key, -1, kit.Unsupported("no array, and the rule makes %s", j.Format))
	case first == nil:
		if first, err = j.source(ctx, src, f); err != nil {
			return nil, err
		}
	}
	if err := kit.Fits(ctx, first.About().Size, slowest); err != nil {
		return nil, err
	}
	pair := functions.Pair{Bucket: j.Out, Layout: j.layout(first), Replace: j.Replace,
		Data: functions.OutputKey(j.Prefix, u.Key, gulp.DataSuffix), Meta: functions.OutputKey(j.Prefix, u.Key, gulp.MetaSuffix)}
	var w *gulp.Writer
	IndexPair(&pair, func() *gulp.Writer { return w })
	pair.Unsided = func(err error) { j.warn(u, fmt.Sprintf("no index beside %s: %v", pair.Data, err)) }
	infos, err := pair.Publish(ctx, src, u, func(ctx context.Context, v functions.Upload, data io.Writer) (func(io.Writer) error, error) {
		s := first
		if v != u || closing { // a folder is listed again: its present content counts
			if s, err = j.again(ctx, src, v); err != nil {
				return nil, err
			}
		}
		if l := j.layout(s); l != pair.Layout && v == u {
			return nil, fmt.Errorf("objects under %s changed while they were packed: %w", path.Join(src.Name(), folder), objstore.ErrUnavailable)
		}
		w = gulp.NewWriter(data, j.Options.Gulp)
		if _, err := Stream(ctx, s, w, j.Options); err != nil {
			return nil, err
		}
		return w.WriteMeta, nil
	})
	if err != nil || closing { // a folder has no other kind of output
		return infos, err
	}
	return infos, j.retire(ctx, src, u, oneGulp, infos, nil)
}

func (j *Job) again(ctx context.Context, src objstore.Bucket, u functions.Upload) (Source, error) {
	obj, _, err := kit.Open(ctx, src, u)
	if err != nil {
		return nil, err
	}
	f, err := look(ctx, obj)
	if err != nil {
		return nil, err
	}
	return j.source(ctx, src, f)
}

// source is what an upload holds.
func (j *Job) source(ctx context.Context, src objstore.Bucket, f *found) (Source, error) {
	if folder, list, ok := functions.Closing(f.obj.Info().Key); ok {
		return j.folder(ctx, src, f.obj, folder, list)
	}
	if f.kind == kindJPEG || f.kind == kindNone && isImage(f.head) {
		return nil, fmt.Errorf("an image waits for the marker of its folder: %w", functions.ErrSkip)
	}
	return f.archive(ctx, j.Options)
}

func (j *Job) folder(ctx context.Context, src objstore.Bucket, marker *objstore.Object, folder string, list bool) (Source, error) {
	var s Source
	var err error
	o := j.Options
	o.AllFiles = o.AllFiles || j.forced()
	if list {
		l := j.Options.Limits.WithDefaults()
		if marker.Size() > l.Text {
			return nil, kit.Fail("manifest", "", -1, kit.TooLarge("%d bytes", marker.Size()))
		}
		var text []byte
		if text, err = kit.Head(ctx, marker, marker.Size()); err != nil {
			return nil, err
		}
		s, err = manifest(ctx, src, folder, text, o)
	} else {
		s, err = Prefix(ctx, src, folder, o)
	}
	if err != nil {
		return nil, err
	}
	p, ok := s.(*prefix)
	if ok {
		p.about.labelled(marker)
	}
	return s, err
}

// labelled takes labels from the metadata and the tags of an upload. A worker without
// the permission to read tags, and a store without tags, give none.
func (a *About) labelled(obj *objstore.Object) {
	info := obj.Info()
	a.Labels = []map[string]string{info.Meta}
	a.Tags = func(ctx context.Context) (map[string]string, error) {
		tags, err := objstore.Tags(ctx, obj.Bucket(), info.Key, info.VersionID)
		if errors.Is(err, objstore.ErrDenied) || errors.Is(err, objstore.ErrInvalid) {
			return nil, nil
		}
		return tags, err
	}
}

// layout names everything besides the upload's bytes that decides the pair.
func (j *Job) layout(s Source) string {
	text := layoutVersion
	if l := s.About().Layout; l != "" {
		text += " " + l
	}
	if l := j.Options.Layout; l != ByNames {
		text += " layout=" + string(l)
	}
	return text
}

// Command is the command line that packs u elsewhere, if a function cannot.
func Command(r functions.Rule, u functions.Upload) string {
	from := u.Key
	if folder, _, ok := functions.Closing(u.Key); ok {
		from = folder
	}
	if to := r.Joined(); to != "" {
		return kit.CommandTo(r, u, from, to) + commandFlags(r)
	}
	return kit.Command(r, u, from, commandSuffix(r, u)) + commandFlags(r)
}

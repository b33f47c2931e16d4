package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/draft"
	"github.com/farread/farread/rangeio"
)

// appendReport is the JSON of `pack --append`.
type appendReport struct {
	Format   string   `json:"format"`
	Output   string   `json:"output"`
	Shape    []int64  `json:"shape,omitempty"`    // of an array, after the append
	Tracks   int      `json:"tracks,omitempty"`   // of a series
	Items    int64    `json:"items,omitempty"`    // of a .blp, after the append
	Added    int64    `json:"added"`              // items along the first axis; samples of all tracks; bytes of a frame; items of a .blp
	Bytes    int64    `json:"bytes"`              // bytes of SRC, or of the items that were added
	Stored   int64    `json:"stored"`             // bytes of the output
	Sent     int64    `json:"sent"`               // of them, bytes that went to the store
	Copied   int64    `json:"copied"`             // of them, bytes that the store copied itself
	Whole    string   `json:"whole,omitempty"`    // why all of a series was read
	Index    string   `json:"index,omitempty"`    // of an index that lay beside: "inside" if the new one lies there, "stale" if there is none
	Warnings []string `json:"warnings,omitempty"` // about SRC

	*zarrChunks // of a SRC that is Zarr

	// Beside is the array beside it that has the coordinate of the first axis, if that grew, too.
	Beside *appendReport `json:"beside,omitempty"`

	side   *staleIndex
	inside bool // the file has an index inside now
}

func (r *appendReport) tell(a *app) error {
	if a.flags.json {
		return writeJSON(a.stdout, r)
	}
	how := human.Size(r.Sent) + " sent"
	if r.Copied > 0 {
		how += ", " + human.Size(r.Copied) + " copied by the store"
	}
	added := fmt.Sprintf("%d added", r.Added)
	switch r.Format {
	case all.B2ND:
		added += ", now " + human.Shape(r.Shape)
	case zoomcache.Format:
		added = fmt.Sprintf("%s of %s added", human.Plural(r.Added, "sample"), human.Plural(int64(r.Tracks), "track"))
	case bloscpack.Format:
		added = fmt.Sprintf("%s added, now %d", human.Plural(r.Added, "item"), r.Items)
	default:
		added = human.Plural(r.Added, "byte") + " added"
	}
	_, err := fmt.Fprintf(a.stdout, "%s: %s stored in %s (%s)\n  %s\n", added, human.Size(r.Bytes), human.Size(r.Stored), how, human.Printable(r.Output))
	if err == nil && r.Index == indexInside {
		_, err = fmt.Fprintln(a.stdout, "  its index, which lay beside it, lies inside now")
	}
	if err == nil && r.Beside != nil {
		return r.Beside.tell(a)
	}
	return err
}

// tellWhole says why an append has read all that was there.
func (a *app) tellWhole(rep *appendReport) {
	if rep.Whole != "" {
		a.warn(rep.Output, "all of it was read, once: "+rep.Whole)
	}
}

// A growth says how files of one format grow by --append.
type growth struct {
	own  []string // flags that say what the file has already
	grow func(ctx context.Context, a *app, src string, o *objstore.Object, f *packFlags, rep *appendReport) error
}

func growths() map[string]growth {
	return map[string]growth{
		all.B2ND:         {[]string{"chunk-shape", "block-shape", "for", "dims", "attrs", "fill"}, growArray},
		frameFormat:      {[]string{"chunk", "typesize"}, growFrame},
		bloscpack.Format: {[]string{"chunk", "typesize", "checksum"}, growItems},
		zoomcache.Format: {[]string{"codec", "zlib", "delta"}, growSeries},
	}
}

// appendable refuses what does not go with --append.
func appendable(p *packer, dst target, f *packFlags, cmd *cobra.Command) error {
	g, ok := growths()[p.format]
	_, pair := gulp.PairOf(dst.key)
	switch {
	case p.format == gulp.Format && pair:
		return usagef("--append: a gulp chunk does not grow, since its .gulp and .gmeta are two objects; pack SRC into a chunk of its own, or into a folder of --format gulp, which grows without --append")
	case p.format == gulp.Format:
		return usagef("--append is for one file; a folder of --format gulp grows without it")
	case !ok:
		return usagef("--append does not go with %s", p.format)
	case f.force:
		return usagef("--append keeps what is there, --force replaces it")
	}
	for _, name := range g.own {
		if cmd.Flags().Changed(name) {
			return usagef("--%s does not go with --append: the file has its own already", name)
		}
	}
	return nil
}

// appendTo puts SRC behind what is in DST.
func (a *app) appendTo(ctx context.Context, p *packer, srcs []string, dst target, f *packFlags) error {
	if len(srcs) != 1 {
		return usagef("%d SRC: --append takes one", len(srcs))
	}
	if !slices.Contains(p.suffixes, path.Ext(dst.key)) {
		return usagef("--append wants one %s as DST", p.suffixes[0])
	}
	name := join(dst.bucket.Name(), dst.key)
	o, err := objstore.Open(ctx, dst.bucket, dst.key, objstore.OpenOptions{Ahead: -1}) // an editor jumps: what is read ahead of it is lost
	if errors.Is(err, objstore.ErrNotFound) {
		return at(name, fmt.Errorf("there is nothing to append to; the first one is packed without --append: %w", err))
	}
	if err != nil {
		return at(name, err)
	}
	rep := &appendReport{Format: p.format, Output: name}
	if err := growths()[p.format].grow(ctx, a, srcs[0], o, f, rep); err != nil {
		return err
	}
	rep.side.settle(ctx, rep)
	if a.rehearsal != nil {
		a.tellWhole(rep)
		return a.tellAppend(rep)
	}
	for _, w := range rep.Warnings {
		a.warn(srcs[0], w)
	}
	a.tellWhole(rep)
	return rep.tell(a)
}

// growFrame puts the bytes of SRC behind those of a frame.
func growFrame(ctx context.Context, a *app, src string, o *objstore.Object, f *packFlags, rep *appendReport) error {
	ob, err := a.client.Open(ctx, src)
	if err != nil {
		return at(src, err)
	}
	rep.Bytes, rep.Added = ob.Size(), ob.Size()
	return a.draft(ctx, o, func(file *draft.File) error {
		eo := cframe.EditOptions{Draft: true, Index: f.blosc.whenGrown(o), Sidecar: a.sidecar(o, f, rep), Vary: true}
		if eo.Encode, err = f.blosc.given(); err != nil {
			return err
		}
		e, err := cframe.Edit(ctx, file, eo)
		if err != nil {
			return at(rep.Output, err)
		}
		b := a.newBar("pack", ob.Size())
		defer b.clear()
		if err := pack.AppendBytes(ctx, e, ob, a.window(), defaultFrameChunk, b.set); err != nil {
			if errors.Is(err, formats.ErrUnsupported) {
				return at(rep.Output, err)
			}
			return at(src, err)
		}
		err = e.Close() //nolint:contextcheck // writes to a temporary file
		rep.inside = e.Indexed()
		return at(rep.Output, err)
	}, rep)
}

// sidecar returns what takes the index beside a file into it, unless no index is wanted.
func (a *app) sidecar(o *objstore.Object, f *packFlags, rep *appendReport) func(context.Context) (rangeio.Reader, string, error) {
	rep.side = &staleIndex{a: a, o: o}
	if f.blosc.index != nil && !*f.blosc.index {
		return func(ctx context.Context) (rangeio.Reader, string, error) {
			rep.side.look(ctx)
			return nil, "", nil
		}
	}
	return rep.side.open
}

// growItems puts the items of SRC behind those of a .blp.
func growItems(ctx context.Context, a *app, src string, o *objstore.Object, f *packFlags, rep *appendReport) error {
	file, err := bloscpack.Open(ctx, o, bloscpack.Options{})
	if err != nil {
		return at(rep.Output, lostRace(o, err))
	}
	by, err := pack.RecordsOf(file)
	if err != nil {
		return at(rep.Output, err)
	}
	if r := pack.Records(f.blp.records); r != pack.ByContent && r != by {
		return usagef("--records %s: the items that are there are %s", r, by)
	}
	in, err := a.itemInput(ctx, []string{src}, target{bucket: o.Bucket(), key: o.Info().Key}, by)
	if err != nil {
		return err
	}
	enc, err := f.blosc.encodeItems(by)
	if err != nil {
		return err
	}
	b := a.newBar("pack", in.items.Size)
	defer b.clear()
	return a.rewrite(ctx, o, func(w objstore.Writer, keep func(off, n int64) error) error {
		did, err := in.items.Append(ctx, w, file, keep, pack.ItemWrite{Encode: enc, Progress: b.set, Parallel: a.sideBySide(0)})
		rep.Added, rep.Bytes, rep.Items = did.Items, did.Bytes, file.Len()+did.Items
		return at(src, err)
	}, rep)
}

// growSeries puts the samples of SRC behind those of a .zoom.
func growSeries(ctx context.Context, a *app, src string, o *objstore.Object, f *packFlags, rep *appendReport) error {
	w, err := f.zoomOptions()
	if err != nil {
		return err
	}
	ob, err := a.client.Open(ctx, src)
	if err != nil {
		return at(src, err)
	}
	if err := f.onlyCSV(ctx, ob); err != nil {
		return at(src, err)
	}
	note, err := a.zoomNote(ctx, src, f)
	if err != nil {
		return err
	}
	s, err := zoom.Open(ctx, ob, zoom.Options{Note: note, Table: f.zoom.csv})
	if err != nil {
		return at(src, err)
	}
	about := s.About()
	rep.Bytes, rep.Warnings = about.Bytes, about.Warnings
	return a.draft(ctx, o, func(file *draft.File) error {
		b := a.newBar("pack", ob.Size())
		defer b.clear()
		did, err := zoom.Append(ctx, o, file, s, zoom.AppendOptions{Rate: w.Rate, Origin: w.Origin, Watermark: w.Watermark, Progress: b.set})
		rep.Tracks, rep.Added, rep.Whole, rep.inside = did.Tracks, did.Added, did.Whole, did.Index
		if err == nil && did.Whole != "" { // else it has an index inside
			rep.side = &staleIndex{a: a, o: o}
			rep.side.look(ctx)
		}
		return at(src, err)
	}, rep)
}

// given returns the options of the encoder if one of their flags was given, else nil.
func (f *bloscFlags) given() (*blosc.EncodeOptions, error) {
	if f.codec == "" && !f.level.given && f.filters == nil {
		return nil, nil //nolint:nilnil // the file's own
	}
	o, err := f.options()
	return &o, err
}

// whenGrown returns whether an append makes an index where there is none. It costs two reads
// for each chunk that is there, so long files get none unless --index is given; one that is there is kept.
func (f *bloscFlags) whenGrown(o *objstore.Object) cframe.IndexChoice {
	const short = 1 << 20
	if f.index == nil && o.Size() > short {
		return cframe.NoIndex
	}
	return f.choice()
}

// draft changes the object o, and publishes it if change succeeds.
func (a *app) draft(ctx context.Context, o *objstore.Object, change func(*draft.File) error, rep *appendReport) error {
	file, err := draft.Open(ctx, o, draft.Options{})
	if err != nil {
		return at(rep.Output, err)
	}
	defer file.Close() //nolint:errcheck // a temporary file
	if err := change(file); err != nil {
		return lostRace(o, err)
	}
	w, err := a.successor(ctx, o)
	if err != nil {
		return at(rep.Output, lostRace(o, err))
	}
	defer w.Abort()
	info, cost, err := file.CommitTo(ctx, w)
	rep.Stored, rep.Sent, rep.Copied = info.Size, cost.Sent, cost.Copied
	return at(rep.Output, lostRace(o, err))
}

// rewrite makes a new version of the object o by fill, which calls keep once for bytes that
// stay, and publishes it.
func (a *app) rewrite(ctx context.Context, o *objstore.Object, fill func(w objstore.Writer, keep func(off, n int64) error) error, rep *appendReport) error {
	if err := draft.Changeable(o); err != nil {
		return at(rep.Output, err)
	}
	w, err := a.successor(ctx, o)
	if err != nil {
		return at(rep.Output, lostRace(o, err))
	}
	defer w.Abort()
	err = fill(w, func(off, n int64) error {
		k, err := objstore.Splice(ctx, w, o, objstore.Range{Off: off, Len: n})
		rep.Copied += k
		return err
	})
	if err != nil {
		return lostRace(o, err)
	}
	info, err := w.Commit(ctx)
	rep.Stored, rep.Sent = info.Size, info.Size-rep.Copied
	return at(rep.Output, lostRace(o, err))
}

// successor begins the next version of the object o, which must then still be the same. In
// `explain` nothing is written.
func (a *app) successor(ctx context.Context, o *objstore.Object) (objstore.Writer, error) {
	in := o.Info()
	po := objstore.PutOptions{IfMatch: in.ETag, ContentType: in.ContentType, Meta: in.Meta}
	if !isLocal(o.Bucket()) {
		// Two appends of the same bytes side by side make the same object. If a store refuses
		// the second one and its answer is lost, only this tells it from the first one.
		po.Meta = maps.Clone(in.Meta)
		if po.Meta == nil {
			po.Meta = map[string]string{}
		}
		po.Meta[appendMark] = rand.Text()
	}
	if a.rehearsal != nil {
		return objstore.Rehearse(ctx, o.Bucket(), in.Key, po, a.rehearsal.step)
	}
	return o.Bucket().Create(ctx, in.Key, po)
}

// appendMark is the name in the metadata of an object whose value each append makes anew.
const appendMark = "farread-append"

// lostRace says what became of an append to the object o if somebody else was faster, whether that shows in a read of what is
// there or in the last write.
func lostRace(o *objstore.Object, err error) error {
	var e *objstore.Error
	if !errors.Is(err, objstore.ErrChanged) || !errors.As(err, &e) || e.Bucket != o.Bucket().Name() || e.Key != o.Info().Key {
		return err
	}
	return lostTo(err)
}

func lostTo(err error) error {
	return fmt.Errorf("somebody else has changed it; nothing was appended, try again: %w", err)
}

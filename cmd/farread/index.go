package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

func newIndex(a *app) *cobra.Command {
	var o indexOptions
	c := &cobra.Command{
		Use: "index URI", Short: "Write the index beside a file that makes later cold reads cheap",
		Long: `Make the index of a file that has none, and write it beside the file, under its name
and .fri: in the bucket or folder where the file is. Reads find it there.

Of a zoom-cache file it holds summaries of all levels, with true means and extremes,
finer bins where the rate is constant, and where packets lie: about 0.5 to 8 % of the
file, and coarser if it would take more than a quarter of --max-memory. It takes one
pass over the file.

Of a Blosc2 frame or array it holds where the blocks of all chunks begin: about 2 bytes
a block. So a slice that takes a few blocks of many chunks needs one request for each,
not two. It takes the first bytes of each chunk. A sparse frame has none. Of an array
--ranges adds the least and the greatest number, and how many are NaN or zero, of each
chunk and block: so slice --where reads only what may match. That reads all of it. If an
index that is made anew has them, the new one gets them, too, unless --ranges=false.

Of a gulp chunk it finds the frames of an id without the .gmeta: about 2 bytes a frame,
and a few bytes an id. It takes the .gmeta, and is about both objects.

Of a folder of arrays it is farread.group.json, which says of each array in it and below
what it is: so info, ls and the groups of farread serve open none of them. It opens
each array, and keeps the attributes that the group had, or takes those of --attrs, a
file of one JSON object.

An index is about one version of the file, known by size and ETag: when the file changes
it is ignored, and this command writes it anew. A copy in another folder or bucket has
another ETag: an index that was copied along is not used there, as --stats says, and has
to be made anew. Of a server that gives no ETags, or weak ones, it makes none, and none
that lies there is believed. What needs no index, as an array of zeros, or is shorter
than it, gets none unless --ranges is given; a line says so. Nothing shows before it is
whole. Files that farread writes have an index where it is small and of use: inside, or
beside gulps.

Where nothing can be written, as on a plain HTTP server, -o FILE takes the index. No
command reads it there: put it beside the file, under its name and .fri. It is about
the file on that server, not about a copy.`,
		Example: `  farread index s3://series/foreign.zoom
  farread index s3://arrays/foreign.b2nd
  farread index s3://arrays/foreign.b2nd --ranges
  farread index s3://frames/foreign/data_0.gulp
  farread index s3://arrays/era5/
  farread index s3://arrays/era5/ --attrs about.json
  farread index https://host/foreign.b2nd -o foreign.b2nd.fri
  farread index day.zoom --json
  farread explain s3://series/foreign.zoom --track 1 --width 2000`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at(args[0], objstore.Again(cmd.Context(), func() error { return a.index(cmd.Context(), args[0], o) }))
		},
	}
	c.Flags().Var(indexFlag{&o.ranges}, "ranges", "with the ranges of the numbers of an array's chunks and blocks: reads all of it (not given: if an index that is there has them)")
	c.Flags().Lookup("ranges").NoOptDefVal = "true"
	c.Flags().StringVarP(&o.out, "output", "o", "", "write it to `FILE` instead of beside the file")
	c.Flags().BoolVar(&o.force, "force", false, "also where there is an index")
	c.Flags().StringVar(&o.attrs, "attrs", "", "attributes of a folder of arrays, in place of those that it had: a JSON `FILE` of one object")
	return c
}

// indexReport is the JSON of index.
type indexReport struct {
	URI   string `json:"uri"`
	Index string `json:"index"` // URI of the index; "": it lies inside the file
	Size  int64  `json:"size"`
	File  int64  `json:"file_size"`
	New   bool   `json:"written"`
	// Put is the URI at which readers find the index, if that is another one.
	Put string `json:"put,omitempty"`
	// Needless is why no index was written: readers would gain nothing by it.
	Needless string `json:"needless,omitempty"`
}

// indexOptions are the flags of index.
type indexOptions struct {
	out    string
	force  bool
	ranges *bool  // nil: not given
	attrs  string // file with the attributes of a group
}

func (a *app) index(ctx context.Context, uri string, o indexOptions) error {
	to, err := a.indexTarget(ctx, o)
	if err != nil {
		return err
	}
	c, err := a.open(ctx, uri, aim{})
	if err != nil {
		return err
	}
	ranges := o.ranges != nil && *o.ranges
	if t, ok := c.(*folderContent); ok && !ranges {
		if o.out != "" {
			return usagef("-o is for the index of a file; that of a folder lies in it")
		}
		return a.indexGroup(ctx, t, o)
	}
	if o.attrs != "" {
		return usagef("--attrs is for the index of a folder of arrays")
	}
	kept := o.ranges == nil && a.hadRanges(ctx, c, o)
	ranges = ranges || kept
	x, err := a.indexable(ctx, c, ranges)
	if err != nil {
		return err
	}
	r := indexReport{URI: uri, Index: x.uri + index.Suffix, Size: x.size, File: x.file}
	if x.size > 0 && (x.first || !o.force && (x.inside || o.out == "")) {
		if x.inside {
			r.Index = ""
		}
		return a.indexed(r)
	}
	if to == nil {
		to = &target{bucket: x.bucket, key: x.key + index.Suffix}
	} else {
		r.Index, r.Put = join(to.bucket.Name(), to.key), r.Index
	}
	if err := x.writable(ctx, to); err != nil {
		return fmt.Errorf("%s: %w", to.key, err)
	}
	if kept {
		a.warn(uri, "the index that is there has ranges, so the new one gets them, too: all of the array is read; --ranges=false leaves them out")
	}
	return a.buildIndex(ctx, &x, to, r, ranges)
}

// buildIndex makes an index and writes it.
func (a *app) buildIndex(ctx context.Context, x *indexable, to *target, r indexReport, ranges bool) error {
	b := a.newBar("index", x.steps)
	defer b.clear()
	p, err := x.build(b.set)
	b.clear()
	switch {
	case errors.Is(err, index.ErrNeedless):
		return a.needless(r, "it has no chunks, or only special ones, which have no blocks")
	case err != nil:
		return err
	case int64(len(p)) > x.reads && !ranges:
		return a.needless(r, fmt.Sprintf("it would have %s, where %s", human.Size(int64(len(p))), x.without()))
	}
	r.Size, r.New = int64(len(p)), true
	if err := putIndex(ctx, to.bucket, to.key, p); err != nil {
		return fmt.Errorf("%s: %w", to.key, err)
	}
	return a.indexed(r)
}

// indexTarget returns where -o puts the index, nil if it is not given. What is there is not replaced without --force.
func (a *app) indexTarget(ctx context.Context, o indexOptions) (*target, error) {
	if o.out == "" {
		return nil, nil //nolint:nilnil // beside the file
	}
	if o.out == "-" || strings.HasSuffix(o.out, "/") {
		return nil, usagef("-o %s: want a file", human.Printable(o.out))
	}
	b, key, err := a.client.Bucket(ctx, o.out)
	if err != nil {
		return nil, at(o.out, err)
	}
	to := &target{uri: o.out, bucket: b, key: key}
	return to, free(ctx, *to, o.force)
}

// hadRanges reports whether an index of an array that will be made anew has ranges.
func (a *app) hadRanges(ctx context.Context, c content, o indexOptions) bool {
	arr, ok := c.dataset().Handle().(*farread.Array)
	t, isFrame := c.(*frameContent)
	if !ok || !isFrame || len(arr.StatColumns()) == 0 {
		return false
	}
	have, err := arr.Source.UsedIndex(ctx)
	switch {
	case err != nil || have.Inside:
		return false
	case have.Bytes > 0:
		s, err := arr.Ranges(ctx)
		return err == nil && s != nil && s.Bytes > 0 && (o.force || o.out != "")
	case have.Unused == "":
		return false
	}
	old, err := objstore.Open(ctx, t.bucket, t.key+index.Suffix, objstore.OpenOptions{Head: -1, Tail: index.Tail, Aid: true})
	if err != nil {
		return false
	}
	had, err := frameindex.HasStats(ctx, old, formats.Limits{MaxMeta: int64(a.flags.maxMemory) / 4})
	return err == nil && had
}

// An indexable is a file that may get an index beside it.
type indexable struct {
	bucket objstore.Bucket
	key    string
	uri    string // of the file that the index is named after
	file   int64  // bytes of the file
	reads  int64  // bytes that are read in place of an index, at the most
	size   int64  // bytes of the index that it has; 0: none
	inside bool
	first  bool     // an index inside is always used, and none beside it
	etags  []string // of what the index is bound to
	steps  int64    // end of the progress of build
	build  func(progress formats.Progress) ([]byte, error)
}

// without says what is read without an index.
func (x *indexable) without() string {
	if x.reads == x.file {
		return "the file has " + human.Size(x.file)
	}
	return "the .gmeta has " + human.Size(x.reads)
}

// indexable returns what an opened dataset needs for an index.
func (a *app) indexable(ctx context.Context, c content, ranges bool) (indexable, error) {
	t, ok := c.(*frameContent)
	arr, isArray := c.dataset().Handle().(*farread.Array)
	switch {
	case ok && isArray && ranges:
		return indexableRanges(ctx, t, arr)
	case ranges:
		return indexable{}, usagef("--ranges is for arrays")
	}
	switch t := c.(type) {
	case *zoomContent:
		return a.indexableZoom(ctx, t)
	case *frameContent:
		if arr, ok := t.d.Handle().(*farread.Array); ok {
			return indexableFrame(ctx, t, arr.Source)
		}
		if f, ok := t.d.Handle().(*farread.Frame); ok {
			return indexableFrame(ctx, t, f)
		}
	case *gulpContent:
		if t.several() {
			return indexable{}, fmt.Errorf("a dataset of gulp chunks; name one chunk: %w", formats.ErrUnsupported)
		}
		return indexableGulp(ctx, t)
	}
	return indexable{}, fmt.Errorf("only zoom-cache files, frames, arrays and gulp chunks have such an index: %w", formats.ErrUnsupported)
}

func (a *app) indexableZoom(ctx context.Context, t *zoomContent) (indexable, error) {
	x := indexable{bucket: t.bucket, key: t.key, uri: t.uri, file: t.f.Size(), reads: t.f.Size(), steps: t.f.Size(), etags: []string{t.f.Object.Info().ETag}}
	have, err := t.f.UsedIndex(ctx)
	if have != nil {
		x.size, x.inside = have.Bytes, have.Inside
	}
	x.build = func(progress formats.Progress) ([]byte, error) {
		o := zoomindex.WriteOptions{MaxMemory: int64(a.flags.maxMemory) / 4, Progress: progress} // at the end there are two copies of an index in memory
		return t.f.BuildIndex(ctx, t.f.Object.Info().ETag, o)
	}
	return x, err
}

func indexableFrame(ctx context.Context, t *frameContent, f *farread.Frame) (indexable, error) {
	x := indexable{bucket: t.bucket, key: t.key, uri: t.uri, file: f.Object.Size(), reads: f.Object.Size(), steps: int64(f.Chunks()),
		etags: []string{f.Object.Info().ETag}}
	have, err := f.UsedIndex(ctx)
	if err == nil && have.Bytes > 0 && !have.Inside {
		if _, err = f.CheckIndex(ctx); err == nil { // else a damaged one would be "up to date"
			have, err = f.UsedIndex(ctx)
		}
	}
	x.size, x.inside, x.first = have.Bytes, have.Inside, have.Inside
	x.build = func(progress formats.Progress) ([]byte, error) {
		return f.BuildIndex(ctx, f.Object.Info().ETag, progress)
	}
	return x, err
}

// indexableRanges is about the index of an array with statistics.
func indexableRanges(ctx context.Context, t *frameContent, arr *farread.Array) (indexable, error) {
	x, err := indexableFrame(ctx, t, arr.Source)
	if err != nil {
		return x, err
	}
	s, err := arr.Ranges(ctx)
	if err != nil {
		return x, err
	}
	if len(arr.StatColumns()) == 0 {
		return x, fmt.Errorf("--ranges: items of type %s are no numbers: %w", arr.DType(), formats.ErrUnsupported)
	}
	if none := s == nil || s.Bytes == 0; none && x.inside && x.size > 0 {
		return x, fmt.Errorf("--ranges: the index inside has none, and another beside it would not be read; pack the array anew: %w", formats.ErrUnsupported)
	} else if none {
		x.size = 0 // the one that is there is of no use
	}
	x.build = func(progress formats.Progress) ([]byte, error) {
		return arr.BuildIndex(ctx, arr.Source.Object.Info().ETag, progress)
	}
	return x, nil
}

// indexableGulp is about the data of a chunk, whichever of its objects the URI names.
func indexableGulp(ctx context.Context, t *gulpContent) (indexable, error) {
	x := indexable{bucket: t.bucket, file: t.n.DataBytes, reads: t.n.MetaBytes}
	have, err := checkedBeside(ctx, t)
	if have != nil && have.Unusable == "" {
		x.size = have.Bytes
	}
	switch g := t.d.Handle().(type) {
	case *farread.GulpByID:
		x.key, x.etags = g.Data.Info().Key, []string{g.Data.Info().ETag, g.Meta.Info().ETag}
		x.build = func(formats.Progress) ([]byte, error) {
			whole, err := g.Whole(ctx)
			if err != nil {
				return nil, err
			}
			return whole.BuildIndex()
		}
	case *farread.Gulp:
		x.key, x.etags = g.Data.Info().Key, []string{g.Data.Info().ETag, g.Meta.Info().ETag}
		x.build = func(formats.Progress) ([]byte, error) { return g.BuildIndex() }
	}
	x.uri = join(t.bucket.Name(), x.key)
	return x, err
}

// checkedBeside returns what lies beside a chunk as its index, all of which it has read and
// compared with the chunk.
func checkedBeside(ctx context.Context, t *gulpContent) (*farread.GulpIndex, error) {
	switch g := t.d.Handle().(type) {
	case *farread.Gulp:
		return g.Beside(ctx, true)
	case *farread.GulpByID:
		whole, err := g.Whole(ctx)
		if err != nil {
			return nil, err
		}
		return whole.Beside(ctx, true)
	}
	return nil, nil
}

// writable returns the error of writing the index to a plain HTTP server, before the file is
// read for nothing.
func (x *indexable) writable(ctx context.Context, to *target) error {
	for _, etag := range x.etags {
		if index.Weakness("", etag) != "" {
			return nil // the error of build says it
		}
	}
	if !strings.HasPrefix(to.bucket.Name(), "http") {
		return nil
	}
	w, err := to.bucket.Create(ctx, to.key, objstore.PutOptions{})
	if err == nil {
		w.Abort()
		return nil
	}
	return fmt.Errorf("%w; -o FILE takes the index instead, to be put beside the file", err)
}

// putIndex writes the index. It replaces an older index only if this is still the index
// that it has read.
func putIndex(ctx context.Context, b objstore.Bucket, key string, p []byte) error {
	o := objstore.PutOptions{ContentType: "application/octet-stream", IfAbsent: true}
	_, err := objstore.Put(ctx, b, key, bytes.NewReader(p), o)
	if !errors.Is(err, objstore.ErrExists) {
		return err
	}
	old, err := objstore.Open(ctx, b, key, objstore.OpenOptions{Head: 1})
	if err != nil {
		return err
	}
	o.IfAbsent, o.IfMatch = false, old.Info().ETag
	_, err = objstore.Put(ctx, b, key, bytes.NewReader(p), o)
	return err
}

// unusedIndex says which index the dataset that was opened last has found and not used, and
// what to do. It is empty if there was none.
func (a *app) unusedIndex() string {
	if a.opened == nil {
		return ""
	}
	x := farread.FindUnusedIndex(a.opened)
	if x == nil {
		return ""
	}
	if x.Unread {
		return fmt.Sprintf("one beside cannot be read: %s; %s", x.Reason, a.remedy(x))
	}
	return fmt.Sprintf("there is one, but %s; %s", x.Reason, a.remedy(x))
}

// remedy says what to do about an index of the opened dataset that is not used.
func (a *app) remedy(x *farread.UnusedIndex) string {
	_, array := a.opened.Handle().(*farread.Array)
	switch {
	case x.Unread:
		return "reads go on without it"
	case !x.Anew:
		return "an index needs a file with a strong ETag, as buckets and folders give it"
	case array:
		return "farread index makes it anew, with --ranges for --where"
	}
	return "farread index makes it anew"
}

// needless reports that no index was written, and why. An older one, if there is one, stays.
func (a *app) needless(r indexReport, why string) error {
	r.Index, r.Put, r.Size, r.Needless = "", "", 0, why
	return a.indexed(r)
}

func (a *app) indexed(r indexReport) error {
	if a.flags.json {
		return writeJSON(a.stdout, r)
	}
	size := fmt.Sprintf("%s, %s of the file", human.Size(r.Size), share(r.Size, r.File))
	var text string
	switch {
	case r.Needless != "":
		text = fmt.Sprintf("%s needs no index: %s", human.Printable(r.URI), r.Needless)
	case r.Index == "":
		text = fmt.Sprintf("%s has an index inside, %s", human.Printable(r.URI), size)
	case r.New:
		text = fmt.Sprintf("%s: %s", human.Printable(r.Index), size)
	default:
		text = fmt.Sprintf("%s is up to date, %s", human.Printable(r.Index), size)
	}
	if r.New && r.Put != "" {
		text += fmt.Sprintf("\n  to be put beside the file, as %s: readers find it there alone", human.Printable(r.Put))
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

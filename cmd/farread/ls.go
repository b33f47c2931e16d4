package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/peek"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

func newLs(a *app) *cobra.Command {
	var how aim
	var scan bool
	c := &cobra.Command{
		Use: "ls URI", Short: "What is inside: ids, chunks, items, tracks, or the objects of a folder",
		Long: `List what is inside: the ids of a gulp chunk or dataset in file order, with their
frames and meta_data; the chunks of a Blosc2 frame or array; the chunks or items of a
Bloscpack file, with their names where they are files; the tracks of a zoom-cache
file; or the objects of any other
folder or prefix, everything below it included, with the format that each name promises.
--objects lists the objects of a dataset and of Zarr, too. Of Zarr it lists the arrays,
of a .npz, .zip or .tar the members, of a .csv or .parquet the columns, as info sees
them; of a .npy, a text or an image what it is.

Of a frame's chunks the index tells where they begin and which of them are not
stored at all (special: zeros, nan, uninit). Their exact sizes, and which are special by
their own headers, are looked up in local files, and in others with --scan;
without it, stored is all up to the next chunk. A sparse frame's offset is the
number in its chunk's name. What a Bloscpack file's items take, stored and decoded,
only they tell; one without an offset was never written. What the tracks of a
zoom-cache file hold its index tells, or a count, of local files or with --scan.

With --json each line is one object.`,
		Example: `  farread ls s3://frames/clips/sunrise.tar.gulp
  farread ls s3://frames/ --json
  farread ls s3://frames/train/ --objects`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at(args[0], objstore.Again(cmd.Context(), func() error { return a.ls(cmd.Context(), args[0], how, scan) }))
		},
	}
	offsetFlag(c, &how.offset)
	c.Flags().BoolVar(&scan, "scan", false, "look into every chunk, item or block for what the index does not tell")
	c.Flags().BoolVar(&how.raw, "objects", false, "list the objects of a folder, also when they form a dataset")
	return c
}

// A listing is the output of ls: a line of JSON, or a row of a table, for each entry.
type listing struct {
	w    io.Writer
	json bool
	scan bool // look at each entry itself if the index does not tell everything
	t    *human.Table
}

// head names the columns of the table.
func (l *listing) head(cells ...string) { l.t = human.NewTable(cells...) }

// add lists one entry: v as JSON, cells for people.
func (l *listing) add(v any, cells ...string) error {
	if l.json {
		return writeJSON(l.w, v)
	}
	l.t.Add(cells...)
	if l.t.Len() < human.LongTable {
		return nil
	}
	return l.t.Print(l.w)
}

func (a *app) ls(ctx context.Context, uri string, how aim, scan bool) error {
	if in, ok, err := a.lookZarr(ctx, uri, how); ok {
		if err != nil {
			return err
		}
		l := &listing{w: a.stdout, json: a.flags.json}
		if err := in.list(l); err != nil || l.json {
			return err
		}
		return l.t.Print(a.stdout)
	}
	if p, err := a.peek(ctx, uri, how); p != nil || err != nil {
		return a.listPeek(p, err)
	}
	c, err := a.open(ctx, uri, how)
	if err != nil {
		return whatToDo(uri, err)
	}
	if _, folder := c.(*folderContent); how.raw && !folder {
		return usagef("--objects lists a folder, and %s is none", human.Printable(uri))
	}
	w := bufio.NewWriterSize(a.stdout, fileBuffer)
	l := &listing{w: w, json: a.flags.json, scan: scan}
	err = l.list(ctx, c)
	if err == nil && !l.json {
		err = l.t.Print(w)
	}
	if ferr := w.Flush(); err == nil { // write the lines before an error, too
		err = ferr
	}
	return err
}

// list lists the entries of a dataset. Their form depends on the kind of the dataset.
func (l *listing) list(ctx context.Context, c content) error {
	d := c.dataset()
	switch t := c.(type) {
	case *zoomContent:
		return l.tracks(ctx, t)
	case *gulpContent:
		return l.ids(ctx, t)
	case *folderContent:
		return l.objects(ctx, t)
	case *blpContent:
		// A file that was read whole when it was opened costs no further request.
		l.scan = l.scan || isLocal(t.bucket) || t.size <= headOf(t)
		return l.chunks(ctx, d, t.in.Variable, t.in.Names != nil)
	}
	l.scan = l.scan || isLocal(d.Place().Bucket)
	return l.chunks(ctx, d, false, false)
}

// each calls fn for the entries of d.
func (l *listing) each(ctx context.Context, d farread.Dataset, fn func(e *farread.Entry) error) error {
	for e, err := range d.Entries(ctx, farread.EntriesOptions{Scan: l.scan}) {
		if err != nil {
			return err
		}
		if err := fn(&e); err != nil {
			return err
		}
	}
	return nil
}

// chunkLine is a line of `ls --json` of chunks and items. If the chunk was not read,
// the values that only the chunk tells are null. An item that was never written has no
// such values.
type chunkLine struct {
	Chunk   int     `json:"chunk"`
	Offset  *int64  `json:"offset"` // offset in the object; for a sparse frame, the number of the chunk's file; null: not stored
	CBytes  *int64  `json:"cbytes"`
	NBytes  *int    `json:"nbytes"`
	Special *string `json:"special"`
	Name    *string `json:"name,omitempty"` // name of the item, in a Bloscpack file of files
}

// chunks lists chunks, or items of any length.
func (l *listing) chunks(ctx context.Context, d farread.Dataset, items, names bool) error {
	head := []string{">CHUNK", ">OFFSET", ">STORED", ">DECODED", "SPECIAL"}
	if items {
		head[0] = ">ITEM"
	}
	if names {
		head = append(head, "NAME")
	}
	l.head(head...)
	return l.each(ctx, d, func(e *farread.Entry) error {
		line := l.chunkLine(e)
		cells := line.cells()
		if names {
			line.Name = &e.Name
			cells = append(cells, human.Printable(e.Name))
		}
		return l.add(line, cells...)
	})
}

func (l *listing) chunkLine(e *farread.Entry) chunkLine {
	c := chunkLine{Chunk: int(e.N)}
	if e.Off < 0 && e.Special == "" { // the item was never written
		return c
	}
	if e.Size >= 0 {
		n := int(e.Size)
		c.NBytes = &n
	}
	if e.Special != "" {
		c.Special = &e.Special
	}
	number, sparse := sparseNumber(e.Object)
	if e.Stored >= 0 && (l.scan || !sparse) { // an index does not tell the length of chunks that are objects of their own
		c.CBytes = &e.Stored
	}
	switch {
	case sparse:
		c.Offset = &number
	case e.Off >= 0:
		c.Offset = &e.Off
	}
	return c
}

// sparseNumber returns the number in the name of a sparse frame's chunk.
func sparseNumber(object string) (int64, bool) {
	hex, ok := strings.CutSuffix(object, ".chunk")
	n, err := strconv.ParseInt(hex, 16, 64)
	return n, ok && err == nil
}

func (l *chunkLine) cells() []string {
	row := []string{human.Count(int64(l.Chunk)), "", "", "", ""}
	if l.Offset != nil {
		row[1] = human.Count(*l.Offset)
	}
	if l.CBytes != nil {
		row[2] = human.Count(*l.CBytes)
	}
	if l.NBytes != nil {
		row[3] = human.Count(int64(*l.NBytes))
	}
	if l.Special != nil {
		row[4] = *l.Special
	}
	return row
}

// idLine is a line of `ls --json` of a gulp.
type idLine struct {
	ID       string          `json:"id"`
	Frames   int             `json:"frames"`
	Bytes    int64           `json:"bytes"`
	MetaData json.RawMessage `json:"meta_data"`
	Chunk    string          `json:"chunk,omitempty"` // data object of the id, in a dataset
}

// ids lists the ids of a gulp chunk or dataset. If a dataset has no ids, it lists the
// objects.
func (l *listing) ids(ctx context.Context, t *gulpContent) error {
	if t.several() && t.in.Entries == 0 {
		return l.objects(ctx, &folderContent{t.opened})
	}
	head := []string{"ID", ">FRAMES", ">SIZE", "META_DATA"}
	if t.several() {
		head = append(head, "CHUNK")
	}
	l.head(head...)
	return l.each(ctx, t.d, func(e *farread.Entry) error {
		meta := e.MetaData
		if meta == nil {
			meta = []byte("null")
		}
		line := idLine{ID: e.Name, Frames: e.Images, Bytes: e.Size, MetaData: meta, Chunk: e.Object}
		row := []string{human.Printable(e.Name), human.Count(int64(e.Images)), human.Size(e.Size), human.Shorten(human.Printable(metaText(meta)), 60)}
		if t.several() {
			row = append(row, human.Printable(e.Object))
		}
		return l.add(line, row...)
	})
}

// objectLine is a line of `ls --json` of a prefix.
type objectLine struct {
	URI    string    `json:"uri"`
	Size   int64     `json:"size"`
	Format *string   `json:"format"` // format that the name promises; null: unknown
	Time   time.Time `json:"modified,omitzero"`
	// What the index of the folder says of an array.
	DType string   `json:"dtype,omitempty"`
	Shape []int64  `json:"shape,omitempty"`
	Dims  []string `json:"dims,omitempty"`
}

// objects lists all objects in a folder and below. Where the folder has an index of its arrays, they
// have their types and shapes by it; a folder of very many objects is listed without.
func (l *listing) objects(ctx context.Context, t *folderContent) error {
	h, head, failed := heldFolder{prefix: folderKey(t.key)}, []string{">SIZE", "MODIFIED", "FORMAT", "URI"}, error(nil)
	for in, err := range objstore.ListAfter(ctx, t.bucket, h.prefix, "") {
		if unlisting(err) {
			h, failed = t.unlisted(ctx, h, err)
			break
		}
		if failed = err; err != nil {
			break
		}
		if h.n++; h.n > maxKept {
			if err := l.kept(t, &h, head, nil); err != nil {
				return err
			}
			failed = l.object(t, h.prefix, in, nil)
		} else {
			h.list = append(h.list, in)
		}
		if failed != nil {
			break
		}
	}
	var g *farread.Group
	if failed == nil && h.n > 0 && h.n <= maxKept {
		if g, failed = t.group(ctx, h); g != nil {
			head = append(head, "ARRAY")
		}
	}
	if err := l.kept(t, &h, head, g); err != nil { // lines before an error, too
		return err
	}
	if e, ok := errors.AsType[*objstore.Error](failed); ok && e.Status == 0 && errors.Is(failed, objstore.ErrNotFound) || failed == nil && h.n == 0 {
		return errNothingThere // not an error of a store: the listing was empty
	}
	return unlisted(failed)
}

// promised is the format that the name of an object promises; of one in a folder of Zarr, that.
func promised(name string) string {
	if format := farread.NameOf(name); format != "" {
		return format
	}
	if strings.HasSuffix(strings.ToLower(name), zarrZipSuffix) {
		return zarr.Format
	}
	if format := peek.Named(path.Base(name)); format != "" {
		return format
	}
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if isZarr(part) {
			return zarr.Format
		}
	}
	return strings.ToLower(all.Foreign(name))
}

// kept writes the entries that were kept, under the names of the columns.
func (l *listing) kept(t *folderContent, h *heldFolder, head []string, g *farread.Group) error {
	if l.t == nil {
		l.head(head...)
	}
	list := h.list
	h.list = nil
	for _, in := range list {
		if err := l.object(t, h.prefix, in, g); err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) object(t *folderContent, prefix string, in objstore.Info, g *farread.Group) error {
	name := strings.TrimPrefix(in.Key, prefix)
	o := objectLine{URI: strings.TrimSuffix(t.uri, "/") + "/" + name, Size: in.Size, Time: in.ModTime}
	format := promised(name)
	if format != "" {
		o.Format = &format
	}
	size, when, uri := human.Size(o.Size), "", human.Printable(o.URI)
	if !o.Time.IsZero() { // some servers do not tell
		when = o.Time.Local().Format("2006-01-02 15:04")
	}
	if g == nil {
		return l.add(o, size, when, format, uri)
	}
	text := ""
	if a, ok := g.Arrays[name]; ok {
		o.DType, o.Shape, o.Dims = a.DType, a.Shape, a.Dims
		if text = a.DType + " " + human.Shape(a.Shape); len(a.Dims) > 0 {
			text += " (" + human.Printable(strings.Join(a.Dims, ", ")) + ")"
		}
	}
	return l.add(o, size, when, format, uri, text)
}

// tracks lists the tracks of a series, with the counts of its index or of a pass.
func (l *listing) tracks(ctx context.Context, t *zoomContent) error {
	_, d, damaged, err := t.describe(ctx, l.scan)
	if err != nil {
		return err
	}
	tracks := t.tracks(d.Counts)
	l.head(">TRACK", "CODEC", ">CHANNELS", "RATE", "STORED", ">PACKETS", ">SAMPLES", ">LEVELS", "NAME")
	for i := range tracks {
		z := &tracks[i]
		channels, packets, samples, levels := "", "", "", ""
		if z.Channels > 0 {
			channels = strconv.Itoa(z.Channels)
		}
		if z.Samples != nil {
			packets, samples, levels = human.Count(*z.Packets), human.Count(*z.Samples), strconv.Itoa(*z.Levels)
		}
		err := l.add(z, strconv.Itoa(int(z.Track)), z.Codec, channels, rateText(&t.v.Header().Tracks[i]), z.flags(), packets, samples, levels, human.Printable(z.Name))
		if err != nil {
			return err
		}
	}
	if damaged != "" {
		t.a.remark("its blocks could not be counted: %s", human.Printable(damaged))
	}
	return nil
}

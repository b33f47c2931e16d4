package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// blpFlags say what an item is, and how chunks are checked.
type blpFlags struct {
	records  string
	checksum string
}

func (f *blpFlags) register(c *cobra.Command) {
	ways := make([]string, 0, len(pack.AllRecords()))
	for _, r := range pack.AllRecords() {
		ways = append(ways, r.String())
	}
	sums := checksumNames()
	c.Flags().StringVar(&f.records, "records", "", "`HOW` items of a .blp are told apart, instead of by content: "+strings.Join(ways, ", "))
	c.Flags().StringVar(&f.checksum, "checksum", "", "`SUM` of each chunk of a .blp: "+strings.Join(sums, ", ")+" (adler32)")
	offer(c.Flags(), "records", ways...)
	offer(c.Flags(), "checksum", sums...)
}

func checksumNames() []string {
	var names []string
	for c := bloscpack.None; c.Valid(); c++ {
		names = append(names, c.String())
	}
	return names
}

// itemsReport is the JSON of `pack` for Bloscpack.
type itemsReport struct {
	arrayReport

	Records string `json:"records"` // way in which the upload is cut into items
	Items   int64  `json:"items"`   // number of items, or of chunks
}

func (r *itemsReport) tell(a *app) error {
	if a.flags.json {
		return writeJSON(a.stdout, r)
	}
	if !r.Unchanged {
		noun := map[string]string{string(pack.Lines): "line", string(pack.JSONL): "line", string(pack.Files): "file", string(pack.Chunks): "chunk", "numpy": "chunk"}[r.Records]
		if noun == "" {
			noun = "record"
		}
		if _, err := fmt.Fprint(a.stdout, human.Plural(r.Items, noun)+", "); err != nil {
			return err
		}
	}
	return r.arrayReport.tell(a)
}

// packItems packs SRC into one Bloscpack file. Several SRC are packed as files.
func packItems(ctx context.Context, a *app, srcs []string, dst target, f *packFlags) error {
	by, err := pack.ParseRecords(f.blp.records)
	if err != nil {
		return usagef("--records: %s", err)
	}
	o, err := a.itemWrite(dst, f)
	if err != nil {
		return err
	}
	if dst.key == "" || strings.HasSuffix(dst.key, "/") {
		return usagef("DST %q is a folder; a .blp is one object", dst.uri)
	}
	in, err := a.itemInput(ctx, srcs, dst, by)
	if err != nil {
		return err
	}
	if o.Chunk > 0 && in.items.Variable() {
		return usagef("--chunk: %s are items of their own length; --records chunks makes pieces", in.items.By)
	}
	if o.Encode, err = f.blosc.encodeItems(in.items.By); err != nil {
		return err
	}
	rep := &itemsReport{Records: in.items.By.String(), arrayReport: arrayReport{Format: bloscpack.Format, Outputs: []string{join(dst.bucket.Name(), dst.key)}}}
	job, u, err := in.asJob(ctx, dst)
	if err != nil {
		return at(srcs[0], err)
	}
	b := a.newBar("pack", in.items.Size)
	o.Progress = b.set
	o.Done = func(n pack.Written) { rep.Items, rep.Bytes = n.Items, n.Bytes }
	if job != nil {
		job.Items, job.Records, job.Options.Limits = o, by, a.itemLimits()
		from := in.bucket
		if in.obj != nil {
			from = in.obj.Bucket()
		} else {
			job.Records = pack.Files
		}
		job.Replace = f.force
		rep.Stored, rep.Unchanged, err = runJob(ctx, job, from, u, dst)
	} else {
		var info objstore.Info
		info, err = a.packObject(ctx, dst, f.force, func(ctx context.Context, w objstore.Writer) error {
			_, err := in.items.Write(ctx, w, o)
			return err
		})
		rep.Stored = info.Size
	}
	b.clear()
	if err != nil {
		return at(srcs[0], err)
	}
	return rep.tell(a)
}

// itemWrite returns the options for writing items, from the flags.
func (a *app) itemWrite(dst target, f *packFlags) (pack.ItemWrite, error) {
	o := pack.ItemWrite{Chunk: int64(f.chunk)}
	sum, err := pack.ParseChecksum(f.blp.checksum)
	if err != nil {
		return o, usagef("--%s", err)
	}
	o.Checksum, o.NoChecksum = sum, sum == bloscpack.None
	if n := f.blosc.typeSize; n != 1 {
		if o.TypeSize = n; n < 1 || n > blosc.MaxTypeSize {
			return o, usagef("--typesize %d: want 1 to %d", n, blosc.MaxTypeSize)
		}
	}
	if o.Chunk > maxFrameChunk {
		return o, usagef("--chunk %s: want 1 GiB at most", &f.chunk)
	}
	o.Parallel = a.sideBySide(o.Chunk)
	if !isLocal(dst.bucket) {
		o.MaxAppend = bloscpack.NoAppend // objects in a store do not grow
	}
	return o, nil
}

// sideBySide is how many batches of chunks are encoded at a time.
func (a *app) sideBySide(chunk int64) int {
	room := int64(a.flags.maxMemory) / 8 / max(chunk, pack.DefaultItemChunk)
	return int(max(min(room, int64(runtime.GOMAXPROCS(0))), 1))
}

// encodeItems returns the options for compressing items. Nil means the defaults.
func (f *bloscFlags) encodeItems(by pack.Records) (*blosc.EncodeOptions, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	for i, x := range o.Filters {
		if i > 0 || x.ID != blosc.Shuffle && x.ID != blosc.BitShuffle {
			return nil, usagef("--filter %s: a .blp takes shuffle, bitshuffle or none", strings.Join(f.filters, ","))
		}
	}
	switch normal := pack.ItemEncode(by); {
	case f.codec == "" && !f.level.given && f.filters == nil:
		return nil, nil //nolint:nilnil // there is nothing to say
	case f.codec == "":
		o.Codec = normal.Codec
		if !f.level.given {
			o.Level = normal.Level
		}
	}
	return &o, nil
}

// An itemInput is the source of a Bloscpack file.
type itemInput struct {
	items  pack.Items
	obj    *objstore.Object // the object; nil: several SRC, or a folder
	bucket objstore.Bucket  // bucket of the folder, if SRC is a folder
	folder string
}

// itemLimits returns limits that depend on the memory that may be used.
func (a *app) itemLimits() pack.Limits {
	l, most := pack.DefaultLimits(), int64(a.flags.maxMemory)
	l.Item = max(l.Item, most/16)
	l.Items = max(l.Items, most/32) // an item takes 8 bytes, and there is a copy of these
	l.Frame = max(l.Frame, l.Item)
	return l
}

// itemInput opens every SRC.
func (a *app) itemInput(ctx context.Context, srcs []string, dst target, by pack.Records) (*itemInput, error) {
	dstPlace := place(dst.bucket.Name(), dst.key)
	own := func(p string) bool { return p == dstPlace }
	list := &sources{}
	for _, src := range srcs {
		in, err := a.oneSource(ctx, src, own)
		if err != nil {
			return nil, at(src, err)
		}
		list.add(in)
	}
	o := pack.ItemOptions{Limits: a.itemLimits(), Records: by}
	if first := list.list[0]; len(srcs) == 1 && first.obj != nil {
		if by == pack.Files {
			o.Records = pack.ByContent
		}
		items, err := pack.FindItems(ctx, first.obj, o)
		if err != nil || by != pack.Files || items.By == pack.Files {
			return &itemInput{items: items, obj: first.obj}, at(srcs[0], err)
		}
	}
	switch first := list.list[0]; {
	case by != pack.ByContent && by != pack.Files && len(srcs) > 1:
		return nil, usagef("--records %s: %d SRC, and each would be an item", by, len(srcs))
	case by != pack.ByContent && by != pack.Files:
		return nil, usagef("--records %s: SRC is a folder, and each file in it would be an item", by)
	case len(srcs) == 1 && first.obj == nil: // the names of items are without the folder's own name
		return &itemInput{items: pack.ItemsOf(first.source, o.Limits), bucket: first.bucket, folder: first.key}, nil
	}
	return &itemInput{items: pack.ItemsOf(list, o.Limits)}, nil
}

// oneSource opens an object, or a folder.
func (a *app) oneSource(ctx context.Context, uri string, own func(place string) bool) (oneSource, error) {
	b, key, err := a.client.Bucket(ctx, uri)
	if err != nil {
		return oneSource{}, err
	}
	if key != "" && !strings.HasSuffix(key, "/") {
		ob, err := a.client.Open(ctx, uri)
		if errors.Is(err, objstore.ErrNotFound) && isPrefix(ctx, b, key+"/") {
			return a.oneSource(ctx, uri+"/", own)
		}
		return oneSource{obj: ob}, err
	}
	one := oneSource{bucket: b, key: key}
	if isLocal(b) {
		in, err := a.localFolder(input{uri: uri, bucket: b, key: key}, own)
		if err == nil {
			one.source, one.name = in.source, in.source.About().Name
		}
		return one, err
	}
	one.source, err = pack.Prefix(ctx, ownlessBucket{b, own}, key, pack.Options{Limits: a.itemLimits(), AllFiles: true})
	one.name = path.Base("/" + key)
	return one, unlisted(err)
}

// A oneSource is one SRC: an object, or a folder and its name.
type oneSource struct {
	obj    *objstore.Object
	source pack.Source
	name   string
	bucket objstore.Bucket
	key    string
}

// sources joins several SRC into one source. An object has the last part of its name. A
// file of a folder has its name below the folder, after the folder's own name.
type sources struct {
	list []oneSource
	size int64
}

func (s *sources) add(one oneSource) {
	n := int64(-1)
	switch {
	case one.obj != nil:
		n = one.obj.Size()
	case one.source != nil:
		n = one.source.About().Size
	}
	if s.list = append(s.list, one); n < 0 || s.size < 0 {
		s.size = -1
	} else {
		s.size += n
	}
}

// About implements pack.Source.
func (s *sources) About() pack.About { return pack.About{Format: "files", Name: "files", Size: s.size} }

// Each implements pack.Source.
func (s *sources) Each(ctx context.Context, f func(pack.File, io.Reader) error) error {
	for _, one := range s.list {
		if err := one.each(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *oneSource) each(ctx context.Context, f func(pack.File, io.Reader) error) error {
	if s.obj == nil {
		return s.source.Each(ctx, func(e pack.File, r io.Reader) error {
			e.Name = path.Join(s.name, e.Name)
			return f(e, r)
		})
	}
	e := pack.File{Name: path.Base(s.obj.Info().Key), Size: s.obj.Size(), Off: -1}
	if e.Size == 0 {
		return f(e, strings.NewReader(""))
	}
	r := s.obj.NewReader(ctx, objstore.ReadOptions{})
	defer r.Close()
	return f(e, r)
}

// asJob returns the job that a worker runs for SRC, if DST is the output of this job:
// command and worker must then agree on who made DST. For a folder it is the job of the
// folder's marker.
func (in *itemInput) asJob(ctx context.Context, dst target) (*pack.Job, functions.Upload, error) {
	prefixFor := func(key string) (string, bool) {
		prefix, ok := strings.CutSuffix(dst.key, functions.OutputKey("", key, bloscpack.Suffix))
		return prefix, ok && functions.OutputKey(prefix, key, bloscpack.Suffix) == dst.key
	}
	src, keys := in.bucket, []string{in.folder + "_SUCCESS", in.folder + "manifest.json"}
	if in.obj != nil {
		src, keys = in.obj.Bucket(), []string{in.obj.Info().Key}
	}
	if src == nil || !strings.HasPrefix(dst.bucket.Name(), "s3://") {
		return nil, functions.Upload{}, nil
	}
	name, fromS3 := strings.CutPrefix(src.Name(), "s3://")
	for _, key := range keys {
		prefix, fits := prefixFor(key)
		if !fits || !fromS3 {
			continue
		}
		var info objstore.Info
		var err error
		if in.obj != nil {
			info = in.obj.Info()
		} else if info, err = src.Head(ctx, key); errors.Is(err, objstore.ErrNotFound) {
			continue
		}
		job := &pack.Job{Out: dst.bucket, Prefix: prefix, Format: bloscpack.Format}
		return job, functions.Upload{Bucket: name, Key: key, ETag: info.ETag, VersionID: info.VersionID, Size: info.Size}, err
	}
	return nil, functions.Upload{}, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/packs"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// arrayFlags describe raw bytes, and say into which chunks an array is cut.
type arrayFlags struct {
	member                 string
	dtype, order           string
	shape                  shapeFlag
	chunkShape, blockShape shapeFlag
	use                    useFlag
	deniedIsAbsent         bool
}

func arrayFlagNames() []string {
	return []string{"member", "dtype", "order", "shape", "chunk-shape", "block-shape", "for", "denied-is-absent"}
}

func (f *arrayFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.member, "member", "", "the member `NAME` of a .npz")
	c.Flags().StringVar(&f.dtype, "dtype", "", "`TYPE` of the items of a raw SRC, in place of a note: '<f4', '>i2', …")
	c.Flags().Var(&f.shape, "shape", "shape of a raw SRC, in place of a note")
	c.Flags().StringVar(&f.order, "order", "", "`ORDER` of a raw SRC: C (default), or F where the first axis runs fastest")
	c.Flags().Var(&f.chunkShape, "chunk-shape", "shape of an array's chunks")
	c.Flags().BoolVar(&f.deniedIsAbsent, "denied-is-absent", false, "Zarr: take chunks that the store refuses (403) for absent ones")
	c.Flags().Var(&f.blockShape, "block-shape", "shape of the blocks in a chunk")
	c.Flags().Var(&f.use, "for", "choose both shapes for the slices that are read most: USE is series (along the first axis), planes (of the last two), both, or cubes (small ones)")
	offer(c.Flags(), "for", "series\talong the first axis", "planes\tover the last two axes", "both\tseries as often as planes", "cubes\tsmall boxes")
}

// useFlag is a flag whose value is a b2nd.Use; 0: not given.
type useFlag b2nd.Use

func (u *useFlag) String() string { return "" }
func (u *useFlag) Type() string   { return "USE" }
func (u *useFlag) Set(text string) error {
	use, err := b2nd.ParseUse(text)
	*u = useFlag(use)
	return err
}

// shapeFlag is a flag whose value is a list of lengths, "10,20".
type shapeFlag []int64

func (s *shapeFlag) String() string { return "" }
func (s *shapeFlag) Type() string   { return "N,N" }
func (s *shapeFlag) Set(text string) error {
	*s = shapeFlag{}
	for part := range strings.SplitSeq(strings.Trim(text, "()[] ,"), ",") {
		if part == "" && text != "" && len(*s) == 0 {
			return nil // "()" means no axes
		}
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("want lengths such as 100,200")
		}
		*s = append(*s, n)
	}
	return nil
}

// ints returns the shape for n axes, as the writers of chunks take it.
func (s shapeFlag) ints(name string, n int) ([]int, error) {
	if len(s) != n {
		return nil, usagef("--%s has %s, the array %d", name, human.Plural(int64(len(s)), "length"), n)
	}
	out := make([]int, n)
	for i, k := range s {
		if out[i] = int(min(k, math.MaxInt32)); k < 1 {
			return nil, usagef("--%s: length %d", name, k)
		}
	}
	return out, nil
}

// cut returns the shapes of chunks and blocks. Nil means that the library chooses. If
// only one of the two flags is given, the other shape follows from it.
func (f *arrayFlags) cut(arr pack.Array) (chunk, block []int, err error) {
	if err := f.oneCut(); err != nil {
		return nil, nil, err
	}
	if f.use != 0 {
		chunk, block = b2nd.ShapesFor(b2nd.Use(f.use), arr.Shape, arr.DType.ItemSize())
		return chunk, block, nil
	}
	if f.chunkShape != nil {
		if chunk, err = f.chunkShape.ints("chunk-shape", len(arr.Shape)); err != nil {
			return nil, nil, err
		}
	}
	if f.blockShape != nil {
		if block, err = f.blockShape.ints("block-shape", len(arr.Shape)); err != nil {
			return nil, nil, err
		}
	}
	switch item := arr.DType.ItemSize(); {
	case chunk == nil && block != nil:
		chunk, _ = b2nd.DefaultShapes(arr.Shape, item)
		for i, b := range block {
			chunk[i] = (max(chunk[i], 1)-1)/b*b + b
		}
	case chunk != nil && block == nil:
		_, block = b2nd.DefaultShapes(f.chunkShape, item)
	}
	size := int64(arr.DType.ItemSize())
	for i := range chunk {
		if block[i] > chunk[i] {
			return nil, nil, usagef("blocks of %s are larger than chunks of %s", human.Shape(block), human.Shape(chunk))
		}
		if size *= int64(chunk[i]); size > maxFrameChunk {
			return nil, nil, usagef("chunks of %s are larger than %s", human.Shape(chunk), human.Size(maxFrameChunk))
		}
	}
	return chunk, block, nil
}

// oneCut refuses two ways to say into which chunks an array is cut.
func (f *arrayFlags) oneCut() error {
	switch {
	case f.use == 0:
	case f.chunkShape != nil:
		return usagef("--for chooses the shapes that --chunk-shape sets: give one of them")
	case f.blockShape != nil:
		return usagef("--for chooses the shapes that --block-shape sets: give one of them")
	}
	return nil
}

// note returns the note about a raw SRC that the flags make, or nil if there are no
// such flags.
func (f *arrayFlags) note() (*npy.Note, error) {
	if f.dtype == "" && f.shape == nil && f.order == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	if f.dtype == "" || f.shape == nil {
		return nil, usagef("--dtype and --shape go together, and --order with them")
	}
	d, err := dtype.Parse(f.dtype)
	if err != nil {
		return nil, usagef("--dtype %q: %s", f.dtype, err)
	}
	if f.order != "" && f.order != "C" && f.order != "F" {
		return nil, usagef("--order %s: want C or F", f.order)
	}
	return &npy.Note{DType: d, Shape: f.shape, Fortran: f.order == "F"}, nil
}

// arrayReport is the JSON of `pack` for arrays and frames.
type arrayReport struct {
	Format    string   `json:"format"`
	Outputs   []string `json:"outputs"`
	Bytes     int64    `json:"bytes"`  // bytes of the items
	Stored    int64    `json:"stored"` // bytes of the outputs
	Unchanged bool     `json:"unchanged"`

	*zarrChunks // of a SRC that is Zarr
}

func (r *arrayReport) tell(a *app) error {
	if a.flags.json {
		return writeJSON(a.stdout, r)
	}
	text := fmt.Sprintf("%s stored in %s", human.Size(r.Bytes), human.Size(r.Stored))
	if r.Unchanged {
		text = "unchanged: this version was packed already"
	}
	for _, o := range r.Outputs {
		text += "\n  " + human.Printable(o)
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

// arrayWrite is how an array is written by the flags, and the coordinates that go beside it.
func (a *app) arrayWrite(ctx context.Context, arr pack.Array, f *packFlags, encode blosc.EncodeOptions) (w pack.ArrayWrite, beside []besideCoord, err error) {
	w.Write = b2nd.WriteOptions{Encode: encode, Index: f.blosc.choice(), MaxMemory: int64(a.flags.maxMemory) / 2}
	if w.ChunkShape, w.BlockShape, err = f.array.cut(arr); err == nil {
		w.Write.VLMetalayers, beside, err = f.meta.layers(ctx, a, arr)
	}
	return w, beside, err
}

// packArrays packs the arrays of one SRC.
func packArrays(ctx context.Context, a *app, srcs []string, dst target, f *packFlags) error {
	if len(srcs) != 1 {
		return usagef("%d SRC: an array is made of one", len(srcs))
	}
	if err := f.array.oneCut(); err != nil {
		return err
	}
	encode, err := f.blosc.options()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(encode.Filters, func(f blosc.Filter) bool { return f.ID == blosc.Delta }) && !a.flags.quiet {
		fmt.Fprintln(a.stderr, "delta in an array: C-Blosc2 up to 3.3.5 reads slices of it wrong; farread does not")
	}
	if srcs[0] == fromStdin {
		return a.packStream(ctx, dst, f, encode)
	}
	if n, err := a.zarrSource(ctx, srcs[0], f.array.deniedIsAbsent); n != nil || err != nil {
		if err != nil {
			return at(srcs[0], err)
		}
		return a.packZarr(ctx, srcs[0], n, dst, f, encode)
	}
	find := a.arrays
	var of *farread.Array // SRC, if it is b2nd
	if storedNamed(srcs[0]) {
		find = func(ctx context.Context, src string, f *packFlags) ([]pack.Array, *objstore.Object, error) {
			x, stored, err := a.storedArray(ctx, src, f)
			if err != nil {
				return nil, nil, err
			}
			of = stored
			return []pack.Array{x}, of.Source.Object, nil
		}
	}
	arrays, ob, err := find(ctx, srcs[0], f)
	if err != nil {
		return at(srcs[0], err)
	}
	into := strings.HasSuffix(dst.key, "/") || dst.key == "" || path.Ext(dst.key) != pack.ArraySuffix
	if len(arrays) > 1 && !into {
		return usagef("%s has %s: name one with --member, or a folder/", srcs[0], human.Plural(int64(len(arrays)), "array"))
	}
	rep := &arrayReport{Format: all.B2ND}
	if job, u := a.arrayJob(ob, arrays, dst, f); job != nil {
		if f.on.on != "" {
			return usagef("--on: %s is what the pack function makes of %s, with its version within: give DST another name", human.Printable(dst.uri), human.Printable(srcs[0]))
		}
		job.Encode, rep.Bytes = encode, arrays[0].NBytes
		job.Replace = f.force
		rep.Outputs = []string{join(dst.bucket.Name(), dst.key)}
		if rep.Stored, rep.Unchanged, err = runJob(ctx, job, ob.Bucket(), u, dst); err != nil {
			return at(srcs[0], err)
		}
		return rep.tell(a)
	}
	if err := f.on.onlyOne(srcs[0], len(arrays)); err != nil {
		return err
	}
	targets := make([]target, len(arrays))
	for i, arr := range arrays {
		targets[i] = dst
		if into {
			targets[i] = dst.member(arr, ob)
		}
	}
	if len(arrays) > 1 && f.force {
		if err := a.keepArrays(ctx, targets, arrays); err != nil {
			return at(srcs[0], err)
		}
	}
	for i, arr := range arrays {
		to := targets[i]
		w, beside, err := a.arrayWrite(ctx, arr, f, encode)
		if err != nil {
			return err
		}
		if of != nil {
			more, err := a.besideStored(ctx, srcs[0], of, f)
			if err != nil {
				return at(srcs[0], err)
			}
			beside = append(more, beside...)
		}
		if f.on.on != "" {
			return at(srcs[0], a.packDivided(ctx, dividedPack{arr, packs.SourceOf(srcs[0], ob.Info()), false, to, w, beside}, f, rep))
		}
		if err := a.writeBesides(ctx, to, targets, beside, f.force, rep); err != nil {
			return err
		}
		if err := a.packArray(ctx, arr, to, w, f.force, rep); err != nil {
			return at(srcs[0], err)
		}
	}
	return rep.tell(a)
}

// member returns the target of an array in a folder.
func (t target) member(arr pack.Array, ob *objstore.Object) target {
	name := arr.Name
	if name == "" {
		base := path.Base(ob.Info().Key)
		name = strings.TrimSuffix(base, path.Ext(base))
	}
	if t.key != "" && !strings.HasSuffix(t.key, "/") {
		t.key += "/"
	}
	t.key += name + pack.ArraySuffix
	return t
}

// arrays opens SRC and returns the arrays in it.
func (a *app) arrays(ctx context.Context, src string, f *packFlags) ([]pack.Array, *objstore.Object, error) {
	ob, err := a.client.Open(ctx, src)
	if err != nil {
		return nil, nil, err
	}
	note, err := f.array.note()
	if err != nil {
		return nil, nil, err
	}
	if note == nil {
		if note, err = noteBeside(ctx, a, src, npy.ParseNote, ".npy", ".npz"); err != nil {
			return nil, nil, err
		}
	}
	if note != nil {
		if err := notRaw(src); err != nil {
			return nil, nil, err
		}
	}
	arrays, err := pack.Arrays(ctx, ob, pack.ArrayOptions{Note: note})
	if err != nil || f.array.member == "" {
		return arrays, ob, err
	}
	for _, arr := range arrays {
		if arr.Name == f.array.member || arr.Name+".npy" == f.array.member {
			return []pack.Array{arr}, ob, nil
		}
	}
	return nil, nil, fmt.Errorf("member %s: %w", human.Printable(f.array.member), formats.ErrNoEntry)
}

// storedNamed reports whether a URI names an array that is b2nd already.
func storedNamed(uri string) bool { return path.Ext(zarrPath(uri)) == pack.ArraySuffix }

// storedArray opens SRC, which is packed anew, or appended.
func (a *app) storedArray(ctx context.Context, src string, f *packFlags) (pack.Array, *farread.Array, error) {
	if f.array.dtype != "" || f.array.shape != nil || f.array.order != "" || f.array.member != "" {
		return pack.Array{}, nil, usagef("a .b2nd says what its items are: --member, --dtype, --shape and --order are for other SRC")
	}
	arr, err := a.client.OpenArray(ctx, src, farread.FrameOptions{})
	if err != nil {
		return pack.Array{}, nil, err
	}
	layers, err := arr.Source.VLMetalayers(ctx)
	return pack.StoredArray(arr.Array, layers), arr, err
}

// noteBeside reads the note beside a raw SRC. It returns nil if there is no note, if
// the format of SRC has one of the suffixes (in small letters), or if SRC is a URL with
// a query, which has nothing beside it.
func noteBeside[N any](ctx context.Context, a *app, src string, parse func([]byte) (N, error), suffixes ...string) (*N, error) {
	if slices.Contains(suffixes, strings.ToLower(path.Ext(src))) || strings.ContainsAny(src, "?#") && strings.Contains(src, "://") {
		return nil, nil //nolint:nilnil // there is none
	}
	ob, err := a.client.Open(ctx, src+npy.NoteSuffix)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	if ob.Size() > npy.MaxNote {
		return nil, fmt.Errorf("a note of %d bytes: %w", ob.Size(), formats.ErrTooLarge)
	}
	p := make([]byte, ob.Size())
	if err := ob.ReadRanges(ctx, []rangeio.Span{{P: p}}); err != nil {
		return nil, err
	}
	n, err := parse(p)
	return &n, err
}

// packArray writes one array.
func (a *app) packArray(ctx context.Context, arr pack.Array, to target, w pack.ArrayWrite, force bool, rep *arrayReport) error {
	b := a.newBar("pack", arr.NBytes)
	defer b.clear()
	w.Progress = b.set
	info, err := a.packObject(ctx, to, force, func(ctx context.Context, out objstore.Writer) error { return arr.Write(ctx, out, w) })
	if err != nil {
		return err
	}
	rep.Bytes += arr.NBytes
	rep.Stored += info.Size
	rep.Outputs = append(rep.Outputs, join(to.bucket.Name(), to.key))
	return nil
}

// free returns an error if the target is there, without force.
func free(ctx context.Context, to target, force bool) error {
	if force {
		return nil
	}
	_, err := to.bucket.Head(ctx, to.key)
	if err == nil {
		return taken(to.bucket, to.key)
	}
	if errors.Is(err, objstore.ErrNotFound) {
		return nil
	}
	return at(join(to.bucket.Name(), to.key), err)
}

// packObject writes one object with the bytes of fill. If fill fails, it writes
// nothing.
func (a *app) packObject(ctx context.Context, to target, force bool, fill func(context.Context, objstore.Writer) error) (objstore.Info, error) {
	name := join(to.bucket.Name(), to.key)
	if err := free(ctx, to, force); err != nil {
		return objstore.Info{}, err
	}
	w, err := to.bucket.Create(ctx, to.key, objstore.PutOptions{IfAbsent: !force, ContentType: "application/octet-stream",
		Meta: map[string]string{functions.MetaMarker: "1"}})
	if err != nil {
		return objstore.Info{}, at(name, err)
	}
	defer w.Abort()
	if err := fill(ctx, w); err != nil {
		return objstore.Info{}, err
	}
	info, err := w.Commit(ctx)
	return info, at(name, err)
}

// arrayJob returns the job that a worker runs for the object, if DST is the output of
// this job: command and worker must then agree on who made DST. For a .npz a worker
// writes a folder of members.
func (a *app) arrayJob(ob *objstore.Object, arrays []pack.Array, dst target, f *packFlags) (*pack.Job, functions.Upload) {
	from, fromS3 := strings.CutPrefix(ob.Bucket().Name(), "s3://")
	key := ob.Info().Key
	prefix, ok := strings.CutSuffix(dst.key, functions.OutputKey("", key, pack.ArraySuffix))
	own := f.array.chunkShape == nil && f.array.blockShape == nil && f.array.use == 0 && !storedNamed(ob.Info().Key) && f.array.dtype == "" && f.array.member == "" && f.blosc.plain() && !f.meta.given()
	if arrays[0].Name != "" || !fromS3 || !strings.HasPrefix(dst.bucket.Name(), "s3://") || !ok || functions.OutputKey(prefix, key, pack.ArraySuffix) != dst.key || !own {
		return nil, functions.Upload{}
	}
	in := ob.Info()
	return &pack.Job{Out: dst.bucket, Prefix: prefix, Format: all.B2ND},
		functions.Upload{Bucket: from, Key: key, ETag: in.ETag, VersionID: in.VersionID, Size: in.Size}
}

// runJob runs the job of a worker on an upload, and returns the number of stored bytes.
// It stores nothing if the output already exists.
func runJob(ctx context.Context, job functions.Job, src objstore.Bucket, u functions.Upload, dst target) (stored int64, unchanged bool, err error) {
	infos, err := job.Run(ctx, src, u)
	if errors.Is(err, functions.ErrTaken) {
		return 0, false, taken(dst.bucket, dst.key)
	}
	for _, in := range infos {
		stored += in.Size
	}
	return stored, len(infos) == 0, err
}

package b2nd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/rangeio"
)

// EditOptions tune Edit. The zero value is right for most.
type EditOptions struct {
	// Encode says how to encode changed chunks. Nil means as the frame's header
	// says. The Editor sets TypeSize, BlockSize and BlockShape.
	Encode *blosc.EncodeOptions
	// Index says whether commits make an index inside an array that has none; see
	// cframe.EditOptions.
	Index cframe.IndexChoice
	// Sidecar names the index beside an array that has none inside; see cframe.EditOptions.
	Sidecar func(ctx context.Context) (r rangeio.Reader, etag string, err error)
	// Statistics says that the index, if there will be one, gets statistics of chunks and blocks also if
	// it has none of use now: the first commit then reads the whole array. Those that it has are always
	// kept; a commit decodes the chunks that changed.
	Statistics bool
	// Draft says that nobody reads the file before the last Commit; see cframe.EditOptions.
	Draft bool
	// Limits are as in Options.
	Limits formats.Limits
}

// An Editor changes the shape and the items of an array in a local file. It sees
// its own changes at once. Readers see them after Commit, all or none, as
// cframe.Editor promises. It holds a few chunks and the frame's index in memory. An
// Editor is for one goroutine.
//
// An error that matches cframe.ErrRefused is a mistake of the caller and leaves the
// Editor as it was. After any other error every later call except Abort returns
// that error. The file then has the state of the last Commit, and extra bytes at
// its end that Abort cuts off.
type Editor struct {
	ed     *cframe.Editor
	layer  string // name of the metalayer
	meta   Meta
	g      *geometry
	decode blosc.DecodeOptions
	encode blosc.EncodeOptions
	limits formats.Limits
	stored []byte // reused
	chunk  []byte // decoded, reused
	edges  edges
	err    error
}

// Edit opens the array in the frame that begins at the first byte of f.
// cframe.Edit says what happens to bytes behind the frame, and which methods of f
// are used. Errors are as from cframe.Edit and Open.
func Edit(ctx context.Context, f formats.File, o EditOptions) (*Editor, error) {
	co := cframe.EditOptions{Limits: o.Limits, Index: o.Index, Sidecar: o.Sidecar, Draft: o.Draft}
	ed, err := cframe.Edit(ctx, f, co)
	if err != nil {
		return nil, err
	}
	e := &Editor{limits: o.Limits.WithDefaults()}
	if err := e.read(ed); err != nil {
		return nil, errors.Join(err, ed.Abort())
	}
	e.ed = ed
	e.setEncode(ed.Info(), o.Encode)
	ed.KeepStats(ctx, &editStats{e: e, was: e.g}, o.Statistics)
	if e.g.chunks.Total == 0 && e.g.chunkBytes > 0 {
		// An empty frame does not know the size of its chunks; the array's
		// shapes tell it.
		if err := ed.SetSizes(e.g.chunkBytes, e.g.blockBytes); err != nil {
			return nil, errors.Join(fail("metalayer", formats.ErrUnsupported, "%v", err), ed.Abort())
		}
	}
	return e, nil
}

// read reads the metalayer and checks it against the frame.
func (e *Editor) read(ed *cframe.Editor) (err error) {
	layers := map[string][]byte{}
	for _, m := range ed.Metalayers() {
		layers[m.Name] = m.Data
	}
	for _, name := range []string{layerName, oldLayer} {
		if _, ok := layers[name]; ok && e.layer == "" {
			e.layer = name
		}
	}
	if e.layer == "" {
		return fail("metalayer", formats.ErrUnsupported, "the frame holds no array, only chunks of bytes")
	}
	for _, name := range []string{"b2o", "LazyArray", "proxy-source"} {
		if _, ok := layers[name]; ok {
			return fail("metalayer "+name, formats.ErrUnsupported, "not data of its own")
		}
	}
	if e.meta, err = ParseMeta(layers[e.layer]); err != nil {
		return err
	}
	in := ed.Info()
	if e.g, err = e.meta.geometry(in.TypeSize); err != nil {
		return err
	}
	if _, err := e.meta.itemType(in.TypeSize); err != nil {
		return err
	}
	if int64(e.g.chunkBytes) > e.limits.MaxDecoded {
		return fail("metalayer", formats.ErrTooLarge, "chunks of %d bytes, %d allowed", e.g.chunkBytes, e.limits.MaxDecoded)
	}
	return e.g.matches(in, ed.Chunks())
}

func (e *Editor) setEncode(in cframe.Info, o *blosc.EncodeOptions) {
	e.encode = blosc.EncodeOptions{Codec: in.Codec, CodecMeta: in.CodecMeta, Level: in.Level, Filters: in.Filters[:], Split: in.SplitMode, Dict: in.UseDict}
	if in.Level == 0 {
		e.encode.Level = blosc.LevelStore
	}
	if o != nil {
		e.encode = *o
	}
	e.setBlocks()
}

// setBlocks sets the shape of blocks in the options of encoder and decoder.
func (e *Editor) setBlocks() {
	e.encode.TypeSize, e.encode.BlockSize, e.encode.BlockShape = e.g.item, e.g.blockBytes, e.meta.BlockShape
	e.decode = blosc.DecodeOptions{TypeSize: e.g.item, BlockShape: e.meta.BlockShape, MaxDecoded: e.limits.MaxDecoded}
}

// Meta returns the content of the metalayer with all changes.
func (e *Editor) Meta() Meta { return e.meta.clone() }

// Frame returns the editor of the frame, for changes to other metalayers.
// Changes to its chunks break the array.
func (e *Editor) Frame() *cframe.Editor { return e.ed }

// Commit makes the changes visible to readers; see cframe.Editor.Commit.
func (e *Editor) Commit() error {
	if e.err != nil {
		return e.err
	}
	return e.fail(e.ed.Commit())
}

// Close commits. The caller closes the file.
func (e *Editor) Close() error {
	if e.err != nil {
		return e.err
	}
	return e.fail(e.ed.Close())
}

// Abort drops changes that were not committed and cuts their bytes off the
// file. It does nothing after Close.
func (e *Editor) Abort() error { return e.ed.Abort() }

func (e *Editor) fail(err error) error {
	if err != nil && !errors.Is(err, cframe.ErrRefused) {
		e.err = err
	}
	return err
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", Format, cframe.ErrRefused, fmt.Sprintf(format, args...))
}

// Resize changes the lengths of the axes. Added items are zeros, even where an
// earlier Resize dropped items. New chunks are added as offsets without bytes,
// and chunks are dropped without a read. Resize reads only chunks at a former
// edge of the array that is now inside, and rewrites them if their padding is not
// zero. It returns cframe.ErrRefused for another number of axes, a negative
// length, and more chunks than Limits.MaxEntries.
//
// An empty array of python-blosc2 has axes of length 0 in chunks of length 0. If
// such an axis grows, chunks and blocks get new shapes: those of DefaultShapes
// for an array that will grow along the first such axis.
func (e *Editor) Resize(shape []int64) error {
	if e.err != nil {
		return e.err
	}
	if len(shape) != len(e.meta.Shape) {
		return refuse("%d axes in place of %d", len(shape), len(e.meta.Shape))
	}
	less := slices.Clone(shape)
	grows := false
	for i, n := range e.meta.Shape {
		grows = grows || shape[i] > n
		less[i] = min(less[i], n)
	}
	to, cut := e.resized(shape)
	g, err := to.geometry(e.g.item)
	if err != nil {
		return refuse("%v", err)
	}
	if g.chunks.Total > e.limits.MaxEntries {
		return refuse("%d chunks, %d allowed", g.chunks.Total, e.limits.MaxEntries)
	}
	if cut {
		if err := e.recut(to); err != nil {
			return err
		}
	}
	layer, err := AppendMeta(nil, to)
	if err != nil {
		return err
	}
	if e.layer == oldLayer {
		layer = layer[:len(layer)-6-len(to.DType)]
		layer[0] = markOld
	}
	if err := e.ed.SetMetalayer(e.layer, layer); err != nil {
		return e.fail(err)
	}
	if !slices.Equal(less, e.meta.Shape) {
		if err := e.setShape(less); err != nil {
			return e.fail(err)
		}
	}
	if !grows {
		return nil
	}
	if err := e.clearEdges(shape); err != nil {
		return e.fail(err)
	}
	return e.fail(e.setShape(shape))
}

// resized returns the metalayer's content for a new shape. cut tells that chunks
// and blocks get new shapes, because the present ones hold no items.
func (e *Editor) resized(shape []int64) (to Meta, cut bool) {
	to = e.meta.clone()
	to.Shape = slices.Clone(shape)
	long := slices.Clone(shape) // DefaultShapes takes an axis of 0 for a long one
	for i, n := range shape {
		if n > 0 && e.g.chunk[i] == 0 {
			if !cut {
				long[i] = 0
			}
			cut = true
		}
	}
	if cut {
		to.ChunkShape, to.BlockShape = DefaultShapes(long, e.g.item)
	}
	return to, cut
}

// recut gives the array the shapes of chunks and blocks of to. The array has no
// chunks yet.
func (e *Editor) recut(to Meta) error {
	m := e.meta.clone()
	m.ChunkShape, m.BlockShape = to.ChunkShape, to.BlockShape
	g, err := m.geometry(e.g.item)
	if err != nil {
		return refuse("%v", err)
	}
	if int64(g.chunkBytes) > e.limits.MaxDecoded {
		return refuse("chunks of %d bytes, %d allowed", g.chunkBytes, e.limits.MaxDecoded)
	}
	if err := e.ed.SetSizes(g.chunkBytes, g.blockBytes); err != nil {
		return e.fail(err)
	}
	e.meta, e.g = m, g
	e.setBlocks()
	return nil
}

// setShape adds or drops chunks for a new shape. The shape must not be longer
// along one axis and shorter along another.
func (e *Editor) setShape(shape []int64) error {
	m := e.meta.clone()
	m.Shape = slices.Clone(shape)
	g, err := m.geometry(e.g.item)
	if err != nil {
		return err
	}
	old, d := e.g, len(shape)
	grow := g.chunks.Total > old.chunks.Total
	// New chunks are appended, and chunks to drop are moved to the end, by one
	// Reorder: to insert or delete them one by one would take quadratic time.
	for range g.chunks.Total - old.chunks.Total {
		if err := e.ed.ExtendSpecial(blosc.Zeros, g.chunkBytes); err != nil {
			return err
		}
	}
	big, small := old, g
	if grow {
		big, small = g, old
	}
	var inside, outside []int // numbers of chunks in the larger grid, ascending
	at := make([]int64, d)
	for k := range big.chunks.Total {
		big.origin(at, k)
		in := true
		for i, o := range at {
			in = in && o < small.shape[i]
		}
		if in {
			inside = append(inside, int(k))
		} else {
			outside = append(outside, int(k))
		}
	}
	order := slices.Concat(inside, outside)
	if grow { // from[k] is the present number of the chunk that gets number k
		from := make([]int, len(order))
		for now, k := range order {
			from[k] = now
		}
		order = from
	}
	if len(order) > 0 && !slices.IsSorted(order) {
		if err := e.ed.Reorder(order); err != nil {
			return err
		}
	}
	for n := old.chunks.Total; n > g.chunks.Total; n-- {
		if err := e.ed.Delete(int(n - 1)); err != nil {
			return err
		}
	}
	e.meta, e.g = m, g
	return nil
}

// clearEdges zeroes padding that becomes items when the array grows to shape. It keeps what it reads, since
// new items are most often written to these chunks next.
func (e *Editor) clearEdges(shape []int64) error {
	d := len(shape)
	hi := make([]int64, d)
	e.edges.clear()
	for i, n := range e.g.shape {
		if shape[i] <= n || n == 0 || n%e.g.chunk[i] == 0 {
			continue // no padding along this axis becomes items
		}
		lo := make([]int64, d)
		lo[i] = (n - 1) / e.g.chunk[i] * e.g.chunk[i]
		edge := nd.Sub(lo, e.g.shape)
		for k, origin := range e.g.chunks.Meet(edge, make([]int64, d), e.g.shape) {
			e.g.end(hi, origin)
			if err := e.clearPadding(int(k), origin, hi); err != nil {
				return err
			}
		}
	}
	return nil
}

// clearPadding zeroes the padding of chunk k, whose items end at hi.
func (e *Editor) clearPadding(k int, origin, hi []int64) error {
	chunk, zero, err := e.load(k)
	if err != nil || zero {
		return err
	}
	e.edges.keep(origin, e.stored)
	n := make([]int64, len(hi))
	size := e.g.item
	for i := range n {
		n[i] = hi[i] - origin[i]
		size *= int(n[i])
	}
	box := make([]byte, size)
	e.g.untile(box, n, chunk)
	clean := make([]byte, e.g.chunkBytes)
	e.g.tile(clean, box, n, make([]int64, len(n)), n)
	if slices.Equal(clean, chunk) {
		return nil
	}
	return e.store(k, clean)
}

// Extend appends rows along the first axis. p holds a whole number of rows in
// row-major order; it is not kept. See ExtendAxis.
func (e *Editor) Extend(p []byte) error { return e.ExtendAxis(0, p) }

// ExtendAxis appends items along one axis. p holds a whole number of layers:
// boxes of length 1 along axis and of the array's full length along all other
// axes. Together they are one box in row-major order. For any other length of p,
// ExtendAxis returns cframe.ErrRefused. If another axis has length 0, there are
// no items to append: use Resize.
func (e *Editor) ExtendAxis(axis int, p []byte) error {
	if e.err != nil {
		return e.err
	}
	d := len(e.meta.Shape)
	if d == 0 {
		return refuse("an array without axes cannot grow")
	}
	if axis < 0 || axis >= d {
		return refuse("axis %d of %d", axis, d)
	}
	if len(p) == 0 {
		return nil
	}
	from, to := make([]int64, d), slices.Clone(e.meta.Shape)
	to[axis] = 1
	layer, err := nd.Prod(to)
	if err != nil || layer == 0 || layer > math.MaxInt64/int64(e.g.item) {
		return refuse("%d bytes in layers of shape %v", len(p), to)
	}
	layer *= int64(e.g.item)
	if int64(len(p))%layer != 0 {
		return refuse("%d bytes in layers of %d", len(p), layer)
	}
	from[axis] = e.meta.Shape[axis]
	if to[axis] = from[axis] + int64(len(p))/layer; to[axis] < 0 {
		return refuse("axis %d of %d items and %d bytes more", axis, from[axis], len(p))
	}
	if err := e.Resize(to); err != nil {
		return err
	}
	return e.WriteSlice(Sub(from, to), p)
}

// WriteSlice writes the items p to a box, in row-major order of the shape
// box.Counts(). It returns cframe.ErrRefused if p does not have exactly the length
// of these items, or if the box is not inside the array. p is not kept. Each chunk
// that has some of the items is encoded anew and written at the end of the file.
// If the box covers only a part of a chunk, the chunk is read first.
func (e *Editor) WriteSlice(box Box, p []byte) error {
	if e.err != nil {
		return e.err
	}
	view := Array{g: e.g}
	n, err := view.SizeOf(box)
	if err != nil {
		return refuse("%v", err)
	}
	if int64(len(p)) != n {
		return refuse("%d bytes for a slice of %d", len(p), n)
	}
	g, d := e.g, len(e.g.shape)
	counts := box.Counts()
	var part nd.Part
	hi, size := make([]int64, d), make([]int64, d)
	for k, origin := range g.chunks.Meet(box, make([]int64, d), g.shape) {
		g.end(hi, origin)
		box.Part(&part, origin, hi)
		covered := box.Unit()
		for i := range size {
			size[i] = hi[i] - origin[i]
			covered = covered && part.N[i] == size[i]
		}
		if covered {
			if cap(e.chunk) < g.chunkBytes {
				e.chunk = make([]byte, g.chunkBytes)
			}
			g.tile(e.chunk[:g.chunkBytes], p, counts, part.Out, size)
		} else {
			chunk, _, err := e.load(int(k))
			if err != nil {
				return e.fail(err)
			}
			e.merge(chunk, p, box, counts, origin, hi)
		}
		if err := e.store(int(k), e.chunk[:g.chunkBytes]); err != nil {
			return e.fail(err)
		}
	}
	return nil
}

// merge copies the items that box selects of a decoded chunk from p into the
// chunk's blocks.
func (e *Editor) merge(chunk, p []byte, box Box, counts, origin, hi []int64) {
	g, d := e.g, len(origin)
	from, strides := nd.Strides(counts, g.item), nd.Strides(g.block, g.item)
	end, to := make([]int64, d), make([]int64, d)
	var part nd.Part
	for k, lo := range g.blocks.Meet(box, origin, hi) {
		for i := range end {
			end[i] = min(lo[i]+g.block[i], hi[i])
		}
		if !box.Part(&part, lo, end) {
			continue
		}
		src, dst := int64(0), int64(0)
		for i := range d {
			src += part.Out[i] * from[i]
			dst += part.At[i] * strides[i]
			if to[i] = strides[i]; part.N[i] > 1 {
				to[i] *= box.Step[i]
			}
		}
		nd.Copy(chunk[k*int64(g.blockBytes):][:g.blockBytes], dst, to, p, src, from, part.N, g.item)
	}
}

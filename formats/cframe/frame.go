package cframe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// Options tune Open. The zero value is right for most.
type Options struct {
	// Limits are checked before memory is allocated. MaxMeta bounds header,
	// offsets and trailer, each; MaxEntries the number of chunks; MaxDecoded
	// the decoded bytes of a chunk.
	Limits formats.Limits
	// Parallel is the number of goroutines that decode at a time. 0 means
	// GOMAXPROCS.
	Parallel int
	// Policy decides whether a chunk is read whole, or its block starts first
	// and then its blocks. Zero means the Policy of the reader if it has a
	// method Policy, as an objstore.Object has, else rangeio.Fast. The reader
	// itself decides how requests are joined and cut. For a local reader
	// (rangeio.Local) Free and MaxGap are 8 KiB at most, since to copy more
	// takes longer than a system call.
	Policy rangeio.Policy
	// Tail is the number of bytes that Open reads at the end of the object,
	// along with the header. 0 means 64 KiB, enough for the offsets of 20 000
	// chunks or more. If the reader already holds as long a tail, Open sends no
	// request for it.
	Tail int64
	// Memory bounds the encoded bytes that one EachConcurrent holds, and so the number
	// of requests in flight. Values below 7 MiB mean 7 MiB. 0 means 40 MiB; if a
	// caller keeps the chunks it reads whole, 0 means all their bytes, but at most 64 MiB
	// for each of Parallel, and within 40 and 260 MiB. So a scan into memory has many requests in flight, and
	// takes little memory besides its result.
	Memory int64
	// Sidecar is as Frame.Sidecar, for an index that is likely to be there. Open then
	// opens it before it reads offsets that did not come with the tail, and does
	// without these if the index has them.
	Sidecar func(ctx context.Context) (r rangeio.Reader, etag string, err error)
}

const (
	defaultMemory = 40 << 20
	minMemory     = 7 << 20

	headLen     = 8 << 10  // longer than the header of any usual frame
	defaultTail = 64 << 10 // 20 000 offsets at random distances, 58 000 at equal ones
	usualOffset = 4        // encoded bytes of an offset if chunks differ in length; longer offsets cost one phase more
)

func (o Options) withDefaults(r rangeio.Reader) Options {
	o.Limits = o.Limits.WithDefaults()
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.Memory > 0 {
		o.Memory = min(max(o.Memory, minMemory), math.MaxInt/2)
	}
	if o.Tail <= 0 {
		o.Tail = defaultTail
	}
	if o.Policy == (rangeio.Policy{}) {
		o.Policy = rangeio.Fast()
		if p, ok := r.(interface{ Policy() rangeio.Policy }); ok {
			o.Policy = p.Policy()
		}
	}
	if rangeio.Local(r) {
		o.Policy.Free, o.Policy.MaxGap = min(o.Policy.Free, localGap), min(o.Policy.MaxGap, localGap)
	}
	return o
}

// A Frame is an open frame. It holds in memory the header, the metalayers, the
// trailer if Open has read it, and the offsets, if they were read: 8 bytes for each
// chunk, or up to 16 if chunks are not in order or some have no bytes in the frame. It holds no
// data and needs no Close. All methods are safe for concurrent use. The Frame
// uses the Reader or Set until the last call.
//
// Header and offsets are the ones that Open has read. If the object is replaced
// later, they are wrong for the new bytes. A reader that is pinned to one
// version of an object, as the readers of objstore are, prevents this.
type Frame struct {
	r     rangeio.Reader // chunks of a contiguous frame
	set   formats.Set    // chunks of a sparse frame
	index rangeio.Reader // header, offsets and trailer
	o     Options
	info  Info
	dry   *pull.Plan // for Explain: the plan that notes requests; nil: chunks are read
	noted bool       // the plan has the requests for the chunks already
	among int64      // see Among

	layers     []Metalayer
	table      table
	trailerOff int64
	trailerLen int64
	trailer    []byte // nil: not in memory
	refused    error  // see Refused

	blockShape []int // some filters need it
	sizes      *chunkStarts
	heads      *frameIndex
	late       *lateTable // nil: table has all chunks that are asked for
}

// chunkStarts holds the decoded offsets of chunks that vary in size. They are
// read when they are first needed.
type chunkStarts struct {
	finding gate
	offs    atomic.Pointer[[]int64] // one for each chunk, and the end
}

func newChunkStarts() *chunkStarts { return &chunkStarts{finding: newGate()} }

// WithBlockShape returns f with the shape of blocks set, in items. Some filters
// (NDCell, NDMean) need it to decode; the frame does not store it, but a format
// on top of frames, as b2nd, does. shape is copied. The new Frame shares
// everything else with f.
func (f *Frame) WithBlockShape(shape []int) *Frame {
	g := *f
	g.blockShape = slices.Clone(shape)
	return &g
}

// Open reads the header, the offsets and the end of a contiguous frame that
// begins at the first byte of r. It ignores bytes after the frame. To open a
// frame inside another file, pass a rangeio.Section.
//
// Open reads head and tail of r in one planned read, so in one phase. It sends
// no request if r already holds them. If header, offsets and end of the frame
// are not completely in these bytes, for example because the frame ends before r
// does, they cost one phase more. Offsets of more than 64 KiB, and of more than
// 4 bytes a chunk, cost a third.
//
// Offsets that do not come with the tail are not read if an index inside the frame (or
// Options.Sidecar) has them in pages. A read of some chunks then begins with the pages
// that tell where they are, which is a phase, and reads the chunks in the same phase if
// it is worth the bytes. Reads of all chunks, and of very many, read the offsets. From
// then on the Frame holds them.
//
// Errors match the sentinels of package formats: ErrCorrupt if header, offsets
// or the end of the trailer break the rules of the format, or if the frame is
// sparse; ErrUnsupported for unknown versions of the format; ErrTooLarge if a
// limit is exceeded. Errors of r are wrapped, so that errors.Is finds them.
func Open(ctx context.Context, r rangeio.Reader, o Options) (*Frame, error) {
	f := &Frame{r: r, index: r, o: o.withDefaults(r), sizes: newChunkStarts(), heads: newFrameIndex()}
	f.heads.side = o.Sidecar
	if err := f.open(ctx, false); err != nil {
		return nil, err
	}
	return f, nil
}

// Info returns the content of the header.
func (f *Frame) Info() Info { return f.info }

// Limits returns Options.Limits with defaults filled in.
func (f *Frame) Limits() formats.Limits { return f.o.Limits }

// Local reports whether the frame has no round trip to its bytes; see rangeio.Local.
func (f *Frame) Local() bool { return rangeio.Local(f.r) }

// Chunks returns the number of chunks.
func (f *Frame) Chunks() int { return f.table.n }

// Metalayers returns the metalayers of the header, in order. Do not change
// their Data.
func (f *Frame) Metalayers() []Metalayer { return slices.Clone(f.layers) }

// Metalayer returns the data of the metalayer of the header with the given
// name. Do not change them. The second result is false if there is none.
func (f *Frame) Metalayer(name string) ([]byte, bool) {
	for _, m := range f.layers {
		if m.Name == name {
			return m.Data, true
		}
	}
	return nil, false
}

// ChunkInfo is the place and the lengths of a chunk, as far as the index tells
// them.
type ChunkInfo struct {
	// Off is the offset of the chunk in the object; in a sparse frame it is the
	// number of the chunk's object. It has no meaning if Special is set.
	Off int64
	// MaxLen is an upper bound of the chunk's encoded length; dead bytes may
	// follow the chunk. It is 0 if Special is set, and -1 if nothing is known
	// before the chunk is read.
	MaxLen int64
	// NBytes is the decoded length, or -1 if only the chunk tells.
	NBytes int
	// Special is the kind of a special chunk that has no bytes in the frame,
	// else None. A chunk that is stored may still be special by its own header.
	Special blosc.Special
}

// Chunk returns the place and the lengths of chunk i. If the frame lacks the chunk, it
// returns ErrNoEntry. It makes no request, unless the offsets are read in pages and the
// page of this chunk is not in memory; see Open.
func (f *Frame) Chunk(ctx context.Context, i int) (ChunkInfo, error) {
	if i < 0 || i >= f.table.n {
		return ChunkInfo{}, fail(chunkName(i), -1, formats.ErrNoEntry, "there are %d", f.table.n)
	}
	g, _, err := f.placed(ctx, ask{chunk: i})
	if err != nil {
		return ChunkInfo{}, err
	}
	return g.chunk(i), nil
}

// SpecialIfKnown returns the kind of a special chunk that has no bytes in the frame, if
// that is known without a request; else None, as for all other chunks. It panics if the
// frame lacks the chunk, as indexing a slice does.
func (f *Frame) SpecialIfKnown(i int) blosc.Special {
	if g := f.complete(); g != nil {
		return g.chunk(i).Special
	}
	return blosc.None
}

// chunk is Chunk for a chunk that the table has.
func (f *Frame) chunk(i int) ChunkInfo {
	if i < 0 || i >= f.table.n {
		panic(fmt.Sprintf("cframe: chunk %d of %d", i, f.table.n))
	}
	off := f.table.at(i)
	c := ChunkInfo{Off: off, NBytes: f.chunkLen(i)}
	c.Special, _ = special(off)
	switch {
	case c.Special != blosc.None:
		c.Off = 0
	case f.info.Sparse:
		c.MaxLen = f.longest(c.NBytes)
	default:
		c.Off += f.info.HeaderLen
		c.MaxLen = f.table.roomOf(i)
		if most := f.longest(c.NBytes); most >= 0 {
			c.MaxLen = min(c.MaxLen, most)
		}
	}
	return c
}

// longest returns an upper bound of the encoded length of a chunk of n decoded
// bytes, or -1 if there is none.
func (f *Frame) longest(n int) int64 {
	if n < 0 || f.info.VLBlocks {
		return -1
	}
	return int64(n) + overhead
}

// chunkLen returns the decoded length of chunk i, or -1 if only the chunk
// tells.
func (f *Frame) chunkLen(i int) int {
	if f.info.ChunkSize <= 0 {
		return -1
	}
	return int(min(int64(f.info.ChunkSize), f.info.NBytes-int64(i)*int64(f.info.ChunkSize)))
}

// Refused returns an error if the chunks of the frame are not data, although
// its index is right: for example a stored expression of python-blosc2. The
// error matches formats.ErrUnsupported, and every read of data and every plan
// returns it. Refused returns nil for all other frames.
func (f *Frame) Refused() error { return f.refused }

// refusals lists metalayers of python-blosc2 that mark a frame whose chunks are
// not plain data.
var refusals = []struct{ name, why string }{
	{"proxy-source", "a partial cache of another dataset"},
	{"b2o", "a stored expression, not data"},
	{"listarray", "a column of lists"},
	{"LazyArray", "a stored expression, not data"},
	{"ctable", "a table"},
}

func (f *Frame) refuse() {
	for _, r := range refusals {
		if _, ok := f.Metalayer(r.name); ok {
			f.refused = unsupported("metalayer "+r.name, -1, "%s", r.why)
			return
		}
	}
}

// open reads the index of the frame from f.index.
func (f *Frame) open(ctx context.Context, sparse bool) error {
	size := f.index.Size()
	k := &known{r: f.index}
	ends := [][2]int64{{0, size}}
	if size > headLen+f.o.Tail {
		ends = [][2]int64{{0, headLen}, {size - f.o.Tail, size}}
	}
	if err := k.fetch(ctx, ends...); err != nil {
		return err
	}
	b, _ := k.get(0, min(size, fixedLen))
	var err error
	if f.info, err = parseHeader(b); err != nil {
		return err
	}
	if f.info.Sparse != sparse {
		return corrupt("header", atFrameType, "sparse frame: %t, opened as one: %t", f.info.Sparse, sparse)
	}
	if f.info.FrameLen > size {
		return corrupt("header", atFrameLen, "a frame of %d bytes in an object of %d", f.info.FrameLen, size)
	}
	if err := f.load(ctx, k); err != nil {
		return err
	}
	f.refuse()
	return nil
}

// load reads the rest of header, offsets and trailer's end, and parses them.
func (f *Frame) load(ctx context.Context, k *known) error {
	in := &f.info
	n, err := in.chunks(f.o.Limits)
	if err != nil {
		return err
	}
	if err := checkMeta("header", in.HeaderLen, f.o.Limits); err != nil {
		return err
	}
	need := [][2]int64{{0, in.HeaderLen}}
	if b, ok := k.get(in.FrameLen-endLen, endLen); ok {
		if err := f.setTrailer(b); err != nil {
			return err
		}
	} else {
		need = append(need, [2]int64{max(in.FrameLen-f.o.Tail, in.HeaderLen), in.FrameLen})
	}
	f.keepTrailer(k)
	late, err := f.openLate(ctx, k, n)
	if err != nil {
		return err
	}
	if in.NBytes > 0 && !late {
		// The offsets chunk ends before the trailer, or before the frame's end
		// if the trailer's length is not known yet.
		end := in.FrameLen - f.trailerLen
		most := min(max(n*usualOffset, defaultTail), f.o.Limits.MaxMeta)
		need = append(need, [2]int64{in.indexOff(), min(end, in.indexOff()+most)})
	}
	if err := k.fetch(ctx, need...); err != nil {
		return err
	}
	if f.trailerLen == 0 {
		b, _ := k.get(in.FrameLen-endLen, endLen)
		if err := f.setTrailer(b); err != nil {
			return err
		}
	}
	header, _ := k.get(0, in.HeaderLen)
	if f.layers, err = parseLayers("metalayers", bytes.Clone(header), fixedLen, maxMetalayers); err != nil {
		return err
	}
	f.keepTrailer(k)
	if late {
		return nil
	}
	if err := f.loadTable(ctx, k, n); err != nil {
		return err
	}
	return f.openIndex(ctx, k)
}

// keepTrailer keeps the trailer if k has it.
func (f *Frame) keepTrailer(k *known) {
	if b, ok := k.get(f.trailerOff, f.trailerLen); ok && f.trailer == nil && f.trailerLen > 0 {
		f.trailer = bytes.Clone(b)
	}
}

func (f *Frame) setTrailer(b []byte) (err error) {
	f.trailerLen, err = f.info.parseEnd(b)
	f.trailerOff = f.info.FrameLen - f.trailerLen
	return err
}

// loadTable decodes the offsets chunk. k has its first bytes; loadTable reads the rest if
// needed.
func (f *Frame) loadTable(ctx context.Context, k *known, n int64) error {
	in := &f.info
	if in.NBytes == 0 {
		return nil
	}
	off := in.indexOff()
	b, ok := k.get(off, min(f.trailerOff-off, blosc.HeaderLen2))
	if !ok {
		return corrupt("offsets", off, "no room before the trailer at %d", f.trailerOff)
	}
	h, err := blosc.ParseHeader(b)
	if err != nil {
		return wrap("offsets", off, err)
	}
	size := int64(h.CBytes)
	if size > f.trailerOff-off {
		return corrupt("offsets", off, "a chunk of %d bytes, the trailer begins after %d", size, f.trailerOff-off)
	}
	if err := checkMeta("offsets", size, f.o.Limits); err != nil {
		return err
	}
	if err := k.fetch(ctx, [2]int64{off, off + size}); err != nil {
		return err
	}
	b, _ = k.get(off, size)
	f.table, err = in.parseTable(b, n, f.o.Limits)
	if err == nil {
		sum := offsetsSum(b)
		f.heads.offsets.Store(&sum)
	}
	return err
}

// known holds bytes of the object that Open has read.
type known struct {
	r      rangeio.Reader
	pieces []rangeio.Span
}

// missing returns those parts of the ranges [from, to) that k does not hold yet.
func (k *known) missing(ranges ...[2]int64) []rangeio.Span {
	var spans []rangeio.Span
	for _, r := range ranges {
		for pos := r[0]; pos < r[1]; {
			end := r[1]
			skip := false
			for _, s := range slices.Concat(k.pieces, spans) {
				if s.Off <= pos && pos < s.End() {
					pos, skip = s.End(), true
					break
				}
				if s.Off > pos {
					end = min(end, s.Off)
				}
			}
			if skip {
				continue
			}
			spans = append(spans, rangeio.Span{Off: pos, P: make([]byte, end-pos)})
			pos = end
		}
	}
	return spans
}

// fetch reads those parts of the ranges [from, to) that k does not hold yet, in
// one planned read. If k holds all of them, it reads nothing.
func (k *known) fetch(ctx context.Context, ranges ...[2]int64) error {
	spans := k.missing(ranges...)
	if len(spans) == 0 {
		return nil
	}
	if err := k.r.ReadRanges(ctx, spans); err != nil {
		return wrap("index", spans[0].Off, err)
	}
	k.pieces = append(k.pieces, spans...)
	return nil
}

// get returns n bytes at off without a read. ok is false if k does not hold all
// of them. The result is a copy if the bytes are in several pieces.
func (k *known) get(off, n int64) (b []byte, ok bool) {
	var out []byte
	for pos, end := off, off+n; pos < end; {
		found := false
		for _, s := range k.pieces {
			if s.Off > pos || pos >= s.End() {
				continue
			}
			part := s.P[pos-s.Off : min(end, s.End())-s.Off]
			if int64(len(part)) == n {
				return part[:n:n], true
			}
			out = append(out, part...)
			pos += int64(len(part))
			found = true
			break
		}
		if !found {
			return nil, false
		}
	}
	return out, true
}

// wrap adds the part of the frame and the offset to err. errors.Is still finds
// err. An error that names a place already stays as it is.
func wrap(part string, off int64, err error) error {
	var e *formats.Error
	if errors.As(err, &e) && e.Format == Format {
		return err
	}
	return &formats.Error{Format: Format, Part: part, Off: off, Err: err}
}

// HeldBytes returns about how many bytes of memory the Frame keeps: offsets,
// metalayers, the trailer, the index with up to 4 MiB of its pages, and the sizes of
// chunks after they were looked up. It does not count the memory of Readers.
func (f *Frame) HeldBytes() int64 {
	const fixed = 1 << 10 // the structs
	t := &f.table
	if g := f.complete(); g != nil {
		t = &g.table
	}
	n := int64(fixed+cap(t.le)+cap(f.trailer)) + int64(cap(t.sorted))*offsetLen
	if len(f.layers) > 0 {
		n += f.info.HeaderLen
	}
	if offs := f.sizes.offs.Load(); offs != nil {
		n += int64(cap(*offs)) * offsetLen
	}
	if ix := f.heads.used(); ix != nil {
		n += ix.HeldBytes()
	}
	return n
}

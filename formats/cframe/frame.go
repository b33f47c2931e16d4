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
	// Limits are checked before anything is allocated: MaxMeta against header,
	// offsets and trailer, MaxEntries against the number of chunks, MaxDecoded
	// against a chunk.
	Limits formats.Limits
	// Parallel is how many goroutines decode at a time. 0 means GOMAXPROCS.
	Parallel int
	// Policy decides between reading a chunk whole and reading its block starts
	// first. Zero: that of the reader, if it has a method Policy as an
	// objstore.Object does, else rangeio.Fast. How requests are joined and cut
	// is the reader's own affair. For a local reader (rangeio.Local) Free and
	// MaxGap count as 8 KiB at most: to copy more costs more than a system call.
	Policy rangeio.Policy
	// Tail is how many bytes at the end Open reads beside the header. 0 means
	// 64 KiB, which hold the offsets of 20 000 chunks or more. An object
	// that was opened with as much of a tail has them already.
	Tail int64
	// Memory bounds the encoded bytes that one EachConcurrent holds, and with them the
	// requests in flight; less than 7 MiB counts as 7 MiB. 0 means 40 MiB, or, if
	// that is more, three quarters of the whole chunks that a call reads for a
	// caller that keeps them, up to 192 MiB: a scan into memory takes a little
	// more beside its result, and is as fast as its requests are many.
	Memory int64
}

const (
	defaultMemory = 40 << 20
	minMemory     = 7 << 20

	headLen     = 8 << 10  // more than the header of any usual frame
	defaultTail = 64 << 10 // 20 000 offsets of random distances, 58 000 of equal ones
	usualOffset = 4        // bytes of an encoded offset where chunks are not equal: more is one phase more
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

// A Frame is an open frame. It holds header, metalayers, the trailer if Open met
// it, and offsets: 8 bytes a chunk, up to 16 if chunks do not lie in order or
// some are not stored. It holds no data and needs no Close. All methods are safe
// for concurrent use; the Reader or Set stays in use as long as the Frame.
//
// What Frame holds belongs to the bytes that Open saw. A reader that is pinned
// to one version of an object, as objstore's are, makes sure that chunks are of
// the same version.
type Frame struct {
	r     rangeio.Reader // of the chunks of a contiguous frame
	set   formats.Set    // of the chunks of a sparse one
	index rangeio.Reader // of header, offsets and trailer
	o     Options
	info  Info
	dry   *pull.Plan // nil: chunks are read, and not only planned to be

	layers     []Metalayer
	table      table
	trailerOff int64
	trailerLen int64
	trailer    []byte // nil: not kept
	refused    error  // why data are not given

	blockShape []int // what some filters need to know
	sizes      *chunkStarts
}

// chunkStarts are the decoded offsets of chunks that vary, once they are known.
type chunkStarts struct {
	finding gate
	offs    atomic.Pointer[[]int64] // one more than chunks
}

func newChunkStarts() *chunkStarts { return &chunkStarts{finding: newGate()} }

// WithBlockShape returns a frame that decodes filters which depend on the shape
// of a block (NDCell, NDMean). The shape counts items and is copied; the format
// above knows it. Everything else is shared with f.
func (f *Frame) WithBlockShape(shape []int) *Frame {
	g := *f
	g.blockShape = slices.Clone(shape)
	return &g
}

// Open reads the index of a contiguous frame that begins at the first byte of r.
// Bytes after the frame are ignored. A frame inside another file is opened
// through rangeio.Section.
//
// Head and tail of r are one planned read, hence one phase, and none if r has
// kept them from its own opening. Header, offsets and the frame's end cost one
// phase more if they are not wholly in these bytes, as when the frame does not
// end with r, and offsets of more than 64 KiB and 4 bytes a chunk a third.
//
// Errors match those of package formats: ErrCorrupt if header, offsets or the
// trailer's frame break the format's rules, or if the frame is a sparse one;
// ErrUnsupported for versions of the format that are not known; ErrTooLarge if a
// limit is passed. Errors of r keep their identity.
func Open(ctx context.Context, r rangeio.Reader, o Options) (*Frame, error) {
	f := &Frame{r: r, index: r, o: o.withDefaults(r), sizes: newChunkStarts()}
	if err := f.open(ctx, false); err != nil {
		return nil, err
	}
	return f, nil
}

// Info says what the header holds.
func (f *Frame) Info() Info { return f.info }

// Limits are the limits of Options, with defaults filled in.
func (f *Frame) Limits() formats.Limits { return f.o.Limits }

// Chunks is the number of chunks.
func (f *Frame) Chunks() int { return f.table.n }

// Metalayers gives the metalayers of the header, in order. They must not be
// modified.
func (f *Frame) Metalayers() []Metalayer { return slices.Clone(f.layers) }

// Metalayer gives one metalayer of the header, which must not be modified.
func (f *Frame) Metalayer(name string) ([]byte, bool) {
	for _, m := range f.layers {
		if m.Name == name {
			return m.Data, true
		}
	}
	return nil, false
}

// ChunkInfo says where a chunk lies.
type ChunkInfo struct {
	// Off is the chunk's place in the object; of a sparse frame the number of
	// its object. It means nothing if Special is set.
	Off int64
	// MaxLen is the most that the chunk may take, 0 if Special is set: what lies
	// between it and the next may be longer than the chunk itself. -1 if only the
	// chunk tells.
	MaxLen int64
	// NBytes is its decoded length, -1 if only the chunk tells.
	NBytes int
	// Special is the kind of a chunk that is not stored at all. A stored chunk
	// may still be special by its own header.
	Special blosc.Special
}

// Chunk says where chunk i lies. It panics if there is none, as indexing does.
func (f *Frame) Chunk(i int) ChunkInfo {
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
		c.MaxLen = f.table.room(off)
		if most := f.longest(c.NBytes); most >= 0 {
			c.MaxLen = min(c.MaxLen, most)
		}
	}
	return c
}

// longest is the most bytes that a chunk of n decoded bytes can take, -1 if that
// is not known.
func (f *Frame) longest(n int) int64 {
	if n < 0 || f.info.VLBlocks {
		return -1
	}
	return int64(n) + overhead
}

// chunkLen is the decoded length of chunk i, -1 if only the chunk tells.
func (f *Frame) chunkLen(i int) int {
	if f.info.ChunkSize <= 0 {
		return -1
	}
	return int(min(int64(f.info.ChunkSize), f.info.NBytes-int64(i)*int64(f.info.ChunkSize)))
}

// Refused says why the data of the frame are not given although its index is
// well: nil, or an error that matches formats.ErrUnsupported and names what the
// frame is. Every read of data, and every plan, then returns that error.
func (f *Frame) Refused() error { return f.refused }

// refusals are metalayers of python-blosc2 that make the chunks something else
// than the data they seem to be.
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

// open fills f from f.index.
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

// load reads what is not known yet of header, offsets and the trailer's end.
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
	if in.NBytes > 0 {
		// The offsets chunk ends where the trailer begins, if that is known.
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
	if err := f.loadTable(ctx, k, n); err != nil {
		return err
	}
	if b, ok := k.get(f.trailerOff, f.trailerLen); ok {
		f.trailer = bytes.Clone(b)
	}
	return nil
}

func (f *Frame) setTrailer(b []byte) (err error) {
	f.trailerLen, err = f.info.parseEnd(b)
	f.trailerOff = f.info.FrameLen - f.trailerLen
	return err
}

// loadTable decodes the offsets chunk, whose first bytes are known.
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
	return err
}

// known is what has been read of an object.
type known struct {
	r      rangeio.Reader
	pieces []rangeio.Span
}

// fetch reads what is not known yet of some ranges [from, to): one planned read,
// or none.
func (k *known) fetch(ctx context.Context, ranges ...[2]int64) error {
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
	if len(spans) == 0 {
		return nil
	}
	if err := k.r.ReadRanges(ctx, spans); err != nil {
		return wrap("index", spans[0].Off, err)
	}
	k.pieces = append(k.pieces, spans...)
	return nil
}

// get gives n known bytes at off: a part of what was read, or a copy where they
// were read in pieces. ok is false where not all of them are known.
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

// wrap says where in a frame an error arose, whose identity stays.
func wrap(part string, off int64, err error) error {
	var e *formats.Error
	if errors.As(err, &e) && e.Format == Format {
		return err
	}
	return &formats.Error{Format: Format, Part: part, Off: off, Err: err}
}

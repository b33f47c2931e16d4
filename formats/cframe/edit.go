package cframe

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// EditOptions tune Edit. The zero value is right for most.
type EditOptions struct {
	// Encode is how new chunks are made; a TypeSize of 0 is that of the frame.
	// Nil: as the header says, which is how the frame was begun.
	Encode *blosc.EncodeOptions
	// Vary is WriteOptions.Vary.
	Vary bool
	// ChunkSize, when not 0, is the size of chunks for a frame that has no chunks
	// and whose header leaves their size open. It is ignored for others.
	ChunkSize int
	// Limits are those of Options.
	Limits formats.Limits
}

// An Editor changes a contiguous frame in a local file. Readers see the changes
// after Commit, all of them or none.
//
// New bytes always go behind the end of the file: first chunks, then, by Commit,
// the offsets and the trailer, and last the header in one write, which makes them
// the frame. Until then the file is the old frame with bytes behind it, which
// readers ignore; and a frame that somebody has open stays readable, as no byte
// that it names is written again. The price is that what a commit replaces (the
// old offsets and trailer, chunks updated or deleted) stays as dead bytes: several
// changes for one Commit cost less than a Commit for each, and Compact makes a
// frame without dead bytes.
//
// What is not safe: a crash while the header itself is written, if the disk
// writes half of it. It takes one sector, unless a metalayer changed and
// metalayers are long. Frames without chunks are special, see Commit.
//
// An Editor is for one goroutine, and for one process at a time: it takes no lock.
// It holds header, metalayers and offsets, and no chunks. After a failed write or
// Commit every later call returns that error, and the file is as it was after the
// last Commit, with bytes behind it that Abort cuts off. Other errors (ErrRefused,
// ErrNoEntry, ErrTooLarge, a chunk that cannot be read or encoded) leave the Editor
// as it was. After Close or Abort every call returns an error.
type Editor struct {
	f       formats.File
	o       EditOptions
	encode  blosc.EncodeOptions
	in      Info
	block   int // Info.BlockSize as changed
	header  []byte
	metas   []Metalayer // their Data are parts of header
	vl      []Metalayer // their Data are chunks
	offs    []int64
	oldOffs []int64     // as committed
	oldVL   []Metalayer // likewise
	sizes   sizeRule
	kind    blocksKind
	end     int64 // of the file: where the next byte goes
	own     int64 // the length of the frame when it was opened
	foreign bool  // and the file was longer
	kept    int64 // what Abort leaves
	changed bool
	meta    bool // a metalayer of the header changed
	err     error
}

// Edit opens the frame that begins at the first byte of f. Bytes behind the
// frame, most often the remains of a crash, are not overwritten: with the first
// commit they become dead bytes inside the frame. If another frame lies there
// Edit is ErrRefused. Other errors are those of Open.
//
// If f is a formats.Syncer, as files are, it is synced before and after the header
// is written. The length of f comes from its method Size or Stat; if it has
// neither, single bytes are read to find its end. ctx is for Edit alone.
func Edit(ctx context.Context, f formats.File, o EditOptions) (*Editor, error) {
	size, err := sizeOf(f)
	if err != nil {
		return nil, err
	}
	r := rangeio.FromReaderAt(f, size)
	frame, err := Open(ctx, r, Options{Limits: o.Limits, Parallel: 1})
	if err != nil {
		return nil, err
	}
	o.Limits = o.Limits.WithDefaults()
	e := &Editor{f: f, o: o, in: frame.info, end: size, kept: size, own: frame.info.FrameLen, foreign: size > frame.info.FrameLen}
	if e.foreign {
		b := make([]byte, min(size-e.own, int64(len(magic))))
		if err := readAt(f, b, e.own); err != nil {
			return nil, err
		}
		if Sniff(b) {
			return nil, refuse("file", "another frame lies behind this one")
		}
	}
	trailer, err := frame.readTrailer(ctx)
	if err != nil {
		return nil, err
	}
	if e.vl, err = parseTrailer(bytes.Clone(trailer), frame.trailerOff); err != nil {
		return nil, err
	}
	e.header = make([]byte, e.in.HeaderLen)
	if err := readAt(f, e.header, 0); err != nil {
		return nil, err
	}
	if e.metas, err = parseLayers("metalayers", e.header, fixedLen, maxMetalayers); err != nil {
		return nil, err
	}
	e.offs = make([]int64, frame.table.n)
	for i := range e.offs {
		e.offs[i] = frame.table.at(i)
	}
	e.oldOffs, e.oldVL = slices.Clone(e.offs), e.vl
	return e, e.begin()
}

// begin fills what follows from the header and the first chunk.
func (e *Editor) begin() error {
	e.sizes = sizeRule{chunk: e.in.ChunkSize, n: len(e.offs), nbytes: e.in.NBytes, mayVary: e.o.Vary || e.in.ChunkSize == 0}
	e.block = e.in.BlockSize
	e.encode = e.in.encodeOptions()
	if e.o.Encode != nil {
		e.encode = *e.o.Encode
	}
	if e.encode.TypeSize == 0 {
		e.encode.TypeSize = e.in.TypeSize
	}
	if len(e.offs) == 0 {
		if e.o.ChunkSize > 0 && e.in.ChunkSize <= 0 {
			return e.SetSizes(e.o.ChunkSize, e.in.BlockSize)
		}
		return nil
	}
	e.kind = kindPlain
	if specialOf(e.offs[0]) == blosc.None {
		h, err := e.head(0)
		if err != nil {
			return err
		}
		if h.VL {
			e.kind = kindVL
		}
	}
	return nil
}

// encodeOptions are what a header says about new chunks.
func (in *Info) encodeOptions() blosc.EncodeOptions {
	o := blosc.EncodeOptions{Codec: in.Codec, CodecMeta: in.CodecMeta, Level: in.Level, TypeSize: in.TypeSize,
		Filters: in.Filters[:], BlockSize: in.BlockSize, Split: in.SplitMode, Dict: in.UseDict}
	if in.Level == 0 {
		o.Level = blosc.LevelStore
	}
	return o
}

// SetSizes says how many decoded bytes chunks and blocks will have in a frame that
// has no chunks now, else it is ErrRefused; block 0: not fixed. The header says so
// with the next change that is committed. If EditOptions.Encode is given, chunks
// are still encoded with its BlockSize.
func (e *Editor) SetSizes(chunk, block int) error {
	switch {
	case e.err != nil:
		return e.err
	case len(e.offs) > 0:
		return refuse("header", "other sizes for a frame of %d chunks", len(e.offs))
	}
	o := WriteOptions{TypeSize: e.in.TypeSize, ChunkSize: chunk, BlockSize: block}
	if err := o.check(); err != nil {
		return err
	}
	if chunk <= 0 {
		return refuse("header", "chunks of %d bytes", chunk)
	}
	e.sizes.chunk, e.sizes.mayVary, e.block = chunk, e.o.Vary, block
	if e.o.Encode == nil {
		e.encode.BlockSize = block
	}
	return nil
}

func readAt(f formats.File, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF { //nolint:errorlint // ReaderAt gives io.EOF as it is
		err = io.ErrUnexpectedEOF
	}
	return wrap("file", off, err)
}

// Chunks is the number of chunks, as changed.
func (e *Editor) Chunks() int { return len(e.offs) }

// Info is the header; sizes and lengths as of the last Commit.
func (e *Editor) Info() Info { return e.in }

// Metalayers gives the metalayers of the header, as changed. They must not be
// modified.
func (e *Editor) Metalayers() []Metalayer { return slices.Clone(e.metas) }

// head reads the header of the stored chunk i.
func (e *Editor) head(i int) (blosc.Header, error) { return e.headAt(i, e.offs[i]) }

func (e *Editor) headAt(i int, off int64) (blosc.Header, error) {
	var b [blosc.HeaderLen2]byte
	off += e.in.HeaderLen
	if err := readAt(e.f, b[:], off); err != nil {
		return blosc.Header{}, err
	}
	h, err := blosc.ParseHeader(b[:])
	if err != nil {
		return h, wrap(partOf(i), off, err)
	}
	if int64(h.CBytes) > e.end-off {
		return h, corrupt(partOf(i), off, "a chunk of %d bytes in a file of %d", h.CBytes, e.end)
	}
	return h, nil
}

func (e *Editor) check(i, n int) error {
	if e.err == nil && (i < 0 || i >= n) {
		return fail(partOf(i), -1, formats.ErrNoEntry, "of %d", len(e.offs))
	}
	return e.err
}

// sizeAt is the decoded length of chunk i.
func (e *Editor) sizeAt(i int) (int, error) {
	if !e.sizes.varies() {
		return e.sizes.at(i), nil
	}
	h, err := e.head(i)
	return h.NBytes, err
}

// AppendStored appends chunk i to dst, encoded as it is stored; if the frame has no
// more than an offset of it, that is a special chunk. It sees changes that are not
// committed.
func (e *Editor) AppendStored(dst []byte, i int) ([]byte, error) {
	if err := e.check(i, len(e.offs)); err != nil {
		return dst, err
	}
	if kind := specialOf(e.offs[i]); kind != blosc.None {
		chunk, err := specialChunk(i, kind, e.sizes.at(i), e.in.TypeSize, e.block)
		return append(dst, chunk...), err
	}
	return e.appendAt(dst, i, e.offs[i])
}

// appendAt appends chunk i, which is stored at the given offset.
func (e *Editor) appendAt(dst []byte, i int, off int64) ([]byte, error) {
	h, err := e.headAt(i, off)
	if err != nil {
		return dst, err
	}
	at := len(dst)
	dst = slices.Grow(dst, h.CBytes)[:at+h.CBytes]
	return dst, readAt(e.f, dst[at:], e.in.HeaderLen+off)
}

// Extend encodes p as a new last chunk.
func (e *Editor) Extend(p []byte) error { return e.Insert(len(e.offs), p) }

// ExtendEncoded appends a chunk that is encoded already, see Writer.WriteEncoded.
func (e *Editor) ExtendEncoded(chunk []byte) error { return e.InsertEncoded(len(e.offs), chunk) }

// ExtendSpecial appends a chunk without content, see Writer.WriteSpecial.
func (e *Editor) ExtendSpecial(kind blosc.Special, size int) error {
	return e.InsertSpecial(len(e.offs), kind, size)
}

// Insert encodes p, which it does not keep, as a new chunk before chunk i, or as
// the last if i is Chunks(). A size that the frame cannot have is ErrRefused, as
// WriteOptions.Vary says, here and in all methods that change chunks.
func (e *Editor) Insert(i int, p []byte) error {
	return e.make(i, len(e.offs)+1, p, e.InsertEncoded)
}

// Update encodes p in place of chunk i.
func (e *Editor) Update(i int, p []byte) error {
	return e.make(i, len(e.offs), p, e.UpdateEncoded)
}

// make encodes p for f.
func (e *Editor) make(i, n int, p []byte, f func(int, []byte) error) error {
	if err := e.check(i, n); err != nil {
		return err
	}
	if err := checkSize(len(p)); err != nil {
		return err
	}
	chunk, err := blosc.AppendEncoded(nil, p, e.encode)
	if err != nil {
		return wrap(partOf(i), -1, err)
	}
	return f(i, chunk)
}

// InsertSpecial inserts a chunk without content, see Writer.WriteSpecial.
func (e *Editor) InsertSpecial(i int, kind blosc.Special, size int) error {
	chunk, err := specialChunk(i, kind, size, e.in.TypeSize, e.block)
	if err != nil {
		return err
	}
	return e.InsertEncoded(i, chunk)
}

// UpdateSpecial puts a chunk without content in place of chunk i.
func (e *Editor) UpdateSpecial(i int, kind blosc.Special, size int) error {
	chunk, err := specialChunk(i, kind, size, e.in.TypeSize, e.block)
	if err != nil {
		return err
	}
	return e.UpdateEncoded(i, chunk)
}

// InsertEncoded inserts a chunk that is encoded already, see Writer.WriteEncoded.
func (e *Editor) InsertEncoded(i int, chunk []byte) error {
	if err := e.check(i, len(e.offs)+1); err != nil {
		return err
	}
	if int64(len(e.offs)) >= e.o.Limits.MaxEntries {
		return tooLarge("chunks", -1, "more than %d", len(e.offs))
	}
	h, err := checkEncoded(i, chunk)
	if err != nil {
		return err
	}
	before, kind := e.sizes, e.kind
	if err := e.kind.admit(i, h.VL); err != nil {
		return err
	}
	if err := e.sizes.insert(i, h.NBytes); err != nil {
		e.kind = kind
		return err
	}
	off, err := e.put(&h, chunk, before)
	if err != nil {
		return err
	}
	e.offs = slices.Insert(e.offs, i, off)
	return nil
}

// UpdateEncoded puts a chunk that is encoded already in place of chunk i, see
// Writer.WriteEncoded.
func (e *Editor) UpdateEncoded(i int, chunk []byte) error {
	if err := e.check(i, len(e.offs)); err != nil {
		return err
	}
	h, err := checkEncoded(i, chunk)
	if err != nil {
		return err
	}
	old, err := e.sizeAt(i)
	if err != nil {
		return err
	}
	before, kind := e.sizes, e.kind
	if len(e.offs) == 1 {
		e.kind = kindOpen
	}
	if err := e.kind.admit(i, h.VL); err != nil {
		e.kind = kind
		return err
	}
	if err := e.sizes.replace(i, old, h.NBytes); err != nil {
		e.kind = kind
		return err
	}
	off, err := e.put(&h, chunk, before)
	if err != nil {
		return err
	}
	e.offs[i] = off
	return nil
}

// put stores a chunk that is entered in e.sizes, and those that were known by
// an offset alone when it makes sizes vary.
func (e *Editor) put(h *blosc.Header, chunk []byte, before sizeRule) (int64, error) {
	e.changed = true
	if e.sizes.varies() && !before.varies() {
		for i, off := range e.offs {
			kind := specialOf(off)
			if kind == blosc.None {
				continue
			}
			stored, err := specialChunk(i, kind, before.at(i), e.in.TypeSize, e.block)
			if err != nil {
				return 0, e.fail(err)
			}
			if stored, err = plainChunk(stored, e.o.Limits.MaxDecoded); err != nil {
				return 0, e.fail(err)
			}
			if e.offs[i], err = e.write(i, stored); err != nil {
				return 0, err
			}
		}
	}
	if !e.sizes.varies() {
		if off, ok := asOffset(h, e.in.TypeSize); ok {
			return off, nil
		}
	}
	stored, err := asStored(h, chunk, e.sizes.varies(), e.o.Limits.MaxDecoded)
	if err != nil {
		return 0, e.fail(err)
	}
	return e.write(len(e.offs), stored)
}

// write puts a chunk behind the end of the file.
func (e *Editor) write(i int, chunk []byte) (int64, error) {
	off := e.end
	if off > math.MaxInt64/4 {
		return 0, e.fail(tooLarge(partOf(i), off, "a frame too long"))
	}
	if _, err := e.f.WriteAt(chunk, off); err != nil {
		return 0, e.fail(wrap(partOf(i), off, err))
	}
	e.end += int64(len(chunk))
	return off - e.in.HeaderLen, nil
}

func (e *Editor) fail(err error) error {
	if e.err == nil {
		e.err = err
	}
	return err
}

// Delete removes chunk i; its bytes stay in the file as dead ones.
func (e *Editor) Delete(i int) error {
	if err := e.check(i, len(e.offs)); err != nil {
		return err
	}
	old, err := e.sizeAt(i)
	if err != nil {
		return err
	}
	e.sizes.remove(old)
	e.offs = slices.Delete(e.offs, i, i+1)
	if len(e.offs) == 0 {
		e.kind = kindOpen
	}
	e.changed = true
	return nil
}

// Reorder makes chunk order[i] the new chunk i. If order does not hold every
// number once, or if it moves a last chunk that is shorter than the others, it is
// ErrRefused.
func (e *Editor) Reorder(order []int) error {
	if e.err != nil {
		return e.err
	}
	if len(order) != len(e.offs) {
		return refuse("chunks", "an order of %d for %d", len(order), len(e.offs))
	}
	offs := make([]int64, len(order))
	seen := make([]bool, len(order))
	for i, k := range order {
		if k < 0 || k >= len(order) || seen[k] {
			return refuse(partOf(i), "order %d", k)
		}
		seen[k], offs[i] = true, e.offs[k]
	}
	n := len(order)
	if n > 0 && !e.sizes.varies() && order[n-1] != n-1 && e.sizes.last() != e.sizes.chunk {
		return refuse("chunks", "the last is shorter than the others and must stay the last")
	}
	e.offs, e.changed = offs, true
	return nil
}

// Close commits. The caller closes the file.
func (e *Editor) Close() error {
	if err := e.Commit(); err != nil {
		return err
	}
	e.err = errClosed
	return nil
}

// Abort gives up what was not committed and cuts its bytes off the file. It is
// harmless after Close.
func (e *Editor) Abort() error {
	if e.err == errClosed { //nolint:errorlint // our own, never wrapped
		return nil
	}
	e.err = errClosed
	size, err := sizeOf(e.f)
	if err != nil || size <= e.kept {
		return err
	}
	if err := e.f.Truncate(e.kept); err != nil {
		return fmt.Errorf("%s: %w", Format, err)
	}
	return nil
}

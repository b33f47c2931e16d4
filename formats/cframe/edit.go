package cframe

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// EditOptions tune Edit. The zero value is right for most.
type EditOptions struct {
	// Encode says how to encode new chunks. Nil means as the header says, with
	// the options that the frame was begun with. If Encode.TypeSize is 0, the
	// frame's type size is used.
	Encode *blosc.EncodeOptions
	// Vary is as WriteOptions.Vary.
	Vary bool
	// Index says whether commits make an index inside a frame that has none. A frame that has
	// one inside, of use or not, gets a new one anyway.
	Index IndexChoice
	// Sidecar names the index beside a frame that has none inside of use, as Frame.Sidecar
	// does. Edit calls it. The first commit, which makes that index stale, makes one inside of
	// it, statistics and all, and reads no chunk that stays for it. Its reads must not fail.
	Sidecar func(ctx context.Context) (r rangeio.Reader, etag string, err error)
	// ChunkSize is the decoded size of chunks, for a frame that has no chunks and
	// whose header does not tell their size. It is ignored if it is 0, and for
	// other frames.
	ChunkSize int
	// Draft says that nobody reads the file before the last Commit, as with a draft.File of
	// an object, and that it is dropped after an error. Then the first Commit writes over
	// the bytes behind the last chunk that stays, and cuts the file off behind the new ones.
	// So appends leave no dead bytes, as long as chunks that they fill up are the last of the
	// file. Abort does not restore such a file.
	Draft bool
	// Limits are as in Options.
	Limits formats.Limits
}

// An Editor changes a contiguous frame in a local file. Readers see the changes
// after Commit, all or none.
//
// New bytes go behind the end of the file: first chunks; then, in Commit, offsets
// and trailer. At last Commit writes the header, in one write, which makes the new
// bytes a part of the frame. Until then the file is the old frame with bytes behind
// it, which readers ignore. A frame that somebody has open stays readable, since no
// byte that its header names is overwritten. The price: bytes that a commit
// replaces (the old offsets and trailer, chunks that were updated or deleted) stay
// in the file as dead bytes. So several changes with one Commit cost less than a
// Commit for each. Compact makes a frame without dead bytes.
//
// One case is not safe: the machine crashes while the header is written, and the
// disk writes half of it. The write is within one sector, unless metalayers are
// long and one of them changed. Frames without chunks are a special case, see
// Commit.
//
// An Editor is for one goroutine. It takes no lock: only one process may edit a
// file at a time. It holds header, metalayers, offsets and the index in memory, and no
// chunks.
//
// An index inside the frame is made anew by each Commit. One that others have made stale
// costs the first Commit two reads a chunk. It is dropped once dead bytes, old indexes among
// them, are a quarter of the chunks. Statistics go with the first Commit unless KeepStats
// was called.
//
// After a failed write or Commit every later call returns that error. The file then
// has the state of the last Commit, and extra bytes at its end that Abort cuts off.
// Other errors (ErrRefused, ErrNoEntry, ErrTooLarge, a chunk that cannot be read or
// encoded) leave the Editor as it was. After Close or Abort every call returns an
// error.
type Editor struct {
	f        formats.File
	o        EditOptions
	encode   blosc.EncodeOptions
	in       Info
	block    int // Info.BlockSize after the changes
	header   []byte
	metas    []Metalayer // their Data alias header
	vl       []Metalayer // their Data are encoded chunks
	offs     []int64
	oldOffs  []int64     // last committed offsets
	oldVL    []Metalayer // last committed vlmetalayers
	index    *editIndex  // nil: a commit leaves no index in the frame
	indexed  bool        // the last commit left one
	summer   Summer      // nil: commits keep no statistics
	allStats bool        // commits make statistics that are missing
	sizes    sizeRule
	kind     blocksKind
	end      int64 // end of the file: the next bytes go there
	own      int64 // length of the frame when Edit opened it
	foreign  bool  // the file was longer than that
	fresh    int64 // of a draft: where bytes that were written since the last commit begin
	kept     int64 // length of the file after Abort
	changed  bool
	meta     bool // a metalayer of the header changed
	err      error
}

// Edit opens the frame that begins at the first byte of f. Bytes behind the frame,
// usually the remains of a crash, are not overwritten: with the first commit they
// become dead bytes of the frame. If another frame begins there, Edit returns
// ErrRefused. Other errors are as from Open.
//
// If f is a formats.Syncer, as *os.File is, it is synced before and after the
// header is written. Edit gets the length of f from its method Size or Stat; if f
// has neither, Edit reads single bytes to find the end. ctx is for Edit alone.
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
	if o.Sidecar != nil {
		frame.Sidecar(o.Sidecar)
		if err := frame.OpenSidecar(ctx); err != nil {
			return nil, err
		}
	}
	if frame, err = frame.whole(ctx); err != nil {
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
	var stale *Metalayer
	if i := slices.IndexFunc(e.vl, func(m Metalayer) bool { return m.Name == IndexLayer }); i >= 0 {
		m := e.vl[i]
		stale = &m
	}
	e.vl = withoutIndex(e.vl)
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
	if err := e.startIndex(ctx, frame, stale); err != nil {
		return nil, err
	}
	if o.Draft && !e.foreign {
		if e.end, err = e.endBelow(size); err != nil {
			return nil, err
		}
		e.fresh = e.end
	}
	return e, e.begin()
}

// begin sets the fields that follow from the header and the first chunk.
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

// encodeOptions returns the options that the header has for new chunks.
func (in *Info) encodeOptions() blosc.EncodeOptions {
	o := blosc.EncodeOptions{Codec: in.Codec, CodecMeta: in.CodecMeta, Level: in.Level, TypeSize: in.TypeSize,
		Filters: in.Filters[:], BlockSize: in.BlockSize, Split: in.SplitMode, Dict: in.UseDict}
	if in.Level == 0 {
		o.Level = blosc.LevelStore
	}
	return o
}

// SetSizes sets the decoded sizes of chunks and blocks of a frame without chunks;
// block 0 means that the block size is not fixed. It returns ErrRefused if the
// frame has chunks. The next Commit of a change writes the sizes to the header. If
// EditOptions.Encode is set, chunks are still encoded with its BlockSize.
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

// Chunks returns the number of chunks with all changes.
func (e *Editor) Chunks() int { return len(e.offs) }

// Info returns the header. Its sizes and lengths are of the last Commit.
func (e *Editor) Info() Info { return e.in }

// Metalayers returns the metalayers of the header with all changes. Do not
// change their Data.
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

// sizeAt returns the decoded length of chunk i.
func (e *Editor) sizeAt(i int) (int, error) {
	if !e.sizes.varies() {
		return e.sizes.at(i), nil
	}
	h, err := e.head(i)
	return h.NBytes, err
}

// AppendStored appends the encoded chunk i to dst, also if it is not committed yet.
// For a special chunk without bytes in the frame it appends an equivalent special
// chunk.
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

// appendAt appends the encoded chunk i, which is at the given offset, to dst.
func (e *Editor) appendAt(dst []byte, i int, off int64) ([]byte, error) {
	h, err := e.headAt(i, off)
	if err != nil {
		return dst, err
	}
	at := len(dst)
	dst = slices.Grow(dst, h.CBytes)[:at+h.CBytes]
	return dst, readAt(e.f, dst[at:], e.in.HeaderLen+off)
}

func (e *Editor) fail(err error) error {
	if e.err == nil {
		e.err = err
	}
	return err
}

// Close commits. The caller closes the file.
func (e *Editor) Close() error {
	if err := e.Commit(); err != nil {
		return err
	}
	e.err = errClosed
	return nil
}

// Abort drops changes that were not committed and cuts their bytes off the
// file. It does nothing after Close.
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

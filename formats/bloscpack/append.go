package bloscpack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// EditOptions tune Edit. The zero value is right for most.
type EditOptions struct {
	// Encode says how to encode new chunks, as in WriteOptions. Nil means the
	// codec and the filter of the last chunk, at the default level.
	// Encode.TypeSize is ignored: the file's type size is used.
	Encode *blosc.EncodeOptions
	Limits formats.Limits // limits as in Options
}

// An Editor changes a file in place. It appends to files of version 3, as long as their
// table has spare entries. It replaces the metadata if the new metadata fit into the
// room of the old ones. The result has the layout that the Python tool makes: the last
// chunk is filled up in its place, and new chunks follow it without a gap.
//
// The Editor first marks the file as unfinished: it writes a header with an unknown
// number of chunks. It writes the true header last. If the process stops in between,
// File.Aborted tells so, and Salvage finds all chunks that the file had: an old chunk is
// overwritten only after the table points to a copy of it at the end of the file. One
// case is not safe: the machine crashes while the header is written, and the disk writes
// half of a sector.
//
// An Editor has no Commit, unlike the editors of cframe and b2nd: it changes chunks and
// table in place, and keeps in memory what Abort needs. So one Editor makes one set of
// changes, which Close makes valid. Call Edit again for more changes.
//
// An Editor is for one goroutine. It takes no lock: only one process may edit a file at
// a time. ErrRefused, and ErrTooLarge from SetMetadata, leave the Editor as it was.
// After any other error every later call returns that error, except Abort, which
// restores the file. Call Abort if you do not call Close.
type Editor struct {
	f      formats.File
	h      Header // the file's header
	mh     MetaHeader
	table  int64 // offset of the table in the file
	encode blosc.EncodeOptions

	size    int64  // length of the file before any change
	lastOff int64  // offset of the last chunk
	lastLen int64  // length of the last chunk with its digest
	noGrow  error  // why nothing can be appended
	full    int64  // decoded length of a full chunk
	i       int64  // number of the chunk that Extend fills
	part    []byte // decoded bytes of that chunk so far
	grown   bool   // part has bytes that the file lacks
	refill  []byte // new bytes of the last old chunk, with their digest
	end     int64  // offset for the next new chunk
	offs    []int64

	meta   *metaSection // new metadata, nil: unchanged
	undo   []undo
	marked bool
	err    error
}

// undo holds the old bytes of a part of the file that was overwritten.
type undo struct {
	off int64
	old []byte
}

// Edit opens the file f of size bytes for changes. It fails with ErrCorrupt if
// the file is aborted or its last chunk is damaged, and with ErrRefused if no
// chunk can be encoded with o.Encode. Edit also opens a file that cannot grow;
// then Extend returns the reason. If f is a formats.Syncer, as *os.File is, the
// Editor syncs it between writes whose order matters.
func Edit(ctx context.Context, f formats.File, size int64, o EditOptions) (*Editor, error) {
	bf, err := Open(ctx, rangeio.FromReaderAt(f, size), Options{Limits: o.Limits, Parallel: 1})
	if err != nil {
		return nil, err
	}
	if err := bf.notAborted(); err != nil {
		return nil, err
	}
	e := &Editor{f: f, h: bf.h, mh: bf.mh, table: bf.t.off, size: size, full: bf.h.ChunkSize}
	h := &e.h
	switch {
	case h.Version != Version3:
		e.noGrow = refuse("header", "only files of version 3 have room for more, this is version %d", h.Version)
	case !h.Offsets:
		e.noGrow = refuse("offsets", "a file without offsets takes no more chunks")
	case h.Chunks == 0 || h.ChunkSize < 0 || h.LastChunk < 0:
		e.noGrow = refuse("header", "%d chunks of %d and %d bytes", h.Chunks, h.ChunkSize, h.LastChunk)
	default:
		err = e.begin(ctx, bf, o)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// begin reads the last chunk, so that Extend can fill it up. It sets noGrow if
// the file cannot grow.
func (e *Editor) begin(ctx context.Context, f *File, o EditOptions) error {
	if err := e.findLast(ctx, f); err != nil || e.noGrow != nil {
		return err
	}
	part := e.h.Part(e.h.Chunks - 1)
	last := place{i: e.h.Chunks - 1, off: e.lastOff}
	if ok, err := f.afterOther(ctx, last); err != nil || !ok {
		if err == nil {
			e.noGrow = refuse("offsets", "%s lies at %d, where the one before it does not end", part, e.lastOff)
		}
		return err
	}
	b := make([]byte, min(blosc.HeaderLen2, e.size-e.lastOff))
	if err := readAt(e.f, b, e.lastOff); err != nil {
		return wrap(part, e.lastOff, err)
	}
	h, err := blosc.ParseHeader(b)
	if err != nil {
		return wrap(part, e.lastOff, err)
	}
	e.lastLen = int64(h.CBytes) + int64(e.h.Checksum.Size())
	e.end = e.lastOff + e.lastLen
	e.i = e.h.Chunks - 1
	if e.part, err = f.AppendItem(ctx, nil, e.i); err != nil {
		return err
	}
	if e.full == 0 { // an empty file
		e.full = max(DefaultChunkSize-DefaultChunkSize%int64(max(e.h.TypeSize, 1)), 1)
	}
	if int64(len(e.part)) >= e.full {
		e.part, e.i = e.part[:0], e.h.Chunks
	}
	if e.encode.Codec = h.Codec; h.Codec == blosc.Snappy {
		e.encode.Codec = blosc.BloscLZ
	}
	e.encode.Filters = []blosc.Filter{}
	for _, flt := range h.Filters {
		if flt.ID == blosc.Shuffle || flt.ID == blosc.BitShuffle {
			e.encode.Filters = []blosc.Filter{{ID: flt.ID}}
		}
	}
	if o.Encode != nil {
		e.encode = *o.Encode
	}
	e.encode.Blosc1, e.encode.TypeSize = true, max(e.h.TypeSize, 1)
	if _, err := blosc.AppendEncoded(nil, nil, e.encode); err != nil {
		return fmt.Errorf("%s: %w: %w", Format, ErrRefused, err)
	}
	return nil
}

// findLast sets lastOff. It sets noGrow if the table's offsets do not ascend: a
// chunk could then lie behind the last one, and an append would overwrite it.
func (e *Editor) findLast(ctx context.Context, f *File) error {
	last := f.body - 1
	for i := int64(0); i < e.h.Chunks; {
		n := min(e.h.Chunks-i, 64*pageEntries)
		list, err := f.t.read(ctx, i, i+n)
		if err != nil {
			return err
		}
		for k, off := range list {
			if off <= last || off >= e.size {
				e.noGrow = refuse("offsets", "chunk %d lies at %d, the one before it at %d", i+int64(k), off, last)
				return nil
			}
			last = off
		}
		i += n
	}
	e.lastOff = last
	return nil
}

func readAt(f io.ReaderAt, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Header returns the file's header before the changes, or the new one after
// Close.
func (e *Editor) Header() Header { return e.h }

// Extend appends p to the decoded bytes of the file. It does not keep p. If p
// needs more chunks than the table has spare entries for, Extend takes nothing and
// returns ErrRefused. The Editor holds at most two chunks in memory.
func (e *Editor) Extend(p []byte) error {
	switch {
	case e.err != nil:
		return e.err
	case len(p) == 0:
		return nil
	case e.noGrow != nil:
		return e.noGrow
	}
	chunks := e.i + (int64(len(e.part))+int64(len(p))+e.full-1)/e.full
	if more := chunks - e.h.Chunks; more > e.h.MaxAppend {
		return refuse("offsets", "%d more chunks, there is room for %d", more, e.h.MaxAppend)
	}
	for len(p) > 0 {
		n := min(e.full-int64(len(e.part)), int64(len(p)))
		e.part, e.grown = append(e.part, p[:n]...), true
		p = p[n:]
		if int64(len(e.part)) < e.full {
			break
		}
		if err := e.emit(false); err != nil {
			return e.fail(err)
		}
	}
	return nil
}

// emit encodes the chunk that Extend fills. A new chunk is written at once. The
// last old chunk is kept in refill: replaceLast writes it later.
func (e *Editor) emit(last bool) error {
	rec, err := e.record(e.encode)
	if err != nil {
		return err
	}
	if e.i < e.h.Chunks {
		// New chunks follow at e.end. They must not overwrite the old chunk,
		// which has to stay readable until Close.
		if !last && int64(len(rec)) < e.lastLen {
			o := e.encode
			o.Level = blosc.LevelStore
			if rec, err = e.record(o); err != nil {
				return err
			}
			if int64(len(rec)) < e.lastLen {
				return unsupported(e.h.Part(e.i), e.lastOff, "a chunk of %d bytes that hold fewer", e.lastLen)
			}
		}
		e.refill, e.end = rec, e.lastOff+int64(len(rec))
	} else {
		if err := e.mark(); err != nil {
			return err
		}
		if _, err := e.f.WriteAt(rec, e.end); err != nil {
			return wrap(e.h.Part(e.i), e.end, err)
		}
		e.offs = append(e.offs, e.end)
		e.end += int64(len(rec))
	}
	if !last {
		e.i, e.part, e.grown = e.i+1, e.part[:0], false
	}
	return nil
}

func (e *Editor) record(o blosc.EncodeOptions) ([]byte, error) {
	rec, err := blosc.AppendEncoded(make([]byte, 0, len(e.part)+len(e.part)/32+chunkSlack), e.part, o)
	if err != nil {
		return nil, err
	}
	return e.h.Checksum.AppendSum(rec, rec), nil
}

// SetMetadata replaces the metadata within the room of the present ones; v is
// as WriteOptions.Metadata. It returns ErrRefused if the new metadata are too
// long (version 4 has no spare room), if the file has no metadata, or if v is
// none. Close writes them.
func (e *Editor) SetMetadata(v any) error {
	if e.err != nil {
		return e.err
	}
	if !e.h.Meta {
		return refuse("metadata", "no room, the file has none")
	}
	room := e.h.MetaSize
	o := MetaOptions{}
	if e.h.Version == Version3 {
		room, o.Checksum = e.mh.Room, e.mh.Checksum
	}
	m, err := newMeta(v, e.h.Version, o, room)
	if err != nil {
		return err
	}
	switch need := max(m.head.Stored, m.head.Room); {
	case m.version == 0:
		return refuse("metadata", "none in place of some")
	case e.h.Version == Version3 && need > room:
		return refuse("metadata", "%d bytes in room for %d", need, room)
	case e.h.Version == Version4 && m.len() > room:
		return refuse("metadata", "%d bytes in place of %d", m.len(), room)
	}
	if e.h.Version == Version4 {
		m.pad(room)
	}
	e.meta = &m
	return nil
}

// Close writes the rest and makes the changes valid. If Close fails, Abort can
// still undo them. The caller closes the file.
func (e *Editor) Close() error {
	if e.err != nil {
		return e.err
	}
	if err := e.commit(); err != nil {
		return e.fail(err)
	}
	e.err = errClosed
	return nil
}

func (e *Editor) commit() error {
	if e.grown {
		if err := e.emit(true); err != nil {
			return err
		}
	}
	grown := e.refill != nil || len(e.offs) > 0
	if !grown && e.meta == nil {
		return nil
	}
	if err := e.mark(); err != nil {
		return err
	}
	h := e.h
	if grown {
		if err := e.grow(&h); err != nil {
			return err
		}
	}
	if e.meta != nil {
		if err := e.overwrite("metadata", e.meta.append(nil), HeaderLen); err != nil {
			return err
		}
	}
	if err := e.sync(); err != nil {
		return err
	}
	b, err := h.AppendBinary(nil)
	if err == nil {
		_, err = e.f.WriteAt(b, 0)
	}
	if err != nil {
		return wrap("header", 0, err)
	}
	if err := e.sync(); err != nil {
		return err
	}
	e.h, e.undo = h, nil
	if !grown {
		return nil
	}
	// The file is whole now, and bytes behind its end do no harm. An error here
	// would make a caller append the same bytes again.
	_ = e.f.Truncate(e.end)
	return nil
}

// grow writes the last old chunk and the new entries of the table, and counts the new
// chunks in h.
func (e *Editor) grow(h *Header) error {
	if e.refill != nil {
		if err := e.replaceLast(); err != nil {
			return err
		}
	}
	entries := make([]byte, 0, entryLen*(1+len(e.offs)))
	entries = binary.LittleEndian.AppendUint64(entries, uint64(e.lastOff))
	for _, off := range e.offs {
		entries = binary.LittleEndian.AppendUint64(entries, uint64(off))
	}
	if err := e.overwrite("offsets", entries, e.table+(h.Chunks-1)*entryLen); err != nil {
		return err
	}
	n := int64(len(e.offs))
	h.Chunks, h.MaxAppend = h.Chunks+n, h.MaxAppend-n
	if h.LastChunk = int64(len(e.part)); h.LastChunk == 0 {
		h.LastChunk = e.full
	}
	h.ChunkSize = e.full
	return nil
}

// replaceLast overwrites the last old chunk. Before that it copies the old chunk to
// the end of the file and lets the table point to the copy, so that Salvage finds
// the chunk if the process stops.
func (e *Editor) replaceLast() error {
	old := make([]byte, e.lastLen)
	if err := readAt(e.f, old, e.lastOff); err != nil {
		return wrap("chunks", e.lastOff, err)
	}
	spot := max(e.end, e.lastOff+e.lastLen)
	if _, err := e.f.WriteAt(old, spot); err != nil {
		return wrap("chunks", spot, err)
	}
	if err := e.sync(); err != nil {
		return err
	}
	entry := binary.LittleEndian.AppendUint64(nil, uint64(spot))
	if err := e.overwrite("offsets", entry, e.table+(e.h.Chunks-1)*entryLen); err != nil {
		return err
	}
	if err := e.sync(); err != nil {
		return err
	}
	e.undo = append(e.undo, undo{e.lastOff, old})
	if _, err := e.f.WriteAt(e.refill, e.lastOff); err != nil {
		return wrap("chunks", e.lastOff, err)
	}
	return e.sync()
}

// mark writes a header that says that the file is not finished.
func (e *Editor) mark() error {
	if e.marked {
		return nil
	}
	e.marked = true
	h := e.h
	h.Chunks, h.MaxAppend = -1, 0
	b, err := h.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := e.overwrite("header", b, 0); err != nil {
		return err
	}
	return e.sync()
}

// overwrite writes p at off and keeps the old bytes for Abort.
func (e *Editor) overwrite(part string, p []byte, off int64) error {
	old := make([]byte, len(p))
	if err := readAt(e.f, old, off); err != nil {
		return wrap(part, off, err)
	}
	e.undo = append(e.undo, undo{off, old})
	_, err := e.f.WriteAt(p, off)
	return wrap(part, off, err)
}

func (e *Editor) sync() error {
	if err := formats.Sync(e.f); err != nil {
		return fmt.Errorf("%s: %w", Format, err)
	}
	return nil
}

func (e *Editor) fail(err error) error {
	if e.err == nil {
		e.err = err
	}
	return err
}

// Abort restores the file as it was before Edit. It does nothing after a
// successful Close, or if nothing was written. If Abort fails or is not called,
// File.Aborted is true for a file that was written to.
func (e *Editor) Abort() error {
	if e.err == errClosed || !e.marked { //nolint:errorlint // our own, never wrapped
		e.err = errClosed
		return nil
	}
	e.err = errClosed
	for i := len(e.undo) - 1; i >= 0; i-- { // the header is restored last
		if i == 0 {
			if err := e.sync(); err != nil {
				return err
			}
		}
		if _, err := e.f.WriteAt(e.undo[i].old, e.undo[i].off); err != nil {
			return wrap("file", e.undo[i].off, err)
		}
	}
	if err := e.f.Truncate(e.size); err != nil {
		return fmt.Errorf("%s: %w", Format, err)
	}
	return e.sync()
}

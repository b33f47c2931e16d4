package bloscpack

import (
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// ErrRefused is matched by errors of the caller: the format cannot hold the data
// or options, or the Writer or Editor is closed. The Writer or Editor stays as
// it was.
var ErrRefused = errors.New("cannot be written")

func refuse(part, text string, args ...any) error {
	return fail(part, -1, ErrRefused, text, args...)
}

var errClosed = fmt.Errorf("%s: writer is closed: %w", Format, ErrRefused)

// A Reheader is an Output that can replace its first bytes by more bytes. Every
// objstore.Writer is a Reheader; its caller commits it after Close.
type Reheader interface {
	formats.Output
	// Rehead replaces the first n bytes by p. n is at most MaxHead, and p has at
	// least n bytes. The Reheader owns p from then on. Rehead is called at most
	// once.
	Rehead(n int64, p []byte) error
}

// MaxHead is the number of bytes at the start that a Reheader must be able to
// replace. Stores that upload in parts hold back this many bytes.
const MaxHead = 5 << 20

const (
	// DefaultChunkSize is the default of the Python tool.
	DefaultChunkSize = 1 << 20
	// NoAppend is the WriteOptions.MaxAppend of a table without spare entries.
	NoAppend = -1
	// spare is the default number of spare entries for each chunk, as the Python
	// tool makes them.
	spare = 10
)

// WriteOptions are the options of a new file. The zero value means a version 3
// file with a table, chunks of 1 MiB and adler32, which is the default of the
// Python tool.
type WriteOptions struct {
	// Variable makes a version 4 file in which each chunk is an item of its own
	// length, written by WriteItem. If Variable is false, Write writes the file.
	Variable bool
	// Version is 3 or 4. 0 means 4 if Variable is set, else 3.
	Version int

	// Checksum is the digest of each chunk. None means Adler32, unless
	// NoChecksum is set.
	Checksum   Checksum
	NoChecksum bool

	// Encode says how to encode chunks. They are always Blosc1 chunks: options
	// that these cannot have, for example more than one filter, are refused.
	// Encode.Parallel is the number of goroutines inside one chunk.
	Encode blosc.EncodeOptions

	// ChunkSize is the decoded length of each chunk except the last. 0 means 1
	// MiB, rounded down to a multiple of Encode.TypeSize. It has no effect if
	// Variable is set.
	ChunkSize int
	// NoOffsets makes a file without a table. No Editor can append to such a
	// file, and it cannot be Variable.
	NoOffsets bool
	// MaxAppend is the number of chunks that can be appended later, in version 3
	// only. 0 means ten times as many as the file has, as with the Python tool;
	// NoAppend means none.
	MaxAppend int64

	// Metadata is any value that encoding/json can marshal, or a
	// json.RawMessage. Nil means no metadata; in version 3 JSON's null means
	// the same, as for the Python tool.
	Metadata any
	Meta     MetaOptions

	// Chunks is the number of chunks, or items, if it is known; 0 means unknown.
	// It is a promise: the Writer refuses more chunks, and Close refuses fewer.
	// If the table then fits into MaxHead, Close needs no Rehead, which would
	// copy a file on disk.
	Chunks int64

	// Parallel is the number of goroutines that encode at the same time. If it is
	// 1 or less, the calls themselves encode. The bytes written do not depend on
	// it. Each goroutine takes up to 5 MiB of memory, and all together twice the
	// longest chunk.
	Parallel int

	// Limits.MaxMeta bounds the memory that grows until Close: one or two bytes
	// for the length of each chunk, eight for each entry of the table with the
	// spare ones, and the metadata. Limits.MaxEntries bounds the number of chunks.
	// The Writer returns formats.ErrTooLarge if a limit is exceeded.
	Limits formats.Limits
}

// MetaOptions say how version 3 stores metadata. Version 4 stores plain JSON
// and ignores them.
type MetaOptions struct {
	Checksum   Checksum // None means Adler32, unless NoChecksum is set
	NoChecksum bool
	Plain      bool // do not compress; else zlib is used unless its result is longer
	Room       int  // bytes reserved for changes in place; 0: ten times the text, as with the Python tool
}

// header checks o, fills in its defaults, and returns the header of an unfinished
// file without chunks.
func (o *WriteOptions) header() (Header, error) {
	if o.Version == 0 {
		o.Version = Version3
		if o.Variable {
			o.Version = Version4
		}
	}
	e := &o.Encode
	e.Blosc1, e.TypeSize = true, max(e.TypeSize, 1)
	if o.Checksum == None && !o.NoChecksum {
		o.Checksum = Adler32
	}
	if o.Meta.Checksum == None && !o.Meta.NoChecksum {
		o.Meta.Checksum = Adler32
	}
	switch {
	case o.Version != Version3 && o.Version != Version4:
		return Header{}, refuse("header", "version %d", o.Version)
	case o.Variable && o.Version == Version3:
		return Header{}, refuse("header", "items of various lengths in version 3")
	case o.Variable && o.NoOffsets:
		return Header{}, refuse("header", "items of various lengths without offsets")
	case o.MaxAppend > 0 && (o.NoOffsets || o.Version == Version4):
		return Header{}, refuse("header", "room for %d more chunks in a table that has none", o.MaxAppend)
	case o.MaxAppend < NoAppend, o.Chunks < 0:
		return Header{}, refuse("header", "%d chunks and %d more", o.Chunks, o.MaxAppend)
	case o.ChunkSize < 0 || o.ChunkSize > MaxChunk:
		return Header{}, refuse("header", "chunks of %d bytes", o.ChunkSize)
	case !o.Checksum.Valid() || !o.Meta.Checksum.Valid():
		return Header{}, refuse("header", "%s, %s for the metadata", o.Checksum, o.Meta.Checksum)
	case o.Meta.Room < 0 || o.Meta.Room > MaxMetadata:
		return Header{}, refuse("metadata", "room for %d bytes", o.Meta.Room)
	}
	// Refuse an encoding that Blosc1 does not have now, not when the first chunk is
	// full.
	if _, err := blosc.AppendEncoded(nil, nil, *e); err != nil {
		return Header{}, fmt.Errorf("%s: %w: %w", Format, ErrRefused, err)
	}
	if o.ChunkSize == 0 {
		o.ChunkSize = max(DefaultChunkSize-DefaultChunkSize%e.TypeSize, e.TypeSize)
	}
	if o.NoOffsets || o.Version == Version4 {
		o.MaxAppend = NoAppend
	}
	o.Limits = o.Limits.WithDefaults()
	h := Header{Version: o.Version, Checksum: o.Checksum, TypeSize: e.TypeSize, ChunkSize: -1, LastChunk: -1, Chunks: -1,
		Offsets: !o.NoOffsets, Variable: o.Variable}
	if e.TypeSize > blosc.MaxTypeSize {
		h.TypeSize = 1 // chunks have type size 1, too
	}
	return h, nil
}

// spares returns the number of spare entries for n chunks.
func (o *WriteOptions) spares(n int64) int64 {
	switch o.MaxAppend {
	case 0:
		return spare * n
	case NoAppend:
		return 0
	}
	return o.MaxAppend
}

// A Writer writes one file in one pass: first a header that says that the file is
// not finished, then chunks in order without gaps, and at the end the true
// header, metadata and table. The bytes written depend only on the calls. A
// reader recognises an unfinished file at any time: its number of chunks is -1.
//
// A Writer is for one goroutine. If encoding or the Output fails, or Write or
// Close exceeds a limit, every later call returns that error, and the Output is
// useless. Other errors refuse only the one call: ErrRefused, a limit in
// WriteItem or SetMetadata, and bytes for WriteEncoded that are not a chunk. Call
// Abort if you do not call Close: it waits for the goroutines and frees their
// memory.
type Writer struct {
	w     Reheader
	o     WriteOptions
	h     Header
	meta  metaSection
	head  int64   // length of the beginning, before the chunks, as written
	given int64   // number of chunks taken so far
	sizes sizes   // decoded lengths of these chunks
	part  []byte  // first bytes of the next chunk, from Write
	lens  lengths // encoded lengths with digests
	enc   encoder
	err   error
}

// sizes are the decoded lengths of the first and the last chunk. All chunks except
// the last must have the length of the first.
type sizes struct{ first, last int64 }

// NewWriter checks o and writes a first header to w, then the metadata, if any,
// and space for the table if WriteOptions.Chunks is set. It returns ErrRefused
// if no file can have the options.
func NewWriter(w Reheader, o WriteOptions) (*Writer, error) {
	h, err := o.header()
	if err != nil {
		return nil, err
	}
	bw := &Writer{w: w, o: o, h: h}
	if bw.meta, err = bw.newMeta(o.Metadata, 0); err != nil {
		return nil, err
	}
	var slots int64
	if n := o.Chunks; n > 0 && h.Offsets {
		if slots = n + o.spares(n); slots > (MaxHead-HeaderLen-bw.meta.len())/entryLen || slots < 0 {
			slots = 0
		}
	}
	meta := bw.meta
	if HeaderLen+meta.len()+slots*entryLen > MaxHead {
		meta, slots = metaSection{}, 0
	}
	b, err := bw.beginning(bw.h, meta, slots)
	if err != nil {
		return nil, err
	}
	for i := range b[HeaderLen+meta.len():] {
		b[HeaderLen+int(meta.len())+i] = 0xff
	}
	if _, err := w.Write(b); err != nil {
		return nil, fmt.Errorf("%s: header: %w", Format, err)
	}
	bw.head = int64(len(b))
	bw.enc = encoder{o: o.Encode, sum: o.Checksum, limit: o.Parallel, put: bw.put}
	return bw, nil
}

// beginning returns the encoded header and metadata, and space for slots
// entries.
func (w *Writer) beginning(h Header, meta metaSection, slots int64) ([]byte, error) {
	b := make([]byte, 0, HeaderLen+meta.len()+slots*entryLen)
	meta.announce(&h)
	b, err := h.AppendBinary(b)
	if err != nil {
		return nil, err
	}
	b = meta.append(b)
	return b[:cap(b)], nil
}

// Header returns the header so far. Its numbers are right after Close has
// succeeded.
func (w *Writer) Header() Header { return w.h }

// Len returns the number of chunks, or items, so far. A chunk of Write counts
// when it is full; Close counts the last one.
func (w *Writer) Len() int64 { return w.given }

// Write appends p to a file whose chunks have one size. It returns ErrRefused if
// WriteOptions.Variable is set. It does not keep p: it copies bytes that do not
// fill a chunk. If it refuses bytes beyond WriteOptions.Chunks, Close may be
// refused, too.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.o.Variable {
		return 0, refuse("chunks", "bytes in a file of items")
	}
	n := 0
	for n < len(p) {
		k := min(w.o.ChunkSize-len(w.part), len(p)-n)
		chunk := p[n : n+k]
		if k < w.o.ChunkSize {
			w.part = append(w.part, chunk...)
			chunk = w.part
		}
		n += k
		if len(chunk) < w.o.ChunkSize {
			break
		}
		if err := w.add(chunk); err != nil {
			return n, w.fail(err)
		}
		w.part = w.part[:0]
	}
	return n, nil
}

// WriteItem writes p as the next item. It does not keep p. It returns
// ErrRefused if WriteOptions.Variable is not set, or if p is longer than
// MaxChunk.
func (w *Writer) WriteItem(p []byte) error {
	switch {
	case w.err != nil:
		return w.err
	case !w.o.Variable:
		return refuse("chunks", "an item in a file of chunks of one size")
	case len(p) > MaxChunk:
		return fail(w.h.Part(w.given), -1, ErrRefused, "%d bytes, %d are the most", len(p), MaxChunk)
	}
	return w.add(p)
}

// add counts the decoded chunk p and passes it to the encoder.
func (w *Writer) add(p []byte) error {
	if err := w.admit(int64(len(p))); err != nil {
		return err
	}
	return w.fail(w.enc.add(p))
}

// WriteEncoded writes an encoded chunk as the next item, or as the next chunk of
// a file whose chunks have one size. It does not keep chunk. It checks only the
// chunk's header, and returns ErrRefused if the chunk has another length than its
// header says, or than the file allows.
func (w *Writer) WriteEncoded(chunk []byte) error {
	if w.err != nil {
		return w.err
	}
	h, err := blosc.ParseHeader(chunk)
	switch part := w.h.Part(w.given); {
	case err != nil:
		return wrap(part, -1, err)
	case h.CBytes != len(chunk):
		return refuse(part, "%d bytes, the chunk says %d", len(chunk), h.CBytes)
	case len(w.part) > 0:
		return refuse(part, "%d bytes of a chunk before it", len(w.part))
	}
	if err := w.admit(int64(h.NBytes)); err != nil {
		return err
	}
	return w.fail(w.enc.addEncoded(chunk))
}

// admit counts a chunk of n decoded bytes, or returns an error if the file
// cannot take it.
func (w *Writer) admit(n int64) error {
	part := "chunks"
	switch s := w.sizes; {
	case w.o.Chunks > 0 && w.given >= w.o.Chunks:
		return refuse(part, "more than the %d that were announced", w.o.Chunks)
	case w.given >= w.o.Limits.MaxEntries || w.needs(w.given+1) > w.o.Limits.MaxMeta:
		return tooLarge(part, -1, "no memory for the offsets of more than %d", w.given)
	case w.o.Variable:
	case w.given > 0 && (s.last != s.first || n > s.first):
		return refuse(w.h.Part(w.given), "%d bytes after chunks of %d and %d", n, s.first, s.last)
	}
	if w.given == 0 {
		w.sizes.first = n
	}
	w.sizes.last = n
	w.given++
	return nil
}

// needs returns an upper bound of the memory that n chunks take until Close.
func (w *Writer) needs(n int64) int64 {
	if !w.h.Offsets {
		return 0
	}
	slots := n
	if s := w.o.spares(n); s < w.o.Limits.MaxMeta {
		slots += s
	} else {
		return s
	}
	return w.lens.memory() + slots*entryLen + w.meta.len()
}

// put writes encoded chunks, which come in order, and keeps their lengths.
func (w *Writer) put(b []byte, lens []uint32) error {
	if w.h.Offsets {
		w.lens.add(lens)
	} else {
		w.lens.n += int64(len(lens))
	}
	if _, err := w.w.Write(b); err != nil {
		return fmt.Errorf("%s: chunks before %d: %w", Format, w.lens.n, err)
	}
	return nil
}

// SetMetadata replaces the metadata, at any time before Close. It returns
// ErrRefused if v is none but the file has metadata.
func (w *Writer) SetMetadata(v any) error {
	if w.err != nil {
		return w.err
	}
	m, err := w.newMeta(v, w.meta.room())
	if err != nil {
		return err
	}
	if m.len() == 0 && w.meta.len() > 0 {
		return refuse("metadata", "none in place of some")
	}
	w.meta = m
	return nil
}

func (w *Writer) fail(err error) error {
	if err != nil && w.err == nil && !errors.Is(err, ErrRefused) {
		w.err = err
		w.enc.drop()
	}
	return err
}

// Abort gives up the Writer and waits for its goroutines. It does nothing after
// Close. The caller aborts the Output.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = errClosed
		w.enc.drop()
	}
}

// Close writes the last chunk, the header, the metadata and the table. The
// caller then commits the Output. Every later call returns ErrRefused.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if len(w.part) > 0 || !w.o.Variable && w.given == 0 { // an empty file has one empty chunk
		if err := w.add(w.part); err != nil {
			return w.fail(err)
		}
		w.part = nil
	}
	if n := w.o.Chunks; n > 0 && w.given != n {
		return refuse("chunks", "%d, announced were %d", w.given, n)
	}
	if err := w.enc.drain(); err != nil {
		return w.fail(err)
	}
	if err := w.finish(); err != nil {
		return w.fail(err)
	}
	w.err = errClosed
	return nil
}

// finish writes metadata and table, and then the header alone: until that last write
// the header marks the file as unfinished.
func (w *Writer) finish() error {
	unfinished := w.h
	w.h.Chunks = w.given
	var slots int64
	if w.h.Offsets {
		w.h.MaxAppend = w.o.spares(w.given)
		slots = w.given + w.h.MaxAppend
	}
	if !w.o.Variable {
		w.h.ChunkSize, w.h.LastChunk = w.sizes.first, w.sizes.last
	}
	w.meta.pad(w.head - HeaderLen - slots*entryLen)
	b, err := w.beginning(unfinished, w.meta, slots)
	if err != nil {
		return err
	}
	if slots > 0 {
		w.lens.table(b[HeaderLen+w.meta.len():], int64(len(b)))
	}
	if int64(len(b)) != w.head {
		err = w.w.Rehead(w.head, b)
	} else if len(b) > HeaderLen {
		err = w.w.Patch(HeaderLen, b[HeaderLen:])
	}
	if err != nil {
		return fmt.Errorf("%s: offsets: %w", Format, err)
	}
	w.meta.announce(&w.h)
	var room [HeaderLen]byte
	h, err := w.h.AppendBinary(room[:0])
	if err == nil {
		err = w.w.Patch(0, h)
	}
	if err != nil {
		return fmt.Errorf("%s: header: %w", Format, err)
	}
	return nil
}

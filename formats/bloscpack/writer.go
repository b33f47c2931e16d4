package bloscpack

import (
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// ErrRefused is matched by errors that are the caller's: the format cannot hold
// such data or options, or the Writer or Editor is closed. It leaves a Writer or
// an Editor as it was.
var ErrRefused = errors.New("cannot be written")

func refuse(part, text string, args ...any) error {
	return fail(part, -1, ErrRefused, text, args...)
}

var errClosed = fmt.Errorf("%s: writer is closed: %w", Format, ErrRefused)

// A Reheader is an Output that takes a longer beginning for the one that it has. Every
// objstore.Writer is a Reheader, which the caller commits after Close.
type Reheader interface {
	formats.Output
	// Rehead replaces the first n bytes, at most MaxHead, by p, which is not
	// shorter and belongs to the Reheader from then on. It is called at most once.
	Rehead(n int64, p []byte) error
}

// MaxHead is how much of the beginning an Output must be able to change: what
// stores that upload in parts hold back.
const MaxHead = 5 << 20

const (
	// DefaultChunkSize is that of the Python tool.
	DefaultChunkSize = 1 << 20
	// NoAppend as WriteOptions.MaxAppend makes a table without spare entries.
	NoAppend = -1
	// spare is how many spare entries each chunk gets by default, as with the tool.
	spare = 10
)

// WriteOptions say what a new file is like. The zero value makes a version 3
// file of chunks of 1 MiB with a table and adler32, as the Python tool does.
type WriteOptions struct {
	// Variable makes a version 4 file whose chunks are items of various lengths,
	// for WriteItem. Without it the file is for Write.
	Variable bool
	// Version is 3 or 4. 0: 4 if Variable is set, else 3.
	Version int

	// Checksum follows each chunk; None stands for Adler32, unless NoChecksum is
	// set.
	Checksum   Checksum
	NoChecksum bool

	// Encode is how chunks are made. They are always Blosc1 chunks; options that
	// such chunks cannot have (more than one filter, say) are refused. Its
	// Parallel counts goroutines inside one chunk.
	Encode blosc.EncodeOptions

	// ChunkSize is the decoded length of all chunks but the last. 0: 1 MiB, down
	// to a multiple of Encode.TypeSize. It does not apply to Variable.
	ChunkSize int
	// NoOffsets leaves the table out. Then nothing can be appended, and version 4
	// must not be Variable.
	NoOffsets bool
	// MaxAppend is how many chunks can be appended later, version 3 only. 0: ten
	// times as many as the file has, as with the Python tool; NoAppend: none.
	MaxAppend int64

	// Metadata is any value that encoding/json takes, json.RawMessage included.
	// Nil: none; so is JSON's null in version 3, as for the Python tool.
	Metadata any
	Meta     MetaOptions

	// Chunks is the number of chunks, or items, if it is known. It is a promise:
	// more are refused, and so is Close after fewer. If the beginning fits into
	// MaxHead, Close then needs no Rehead, for which an Output that is a file
	// makes a copy. 0: not known.
	Chunks int64

	// Parallel is how many goroutines encode at the same time. Up to 1 all work is
	// done in the calls. The bytes written do not depend on it. Memory is up to 5
	// MiB for each, and twice the longest chunk.
	Parallel int

	// Limits: MaxMeta bounds the memory that grows until Close ends: a byte or two
	// a chunk for lengths, eight for each entry of the table, spare ones too, and
	// the metadata; MaxEntries bounds the number of chunks. Passing them is
	// formats.ErrTooLarge.
	Limits formats.Limits
}

// MetaOptions are for the metadata of version 3; those of version 4 are bare
// JSON.
type MetaOptions struct {
	Checksum   Checksum // None stands for Adler32, unless NoChecksum is set
	NoChecksum bool
	Plain      bool // not compressed. Else zlib is tried, and kept unless it is longer
	Room       int  // bytes for later changes in place; 0: ten times the text, as with the Python tool
}

// header checks o, fills its open values, and returns the header of a file without
// chunks yet.
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
	// An encoding that Blosc1 does not have is refused now, not when the first chunk
	// is full.
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
		h.TypeSize = 1 // as in the chunks
	}
	return h, nil
}

// spares is the number of spare entries for n chunks.
func (o *WriteOptions) spares(n int64) int64 {
	switch o.MaxAppend {
	case 0:
		return spare * n
	case NoAppend:
		return 0
	}
	return o.MaxAppend
}

// A Writer writes one file in one pass: a header that says that the file is not
// finished, chunks in order without gaps, and at the end header, metadata and
// table. The bytes written depend only on the calls. A file whose writing did not
// end is told from a finished one at any point: its number of chunks is -1.
//
// A Writer is for one goroutine. Once encoding or the Output failed, or Write or
// Close met a limit, every later call returns that error, and the Output is of no
// use. Any other error refuses only the call: ErrRefused, a limit of WriteItem or
// SetMetadata, an encoded chunk that is none. A Writer that is given up needs no
// call, but Abort waits for its goroutines and frees their memory.
type Writer struct {
	w     Reheader
	o     WriteOptions
	h     Header
	meta  metaSection
	head  int64   // bytes in front of the chunks, as written
	given int64   // chunks given so far
	sizes sizes   // of those
	part  []byte  // of a chunk that is being filled
	lens  lengths // of chunks written, digests included
	enc   encoder
	err   error
}

// sizes are the decoded lengths of chunks that must be alike, apart from the last.
type sizes struct{ first, last int64 }

// NewWriter checks o and writes a first header to w, metadata if there are any,
// and room for the table if WriteOptions.Chunks is known. Options that make no
// file are ErrRefused.
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

// beginning is a header, metadata, and room for slots entries.
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

// Header is the header as decided so far; its numbers are right once Close has
// succeeded.
func (w *Writer) Header() Header { return w.h }

// Len is how many chunks, or items, were given to the Writer. The last chunk of
// Write counts once it is full, or with Close.
func (w *Writer) Len() int64 { return w.given }

// Write adds bytes to a file of chunks of one size; in a file of items it is
// ErrRefused. It does not keep p, but copies what is less than a chunk. If bytes
// beyond WriteOptions.Chunks are refused, Close may be refused, too.
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

// WriteItem writes p, which it does not keep, as the next item. If
// WriteOptions.Variable is not set, or p is longer than MaxChunk, it is
// ErrRefused.
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

// add encodes a chunk.
func (w *Writer) add(p []byte) error {
	if err := w.admit(int64(len(p))); err != nil {
		return err
	}
	return w.fail(w.enc.add(p))
}

// WriteEncoded writes a chunk that is encoded already, which it does not keep: as
// the next item, or as the next chunk of a file of chunks of one size. Only the
// chunk's header is checked: a chunk of another length than its header says, or
// than the file allows, is ErrRefused.
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

// admit enters a chunk of n decoded bytes into the books.
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

// needs is the memory that n chunks take at the most until Close has ended.
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

// put takes encoded chunks, in order, and their lengths.
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

// SetMetadata changes the metadata, at any time before Close. None in place of
// some is ErrRefused.
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

// Abort gives the Writer up, and waits for its goroutines. It is harmless after
// Close. The caller aborts the Output.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = errClosed
		w.enc.drop()
	}
}

// Close writes what is left: the last chunk, header, metadata and table. The
// caller then publishes the Output. Every later call is ErrRefused.
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

// finish writes the beginning. Its first 32 bytes go last, alone: until then they mark
// the file as unfinished.
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

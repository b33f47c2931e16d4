package cframe

import (
	"fmt"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
)

// MaxHeader is the largest length of a header that a Writer makes. It equals
// objstore.HeadSize: stores that upload in parts hold back this many bytes at the
// start of an object.
const MaxHeader = 5 << 20

// VaryingSizes is the WriteOptions.ChunkSize of a frame whose chunks vary in
// size from the start.
const VaryingSizes = -1

// WriteOptions are the options of a new frame. The zero value makes a frame of
// bytes, in chunks of the size of the first one.
type WriteOptions struct {
	TypeSize  int // size of an item in bytes; 0 means 1
	ChunkSize int // decoded size of a chunk, a multiple of TypeSize; 0: size of the first chunk; or VaryingSizes
	BlockSize int // decoded size of a block, for the header; 0: not fixed

	// Vary allows chunks of different sizes. Normally all chunks have one size,
	// and the last may be shorter. If a chunk breaks this rule and Vary is set,
	// the frame gets version 3, which needs c-blosc2 3.0 to be read. If Vary is
	// not set, such a chunk is ErrRefused.
	Vary bool

	// Encode says how WriteChunk and WriteBlocks encode chunks. The header stores
	// it, too, for later appends. If its TypeSize or BlockSize is 0, the frame's
	// is used. Encode.Parallel is the number of goroutines inside one chunk.
	// Blosc1 chunks are refused.
	Encode blosc.EncodeOptions

	// Metalayers are stored in the header, 16 at most. They are copied. Their
	// lengths can never change. The metalayer of a b2nd array is one of them.
	Metalayers []Metalayer

	// Parallel is the number of chunks that WriteChunk encodes at the same time.
	// The memory is twice that many chunks. If it is 1 or less, each call encodes
	// its chunk before it returns. The bytes written do not depend on Parallel.
	Parallel int

	// Index says whether the frame gets an index of the block starts of its chunks,
	// and of their places if they are many, which python-blosc2 keeps and ignores. Until Close the Writer holds it in memory:
	// about two bytes for each block, and four for each chunk. A frame with 16 vlmetalayers or more gets none,
	// since c-blosc2 could not edit it with one more, and neither does a sparse frame,
	// or a frame whose index would exceed Limits.MaxMeta.
	Index IndexChoice

	// Stats says what the statistics are about that AddStats gives for each chunk, for the
	// index. An index that would take too much otherwise goes without them. nil: the
	// frame gets none.
	Stats *frameindex.StatsOf

	// Limits bound the number of chunks: MaxEntries directly, and MaxMeta with 8
	// bytes for each chunk, which are kept until Close. A chunk more is
	// ErrTooLarge; the frame can still be closed.
	Limits formats.Limits
}

// check refuses options that a header cannot hold.
func (o *WriteOptions) check() error {
	e := &o.Encode
	switch {
	case o.TypeSize < 0 || o.TypeSize > math.MaxInt32:
		return refuse("header", "items of %d bytes", o.TypeSize)
	case o.ChunkSize < VaryingSizes || o.ChunkSize > math.MaxInt32-blosc.HeaderLen2:
		return refuse("header", "chunks of %d bytes", o.ChunkSize)
	case o.ChunkSize > 0 && o.ChunkSize%max(o.TypeSize, 1) != 0:
		return refuse("header", "chunks of %d bytes for items of %d", o.ChunkSize, o.TypeSize)
	case o.BlockSize < 0 || o.BlockSize > blosc.MaxBlockSize:
		return refuse("header", "blocks of %d bytes", o.BlockSize)
	case e.Level < blosc.LevelStore || e.Level > 9:
		return refuse("header", "level %d", e.Level)
	case len(e.Filters) > filterSlots:
		return refuse("header", "%d filters", len(e.Filters))
	case e.Split > blosc.SplitForwardCompat:
		return refuse("header", "split mode %d", e.Split)
	case e.Blosc1:
		return refuse("header", "chunks of Blosc1")
	}
	if err := checkLayers("metalayers", o.Metalayers, maxMetalayers); err != nil {
		return err
	}
	if n := headerLen(o.Metalayers); n > MaxHeader {
		return refuse("metalayers", "a header of %d bytes, at most %d", n, MaxHeader)
	}
	return nil
}

// info fills in the defaults of o, and returns the header of the empty frame.
func (o *WriteOptions) info() Info {
	e := &o.Encode
	o.TypeSize = max(o.TypeSize, 1)
	if e.TypeSize == 0 {
		e.TypeSize = o.TypeSize
	}
	if e.BlockSize == 0 {
		e.BlockSize = o.BlockSize
	}
	in := Info{
		Version: 2, HeaderLen: headerLen(o.Metalayers), TypeSize: o.TypeSize, BlockSize: o.BlockSize, ChunkSize: o.ChunkSize,
		Codec: e.Codec, CodecMeta: e.CodecMeta, SplitMode: e.Split, UseDict: e.Dict,
	}
	switch o.ChunkSize {
	case 0:
		in.ChunkSize = -1
	case VaryingSizes:
		in.ChunkSize = 0
	}
	switch e.Level {
	case 0:
		in.Level = 5
	case blosc.LevelStore:
	default:
		in.Level = e.Level
	}
	if in.SplitMode == blosc.SplitDefault {
		in.SplitMode = blosc.SplitForwardCompat
	}
	if e.Filters == nil {
		in.Filters[filterSlots-1].ID = blosc.Shuffle
	}
	copy(in.Filters[:], e.Filters)
	return in
}

// A Writer writes one contiguous frame in one pass: header, chunks in order,
// offsets and trailer. At the end it overwrites the header with the totals. The
// bytes written depend only on options and calls.
//
// A Writer is for one goroutine. If it refuses a chunk or metalayer, it stays as it
// was: ErrRefused, ErrTooLarge for a chunk beyond Limits, ErrCorrupt for the header
// of an encoded chunk, ErrNoEntry. After any other error, and after Close, every
// later call returns an error. After an error the Output is useless. Call Abort if
// you do not call Close, so that buffers are returned.
type Writer struct {
	books
	w     formats.Output
	heads *frameindex.Builder // nil: no index is made
	lens  []int32             // if an index is made: bytes of chunks; 0 if a chunk has none
}

// NewWriter checks o and writes the header to w. If the format cannot hold the
// options, it returns ErrRefused and writes nothing. Errors of w are wrapped,
// here and in later calls, so that errors.Is finds them.
func NewWriter(w formats.Output, o WriteOptions) (*Writer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	fw := &Writer{books: newBooks(o), w: w}
	if o.Index != NoIndex {
		fw.heads = &frameindex.Builder{}
		if o.Stats != nil {
			fw.heads.Stats(*o.Stats)
		}
	}
	if _, err := w.Write(appendHeader(nil, &fw.in, fw.metas)); err != nil {
		return nil, fmt.Errorf("%s: header: %w", Format, err)
	}
	return fw, nil
}

// WriteChunk encodes p as the next chunk. It does not keep p.
func (w *Writer) WriteChunk(p []byte) error {
	j, encode, err := w.chunkJob(p)
	if err != nil {
		return err
	}
	return w.push(j, encode, w.put)
}

// WriteBlocks encodes a chunk of variable-length blocks. It does not keep them.
// Either all chunks of a frame have such blocks, or none: else WriteBlocks
// returns ErrRefused.
func (w *Writer) WriteBlocks(blocks [][]byte) error {
	j, err := w.blocksJob(blocks)
	if err != nil {
		return err
	}
	return w.push(j, nil, w.put)
}

// WriteEncoded writes an encoded chunk. It does not keep chunk. The chunk must
// have a header of 32 bytes and exactly the length that the header states. Its
// blocks are not checked. A special chunk is written as WriteSpecial does.
func (w *Writer) WriteEncoded(chunk []byte) error {
	j, err := w.encodedJob(chunk)
	if err != nil {
		return err
	}
	if err := w.drain(w.put); err != nil { // the caller may reuse chunk after the call
		return err
	}
	return w.fail(w.put(j))
}

// WriteSpecial writes a special chunk of size decoded bytes: zeros, NaN (for
// items of 4 or 8 bytes), or uninitialised, which is read as zeros. It takes
// only an offset in the frame, unless chunk sizes vary: then the chunk is
// stored.
func (w *Writer) WriteSpecial(kind blosc.Special, size int) error {
	j, err := w.specialJob(kind, size)
	if err != nil {
		return err
	}
	return w.push(j, nil, w.put)
}

// put writes an encoded chunk. It is called in the order of chunks.
func (w *Writer) put(j *task) error {
	off, stored, err := place(len(w.offs), j, &w.o)
	if err != nil {
		return err
	}
	if j.varies && !w.varies {
		if err := w.storeSpecials(w.write); err != nil {
			return err
		}
	}
	if stored {
		if off, err = w.write(len(w.offs), j.chunk); err != nil {
			return err
		}
		w.noteHead(j.chunk)
	} else {
		w.noteHead(nil)
		w.noteLen(len(w.offs), 0)
	}
	w.enter(j, off)
	return nil
}

// write appends a chunk to the Output, and returns its offset, which counts
// from the end of the header.
func (w *Writer) write(i int, chunk []byte) (int64, error) {
	if _, err := w.w.Write(chunk); err != nil {
		return 0, fmt.Errorf("%s: %s: %w", Format, partOf(i), err)
	}
	w.noteLen(i, len(chunk))
	off := w.in.CBytes
	w.in.CBytes += int64(len(chunk))
	return off, nil
}

// Close writes the remaining chunks, offsets, trailer and totals. The caller then
// commits the Output. A second Close returns an error.
func (w *Writer) Close() error {
	if err := w.drain(w.put); err != nil {
		return err
	}
	tail, err := w.tail()
	if err != nil {
		return w.fail(err)
	}
	if _, err := w.w.Write(tail); err != nil {
		return w.fail(fmt.Errorf("%s: trailer: %w", Format, err))
	}
	w.in.FrameLen = w.in.HeaderLen + w.in.CBytes + int64(len(tail))
	h := appendHeader(nil, &w.in, w.metas)
	if !w.touched {
		h = h[:fixedLen]
	}
	if err := w.w.Patch(0, h); err != nil {
		return w.fail(fmt.Errorf("%s: header: %w", Format, err))
	}
	w.err = errClosed
	return nil
}

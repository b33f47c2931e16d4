package cframe

import (
	"fmt"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// MaxHeader bounds the header that a Writer makes. It is objstore.HeadSize: stores
// that upload in parts hold back so much of an object's beginning.
const MaxHeader = 5 << 20

// VaryingSizes as WriteOptions.ChunkSize makes a frame of chunks of various
// sizes from the start.
const VaryingSizes = -1

// WriteOptions say what a new frame is like. The zero value makes a frame of
// bytes, in chunks as long as the first.
type WriteOptions struct {
	TypeSize  int // of an item; 0 means 1
	ChunkSize int // decoded bytes of a chunk, a multiple of TypeSize; 0: that of the first chunk; VaryingSizes
	BlockSize int // goes into the header, for readers that want to know; 0: not fixed

	// Vary allows chunks of various sizes: when one comes that does not fit the
	// rule (all alike, the last may be shorter), the frame turns to version 3,
	// which needs c-blosc2 3.0 to be read. Otherwise such a chunk is ErrRefused.
	Vary bool

	// Encode is how WriteChunk and WriteBlocks make chunks. It goes into the
	// header, too, for later appends. Its TypeSize, when 0, is that of the frame;
	// its BlockSize likewise; its Parallel counts goroutines inside one chunk.
	// Chunks of Blosc1 are refused.
	Encode blosc.EncodeOptions

	// Metalayers, 16 at most, stand in the header and are copied. Their lengths
	// are fixed from now on. The metalayer that makes a frame a b2nd goes here.
	Metalayers []Metalayer

	// Parallel is how many chunks WriteChunk encodes at the same time, which takes
	// the memory of twice as many. Up to 1, each chunk is encoded inside its call.
	// The bytes written do not depend on Parallel.
	Parallel int

	// Limits bound the number of chunks, by MaxEntries and by MaxMeta at 8 bytes a
	// chunk, which are kept until Close. One chunk more is ErrTooLarge, and the
	// frame can still be closed.
	Limits formats.Limits
}

// check finds what no header can say.
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

// info is the header of the empty frame, and completes o.
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
// offsets, trailer, and then the totals in the header. What it writes depends
// only on what it is given.
//
// A Writer is for one goroutine. A chunk or metalayer that it does not take
// (ErrRefused, ErrTooLarge for one chunk more than Limits allow, ErrCorrupt for
// the header of an encoded chunk, ErrNoEntry) leaves it as it was. After any other
// error, and after Close, every later call returns an error; after an error the
// Output is of no use. A Writer that is given up needs no call, but Abort gives its
// buffers back.
type Writer struct {
	books
	w formats.Output
}

// NewWriter checks o and writes the header to w. Options that the format cannot
// hold are ErrRefused, and then nothing is written. Errors of w keep their
// identity, here and in later calls.
func NewWriter(w formats.Output, o WriteOptions) (*Writer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	fw := &Writer{books: newBooks(o), w: w}
	if _, err := w.Write(appendHeader(nil, &fw.in, fw.metas)); err != nil {
		return nil, fmt.Errorf("%s: header: %w", Format, err)
	}
	return fw, nil
}

// WriteChunk encodes p, which it does not keep, as the next chunk.
func (w *Writer) WriteChunk(p []byte) error {
	j, encode, err := w.chunkJob(p)
	if err != nil {
		return err
	}
	return w.push(j, encode, w.put)
}

// WriteBlocks encodes a chunk of variable-length blocks, which it does not keep.
// All chunks of a frame are of that kind, or none: else it is ErrRefused.
func (w *Writer) WriteBlocks(blocks [][]byte) error {
	j, err := w.blocksJob(blocks)
	if err != nil {
		return err
	}
	return w.push(j, nil, w.put)
}

// WriteEncoded writes a chunk that is encoded already, which it does not keep:
// one with 32 bytes of header, of exactly the length that it states. Its blocks
// are not decoded; a special chunk becomes an offset, or what WriteSpecial makes
// of it.
func (w *Writer) WriteEncoded(chunk []byte) error {
	j, err := w.encodedJob(chunk)
	if err != nil {
		return err
	}
	if err := w.drain(w.put); err != nil { // chunk is used before the call ends
		return err
	}
	return w.fail(w.put(j))
}

// WriteSpecial writes a chunk of size bytes without content: zeros, NaN (items
// of 4 or 8 bytes), or uninitialised, which is read as zeros. It takes no room
// but an offset, unless the frame is one of various sizes: then it is stored.
func (w *Writer) WriteSpecial(kind blosc.Special, size int) error {
	j, err := w.specialJob(kind, size)
	if err != nil {
		return err
	}
	return w.push(j, nil, w.put)
}

// put writes a chunk, in order.
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
	}
	w.enter(j, off)
	return nil
}

// write appends a chunk to the output; its offset counts from the header's end.
func (w *Writer) write(i int, chunk []byte) (int64, error) {
	if _, err := w.w.Write(chunk); err != nil {
		return 0, fmt.Errorf("%s: %s: %w", Format, partOf(i), err)
	}
	off := w.in.CBytes
	w.in.CBytes += int64(len(chunk))
	return off, nil
}

// Close writes the rest: chunks on their way, offsets, trailer, totals. The caller
// then publishes the Output. A second Close is an error.
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

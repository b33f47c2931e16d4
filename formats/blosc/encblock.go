package blosc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/codec"
	"github.com/farread/farread/internal/filter"
	"github.com/farread/farread/internal/par"
)

// An encWorker encodes one block at a time.
type encWorker struct {
	enc codec.Encoder
	buf [2][]byte // memory from bufpool
}

// encWorkers keeps idle workers: their encoders hold large tables.
var encWorkers sync.Pool

func getEncWorker() *encWorker {
	if w, ok := encWorkers.Get().(*encWorker); ok {
		return w
	}
	return new(encWorker)
}

func (w *encWorker) release() {
	for i, b := range w.buf {
		if b != nil {
			bufpool.Put(b)
			w.buf[i] = nil
		}
	}
	encWorkers.Put(w)
}

// buffer returns one of two scratch buffers, of n bytes.
func (w *encWorker) buffer(k, n int) []byte {
	if cap(w.buf[k]) < n {
		if w.buf[k] != nil {
			bufpool.Put(w.buf[k])
		}
		w.buf[k] = bufpool.Get(n)
	}
	return w.buf[k][:n]
}

// appendBlocks appends a chunk of encoded blocks, or a memcpyed chunk if that is not
// longer. It uses a dictionary if the options ask for one and it makes the chunk
// shorter.
func (e *encoding) appendBlocks(dst, src []byte) ([]byte, error) {
	before := len(dst)
	dst, err := e.appendEncoded(dst, src, nil)
	if err != nil || !e.dict || e.h.Blocks() < 2 {
		return dst, err
	}
	dict, err := e.sampleDict(src)
	if err != nil || len(dict) < minDict {
		return dst, err
	}
	other, err := e.appendEncoded(nil, src, dict)
	if err == nil && len(other) < len(dst)-before {
		dst = append(dst[:before], other...)
	}
	return dst, err
}

// appendEncoded appends a chunk of encoded blocks, or a memcpyed chunk if that
// is not longer.
func (e *encoding) appendEncoded(dst, src, dict []byte) ([]byte, error) {
	h := e.h
	h.Dict = len(dict) > 0
	off, size := h.bodyStart(len(dict)), h.BlockBytes()
	slot := size + 4*h.streams(0)
	body, lent := places(dst, off, h.Blocks()*slot)
	if lent {
		defer bufpool.Put(body)
	}
	lens := make([]int32, h.Blocks())
	place := func(i int) (from, n int) { return i * slot, slot }
	n, err := e.each(body, lens, place, func(w *encWorker, out []byte, i int) (int, error) {
		return e.block(w, out, src[i*size:i*size+h.blockLen(i)], src[:size], dict, i)
	})
	if err != nil {
		return dst, err
	}
	if off+n >= h.Len()+len(src) {
		return e.appendStored(dst, src), nil
	}
	return h.appendChunk(dst, body[:n], lent, lens, dict), nil
}

// room returns the place of the first block in dst, or nil if the capacity of
// dst is too small.
func (e *encoding) room(dst []byte) []byte {
	at, n := len(dst)+e.h.bodyStart(0), e.h.BlockBytes()+4*e.h.streams(0)
	if cap(dst)-at < n {
		return nil
	}
	return dst[at : at+n : at+n]
}

// appendOne is appendEncoded for a single block, which is encoded into body, its place
// in the chunk. It allocates nothing: millions of small chunks must not cost more than
// their content.
func (e *encoding) appendOne(dst, src, body []byte) ([]byte, error) {
	w := getEncWorker()
	defer w.release()
	n, err := e.block(w, body, src, src, nil, 0)
	if err != nil {
		return dst, err
	}
	if e.h.bodyStart(0)+n >= e.h.Len()+len(src) {
		return e.appendStored(dst, src), nil
	}
	lens := [1]int32{int32(n)}
	return e.h.appendChunk(dst, body[:n], false, lens[:], nil), nil
}

// places returns n bytes for blocks. They are part of dst if it has room for them
// behind the off bytes of an index. Else they come from bufpool, so that dst grows
// only by the length of the chunk.
func places(dst []byte, off, n int) (body []byte, lent bool) {
	if at := len(dst) + off; cap(dst)-at >= n {
		return dst[at : at+n : at+n], false
	}
	return bufpool.Get(n), true
}

// each encodes all blocks into body, one after another, and returns their length;
// lens gets the length of each. Several goroutines encode each block at its own
// place, which has room for the longest result. Then the blocks are moved together.
func (e *encoding) each(body []byte, lens []int32, place func(int) (from, n int), encode func(w *encWorker, out []byte, i int) (int, error)) (int, error) {
	at := 0
	if e.parallel <= 1 {
		w := getEncWorker()
		defer w.release()
		for i := range lens {
			_, room := place(i)
			n, err := encode(w, body[at:at+room], i)
			if err != nil {
				return 0, err
			}
			lens[i] = int32(n)
			at += n
		}
		return at, nil
	}
	err := par.Each(len(lens), e.parallel, func(i int) error {
		w := getEncWorker()
		defer w.release()
		from, room := place(i)
		n, err := encode(w, body[from:from+room], i)
		lens[i] = int32(n)
		return err
	})
	for i, n := range lens {
		from, _ := place(i)
		at += copy(body[at:], body[from:from+int(n)])
	}
	return at, err
}

// appendChunk appends header, index and body. If lent is false, body is already
// at its place in dst.
func (h *Header) appendChunk(dst, body []byte, lent bool, lens []int32, dict []byte) []byte {
	h.CBytes = h.bodyStart(len(dict)) + len(body)
	dst = h.appendIndex(grow(dst, h.CBytes), lens, dict)
	if lent {
		return append(dst, body...)
	}
	return dst[:len(dst)+len(body)]
}

// appendIndex appends header, block starts and dictionary.
func (h *Header) appendIndex(dst []byte, lens []int32, dict []byte) []byte {
	dst = h.appendTo(dst)
	at := int32(h.bodyStart(len(dict)))
	for _, n := range lens {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(at))
		at += n
	}
	if len(dict) > 0 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(dict)))
		dst = append(dst, dict...)
	}
	return dst
}

// block encodes block i into out and returns the length. out has room for all streams
// of the block as they are. first is the first block of the data, for DELTA.
func (e *encoding) block(w *encWorker, out, block, first, dict []byte, i int) (int, error) {
	p, err := e.filtered(w, block, first, i == 0)
	if err != nil {
		return 0, err
	}
	n, size := 0, len(p)/e.h.streams(i)
	for off := 0; off < len(p); off += size {
		m, err := e.stream(w, out[n:], p[off:off+size], dict)
		if err != nil {
			return 0, err
		}
		n += m
	}
	return n, nil
}

// stream encodes one stream with its length in front.
func (e *encoding) stream(w *encWorker, out, p, dict []byte) (int, error) {
	if e.h.Extended && isRepeated(p, 1) {
		binary.LittleEndian.PutUint32(out, -uint32(p[0]))
		if p[0] == 0 {
			return 4, nil
		}
		out[4] = 1
		return 5, nil
	}
	// A stream as long as its content would be read as stored bytes.
	n, err := w.enc.Encode(codec.ID(e.h.Codec), e.level, out[4:4+len(p)-1], p, dict)
	if err != nil {
		return 0, fail("chunk", -1, formats.ErrUnsupported, "%s: %v", e.h.Codec, err)
	}
	if n == 0 {
		n = copy(out[4:], p)
	}
	binary.LittleEndian.PutUint32(out, uint32(n))
	return 4 + n, nil
}

// errFilterShape means that a filter cannot work on items or blocks of this
// size.
var errFilterShape = errors.New("items or blocks of a wrong size")

// filtered passes a block through the filters. The result is one of w's buffers, or
// the block itself if there are no filters.
func (e *encoding) filtered(w *encWorker, block, first []byte, isFirst bool) ([]byte, error) {
	k := 0
	for j := range e.n {
		s, to, ok := &e.steps[j], w.buffer(k, len(block)), true
		switch s.id {
		case Shuffle:
			filter.Shuffle(to, block, s.width)
		case BitShuffle:
			if e.h.Version == 2 && len(block)/s.width%8 != 0 {
				copy(to, block)
			} else {
				filter.BitShuffle(to, block, s.width)
			}
		case Delta:
			filter.DeltaEncode(to, block, first, s.width, isFirst)
		case ByteDelta:
			filter.ByteDelta(to, block, s.width)
		case TruncPrec:
			ok = filter.TruncPrec(to, block, s.width, int8(s.cell))
		case IntTrunc:
			ok = filter.IntTrunc(to, block, s.width, int8(s.cell))
		case NDCell:
			ok = filter.NDCell(to, block, s.width, e.shape, s.cell)
		case NoFilter, NDMean, ByteDeltaBuggy: // setFilters refuses these
			ok = false
		}
		if !ok {
			return nil, fail("chunk", -1, formats.ErrUnsupported, "filter %s: %v", s.id, errFilterShape)
		}
		block, k = to, 1-k
	}
	return block, nil
}

// AppendEncodedVL appends a Blosc2 chunk in which each of blocks can be decoded
// alone. BlockSize, Split and Dict do not apply; LevelStore stores the blocks
// uncompressed, but filtered. No blocks, an empty block, Blosc1 and DELTA are
// ErrUnsupported, blocks that a chunk cannot hold ErrTooLarge; with an error the
// result is dst. Memory is as for AppendEncoded.
func AppendEncodedVL(dst []byte, blocks [][]byte, o EncodeOptions) ([]byte, error) {
	total := 0
	for i, b := range blocks {
		total += len(b)
		if len(b) == 0 {
			return dst, unsupported("chunk", "block %d is empty", i)
		}
		if len(b) > MaxBlockSize || total > maxNBytes {
			return dst, fail("chunk", -1, formats.ErrTooLarge, "block %d of %d bytes", i, len(b))
		}
	}
	o.Split = SplitNever
	if o.Blosc1 || len(blocks) == 0 || len(blocks) > MaxBlockSize {
		return dst, unsupported("chunk", "%d blocks of various lengths", len(blocks))
	}
	e, err := newEncoding(total, &o)
	if err != nil {
		return dst, err
	}
	if e.has(Delta) {
		return dst, unsupported("chunk", "filter delta in blocks of various lengths")
	}
	h := &e.h
	h.Version, h.VL, h.Flags2, h.BlockSize = 6, true, flag2VL, len(blocks)
	return e.appendVL(dst, blocks)
}

func (e *encoding) appendVL(dst []byte, blocks [][]byte) ([]byte, error) {
	h := &e.h
	off := h.bodyOff()
	if int64(off)+4*int64(len(blocks))+int64(h.NBytes) > math.MaxInt32 {
		return dst, fail("chunk", -1, formats.ErrTooLarge, "%d bytes in %d blocks", h.NBytes, len(blocks))
	}
	starts := make([]int, len(blocks)) // offsets of the places in body
	size := 0
	for i, b := range blocks {
		starts[i] = size
		size += 4 + len(b)
	}
	body, lent := places(dst, off, size)
	if lent {
		defer bufpool.Put(body)
	}
	lens := make([]int32, len(blocks))
	place := func(i int) (from, n int) { return starts[i], 4 + len(blocks[i]) }
	n, err := e.each(body, lens, place, func(w *encWorker, out []byte, i int) (int, error) { return e.vlBlock(w, out, blocks[i]) })
	if err != nil {
		return dst, err
	}
	return h.appendChunk(dst, body[:n], lent, lens, nil), nil
}

// vlBlock encodes a block of a VL chunk: its decoded length, then one stream.
func (e *encoding) vlBlock(w *encWorker, out, block []byte) (int, error) {
	p, err := e.filtered(w, block, nil, true)
	if err != nil {
		return 0, err
	}
	n := 0
	if !e.store {
		if n, err = w.enc.Encode(codec.ID(e.h.Codec), e.level, out[4:4+len(p)-1], p, nil); err != nil {
			return 0, fmt.Errorf("%s: %w: %w", e.h.Codec, err, formats.ErrUnsupported)
		}
	}
	if n == 0 {
		n = copy(out[4:], p)
	}
	binary.LittleEndian.PutUint32(out, uint32(len(p)))
	return 4 + n, nil
}

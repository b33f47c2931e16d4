package blosc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/codec"
	"github.com/farread/farread/internal/filter"
)

// A step is a filter of a pipeline with its parameters.
type step struct {
	id    FilterID
	width int // bytes of an item; for ByteDelta the number of streams
	cell  int // the edge of a cell
}

// moves reports whether a step needs a second buffer.
func (s *step) moves() bool {
	return s.id == Shuffle || s.id == BitShuffle || s.id == NDCell
}

// A pipeline has the data that all blocks of a chunk share: header and filters.
type pipeline struct {
	h     Header
	steps [6]step // steps in the order of decoding
	n     int
	moves int // steps that need a second buffer
	dict  []byte
	shape []int
}

// history is the dictionary for a codec that uses one. In chunks of VL blocks C stores
// a dictionary with any codec that it was asked to make one for, but BloscLZ and zlib
// do not use it.
func (p *pipeline) history() []byte {
	switch p.h.Codec {
	case LZ4, LZ4HC, Zstd:
		return p.dict
	default:
		return nil
	}
}

// newPipeline computes the steps that undo the filters of h.
func newPipeline(h *Header, o *DecodeOptions) (pipeline, error) {
	p := pipeline{h: *h, shape: o.BlockShape}
	for i := len(h.Filters) - 1; i >= 0; i-- {
		f := h.Filters[i]
		s := step{id: f.ID, width: h.TypeSize, cell: int(f.Meta)}
		switch f.ID {
		case NoFilter, TruncPrec, IntTrunc:
			continue // nothing to undo
		case BitShuffle, Delta:
		case Shuffle:
			if f.Meta > 0 {
				s.width = int(f.Meta)
			}
			if s.width == 1 {
				continue
			}
		case ByteDelta, ByteDeltaBuggy:
			if s.width = int(f.Meta); s.width == 0 {
				s.width = o.TypeSize
			}
			if s.width <= 0 {
				return p, unsupported("chunk", "filter bytedelta for the type size of a super-chunk, which is not known")
			}
		case NDCell, NDMean:
			if len(o.BlockShape) == 0 {
				return p, unsupported("chunk", "filter %s without the shape of a block", f.ID)
			}
			s.id = NDCell
			if o.TypeSize > 0 {
				s.width = o.TypeSize
			}
		}
		if s.moves() {
			p.moves++
		}
		p.steps[p.n] = s
		p.n++
	}
	return p, nil
}

// A worker decodes one block at a time.
type worker struct {
	dec     codec.Decoder
	scratch []byte // memory from bufpool
}

// workers keeps idle workers: their decoders hold tables that are costly to make.
var workers sync.Pool

func getWorker() *worker {
	if w, ok := workers.Get().(*worker); ok {
		return w
	}
	return new(worker)
}

func (w *worker) release() {
	if w.scratch != nil {
		bufpool.Put(w.scratch)
		w.scratch = nil
	}
	workers.Put(w)
}

// spare is the room behind a buffer that lets decoders copy in wide steps.
const spare = 64

// buffer returns scratch memory for n bytes with spare capacity.
func (w *worker) buffer(n int) []byte {
	if cap(w.scratch) < n+spare {
		if w.scratch != nil {
			bufpool.Put(w.scratch)
		}
		w.scratch = bufpool.Get(n + spare)
	}
	return w.scratch[:n]
}

// block decodes block i from the bytes that start with its first stream. dst has the
// block's length and capacity. first is the decoded first block of the chunk, for
// DELTA.
func (w *worker) block(dst, src, first []byte, p *pipeline, i int) error {
	streams := p.h.streams(i)
	size := len(dst) / streams
	if size == 0 {
		return errNoStream
	}
	if p.gathers(streams) && size*streams == len(dst) {
		return w.gather(dst, src, p, streams)
	}
	at := w.target(dst, p)
	for off := 0; off < len(dst); off += size {
		n, err := w.stream(at[off:off+size], src, p)
		if err != nil {
			return err
		}
		src = src[n:]
	}
	return p.undo(dst, at, w, first, i == 0)
}

// target returns the buffer for the codec's output, chosen so that the last filter
// ends in dst. Zstd is much faster if its buffer has spare capacity: that is worth a
// copy at the end.
func (w *worker) target(dst []byte, p *pipeline) []byte {
	if p.moves%2 == 1 || p.moves == 0 && p.h.Codec == Zstd {
		return w.buffer(len(dst))
	}
	return dst
}

// The errors of streams. They are values, so that a decoder that meets many of them
// allocates nothing.
var (
	errNoStream  = errors.New("block of less than a byte a stream")
	errCut       = errors.New("stream ends behind the chunk")
	errRun1      = errors.New("run in a chunk of Blosc1")
	errRunValue  = errors.New("run of more than a byte")
	errRunToken  = errors.New("unknown kind of run")
	errCellShape = errors.New("shape of a block does not fit its bytes")
	errExpansion = errors.New("stream too short for what it stands for")
)

// stream decodes the stream that src starts with into dst and returns its length in
// src. The codec may overwrite dst up to its capacity: the bytes there are spare,
// or will be decoded later.
func (w *worker) stream(dst, src []byte, p *pipeline) (int, error) {
	if len(src) < 4 {
		return 0, errCut
	}
	size := le32(src)
	src = src[4:]
	switch {
	case size <= 0:
		v, n, err := run(src, size, p.h.Extended)
		if err != nil {
			return 0, err
		}
		fill(dst, []byte{v})
		return 4 + n, nil
	case size > len(src):
		return 0, errCut
	case size == len(dst):
		copy(dst, src)
	default:
		if err := w.dec.Decode(codec.ID(p.h.Codec), dst, src[:size:size], p.history()); err != nil {
			return 0, err
		}
	}
	return 4 + size, nil
}

// run returns the byte that a stream with a length of zero or less repeats, and the
// number of bytes of src that it used.
func run(src []byte, size int, extended bool) (v byte, n int, err error) {
	switch {
	case !extended:
		return 0, 0, errRun1
	case size == 0:
		return 0, 0, nil
	case size < -255:
		return 0, 0, errRunValue
	case len(src) < 1:
		return 0, 0, errCut
	case src[0]&1 == 0:
		return 0, 0, errRunToken
	}
	return byte(-size), 1, nil
}

// vlBlock decodes a block of a VL chunk: one stream, as long as src.
func (w *worker) vlBlock(dst, src []byte, p *pipeline) error {
	at := w.target(dst, p)
	src = src[4:]
	if len(src) == len(dst) {
		copy(at, src)
	} else if err := w.dec.Decode(codec.ID(p.h.Codec), at, src, p.history()); err != nil {
		return err
	}
	return p.undo(dst, at, w, nil, true)
}

// undo undoes the filters. from, which is dst or w's scratch, holds the decoded
// streams; the result is in dst.
func (p *pipeline) undo(dst, from []byte, w *worker, first []byte, isFirst bool) error {
	to := dst
	if p.moves > 0 && p.moves%2 == 0 {
		to = w.buffer(len(dst))
	}
	for k := range p.n {
		s := &p.steps[k]
		switch s.id {
		case Shuffle:
			filter.Unshuffle(to, from, s.width)
		case BitShuffle:
			p.bitUnshuffle(to, from, s.width)
		case NDCell:
			if !filter.NDCellDecode(to, from, s.width, p.shape, s.cell) {
				return errCellShape
			}
		case Delta:
			filter.DeltaDecode(from, first, s.width, isFirst)
		case ByteDelta, ByteDeltaBuggy:
			filter.ByteUndelta(from, s.width, s.id == ByteDeltaBuggy)
		case NoFilter, TruncPrec, IntTrunc, NDMean: // newPipeline makes no step of these
		}
		if s.moves() {
			from, to = to, from
		}
	}
	if p.moves == 0 && p.h.Codec == Zstd {
		copy(dst, from)
	}
	return nil
}

// bitUnshuffle is the inverse of bit-shuffle. In Blosc1 it transposes all items
// or none.
func (p *pipeline) bitUnshuffle(dst, src []byte, width int) {
	if p.h.Version == 2 && len(src)/width%8 != 0 {
		copy(dst, src)
		return
	}
	filter.BitUnshuffle(dst, src, width)
}

// inBlock adds the number of the block to err, and a sentinel if it has none.
func inBlock(err error, i int, off int64) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, formats.ErrCorrupt) || errors.Is(err, formats.ErrUnsupported) {
		return err
	}
	return &formats.Error{Format: "blosc", Part: fmt.Sprintf("block %d", i), Off: off,
		Err: fmt.Errorf("%w: %w", err, formats.ErrCorrupt)}
}

// The quiet NaNs that a NaN chunk stands for.
const (
	nan32 = 0x7fc00000
	nan64 = 0x7ff8000000000000
)

// fillSpecial fills dst with the decoded bytes of a special chunk from byte off
// on.
func fillSpecial(dst []byte, kind Special, typeSize int, value []byte, off int) {
	switch kind {
	case NaN:
		var v [8]byte
		if typeSize == 4 {
			binary.LittleEndian.PutUint32(v[:], nan32)
		} else {
			binary.LittleEndian.PutUint64(v[:], nan64)
		}
		repeat(dst, v[:typeSize], off)
	case Value:
		repeat(dst, value, off)
	default:
		clear(dst)
	}
}

// repeat fills dst with the endless repetition of value from its byte off on.
func repeat(dst, value []byte, off int) {
	if at := off % len(value); at > 0 {
		n := copy(dst, value[at:])
		dst = dst[n:]
	}
	fill(dst, value)
}

// fill fills dst with repetitions of value, by doubling in pieces that stay in
// the cache.
func fill(dst, value []byte) {
	if len(value) == 1 && value[0] == 0 {
		clear(dst)
		return
	}
	const piece = 8 << 10
	n := copy(dst, value)
	for n < len(dst) {
		m := n
		if m > piece && len(value) < piece {
			m = piece / len(value) * len(value)
		}
		n += copy(dst[n:], dst[:m])
	}
}

// isRepeated reports whether p consists of repetitions of its first n bytes.
func isRepeated(p []byte, n int) bool { return bytes.Equal(p[n:], p[:len(p)-n]) }

package cframe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats/blosc"
)

// mostChunks is the number of offsets that fit into one chunk, whose size is an
// int32.
const mostChunks = 1<<28 - 1

// offsetsBlock is the block size that C gives the offsets chunk.
const offsetsBlock = 16384

// specialOff returns the offset that stands for a special chunk of the kind.
func specialOff(kind blosc.Special) int64 { return math.MinInt64 | int64(kind)<<56 }

// specialOf returns the kind of special chunk that an offset stands for, or
// None if the offset is a position.
func specialOf(off int64) blosc.Special {
	if off >= 0 {
		return blosc.None
	}
	return blosc.Special(off >> 56 & 0x7f)
}

// canBeOffset reports whether an offset can stand for a special chunk of this
// kind and size, in a frame of fixed chunk sizes with items of typesize bytes. C
// makes the chunk when it is read, and needs whole items for that.
func canBeOffset(kind blosc.Special, size, typesize int) bool {
	switch kind {
	case blosc.Zeros, blosc.Uninit:
		return size%typesize == 0
	case blosc.NaN:
		return size%typesize == 0 && (typesize == 4 || typesize == 8)
	case blosc.None, blosc.Value:
	}
	return false
}

// asOffset returns the offset that stands for the chunk with header h. The
// second result is false if none can.
func asOffset(h *blosc.Header, typesize int) (int64, bool) {
	if h.Special == blosc.NaN && h.TypeSize != typesize || !canBeOffset(h.Special, h.NBytes, typesize) {
		return 0, false
	}
	return specialOff(h.Special), true
}

// asStored returns the chunk to store if no offset stands for it. With plain it
// replaces any special chunk: C opens no frame of varying sizes whose first chunk
// is special, or is a header alone.
func asStored(h *blosc.Header, chunk []byte, plain bool, most int64) ([]byte, error) {
	if h.Special == blosc.None || h.Special == blosc.Value && !plain {
		return chunk, nil
	}
	return plainChunk(chunk, most)
}

// plainChunk returns a chunk with the data of a special one, encoded in blocks.
func plainChunk(special []byte, most int64) ([]byte, error) {
	h, err := blosc.ParseHeader(special)
	if err != nil {
		return nil, err
	}
	width := h.CBytes - blosc.HeaderLen2 // length of the repeated value
	switch h.Special {
	case blosc.Zeros, blosc.Uninit:
		return runChunk(0, h.NBytes), nil
	case blosc.NaN:
		width = h.TypeSize
	case blosc.None, blosc.Value:
	}
	p, err := blosc.DecodeOptions{MaxDecoded: most}.AppendDecoded(nil, special)
	if err != nil {
		return nil, err
	}
	if bytes.Count(p, p[:1]) == len(p) {
		return runChunk(p[0], len(p)), nil
	}
	o := blosc.EncodeOptions{Codec: blosc.LZ4, Filters: []blosc.Filter{}} // type size 1: the encoder does not make a special chunk again
	if width <= blosc.MaxTypeSize {
		o.Filters = []blosc.Filter{{ID: blosc.Shuffle, Meta: uint8(width)}}
	}
	return blosc.AppendEncoded(nil, p, o)
}

// runChunk returns a chunk of n bytes v, in as few blocks as possible.
func runChunk(v byte, n int) []byte {
	block := min(n, blosc.MaxBlockSize)
	blocks := (n + block - 1) / block
	run := binary.LittleEndian.AppendUint32(nil, -uint32(v))
	if v != 0 {
		run = append(run, 1)
	}
	le := binary.LittleEndian
	b := []byte{5, 1, 0x15, 1} // versions, and flags: extended header, not split, BloscLZ; type size 1
	b = le.AppendUint32(b, uint32(n))
	b = le.AppendUint32(b, uint32(block))
	b = le.AppendUint32(b, uint32(blosc.HeaderLen2+blocks*(4+len(run))))
	b = append(b, make([]byte, 16)...)
	for i := range blocks {
		b = le.AppendUint32(b, uint32(blosc.HeaderLen2+4*blocks+i*len(run)))
	}
	return append(b, bytes.Repeat(run, blocks)...)
}

// appendOffsets appends the offsets chunk. If there are no offsets, it appends
// nothing.
func appendOffsets(b []byte, offs []int64) ([]byte, error) {
	if len(offs) == 0 {
		return b, nil
	}
	if n := len(offs); n > 1 && offs[0] < 0 && !slices.ContainsFunc(offs, func(off int64) bool { return off != offs[0] }) {
		value := binary.LittleEndian.AppendUint64(nil, uint64(offs[0]))
		return blosc.AppendSpecial(b, blosc.Value, 8*n, 8, 8*n, value)
	}
	raw := make([]byte, 8*len(offs))
	for i, off := range offs {
		binary.LittleEndian.PutUint64(raw[8*i:], uint64(off))
	}
	b, err := blosc.AppendEncoded(b, raw, blosc.EncodeOptions{Codec: blosc.BloscLZ, TypeSize: 8, BlockSize: offsetsBlock, Split: blosc.SplitNever})
	if err != nil {
		return b, fmt.Errorf("%s: offsets: %w", Format, err)
	}
	return b, nil
}

// A sizeRule keeps the rule of chunk sizes: either all chunks have the same decoded
// size, and the last may be shorter, or sizes vary.
type sizeRule struct {
	chunk   int // chunk size as in Info.ChunkSize: 0 if sizes vary
	n       int
	nbytes  int64
	mayVary bool
}

// last returns the size of the last chunk, in a frame of fixed sizes.
func (s *sizeRule) last() int { return int(s.nbytes - int64(s.n-1)*int64(s.chunk)) }

// at returns the size of chunk i, in a frame of fixed sizes.
func (s *sizeRule) at(i int) int {
	if i == s.n-1 {
		return s.last()
	}
	return s.chunk
}

// varies reports whether chunk sizes vary in the frame.
func (s *sizeRule) varies() bool { return s.chunk == 0 }

func checkSize(size int) error {
	if size <= 0 || size > math.MaxInt32-blosc.HeaderLen2 {
		return refuse("chunk", "of %d bytes", size)
	}
	return nil
}

// vary lets sizes vary from now on, or returns ErrRefused if they must not. i
// and size are for the error.
func (s *sizeRule) vary(i, size int) error {
	if s.chunk == 0 {
		return nil
	}
	if !s.mayVary {
		return refuse(partOf(i), "%d bytes in a frame of chunks of %d, where only the last may be shorter", size, s.chunk)
	}
	s.chunk = 0
	return nil
}

// insert counts a new chunk before chunk i, or at the end if i is s.n.
func (s *sizeRule) insert(i, size int) error {
	if err := checkSize(size); err != nil {
		return err
	}
	if s.n >= mostChunks {
		return refuse("chunks", "more than %d", mostChunks)
	}
	if s.chunk < 0 {
		s.chunk = size
	}
	fits := size == s.chunk
	if i == s.n {
		fits = size <= s.chunk && (s.n == 0 || s.last() == s.chunk)
	}
	if !fits {
		if err := s.vary(i, size); err != nil {
			return err
		}
	}
	s.n++
	s.nbytes += int64(size)
	return nil
}

// replace counts a change of the size of chunk i from old to size.
func (s *sizeRule) replace(i, old, size int) error {
	if err := checkSize(size); err != nil {
		return err
	}
	if size > s.chunk || size < s.chunk && i < s.n-1 {
		if err := s.vary(i, size); err != nil {
			return err
		}
	}
	s.nbytes += int64(size) - int64(old)
	return nil
}

// remove counts the deletion of a chunk of size old. If sizes vary, they still
// vary after it.
func (s *sizeRule) remove(old int) {
	s.n--
	s.nbytes -= int64(old)
}

// put sets the sizes and the version in a header.
func (s *sizeRule) put(in *Info) {
	in.NBytes, in.ChunkSize, in.VariableChunks = s.nbytes, s.chunk, s.chunk == 0
	in.Version = 2
	if in.VariableChunks || in.VLBlocks {
		in.Version = maxVersion
	}
}

func partOf(i int) string { return fmt.Sprintf("chunk %d", i) }

// blocksKind tells whether the chunks of a frame have blocks of variable
// length. Either all chunks have them, or none.
type blocksKind uint8

const (
	kindOpen blocksKind = iota
	kindPlain
	kindVL
)

func (k *blocksKind) admit(i int, vl bool) error {
	want := kindPlain
	if vl {
		want = kindVL
	}
	if *k != kindOpen && *k != want {
		return refuse(partOf(i), "chunks of variable-length blocks and others in one frame")
	}
	*k = want
	return nil
}

// checkEncoded parses and checks the header of an encoded chunk from the
// caller.
func checkEncoded(i int, chunk []byte) (blosc.Header, error) {
	h, err := blosc.ParseHeader(chunk)
	switch {
	case err != nil:
		return h, fmt.Errorf("%s: %s: %w", Format, partOf(i), err)
	case h.CBytes != len(chunk):
		return h, refuse(partOf(i), "a chunk of %d bytes in %d", h.CBytes, len(chunk))
	case !h.Extended:
		return h, refuse(partOf(i), "a chunk with Blosc1's header")
	case !h.VL && h.CBytes > h.NBytes+overhead:
		return h, refuse(partOf(i), "a chunk of %d bytes for %d", h.CBytes, h.NBytes)
	}
	return h, nil
}

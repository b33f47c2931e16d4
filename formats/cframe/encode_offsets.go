package cframe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats/blosc"
)

// mostChunks is how many offsets fit into one chunk, whose sizes are int32.
const mostChunks = 1<<28 - 1

// offsetsBlock is the block size that C gives the offsets chunk.
const offsetsBlock = 16384

// specialOff is the offset that stands for a chunk of the kind.
func specialOff(kind blosc.Special) int64 { return math.MinInt64 | int64(kind)<<56 }

// specialOf is the kind that an offset stands for; None where it is a position.
func specialOf(off int64) blosc.Special {
	if off >= 0 {
		return blosc.None
	}
	return blosc.Special(off >> 56 & 0x7f)
}

// canBeOffset says whether a chunk of this kind and size need not be stored in a
// frame of fixed chunk sizes with items of typesize bytes. C makes such a chunk
// anew when it is asked for, and then wants whole items.
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

// asOffset is the offset that takes the place of a chunk, if one can.
func asOffset(h *blosc.Header, typesize int) (int64, bool) {
	if h.Special == blosc.NaN && h.TypeSize != typesize || !canBeOffset(h.Special, h.NBytes, typesize) {
		return 0, false
	}
	return specialOff(h.Special), true
}

// asStored is the chunk to store where no offset stands for it. C does not open
// a frame of varying sizes whose first chunk is a special one, nor one whose first
// chunk is nothing but a header, so that plain says that such a chunk must not be.
func asStored(h *blosc.Header, chunk []byte, plain bool, most int64) ([]byte, error) {
	if h.Special == blosc.None || h.Special == blosc.Value && !plain {
		return chunk, nil
	}
	return plainChunk(chunk, most)
}

// plainChunk is a chunk of the same data as a special one, encoded in blocks.
func plainChunk(special []byte, most int64) ([]byte, error) {
	h, err := blosc.ParseHeader(special)
	if err != nil {
		return nil, err
	}
	width := h.CBytes - blosc.HeaderLen2 // of the repeated value
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
	o := blosc.EncodeOptions{Codec: blosc.LZ4, Filters: []blosc.Filter{}} // items of one byte: nothing is found to be repeated
	if width <= blosc.MaxTypeSize {
		o.Filters = []blosc.Filter{{ID: blosc.Shuffle, Meta: uint8(width)}}
	}
	return blosc.AppendEncoded(nil, p, o)
}

// runChunk is a chunk whose blocks, as few as can be, say that n bytes are v.
func runChunk(v byte, n int) []byte {
	block := min(n, blosc.MaxBlockSize)
	blocks := (n + block - 1) / block
	run := binary.LittleEndian.AppendUint32(nil, -uint32(v))
	if v != 0 {
		run = append(run, 1)
	}
	le := binary.LittleEndian
	b := []byte{5, 1, 0x15, 1} // extended header, not split, BloscLZ
	b = le.AppendUint32(b, uint32(n))
	b = le.AppendUint32(b, uint32(block))
	b = le.AppendUint32(b, uint32(blosc.HeaderLen2+blocks*(4+len(run))))
	b = append(b, make([]byte, 16)...)
	for i := range blocks {
		b = le.AppendUint32(b, uint32(blosc.HeaderLen2+4*blocks+i*len(run)))
	}
	return append(b, bytes.Repeat(run, blocks)...)
}

// appendOffsets appends the offsets chunk; without offsets there is none.
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

// A sizeRule keeps the rule of chunk sizes: all chunks decode to the same length but
// the last, which may be shorter, or the frame is one of varying sizes.
type sizeRule struct {
	chunk   int // as Info.ChunkSize
	n       int
	nbytes  int64
	mayVary bool
}

// last is the size of the last chunk of a frame of fixed sizes.
func (s *sizeRule) last() int { return int(s.nbytes - int64(s.n-1)*int64(s.chunk)) }

// at is the size of chunk i of a frame of fixed sizes.
func (s *sizeRule) at(i int) int {
	if i == s.n-1 {
		return s.last()
	}
	return s.chunk
}

// varies says that the frame holds chunks of various sizes.
func (s *sizeRule) varies() bool { return s.chunk == 0 }

func checkSize(size int) error {
	if size <= 0 || size > math.MaxInt32-blosc.HeaderLen2 {
		return refuse("chunk", "of %d bytes", size)
	}
	return nil
}

// vary makes the frame one of varying sizes, if it may.
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

// insert enters a chunk before chunk i; i may be s.n.
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

// replace changes the size of chunk i from old.
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

// remove takes chunk i, of the given size, away. A frame of varying sizes stays
// one.
func (s *sizeRule) remove(old int) {
	s.n--
	s.nbytes -= int64(old)
}

// put writes the sizes into a header's numbers.
func (s *sizeRule) put(in *Info) {
	in.NBytes, in.ChunkSize, in.VariableChunks = s.nbytes, s.chunk, s.chunk == 0
	in.Version = 2
	if in.VariableChunks || in.VLBlocks {
		in.Version = maxVersion
	}
}

func partOf(i int) string { return fmt.Sprintf("chunk %d", i) }

// blocksKind remembers whether the chunks of a frame have blocks of variable
// length: all have, or none.
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

// checkEncoded parses the header of a chunk that is to be stored as it is.
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

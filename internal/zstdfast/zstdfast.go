// Package zstdfast decodes Zstandard frames (RFC 8878) that lie in memory into memory of
// known size: the streams of Blosc chunks.
//
// The library, klauspost/compress, copies runs, and matches that overlap themselves, a byte
// at a time, and is several times slower on zeros, ramps, time stamps and sparse arrays; its
// assembly keeps little of a sequence in registers. On amd64 processors with BMI2 (2013 and
// later) and on arm64 a kernel runs the sequences here, and all usual frames are taken. On
// other processors only frames of long matches are, for which the generic code is faster;
// see [Worthwhile]. Huffman codes are the library's.
//
// It is never the judge. It declines every odd frame, be it rare (a checksum, a
// dictionary, several frames) or wrong, and the library decides. When the library is as
// fast, this package goes.
package zstdfast

import (
	"encoding/binary"

	"github.com/klauspost/compress/huff0"

	"github.com/farread/farread/internal/lzcopy"
)

// Decoder decodes frames. The zero value is ready; it keeps tables and buffers, so it is
// not for concurrent use.
type Decoder struct {
	run
	known   bool   // whether this frame had tables of sequences
	lit     []byte // decoded literals of one block
	huff    *huff0.Scratch
	huffDec huff0.Decoder
	huffOK  bool // whether huff belongs to this frame
}

const (
	magic     = 0xFD2FB528
	maxWindow = 1 << 31 // the largest window that the C library writes; here it costs no memory

	maxBlock  = 128 << 10
	blockHead = 3

	// margin is how many bytes must come from each match. The library's time for a
	// sequence grows by 0.35 ns for each byte of a match that overlaps itself within 16
	// bytes; Decode's hardly grows, but is the longer one for short matches. The two are
	// even at 35 to 40 bytes of smooth data, whose matches rarely overlap; matches of sparse
	// data, ramps and runs have 200 and more.
	margin = 40

	blockRaw        = 0
	blockRLE        = 1
	blockCompressed = 2

	litRaw  = 0
	litRLE  = 1
	litHuff = 2 // Huffman code with a table; above: with the previous table
)

// frame is the header of a frame.
type frame struct {
	size   uint64 // decoded size of the frame
	window uint64
	head   int // length of the header
}

// parseFrame reads the header of a frame that has a content size and needs
// neither dictionary nor checksum.
func parseFrame(src []byte) (frame, bool) {
	if len(src) < 6 || binary.LittleEndian.Uint32(src) != magic {
		return frame{}, false
	}
	d := src[4]
	single := d&0x20 != 0
	if d&0x1f != 0 || d>>6 == 0 && !single { // reserved, unused, checksum, dictionary; no size
		return frame{}, false
	}
	f := frame{head: 5}
	if !single {
		base := uint64(1) << (10 + src[5]>>3)
		f.window = base + base/8*uint64(src[5]&7)
		f.head++
	}
	n := 1 << (d >> 6)
	if len(src) < f.head+n {
		return frame{}, false
	}
	f.size = littleEndian(src[f.head:], n)
	if n == 2 {
		f.size += 256
	}
	f.head += n
	if single {
		f.window = f.size
	}
	return f, true
}

// littleEndian is the number in the first n bytes, which p must have.
func littleEndian(p []byte, n int) uint64 {
	var v uint64
	for i := range n {
		v |= uint64(p[i]) << (8 * i)
	}
	return v
}

// blockHeader reads a block's header: what kind it is, its size, and whether it
// is the last one. p must have its three bytes.
func blockHeader(p []byte) (kind, size int, last bool) {
	h := int(littleEndian(p, blockHead))
	return h >> 1 & 3, h >> 3, h&1 != 0
}

// Worthwhile walks over the blocks of a frame that makes n bytes. It says whether
// matches are so long on average that Decode is faster. It checks nothing that it
// reads, since the answer only makes a choice.
func Worthwhile(src []byte, n int) bool {
	f, ok := parseFrame(src)
	if !ok || hasKernel {
		return ok
	}
	matched, sequences := n, 0
	for p := f.head; len(src)-p >= blockHead; {
		kind, size, last := blockHeader(src[p:])
		p += blockHead
		stored := size
		switch kind {
		case blockRaw:
			matched -= size
		case blockRLE:
			stored = 1
		case blockCompressed:
			if size < 2 || size > len(src)-p {
				return false
			}
			b := src[p : p+size]
			l, ok := parseLiterals(b)
			if !ok || l.head+l.stored >= len(b) {
				return false
			}
			s, _, ok := sequenceCount(b[l.head+l.stored:])
			if !ok {
				return false
			}
			matched, sequences = matched-l.size, sequences+s
		default:
			return false
		}
		p += stored
		if last {
			// The library is faster with raw bytes and with literals alone.
			return matched >= margin*max(sequences, 1)
		}
	}
	return false
}

// Decode fills dst with the content of src, which must be one frame, or declines. It
// may overwrite bytes between length and capacity of dst, and leaves anything in dst
// if it declines.
func (f *Decoder) Decode(dst, src []byte) bool {
	src = src[:len(src):len(src)] // the copies below look at capacities
	h, ok := parseFrame(src)
	if !ok || h.size != uint64(len(dst)) || h.window > maxWindow {
		return false
	}
	f.known, f.huffOK, f.rep, f.window = false, false, [3]int{1, 4, 8}, int(h.window)
	limit := int(min(h.window, maxBlock))
	end := len(dst)
	room := dst[:min(cap(dst), end+32)]
	o, p := 0, h.head
	for {
		if len(src)-p < blockHead {
			return false
		}
		kind, size, last := blockHeader(src[p:])
		p += blockHead
		if size > limit {
			return false
		}
		switch kind {
		case blockRaw:
			if size > len(src)-p || size > end-o {
				return false
			}
			copy(dst[o:], src[p:p+size])
			p, o = p+size, o+size
		case blockRLE:
			if p >= len(src) || size > end-o {
				return false
			}
			lzcopy.Run(dst[o:o+size], src[p])
			p, o = p+1, o+size
		case blockCompressed:
			if size > len(src)-p {
				return false
			}
			if o, ok = f.block(room, o, min(end, o+limit), src, src[p:p+size]); !ok {
				return false
			}
			p += size
		default:
			return false
		}
		if last {
			return o == end && p == len(src)
		}
	}
}

// block decodes a compressed block, the part in of src, to dst[o:end] and returns the end
// of the decoded bytes.
func (f *Decoder) block(dst []byte, o, end int, src, in []byte) (int, bool) {
	l, ok := parseLiterals(in)
	if !ok || l.size > min(maxBlock, end-o) || l.stored > len(in)-l.head {
		return o, false
	}
	coded, in := in[l.head:l.head+l.stored], in[l.head+l.stored:]
	if len(in) == 1 && in[0] == 0 { // no sequences
		return o + l.size, f.literals(dst[o:o+l.size], coded, l)
	}
	n, head, ok := sequenceCount(in)
	if !ok || n == 0 {
		return o, false
	}
	lit := coded
	if l.kind != litRaw {
		if f.lit == nil {
			f.lit = make([]byte, maxBlock+32)
		}
		if lit = f.lit[:l.size]; !f.literals(lit, coded, l) {
			return o, false
		}
	}
	if in, ok = f.tables(in[head:]); !ok || len(in) == 0 || in[len(in)-1] == 0 {
		return o, false
	}
	f.o = o
	if !f.sequences(dst, end, lit, src, in, n) || len(lit)-f.l > end-f.o {
		return o, false
	}
	return f.o + copy(dst[f.o:end], lit[f.l:]), true
}

// litHeader is the header of a block's literals.
type litHeader struct {
	kind, streams      int
	size, stored, head int // decoded, as stored, and of the header itself
}

func parseLiterals(in []byte) (litHeader, bool) {
	if len(in) == 0 {
		return litHeader{}, false
	}
	l := litHeader{kind: int(in[0] & 3), streams: 4}
	format := in[0] >> 2 & 3
	if l.kind < litHuff {
		l.head = [4]int{1, 2, 1, 3}[format]
	} else {
		l.head = [4]int{3, 3, 4, 5}[format]
	}
	if len(in) < l.head {
		return litHeader{}, false
	}
	v := littleEndian(in, l.head)
	switch {
	case l.kind >= litHuff:
		if format == 0 {
			l.streams = 1
		}
		w := [4]int{10, 10, 14, 18}[format]
		l.size, l.stored = int(v>>4&(1<<w-1)), int(v>>(4+w))
	case l.head == 1:
		l.size = int(v >> 3)
	default:
		l.size = int(v >> 4)
	}
	switch l.kind {
	case litRaw:
		l.stored = l.size
	case litRLE:
		l.stored = 1
	}
	return l, true
}

// literals decodes the literals of a block to all of dst.
func (f *Decoder) literals(dst, in []byte, l litHeader) bool {
	switch {
	case l.kind == litRaw:
		copy(dst, in)
		return true
	case l.kind == litRLE:
		lzcopy.Run(dst, in[0])
		return true
	case l.kind == litHuff:
		f.huffOK = false
		s, after, err := huff0.ReadTable(in, f.huff)
		if err != nil {
			f.huff = nil // its state is not known
			return false
		}
		f.huff, f.huffDec, f.huffOK = s, *s.Decoder(), true
		in = after
	case !f.huffOK:
		return false
	}
	to, err := dst[:0:len(dst)], error(nil)
	if l.streams == 1 {
		to, err = f.huffDec.Decompress1X(to, in)
	} else {
		to, err = f.huffDec.Decompress4X(to, in)
	}
	return err == nil && len(to) == len(dst)
}

// sequenceCount reads how many sequences a block has, and in how many bytes.
func sequenceCount(in []byte) (n, head int, ok bool) {
	switch {
	case len(in) >= 1 && in[0] < 128:
		return int(in[0]), 1, true
	case len(in) >= 2 && in[0] < 255:
		return int(in[0]-128)<<8 | int(in[1]), 2, true
	case len(in) >= 3:
		return 0x7f00 + int(in[1]) + int(in[2])<<8, 3, true
	}
	return 0, 0, false
}

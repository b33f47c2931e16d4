package codec

import (
	"encoding/binary"

	"github.com/klauspost/compress/huff0"

	"github.com/farread/farread/internal/match"
)

// zstdFast decodes Zstandard frames (RFC 8878) of very compressible data: zeros,
// ramps, time stamps, sparse arrays. The library copies runs, and matches that overlap
// themselves, a byte at a time, and is several times slower on such data. For short
// matches its assembly is faster.
//
// zstdFast is never the judge. It declines every odd frame, be it rare (a checksum, a
// dictionary, several frames) or wrong, and the library decides.
type zstdFast struct {
	lit     []byte       // decoded literals of one block
	own     [3]fseTable  // tables that the frame described
	cur     [3]*fseTable // tables in force; nil: none yet in this frame
	huff    *huff0.Scratch
	huffDec huff0.Decoder
	huffOK  bool // whether huff belongs to this frame
	rep     [3]int
}

const (
	zstdMaxBlock  = 128 << 10
	zstdBlockHead = 3

	// zstdFastMargin is how many bytes must come from each match. The library's time for a
	// sequence grows by 0.35 ns for each byte of a match that overlaps itself within 16
	// bytes; zstdFast's hardly grows, but is the longer one for short matches. The two are
	// even at 35 to 40 bytes of smooth data, whose matches rarely overlap; matches of sparse
	// data, ramps and runs have 200 and more.
	zstdFastMargin = 40

	blockRaw        = 0
	blockRLE        = 1
	blockCompressed = 2

	litRaw  = 0
	litRLE  = 1
	litHuff = 2 // Huffman code with a table; above: with the previous table
)

// zstdFrame is the header of a frame.
type zstdFrame struct {
	size   uint64 // decoded size of the frame
	window uint64
	head   int // length of the header
}

// parseZstdFrame reads the header of a frame that has a content size and needs
// neither dictionary nor checksum.
func parseZstdFrame(src []byte) (zstdFrame, bool) {
	if len(src) < 6 || binary.LittleEndian.Uint32(src) != zstdFrameMagic {
		return zstdFrame{}, false
	}
	d := src[4]
	single := d&0x20 != 0
	if d&0x1f != 0 || d>>6 == 0 && !single { // reserved, unused, checksum, dictionary; no size
		return zstdFrame{}, false
	}
	f := zstdFrame{head: 5}
	if !single {
		base := uint64(1) << (10 + src[5]>>3)
		f.window = base + base/8*uint64(src[5]&7)
		f.head++
	}
	n := 1 << (d >> 6)
	if len(src) < f.head+n {
		return zstdFrame{}, false
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

// zstdBlock reads a block's header: what kind it is, its size, and whether it
// is the last one. p must have its three bytes.
func zstdBlock(p []byte) (kind, size int, last bool) {
	h := int(littleEndian(p, zstdBlockHead))
	return h >> 1 & 3, h >> 3, h&1 != 0
}

// worthwhile walks over the blocks of a frame that makes n bytes. It says whether
// matches are so long on average that zstdFast is faster. It checks nothing that it
// reads, since the answer only makes a choice.
func worthwhile(src []byte, n int) bool {
	f, ok := parseZstdFrame(src)
	if !ok {
		return false
	}
	matched, sequences := n, 0
	for p := f.head; len(src)-p >= zstdBlockHead; {
		kind, size, last := zstdBlock(src[p:])
		p += zstdBlockHead
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
			return matched >= zstdFastMargin*max(sequences, 1)
		}
	}
	return false
}

// decode fills dst with the content of src, which must be one frame, or declines. It
// may overwrite bytes between length and capacity of dst, and leaves anything in dst
// if it declines.
func (f *zstdFast) decode(dst, src []byte) bool {
	src = src[:len(src):len(src)] // the copies below look at capacities
	h, ok := parseZstdFrame(src)
	if !ok || h.size != uint64(len(dst)) || h.window > maxWindow {
		return false
	}
	f.cur, f.huffOK, f.rep = [3]*fseTable{}, false, [3]int{1, 4, 8}
	limit := int(min(h.window, zstdMaxBlock))
	end := len(dst)
	room := dst[:min(cap(dst), end+32)]
	o, p := 0, h.head
	for {
		if len(src)-p < zstdBlockHead {
			return false
		}
		kind, size, last := zstdBlock(src[p:])
		p += zstdBlockHead
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
			match.Fill(dst[o:o+size], src[p])
			p, o = p+1, o+size
		case blockCompressed:
			if size > len(src)-p {
				return false
			}
			if o, ok = f.block(room, o, min(end, o+limit), src[p:p+size], int(h.window)); !ok {
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

// block decodes a compressed block to dst[o:end] and returns the end of the
// decoded bytes.
func (f *zstdFast) block(dst []byte, o, end int, in []byte, window int) (int, bool) {
	lit, in, ok := f.literals(in)
	if !ok || len(lit) > end-o {
		return o, false
	}
	n, head, ok := sequenceCount(in)
	if !ok {
		return o, false
	}
	in = in[head:]
	if n == 0 {
		return o + copy(dst[o:end], lit), len(in) == 0
	}
	if in, ok = f.tables(in); !ok || len(in) == 0 || in[len(in)-1] == 0 {
		return o, false
	}
	if o, lit, ok = f.sequences(dst, o, end, lit, in, n, window); !ok || len(lit) > end-o {
		return o, false
	}
	return o + copy(dst[o:end], lit), true
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

// literals decodes the literals of a block and returns what follows them. They
// lie in the block itself, or in a buffer until the next call.
func (f *zstdFast) literals(in []byte) (lit, rest []byte, ok bool) {
	l, ok := parseLiterals(in)
	if !ok || l.size > zstdMaxBlock || l.stored > len(in)-l.head {
		return nil, nil, false
	}
	in, rest = in[l.head:l.head+l.stored], in[l.head+l.stored:]
	if l.kind == litRaw {
		return in, rest, true
	}
	if f.lit == nil {
		f.lit = make([]byte, zstdMaxBlock+32)
	}
	switch {
	case l.kind == litRLE:
		match.Fill(f.lit[:l.size], in[0])
		return f.lit[:l.size], rest, true
	case l.kind == litHuff:
		f.huffOK = false
		s, after, err := huff0.ReadTable(in, f.huff)
		if err != nil {
			f.huff = nil // its state is not known
			return nil, nil, false
		}
		f.huff, f.huffDec, f.huffOK = s, *s.Decoder(), true
		in = after
	case !f.huffOK:
		return nil, nil, false
	}
	var err error
	if l.streams == 1 {
		lit, err = f.huffDec.Decompress1X(f.lit[:0:l.size], in)
	} else {
		lit, err = f.huffDec.Decompress4X(f.lit[:0:l.size], in)
	}
	if err != nil || len(lit) != l.size {
		return nil, nil, false
	}
	return f.lit[:l.size], rest, true
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

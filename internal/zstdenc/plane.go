package zstdenc

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/klauspost/compress/huff0"

	"github.com/farread/farread/internal/lzcopy"
)

const (
	planeLog  = 12
	planeSkip = 6 // from one position to the next it is a byte more for each 64 without a match

	// planeMargin is how many bytes a position needs that is looked at, so that 16 literals
	// and the 8 bytes from the next position on can be read at once.
	planeMargin = 20
)

// plane encodes inputs longer than SmallMax. It finds matches as the fastest levels of C and of
// the library do: where the last distance repeats for four bytes, or at the last place of the
// same six bytes. What is done at a match has few branches, since a processor guesses most of
// these wrong, and matches of planes are short.
type plane struct {
	table [1 << planeLog]uint16 // positions by the hash of what is there; 0 if there was none
	seqs  []sequence
	lits  []byte
	out   []byte
	coder sequenceCoder
	huff  huff0.Scratch
}

func (z *plane) encode(dst, src []byte) int {
	if 1+lzcopy.Len(src, 1, 0, len(src)) == len(src) {
		return putRun(dst, src)
	}
	// A sequence of the shortest match takes at most 42 bits, one of literals and of longer
	// matches less for each byte.
	if n := 2*len(src) + 1024; len(z.out) < n {
		z.out, z.lits, z.seqs = make([]byte, n), make([]byte, len(src)+16), make([]sequence, len(src)/4)
	}
	seqs, lits := z.find(src)
	head := putHead(z.out, len(src))
	at := z.putLiterals(z.out, head+blockHead, lits)
	at = z.coder.put(z.out, at, seqs)
	return finish(dst, z.out, src, head, at)
}

// putRun writes a frame of one byte that repeats.
func putRun(dst, src []byte) int {
	const run, last = 1, 1
	var p [16]byte
	at := putHead(p[:], len(src))
	block := len(src)<<3 | run<<1 | last
	at += copy(p[at:], []byte{byte(block), byte(block >> 8), byte(block >> 16), src[0]})
	if at > len(dst) {
		return 0
	}
	return copy(dst, p[:at])
}

// find splits src into sequences and literals, of which some follow the last sequence.
func (z *plane) find(src []byte) ([]sequence, []byte) {
	clear(z.table[:])
	seqs, lits := z.seqs, z.lits
	n, l := 0, 0 // sequences, literals
	lit, p := 0, 1
	rep, rep2 := 1, 4 // the last distances, at first those that the format defines
	last := len(src) - planeMargin
	for p <= last {
		v := load64(src, p)
		entry, entry2 := &z.table[planeHash(v)], &z.table[planeHash(v>>8)]
		ref, ref2 := int(*entry), int(*entry2)
		*entry, *entry2 = uint16(p), uint16(p+1)
		again := uint64(load32(src, p+1-rep) ^ uint32(v>>8))
		other, other2 := (load64(src, ref)^v)<<16>>16, (load64(src, ref2)^v>>8)<<16>>16
		if int64((again-1)|(other-1)|(other2-1)) >= 0 { // none is 0
			p += 2 + (p-lit)>>planeSkip
			continue
		}
		offset := uint32(1)
		if again == 0 {
			p++
			ref = p - rep
		} else {
			if other != 0 {
				p, ref = p+1, ref2
			}
			offset = uint32(p-ref) + 3
			rep, rep2 = p-ref, rep
		}
		for p > lit && ref > 0 && load8(src, p-1) == load8(src, ref-1) {
			p, ref = p-1, ref-1
		}
		m := alike8(src, p, ref)
		if m == 8 {
			m += lzcopy.Len(src, p+8, ref+8, len(src))
		}
		seqs[n] = sequence{lit: uint16(p - lit), match: uint16(m), offset: offset}
		n++
		copy16(lits, l, src, lit)
		if p-lit > 16 {
			copy(lits[l+16:], src[lit+16:p])
		}
		l += p - lit
		p += m
		lit = p
		if p > last {
			break
		}
		z.table[planeHash(load64(src, p-2))] = uint16(p - 2)
		for p <= last && p >= rep2 && load32(src, p) == load32(src, p-rep2) {
			rep, rep2 = rep2, rep
			m := alike8(src, p, p-rep)
			if m == 8 {
				m += lzcopy.Len(src, p+8, p-rep+8, len(src))
			}
			z.table[planeHash(load64(src, p))] = uint16(p)
			seqs[n] = sequence{match: uint16(m), offset: 1} // without literals the last but one
			n++
			p += m
			lit = p
		}
	}
	l += copy(lits[l:], src[lit:])
	return seqs[:n], lits[:l]
}

// planeHash is that of six bytes.
func planeHash(v uint64) uint64 { return v << 16 * 227718039650203 >> (64 - planeLog) }

// alike8 counts the bytes that are alike from p and from ref, of the first 8.
func alike8(src []byte, p, ref int) int {
	return bits.TrailingZeros64(load64(src, p)^load64(src, ref)) >> 3
}

// Kinds of literals, as the format numbers them.
const (
	litRaw  = 0
	litRun  = 1
	litHuff = 2
)

// putLiterals writes literals as they are, as a run, or in a Huffman code.
func (z *plane) putLiterals(p []byte, at int, lits []byte) int {
	const (
		shortest  = 64  // of which a code is worth its table
		oneStream = 256 // below; four are decoded faster
		gain      = 4   // as the library: a code that saves less than 1/16 is not worth its decoding
	)
	if len(lits) < shortest {
		return putPlain(p, at, litRaw, len(lits), lits)
	}
	z.huff.Reuse, z.huff.WantLogLess = huff0.ReusePolicyNone, gain
	encode := huff0.Compress4X
	if len(lits) < oneStream {
		encode = huff0.Compress1X
	}
	out, _, err := encode(lits, &z.huff)
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		return putPlain(p, at, litRun, len(lits), lits[:1])
	case err != nil: // they do not become shorter
		return putPlain(p, at, litRaw, len(lits), lits)
	}
	format, width := uint64(0), 10 // of both lengths
	switch n := len(lits); {
	case n >= 1<<14:
		format, width = 3, 18
	case n >= 1<<10:
		format, width = 2, 14
	case n >= oneStream:
		format = 1
	}
	binary.LittleEndian.PutUint64(p[at:], litHuff|format<<2|uint64(len(lits))<<4|uint64(len(out))<<(4+width))
	at += (4 + 2*width) / 8
	return at + copy(p[at:], out)
}

// putPlain writes n literals that are not coded.
func putPlain(p []byte, at, kind, n int, lits []byte) int {
	switch {
	case n < 1<<5:
		p[at] = byte(kind | n<<3)
		at++
	case n < 1<<12:
		binary.LittleEndian.PutUint16(p[at:], uint16(kind|1<<2|n<<4))
		at += 2
	default:
		binary.LittleEndian.PutUint32(p[at:], uint32(kind|3<<2|n<<4))
		at += 3
	}
	return at + copy(p[at:], lits)
}

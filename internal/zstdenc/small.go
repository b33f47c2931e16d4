package zstdenc

import "github.com/farread/farread/internal/lzcopy"

// SmallMax is the length from which on tables made for the input are worth their time.
const SmallMax = 512

const (
	smallLog   = 10
	smallMatch = 5 // the shortest match: a sequence takes about as many bits as four literals of text
	codeBits   = 10
)

// small encodes Zstandard frames of a few hundred bytes, for which the library
// spends its time on tables: it sorts, normalises and builds them for each input. Here
// sequences have the tables that the format defines, the weights of the Huffman code have
// one table for all inputs, and the code itself is made of logarithms of counts. Positions
// of matches count on from one input to the next, so that the table is not cleared. Nothing is allocated.
type small struct {
	table [1 << smallLog]uint32 // positions, from base on
	base  uint32
	seqs  [SmallMax / smallMatch]sequence
	lits  [SmallMax]byte
	huff  huffman
	out   [2*SmallMax + 256]byte // more than any frame, and its tables
}

// encode returns the frame's length, or 0 if it does not fit into dst. src has from
// Min to SmallMax bytes.
func (z *small) encode(dst, src []byte) int {
	seqs, lits := z.find(src)
	head := putHead(z.out[:], len(src))
	at := z.putLiterals(z.out[:], head+blockHead, lits)
	at = putSequences(z.out[:], at, seqs)
	return finish(dst, z.out[:], src, head, at)
}

// find splits src into sequences and literals, of which some follow the last sequence.
func (z *small) find(src []byte) (seqs []sequence, lits []byte) {
	if z.base > 1<<31 {
		clear(z.table[:])
		z.base = 0
	}
	base := z.base
	z.base += uint32(len(src))
	seqs, lits = z.seqs[:0], z.lits[:0]
	// An entry of an earlier input means position 0, so that whether there is a match is the
	// only branch.
	lit, p := 0, 1
	for p+8 <= len(src) {
		v := load64(src, p)
		entry := &z.table[(v<<24)*889523592379>>(64-smallLog)]
		ref := max(int(int32(*entry-base)), 0)
		*entry = base + uint32(p)
		if (load64(src, ref)^v)<<24 != 0 {
			p += 1 + (p-lit)>>4
			continue
		}
		n := smallMatch + lzcopy.Len8(src, p+smallMatch, ref+smallMatch, len(src))
		for p > lit && ref > 0 && src[p-1] == src[ref-1] {
			p, ref, n = p-1, ref-1, n+1
		}
		seqs = append(seqs, sequence{lit: uint16(p - lit), offset: uint32(p-ref) + 3, match: uint16(n)})
		lits = append(lits, src[lit:p]...)
		p += n
		lit = p
	}
	return seqs, append(lits, src[lit:]...)
}

// putLiterals writes the literals as they are, or in a Huffman code if that is shorter.
// Like all that write here it begins at p[at], and returns where it ends.
func (z *small) putLiterals(p []byte, at int, lits []byte) int {
	if end, ok := z.huff.put(p, at+3, lits); ok && end-at < 1+len(lits) {
		head := uint32(end-at-3)<<14 | uint32(len(lits))<<4 | 2 // one stream
		p[at], p[at+1], p[at+2] = byte(head), byte(head>>8), byte(head>>16)
		return end
	}
	return putPlain(p, at, litRaw, len(lits), lits)
}

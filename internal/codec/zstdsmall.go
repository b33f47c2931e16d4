package codec

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
)

// The lengths of inputs that zstdSmallEncoder takes: below, a frame is rarely shorter than
// what it holds; above, tables made for the input are worth their time.
const (
	zstdSmallMin = 24
	zstdSmallMax = 512
)

const (
	zstdSmallLog   = 10
	zstdSmallMatch = 5 // the shortest match: a sequence takes about as many bits as four literals of text
	zstdWeights    = 10
)

// zstdSmallEncoder encodes Zstandard frames of a few hundred bytes, for which the library
// spends its time on tables: it sorts, normalises and builds them for each input. Here
// sequences have the tables that the format defines, the weights of the Huffman code have
// one table for all inputs, and the code itself is made of logarithms of counts. Positions
// of matches count on from one input to the next, as in lz4Encoder. Nothing is allocated.
type zstdSmallEncoder struct {
	table [1 << zstdSmallLog]uint32 // positions, from base on
	base  uint32
	seqs  [zstdSmallMax / zstdSmallMatch]zstdSmallSeq
	lits  [zstdSmallMax]byte
	huff  huffman
	out   [2*zstdSmallMax + 256]byte // more than any frame, and its tables
}

type zstdSmallSeq struct{ lit, offset, match uint32 }

// encode returns the frame's length, or 0 if it does not fit into dst. src has from
// zstdSmallMin to zstdSmallMax bytes.
func (z *zstdSmallEncoder) encode(dst, src []byte) int {
	seqs, lits := z.find(src)
	p := z.out[:]
	head := copy(p, "\x28\xb5\x2f\xfd")
	if n := len(src); n < 256 {
		head += copy(p[head:], []byte{0x20, byte(n)}) // one segment, its length in one byte
	} else {
		head += copy(p[head:], []byte{0x60, byte(n - 256), byte((n - 256) >> 8)})
	}
	at := z.putLiterals(p, head+3, lits)
	at = putSequences(p, at, seqs)
	kind := uint32(2) // compressed
	if at-head-3 >= len(src) {
		// No block may be longer than the window (RFC 8878, 3.1.1.2.4), which is the content here.
		at, kind = head+3+copy(p[head+3:], src), 0
	}
	if at > len(dst) {
		return 0
	}
	block := uint32(at-head-3)<<3 | kind<<1 | 1 // the last one
	p[head], p[head+1], p[head+2] = byte(block), byte(block>>8), byte(block>>16)
	return copy(dst, p[:at])
}

// find splits src into sequences and literals, of which some follow the last sequence.
func (z *zstdSmallEncoder) find(src []byte) (seqs []zstdSmallSeq, lits []byte) {
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
		v := binary.LittleEndian.Uint64(src[p:])
		entry := &z.table[(v<<24)*889523592379>>(64-zstdSmallLog)]
		ref := max(int(int32(*entry-base)), 0)
		*entry = base + uint32(p)
		if (binary.LittleEndian.Uint64(src[ref:])^v)<<24 != 0 {
			p += 1 + (p-lit)>>4
			continue
		}
		n := zstdSmallMatch + matchLen8(src, p+zstdSmallMatch, ref+zstdSmallMatch, len(src))
		for p > lit && ref > 0 && src[p-1] == src[ref-1] {
			p, ref, n = p-1, ref-1, n+1
		}
		seqs = append(seqs, zstdSmallSeq{uint32(p - lit), uint32(p - ref), uint32(n)})
		lits = append(lits, src[lit:p]...)
		p += n
		lit = p
	}
	return seqs, append(lits, src[lit:]...)
}

// putLiterals writes the literals as they are, or in a Huffman code if that is shorter.
// Like all that write here it begins at p[at], and returns where it ends.
func (z *zstdSmallEncoder) putLiterals(p []byte, at int, lits []byte) int {
	if end, ok := z.huff.put(p, at+3, lits); ok && end-at < 1+len(lits) {
		head := uint32(end-at-3)<<14 | uint32(len(lits))<<4 | 2 // one stream
		p[at], p[at+1], p[at+2] = byte(head), byte(head>>8), byte(head>>16)
		return end
	}
	if len(lits) < 32 {
		p[at] = byte(len(lits) << 3)
		at++
	} else {
		p[at], p[at+1] = byte(len(lits)<<4)|1<<2, byte(len(lits)>>4)
		at += 2
	}
	return at + copy(p[at:], lits)
}

// put writes the description of a code and the coded literals. It returns false
// if they do not become shorter, as far as it looked.
func (h *huffman) put(p []byte, at int, lits []byte) (int, bool) {
	if len(lits) < 32 {
		return 0, false
	}
	clear(h.count[:])
	for _, b := range lits {
		h.count[b]++
	}
	last := 255
	for h.count[last] == 0 {
		last--
	}
	if last < 3 || int(h.count[last]) == len(lits) {
		return 0, false
	}
	// No table is shorter than 16 bytes, whatever it holds.
	if bitsOfAll, ok := h.lengths(last, len(lits)); !ok || bitsOfAll/8+16 >= len(lits) {
		return 0, false
	}
	h.assign()
	end := putWeights(p, at+1, h.weights[:last])
	if end-at-1 > 127 {
		return 0, false
	}
	p[at], at = byte(end-at-1), end
	var q bitQueue
	i := len(lits)
	for ; i >= 6; i -= 6 { // of at most 9 bits each
		six := lits[i-6:][:6]
		for k := 5; k >= 0; k-- {
			c := h.code[six[k]]
			q = q.add(uint64(c>>4), uint(c&15))
		}
		q, at = q.flush(p, at)
	}
	for ; i > 0; i-- {
		c := h.code[lits[i-1]]
		q = q.add(uint64(c>>4), uint(c&15))
	}
	return q.close(p, at), true
}

// huffman is a code in the making. Its memory is used again, and not cleared where that is
// not needed.
type huffman struct {
	count   [256]uint16
	symbols [256]byte // those that are there
	n       int
	alike   [zstdSmallMax + 1]uint16 // by count: how many symbols have it, then their group
	groups  [huffmanGroups]huffmanGroup
	k       int // groups
	weights [256]byte
	code    [256]uint16 // length in bits 0 to 3, the code above
}

// huffmanGroups is more than there are counts that add up to zstdSmallMax.
const huffmanGroups = 32

// A huffmanGroup is n symbols that are there as often as each other. The first of them,
// short in number, have a code that is a bit shorter.
type huffmanGroup struct{ count, n, length, short int }

// lengths chooses the lengths of a complete code: of each symbol the logarithm of its part,
// rounded up, and what is left by that goes to those which were rounded up most. Symbols that
// are alike are dealt with at once. It returns how many bits the code takes.
func (h *huffman) lengths(last, total int) (bitsOfAll int, ok bool) {
	most := h.group(last)
	left := 1 << zstdWeights // of the code space, in units of the shortest part
	h.k = 0
	for c := most; c > 0; c-- {
		n := int(h.alike[c])
		if n == 0 {
			continue
		}
		l := bits.Len(uint(total)) - bits.Len(uint(c))
		if c<<l < total {
			l++
		}
		if l >= zstdWeights {
			return 0, false
		}
		left -= n << (zstdWeights - l)
		h.groups[h.k&(huffmanGroups-1)], h.alike[c] = huffmanGroup{count: c, n: n, length: l}, uint16(h.k)
		h.k++
	}
	groups := h.groups[:h.k]
	// Parts of 3/4 or more of the shorter code's become whole, then those of 1/2, then any.
	for part := 3; left > 0 && part > -zstdWeights; part-- {
		for i := range groups {
			if g := &groups[i]; g.length > 1 && 2*g.count<<g.length >= part*total {
				left -= g.shorten(left)
			}
		}
	}
	for i := range groups {
		bitsOfAll += groups[i].count * (groups[i].n*groups[i].length - groups[i].short)
	}
	return bitsOfAll, left == 0
}

// group lists the symbols up to the last, and counts those that are there as often as each
// other. It returns the most that one is there.
func (h *huffman) group(last int) int {
	n, most := 0, uint16(0)
	for s, c := range h.count[:last+1] {
		h.symbols[n&255] = byte(s)
		n += int(-uint32(c) >> 31) // without a branch, which would be guessed wrong often
		most = max(most, c)
	}
	h.n = n
	clear(h.alike[:most+1])
	for _, s := range h.symbols[:n] {
		h.alike[h.count[s]]++
	}
	return int(most)
}

// shorten makes the codes of a group a bit shorter, of all symbols or as many as there is
// room for. It returns how much of the code space that took.
func (g *huffmanGroup) shorten(left int) int {
	room := zstdWeights - g.length
	n := min(g.n, left>>room)
	if n == g.n {
		g.length--
	} else if n > 0 {
		g.short = n // for good: what is left is less than room
	}
	return n << room
}

// assign makes weights and codes of the lengths.
func (h *huffman) assign() {
	longest, groups := 0, h.groups[:h.k]
	for i := range groups {
		longest = max(longest, groups[i].length)
	}
	var start [zstdWeights + 2]uint16
	for i := range groups {
		g := &groups[i]
		w := longest + 1 - g.length
		start[w+1] += uint16(g.n-g.short) << (w - 1)
		if g.short > 0 {
			start[w+2] += uint16(g.short) << w
		}
	}
	for w := 1; w < len(start); w++ {
		start[w] += start[w-1]
	}
	clear(h.weights[:])
	for _, s := range h.symbols[:h.n] {
		g := &h.groups[h.alike[h.count[s]]&(huffmanGroups-1)]
		l := g.length
		if g.short > 0 {
			g.short--
			l--
		}
		w := longest + 1 - l
		h.weights[s] = byte(w)
		h.code[s] = start[w]>>(w-1)<<4 | uint16(l)
		start[w] += 1 << (w - 1)
	}
}

// A bitQueue holds bits that are not written yet, the first in the lowest place, for a reader
// that begins at their end. It is small enough to be kept in registers.
type bitQueue struct {
	v uint64
	n uint
}

func (q bitQueue) add(v uint64, n uint) bitQueue { return bitQueue{q.v | v<<(q.n&63), q.n + n} }

// flush leaves less than 8 bits. It writes up to 8 bytes.
func (q bitQueue) flush(p []byte, at int) (bitQueue, int) {
	binary.LittleEndian.PutUint64(p[at:], q.v)
	return bitQueue{q.v >> (q.n &^ 7 & 63), q.n & 7}, at + int(q.n>>3)
}

// close adds the bit that marks the end.
func (q bitQueue) close(p []byte, at int) int {
	rest, at := q.add(1, 1).flush(p, at)
	p[at] = byte(rest.v)
	return at + int((rest.n+7)>>3)
}

// fseEncoder is a table for coding by one distribution.
type fseEncoder struct {
	log    uint
	states [64]uint16
	symbol [smallSymbols]struct{ bits, find int32 } // as in C: deltaNbBits, deltaFindState
}

func newFSEEncoder(log uint, norm []int16) *fseEncoder {
	t := &fseEncoder{log: log}
	size := int32(1) << log
	var spread [64]byte
	var first [smallSymbols]int32
	high, total := size-1, int32(0)
	for s, n := range norm {
		first[s] = total
		x := &t.symbol[s]
		switch {
		case n == -1:
			spread[high] = byte(s)
			high--
			fallthrough
		case n == 1:
			x.bits, x.find = int32(log<<16)-size, total-1
			total++
		case n > 1:
			most := int32(log) + 1 - int32(bits.Len16(uint16(n-1)))
			x.bits, x.find = most<<16-int32(n)<<most, total-int32(n)
			total += int32(n)
		}
	}
	pos, step := int32(0), size>>1+size>>3+3
	for s, n := range norm {
		for range n {
			spread[pos] = byte(s)
			for pos = (pos + step) & (size - 1); pos > high; {
				pos = (pos + step) & (size - 1)
			}
		}
	}
	for u := range size {
		s := spread[u]
		t.states[first[s]] = uint16(size + u)
		first[s]++
	}
	return t
}

func (t *fseEncoder) begin(s byte) uint32 {
	x := t.symbol[s]
	n := uint32(x.bits+1<<15) >> 16
	return uint32(t.states[int32((n<<16-uint32(x.bits))>>n)+x.find])
}

func (t *fseEncoder) next(q bitQueue, state uint32, s byte) (bitQueue, uint32) {
	x := t.symbol[s]
	n := uint(int32(state)+x.bits) >> 16
	return q.add(uint64(state)&(1<<n-1), n), uint32(t.states[int32(state>>(n&31))+x.find])
}

func (t *fseEncoder) end(q bitQueue, state uint32) bitQueue {
	return q.add(uint64(state)&(1<<t.log-1), t.log)
}

const smallSymbols = 53 // the largest number of symbols of a distribution

// smallCode is what a symbol means: a base, to which extra bits are added.
type smallCode struct {
	base  uint32
	extra uint8
}

// smallCodes are codes for single values, then those with extra bits; each begins where
// the one before it ends.
func smallCodes(base uint32, single int, extra ...uint8) (codes []smallCode) {
	for _, x := range append(make([]uint8, single), extra...) {
		codes = append(codes, smallCode{base, x})
		base += 1 << x
	}
	return codes
}

// zstdSmallTables are those for all inputs.
type zstdSmallTables struct {
	lit, offset, match *fseEncoder
	weights            weightEncoder
	litCodes           []smallCode
	matchCodes         []smallCode
	weightsHead        []byte    // describes it
	litCode            [64]byte  // of a length; longer ones have their logarithm and 19
	matchCode          [128]byte // of a length less 3; longer ones have their logarithm and 36
}

// weightParts are parts of 64 that weights have in Huffman codes of text of some hundred
// bytes: most symbols are not there at all, and most of the others once or twice.
var weightParts = []int16{42, 4, 5, 4, 3, 2, 1, 1, 1, 1}

var zstdSmallShared = sync.OnceValue(func() *zstdSmallTables {
	ml := []int16{1, 4, 3, 2, 2, 2, 2, 2, 2}
	for len(ml) < 46 {
		ml = append(ml, 1)
	}
	t := &zstdSmallTables{
		lit: newFSEEncoder(6, []int16{4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2,
			3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1}),
		offset: newFSEEncoder(5, []int16{1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
			-1, -1, -1, -1, -1}),
		match:      newFSEEncoder(6, append(ml, -1, -1, -1, -1, -1, -1, -1)),
		litCodes:   smallCodes(0, 16, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9),
		matchCodes: smallCodes(3, 32, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9),
		weights:    newWeightEncoder(), weightsHead: distribution(6, weightParts),
	}
	of := func(codes []smallCode, v int) byte {
		i := len(codes) - 1
		for int(codes[i].base) > v {
			i--
		}
		return byte(i)
	}
	for i := range t.litCode {
		t.litCode[i] = of(t.litCodes, i)
	}
	for i := range t.matchCode {
		t.matchCode[i] = of(t.matchCodes, i+3)
	}
	return t
})

// distribution describes a distribution none of whose parts is 0.
func distribution(log uint, norm []int16) []byte {
	var q bitQueue
	p, at := make([]byte, 2*len(norm)+8), 0
	q = q.add(uint64(log-5), 4)
	left, threshold, n := 1<<log+1, 1<<log, log+1
	for _, count := range norm {
		most := 2*threshold - 1 - left
		left -= int(count)
		v := int(count) + 1
		if v >= threshold {
			v += most
		}
		k := n
		if v < most {
			k--
		}
		q = q.add(uint64(v), k)
		for left < threshold {
			n, threshold = n-1, threshold>>1
		}
		q, at = q.flush(p, at)
	}
	p[at] = byte(q.v)
	return p[:at+int((q.n+7)>>3)]
}

// weightEncoder is an fseEncoder of weights with a step for each state and weight: the next
// state in bits 0 to 5, how many bits are written in 6 to 8, and these above.
type weightEncoder struct {
	steps [16][64]uint16
	first [16]uint16
}

func newWeightEncoder() (w weightEncoder) {
	t := newFSEEncoder(6, weightParts)
	for s := range weightParts {
		w.first[s] = uint16(t.begin(byte(s)) & 63)
		for state := range uint32(64) {
			q, next := t.next(bitQueue{}, 64|state, byte(s))
			w.steps[s][state] = uint16(next&63) | uint16(q.n)<<6 | uint16(q.v)<<9
		}
	}
	return w
}

func (w *weightEncoder) next(q bitQueue, state uint16, weight byte) (bitQueue, uint16) {
	x := w.steps[weight&15][state&63]
	return q.add(uint64(x>>9), uint(x>>6&7)), x
}

// putWeights writes at least three weights by two states in turn.
func putWeights(p []byte, at int, weights []byte) int {
	shared := zstdSmallShared()
	t := &shared.weights
	var q bitQueue
	at += copy(p[at:], shared.weightsHead)
	i := len(weights)
	var a, b uint16
	if i%2 == 1 {
		a, b = t.first[weights[i-1]&15], t.first[weights[i-2]&15]
		q, a = t.next(q, a, weights[i-3])
		i -= 3
	} else {
		b, a = t.first[weights[i-1]&15], t.first[weights[i-2]&15]
		i -= 2
	}
	for ; i > 1; i -= 2 {
		q, b = t.next(q, b, weights[i-1])
		q, a = t.next(q, a, weights[i-2])
		if q.n > 48 {
			q, at = q.flush(p, at)
		}
	}
	q, at = q.flush(p, at)
	return q.add(uint64(b&63), 6).add(uint64(a&63), 6).close(p, at)
}

// putSequences codes sequences by the tables that the format defines. Offsets are never
// those that repeat: in short inputs they hardly do.
func putSequences(p []byte, at int, seqs []zstdSmallSeq) int {
	p[at] = byte(len(seqs)) // fewer than 128
	if len(seqs) == 0 {
		return at + 1
	}
	p[at+1] = 0
	at += 2
	t := zstdSmallShared()
	var q bitQueue
	var lit, offset, match uint32
	for i, s := range slices.Backward(seqs) {
		l, m, o := t.codesOf(s)
		if i == len(seqs)-1 {
			match, offset, lit = t.match.begin(m), t.offset.begin(o), t.lit.begin(l)
		} else {
			q, offset = t.offset.next(q, offset, o)
			q, match = t.match.next(q, match, m)
			q, lit = t.lit.next(q, lit, l)
		}
		lc, mc := t.litCodes[l], t.matchCodes[m]
		q = q.add(uint64(s.lit-lc.base), uint(lc.extra)).add(uint64(s.match-mc.base), uint(mc.extra)) // of at most 9 bits each
		q, at = q.add(uint64(s.offset+3)-1<<o, uint(o)).flush(p, at)
	}
	q = t.match.end(q, match)
	q = t.offset.end(q, offset)
	return t.lit.end(q, lit).close(p, at)
}

func (t *zstdSmallTables) codesOf(s zstdSmallSeq) (lit, match, offset byte) {
	if s.lit < uint32(len(t.litCode)) {
		lit = t.litCode[s.lit]
	} else {
		lit = byte(bits.Len32(s.lit)) + 18
	}
	if m := s.match - 3; m < uint32(len(t.matchCode)) {
		match = t.matchCode[m]
	} else {
		match = byte(bits.Len32(m)) + 35
	}
	return lit, match, byte(bits.Len32(s.offset+3)) - 1
}

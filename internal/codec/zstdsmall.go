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
	table [1 << zstdSmallLog]uint32 // position + 1, from base on
	base  uint32
	seqs  [zstdSmallMax / zstdSmallMatch]zstdSmallSeq
	lits  [zstdSmallMax + 8]byte
	out   [2*zstdSmallMax + 256]byte // more than any frame, and its tables
}

type zstdSmallSeq struct{ lit, offset, match uint32 }

// encode returns the frame's length, or 0 if it does not fit into dst. src has from
// zstdSmallMin to zstdSmallMax bytes.
func (z *zstdSmallEncoder) encode(dst, src []byte) int {
	seqs, lits := z.find(src)
	p := append(z.out[:0], 0x28, 0xb5, 0x2f, 0xfd)
	if n := len(src); n < 256 {
		p = append(p, 0x20, byte(n)) // one segment, its length in one byte
	} else {
		p = append(p, 0x60, byte(n-256), byte((n-256)>>8))
	}
	head := len(p)
	p = appendSmallLiterals(append(p, 0, 0, 0), lits)
	p = z.appendSequences(p, seqs)
	kind := uint32(2) // compressed
	if len(p)-head-3 >= len(src) {
		// No block may be longer than the window (RFC 8878, 3.1.1.2.4), which is the content here.
		p, kind = append(p[:head+3], src...), 0
	}
	if len(p) > len(dst) {
		return 0
	}
	block := uint32(len(p)-head-3)<<3 | kind<<1 | 1 // the last one
	p[head], p[head+1], p[head+2] = byte(block), byte(block>>8), byte(block>>16)
	return copy(dst, p)
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
	lit, p := 0, 0
	for p+8 <= len(src) {
		v := binary.LittleEndian.Uint64(src[p:])
		entry := &z.table[(v<<24)*889523592379>>(64-zstdSmallLog)]
		ref := int(int64(*entry) - int64(base) - 1)
		*entry = base + uint32(p) + 1
		if ref < 0 || (binary.LittleEndian.Uint64(src[ref:])^v)<<24 != 0 {
			p += 1 + (p-lit)>>6
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

// appendSmallLiterals writes the literals as they are, or in a Huffman code if that is shorter.
func appendSmallLiterals(p, lits []byte) []byte {
	from := len(p)
	if q, ok := appendHuffman(append(p, 0, 0, 0), lits); ok && len(q)-from < 1+len(lits) {
		head := uint32(len(q)-from-3)<<14 | uint32(len(lits))<<4 | 2 // one stream
		q[from], q[from+1], q[from+2] = byte(head), byte(head>>8), byte(head>>16)
		return q
	}
	if len(lits) < 32 {
		p = append(p, byte(len(lits)<<3))
	} else {
		p = append(p, byte(len(lits)<<4)|1<<2, byte(len(lits)>>4))
	}
	return append(p, lits...)
}

// appendHuffman writes the description of a code and the coded literals. It returns false
// if they do not become shorter, as far as it looked.
func appendHuffman(p, lits []byte) ([]byte, bool) {
	var count [256]uint16
	for _, b := range lits {
		count[b]++
	}
	last := 255
	for count[last] == 0 {
		last--
	}
	var code [256]uint16 // length in bits 0 to 3, the code above
	if last < 3 || int(count[last]) == len(lits) || len(lits) < 32 {
		return nil, false
	}
	var weights [256]byte
	bitsOfAll, ok := huffmanWeights(&count, last, len(lits), &weights, &code)
	if !ok || bitsOfAll/8+16 >= len(lits) { // 16: no table is shorter, whatever it holds
		return nil, false
	}
	from := len(p)
	p = appendWeights(append(p, 0), weights[:last])
	if n := len(p) - from - 1; n > 127 {
		return nil, false
	} else {
		p[from] = byte(n)
	}
	w := bitsAppender{p: p}
	i := len(lits)
	for ; i >= 5; i -= 5 { // of at most 9 bits each
		for _, b := range [5]byte{lits[i-1], lits[i-2], lits[i-3], lits[i-4], lits[i-5]} {
			w.add(uint64(code[b]>>4), uint(code[b]&15))
		}
		w.flush()
	}
	for ; i > 0; i-- {
		w.add(uint64(code[lits[i-1]]>>4), uint(code[lits[i-1]]&15))
	}
	return w.close(), true
}

// huffmanWeights makes a complete code: of each symbol the length is the logarithm of its
// part, rounded up, and what is left by that goes to those which were rounded up most.
func huffmanWeights(count *[256]uint16, last, total int, weights *[256]byte, code *[256]uint16) (bitsOfAll int, ok bool) {
	var symbols, lengths [256]byte
	n, longest := 0, 0
	left := 1 << zstdWeights // of the code space, in units of the shortest part
	for s, c := range count[:last+1] {
		symbols[n&255] = byte(s)
		n += int(-uint32(c) >> 31) // without a branch, which would be guessed wrong often
	}
	for i, s := range symbols[:n] {
		c := int32(count[s])
		l := bits.Len32(uint32(total)) - bits.Len32(uint32(c))
		l += int(uint32(c<<l-int32(total)) >> 31)
		lengths[i] = byte(l)
		longest = max(longest, l)
		left -= 1 << (zstdWeights - l)
	}
	if longest >= zstdWeights {
		return 0, false
	}
	for least := 3; left > 0; least = max(least-1, 2) { // a part of 3/4 or more of the shorter code's, then any
		for i, s := range symbols[:n] {
			l := lengths[i]
			if room := 1 << (zstdWeights - l); room <= left && l > 1 && 2*(int(count[s])<<l) >= least*total {
				lengths[i]--
				left -= room
			}
		}
		if least == 2 {
			break
		}
	}
	for left > 0 { // what is rare is shortened last
		before := left
		for i := range n {
			if room := 1 << (zstdWeights - lengths[i]); room <= left && lengths[i] > 1 {
				lengths[i]--
				left -= room
			}
		}
		if left == before {
			return 0, false
		}
	}
	longest = int(slices.Max(lengths[:n]))
	var start [zstdWeights + 2]uint16
	for i, s := range symbols[:n] {
		w := longest + 1 - int(lengths[i])
		weights[s] = byte(w)
		start[w+1] += 1 << (w - 1)
		bitsOfAll += int(lengths[i]) * int(count[s])
	}
	for w := 1; w < len(start); w++ {
		start[w] += start[w-1]
	}
	for i, s := range symbols[:n] {
		w := weights[s]
		code[s] = start[w]>>(w-1)<<4 | uint16(lengths[i])
		start[w] += 1 << (w - 1)
	}
	return bitsOfAll, true
}

// bitsAppender writes bits, the lowest first, for a reader that begins at their end.
type bitsAppender struct {
	p    []byte
	bits uint64
	n    uint
}

func (w *bitsAppender) add(v uint64, n uint) {
	w.bits |= v << (w.n & 63)
	w.n += n
}

// flush leaves less than 8 bits.
func (w *bitsAppender) flush() {
	w.p = binary.LittleEndian.AppendUint64(w.p, w.bits)
	w.p = w.p[:len(w.p)-8+int(w.n/8)]
	w.bits >>= w.n &^ 7
	w.n &= 7
}

// close adds the bit that marks the end.
func (w *bitsAppender) close() []byte {
	w.add(1, 1)
	w.flush()
	if w.n > 0 {
		w.p = append(w.p, byte(w.bits))
	}
	return w.p
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

func (t *fseEncoder) next(w *bitsAppender, state uint32, s byte) uint32 {
	x := t.symbol[s]
	n := uint(int32(state)+x.bits) >> 16
	w.add(uint64(state)&(1<<n-1), n)
	return uint32(t.states[int32(state>>n)+x.find])
}

func (t *fseEncoder) end(w *bitsAppender, state uint32) {
	w.add(uint64(state)&(1<<t.log-1), t.log)
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
	weights            *fseEncoder
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
		weights:    newFSEEncoder(6, weightParts), weightsHead: appendDistribution(nil, 6, weightParts),
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

// appendDistribution describes a distribution none of whose parts is 0.
func appendDistribution(p []byte, log uint, norm []int16) []byte {
	w := bitsAppender{p: p}
	w.add(uint64(log-5), 4)
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
		w.add(uint64(v), k)
		for left < threshold {
			n, threshold = n-1, threshold>>1
		}
		w.flush()
	}
	if w.n > 0 {
		w.p = append(w.p, byte(w.bits))
	}
	return w.p
}

// appendWeights writes at least three weights by two states in turn.
func appendWeights(p, weights []byte) []byte {
	shared := zstdSmallShared()
	t := shared.weights
	w := bitsAppender{p: append(p, shared.weightsHead...)}
	i := len(weights)
	var a, b uint32
	if i%2 == 1 {
		a, b = t.begin(weights[i-1]), t.begin(weights[i-2])
		a = t.next(&w, a, weights[i-3])
		i -= 3
	} else {
		b, a = t.begin(weights[i-1]), t.begin(weights[i-2])
		i -= 2
	}
	for ; i > 0; i -= 2 {
		b = t.next(&w, b, weights[i-1])
		a = t.next(&w, a, weights[i-2])
		if w.n > 48 {
			w.flush()
		}
	}
	w.flush()
	t.end(&w, b)
	t.end(&w, a)
	return w.close()
}

// appendSequences codes sequences by the tables that the format defines. Offsets are never
// those that repeat: in short inputs they hardly do.
func (z *zstdSmallEncoder) appendSequences(p []byte, seqs []zstdSmallSeq) []byte {
	p = append(p, byte(len(seqs))) // fewer than 128
	if len(seqs) == 0 {
		return p
	}
	t := zstdSmallShared()
	w := bitsAppender{p: append(p, 0)}
	var lit, offset, match uint32
	for i, s := range slices.Backward(seqs) {
		l, m, o := t.codesOf(s)
		if i == len(seqs)-1 {
			match, offset, lit = t.match.begin(m), t.offset.begin(o), t.lit.begin(l)
		} else {
			offset = t.offset.next(&w, offset, o)
			match = t.match.next(&w, match, m)
			lit = t.lit.next(&w, lit, l)
			w.flush()
		}
		lc, mc := t.litCodes[l], t.matchCodes[m]
		w.add(uint64(s.lit-lc.base), uint(lc.extra))
		w.add(uint64(s.match-mc.base), uint(mc.extra))
		w.add(uint64(s.offset+3)-1<<o, uint(o))
		w.flush()
	}
	t.match.end(&w, match)
	t.offset.end(&w, offset)
	t.lit.end(&w, lit)
	return w.close()
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

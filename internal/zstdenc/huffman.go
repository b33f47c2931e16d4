package zstdenc

import "math/bits"

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
	alike   [SmallMax + 1]uint16 // by count: how many symbols have it, then their group
	groups  [huffmanGroups]huffmanGroup
	k       int // groups
	weights [256]byte
	code    [256]uint16 // length in bits 0 to 3, the code above
}

// huffmanGroups is more than there are counts that add up to SmallMax.
const huffmanGroups = 32

// A huffmanGroup is n symbols that are there as often as each other. The first of them,
// short in number, have a code that is a bit shorter.
type huffmanGroup struct{ count, n, length, short int }

// lengths chooses the lengths of a complete code: of each symbol the logarithm of its part,
// rounded up, and what is left by that goes to those which were rounded up most. Symbols that
// are alike are dealt with at once. It returns how many bits the code takes.
func (h *huffman) lengths(last, total int) (bitsOfAll int, ok bool) {
	most := h.group(last)
	left := 1 << codeBits // of the code space, in units of the shortest part
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
		if l >= codeBits {
			return 0, false
		}
		left -= n << (codeBits - l)
		h.groups[h.k&(huffmanGroups-1)], h.alike[c] = huffmanGroup{count: c, n: n, length: l}, uint16(h.k)
		h.k++
	}
	groups := h.groups[:h.k]
	// Parts of 3/4 or more of the shorter code's become whole, then those of 1/2, then any.
	for part := 3; left > 0 && part > -codeBits; part-- {
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
	room := codeBits - g.length
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
	var start [codeBits + 2]uint16
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

// weightEncoder is an fseEncoder of weights with a step for each state and weight: the next
// state in bits 0 to 5, how many bits are written in 6 to 8, and these above.
type weightEncoder struct {
	steps [16][64]uint16
	first [16]uint16
}

func newWeightEncoder() (w weightEncoder) {
	var t fseEncoder
	t.build(6, weightParts)
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
	all := shared()
	t := &all.weights
	var q bitQueue
	at += copy(p[at:], all.weightsHead)
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

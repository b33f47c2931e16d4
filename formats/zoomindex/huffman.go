package zoomindex

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/farread/farread/internal/lzcopy"
)

// A bitWriter appends bits, the low ones first, as deflate wants them.
type bitWriter struct {
	out []byte
	acc uint64
	n   uint
}

func (w *bitWriter) bits(x uint64, n uint) {
	w.acc |= x << w.n
	if w.n += n; w.n >= 32 {
		w.out = binary.LittleEndian.AppendUint32(w.out, uint32(w.acc&math.MaxUint32))
		w.acc >>= 32
		w.n -= 32
	}
}

// align ends the byte.
func (w *bitWriter) align() {
	for w.n > 0 {
		w.out = append(w.out, byte(w.acc&math.MaxUint8))
		w.acc >>= 8
		w.n -= min(w.n, 8)
	}
}

const (
	// The kinds of blocks: the three bits that begin a block which is not the last one.
	blockStored  = 0
	blockFixed   = 1 << 1
	blockDynamic = 2 << 1

	endOfBlock = 256
	literals   = 257 // bytes, and the end of a block
	symbols    = 286 // also the lengths of copies
	maxCode    = 15  // bits
	maxCodeLen = 7   // longest code for lengths
	leastCopy  = 3   // bytes
	mostCopy   = 258
)

// A code is a Huffman code for all bytes, and, if it is made for runs, for copies of
// the byte before. Symbols that did not occur when it was made have long codes. A code
// may serve many pages.
type code struct {
	code [symbols]uint16
	len  [symbols]uint8
	n    int         // number of symbols
	head bitWriter   // first bits of a block with this code
	pair [256]uint32 // of each byte the code, and in the low 8 bits its length
}

// makeCode makes the code of n symbols with those counts.
func makeCode(count []uint32, n int) *code {
	var weight [symbols]uint32
	for i, n := range count[:n] {
		weight[i] = n*32 + 1
	}
	weight[endOfBlock] = 1
	c := &code{n: n}
	codeLengths(weight[:n], c.len[:n], maxCode)
	assign(c.len[:n], c.code[:n])
	for b := range c.pair {
		c.pair[b] = uint32(c.code[b])<<8 | uint32(c.len[b])
	}
	c.header()
	return c
}

// codeLengths makes the lengths of a Huffman code, none above most bits. The weights
// are below 2^32.
func codeLengths(weight []uint32, length []uint8, most int) {
	const low = 9 // bits of a symbol
	var memory [symbols]uint64
	leaves := memory[:0]       // weight and symbol
	for i, w := range weight { // most symbols have the least weight: they are in order
		if w == 1 {
			leaves = append(leaves, 1<<low|uint64(i))
		}
	}
	light := len(leaves)
	for i, w := range weight {
		if w > 1 {
			leaves = append(leaves, uint64(w)<<low|uint64(i))
		}
	}
	slices.Sort(leaves[light:])
	n := len(leaves)
	if n < 2 {
		for _, l := range leaves {
			length[l&(1<<low-1)] = 1
		}
		return
	}
	// Join the two lightest nodes until one is left. Joined nodes are made in the order
	// of their weights.
	var nodes [symbols]uint64
	node := nodes[:0]
	var parent, depth [2 * symbols]uint16
	i, j := 0, 0
	take := func() (int, uint64) {
		if i < n && (j >= len(node) || leaves[i]>>low <= node[j]) {
			i++
			return i - 1, leaves[i-1] >> low
		}
		j++
		return n + j - 1, node[j-1]
	}
	for len(node) < n-1 {
		a, u := take()
		b, v := take()
		parent[a], parent[b] = uint16(n+len(node)), uint16(n+len(node))
		node = append(node, u+v)
	}
	var have [64]int
	over := 0
	for k := 2*n - 3; k >= 0; k-- {
		depth[k] = depth[parent[k]] + 1
		if k >= n {
			continue
		}
		if int(depth[k]) > most {
			over++
		}
		have[min(int(depth[k]), most)]++
	}
	balance(have[:most+1], over)
	// The lightest symbols have the longest codes.
	k := 0
	for d := most; d > 0; d-- {
		for range have[d] {
			length[leaves[k]&(1<<low-1)] = uint8(d)
			k++
		}
	}
}

// balance makes a valid code after codes were cut to the longest length. Too many codes
// have that length then, so it splits shorter ones.
func balance(have []int, over int) {
	if over == 0 {
		return
	}
	most := len(have) - 1
	used := 0 // counted in codes of the longest length
	for d := 1; d <= most; d++ {
		used += have[d] << (most - d)
	}
	for used > 1<<most {
		d := most - 1
		for have[d] == 0 {
			d--
		}
		have[d]--
		have[d+1] += 2
		have[most]--
		used--
	}
}

// assign numbers the codes of those lengths, in the bit order of deflate.
func assign(length []uint8, codes []uint16) {
	var next [maxCode + 2]uint16
	var have [maxCode + 1]uint16
	for _, n := range length {
		have[n]++
	}
	have[0] = 0
	for d := 1; d <= maxCode; d++ {
		next[d+1] = (next[d] + have[d]) << 1
	}
	for i, n := range length {
		if n > 0 {
			codes[i] = bits.Reverse16(next[n]) >> (16 - n)
			next[n]++
		}
	}
}

// header makes the beginning of a block: the lengths of the codes, in a code of their
// own.
func (c *code) header() {
	const lengths, repeat = 19, 16
	order := [lengths]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	var memory [symbols + 2]uint8
	list := append(append(memory[:0], c.len[:c.n]...), 1, 1) // lengths for two distances
	type token struct{ symbol, extra uint8 }
	var room [symbols + 2]token
	tokens := room[:0]
	var weight [lengths]uint32
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && list[i+n] == list[i] && n < 7 {
			n++
		}
		tokens = append(tokens, token{list[i], 0})
		weight[list[i]]++
		i++
		if n--; n >= 3 { // so many more of them
			tokens = append(tokens, token{repeat, uint8(n - 3)})
			weight[repeat]++
			i += n
		}
	}
	var length [lengths]uint8
	var codes [lengths]uint16
	codeLengths(weight[:], length[:], maxCodeLen)
	assign(length[:], codes[:])
	h := &c.head
	h.bits(blockDynamic, 3)
	h.bits(uint64(c.n-literals), 5)
	h.bits(1, 5)         // two distances
	h.bits(lengths-4, 4) // all lengths
	for _, s := range order {
		h.bits(uint64(length[s]), 3)
	}
	for _, t := range tokens {
		h.bits(uint64(codes[t.symbol]), uint(length[t.symbol]))
		if t.symbol == repeat {
			h.bits(uint64(t.extra), 2)
		}
	}
}

// coded appends a block of p.
func (w *bitWriter) coded(c *code, p []byte) {
	w.begin(c)
	const room = 8 // bytes are stored eight at a time
	at := len(w.out)
	out, acc, n := slices.Grow(w.out, len(p)*maxCode/8+2*room), w.acc, w.n
	out = out[:cap(out)]
	flush := func() { // at most 7 bits are left
		binary.LittleEndian.PutUint64(out[at:], acc)
		at += int(n / 8)
		acc >>= n &^ 7
		n &= 7
	}
	flush()
	for ; len(p) >= 4; p = p[4:] {
		d, e, f, g := c.pair[p[0]], c.pair[p[1]], c.pair[p[2]], c.pair[p[3]]
		// Only the last step waits for the codes before these four.
		de, fg := uint(d&math.MaxUint8+e&math.MaxUint8), uint(f&math.MaxUint8+g&math.MaxUint8)
		x := uint64(d>>8) | uint64(e>>8)<<(d&63)
		x |= (uint64(f>>8) | uint64(g>>8)<<(f&63)) << (de & 63)
		all := acc | x<<(n&63)
		binary.LittleEndian.PutUint64(out[at:], all)
		if n+de+fg >= 64 { // four of the longest codes
			acc = x >> (64 - n)
			n += de + fg - 64
			at += 8
			continue
		}
		acc, n = all, n+de+fg
		at += int(n / 8)
		acc >>= n &^ 7
		n &= 7
	}
	for _, b := range p {
		acc |= uint64(c.code[b]) << n
		n += uint(c.len[b])
	}
	flush()
	w.out, w.acc, w.n = out[:at], acc, n
	w.bits(uint64(c.code[endOfBlock]), uint(c.len[endOfBlock]))
}

// begin begins a block.
func (w *bitWriter) begin(c *code) {
	for _, b := range c.head.out {
		w.bits(uint64(b), 8)
	}
	w.bits(c.head.acc, c.head.n)
}

// runs appends a block of p. It writes a run of one byte as copies of the run's first
// byte.
func (w *bitWriter) runs(c *code, p []byte) {
	w.begin(c)
	for len(p) > 0 {
		b, n := p[0], run(p)
		p = p[n:]
		w.bits(uint64(c.code[b]), uint(c.len[b]))
		for n--; n >= leastCopy; {
			k := min(n, mostCopy)
			symbol, more, extra := copySymbol(k)
			size := uint(c.len[symbol])
			w.bits(uint64(c.code[symbol])|more<<size, size+extra+1) // the last bit is the code 0: a distance of 1
			n -= k
		}
		for range n {
			w.bits(uint64(c.code[b]), uint(c.len[b]))
		}
	}
	w.bits(uint64(c.code[endOfBlock]), uint(c.len[endOfBlock]))
}

// run is how many bytes p begins with that are the same.
func run(p []byte) int {
	if len(p) < 2 || p[1] != p[0] {
		return 1
	}
	const ones = math.MaxUint64 / math.MaxUint8
	i, all := 2, uint64(p[0])*ones
	for ; i+8 <= len(p); i += 8 {
		if d := binary.LittleEndian.Uint64(p[i:]) ^ all; d != 0 {
			return i + bits.TrailingZeros64(d)/8
		}
	}
	for i < len(p) && p[i] == p[0] {
		i++
	}
	return i
}

// copySymbol is the symbol for n copies, with the extra bits that follow it.
func copySymbol(n int) (symbol int, more uint64, extra uint) {
	if n == mostCopy {
		return symbols - 1, 0, 0
	}
	// From 11 on there are four symbols for each number of extra bits.
	if n -= leastCopy; n < 8 {
		return literals + n, 0, 0
	}
	extra = uint(bits.Len(uint(n))) - 3
	return literals + 4 + 4*int(extra) + n>>extra - 4, uint64(n & (1<<extra - 1)), extra
}

// same appends a block of n times b: the byte, then copies of it.
func (w *bitWriter) same(b byte, n int) {
	w.bits(blockFixed, 3)
	w.literal(b)
	for n--; n > 0; {
		k := min(n, mostCopy)
		switch {
		case k < leastCopy:
			w.literal(b)
			n--
			continue
		case n > mostCopy && n < mostCopy+leastCopy: // nothing too short is left over
			k = mostCopy - leastCopy
		}
		w.copies(k, 1)
		n -= k
	}
	w.bits(0, 7) // end of the block
}

// cycle appends a block of p, whose bytes are mostly those d before them. If d is 0 none are.
func (w *bitWriter) cycle(p []byte, d int) {
	w.bits(blockFixed, 3)
	for i := 0; i < len(p); {
		n := 0
		if d > 0 && i >= d {
			n = min(lzcopy.Len(p, i, i-d, len(p)), mostCopy)
		}
		if n < leastCopy {
			w.literal(p[i])
			i++
			continue
		}
		w.copies(n, d)
		i += n
	}
	w.bits(0, 7)
}

// cycle is after how many bytes those in the middle of p come again, or 0.
func cycle(p []byte) int {
	if len(p) < 4*leastCycle {
		return 0
	}
	at := len(p) / 2
	look := p[at : at+leastCycle]
	for d := 1; d <= min(mostCopy, at); d++ {
		if bytes.Equal(p[at-d:at-d+leastCycle], look) {
			return d
		}
	}
	return 0
}

// leastCycle is how many bytes have to come again.
const leastCycle = 32

// cycled is about how many bytes cycle makes of p.
func cycled(p []byte, d int) float64 {
	strays := d
	for i := d; i < len(p); i++ {
		if p[i] != p[i-d] {
			strays++
		}
	}
	const literal, copies = 9, 8 + 5 + 11 // bits
	return float64(strays*(literal+copies)+len(p)/mostCopy*copies) / 8
}

// literal appends a byte in the fixed code.
func (w *bitWriter) literal(b byte) {
	if b < 144 {
		w.bits(uint64(bits.Reverse8(0x30+b)), 8)
		return
	}
	w.bits(uint64(bits.Reverse16(0x190+uint16(b-144))>>7), 9)
}

// copies appends n copies, from 3 to 258, of bytes d before, in the fixed code.
func (w *bitWriter) copies(n, d int) {
	symbol, more, extra := copySymbol(n)
	if symbol < 280 {
		w.bits(uint64(bits.Reverse8(uint8(symbol-256))>>1), 7)
	} else {
		w.bits(uint64(bits.Reverse8(uint8(0xC0+symbol-280))), 8)
	}
	w.bits(more, extra)
	x := uint64(d - 1)
	if x < 4 {
		w.bits(uint64(bits.Reverse8(uint8(x))>>3), 5)
		return
	}
	e := uint(bits.Len64(x)) - 2
	w.bits(uint64(bits.Reverse8(uint8(2*uint64(e)+x>>e))>>3), 5)
	w.bits(x&(1<<e-1), e)
}

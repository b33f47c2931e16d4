package inflate

import (
	"math/bits"
	"sync"
)

// The decoder finds a code of up to litBits or distBits bits by one look into the
// table. A longer code takes a second look, in a part of the table for all codes with
// the same first bits. A complete code has two or more codes for each such part. This
// bounds the tables: they have at most 288 and 30 symbols.
const (
	litBits  = 11
	distBits = 8
	maxCode  = 15

	maxDistBits = maxCode + 13 // of a distance with its extra bits
)

// tables are of the two codes of a block. The kernel knows where the second begins.
type tables struct {
	lit  [1<<litBits + 144<<(maxCode-litBits)]uint32
	dist [1<<distBits + 15<<(maxCode-distBits)]uint32
}

// An entry of a table: how many bits the code and the extra bits behind it have (bits 0
// to 4), the code alone (8 to 11), and from bit 16 on the byte, base length, base distance
// or, for a second look, where its part begins behind the table of first looks. Literals
// and lengths have in bits 8 to 15 the width of the first look that follows them: their
// lower half tells BEXTR which bits it takes. The bits of a length's code alone are in
// bits 25 to 28.
const (
	entCode    = 8
	entValue   = 16
	entLength  = 25
	entMask    = 1<<15 - 1                   // mask of a value
	lengthMask = 1<<(entLength-entValue) - 1 // of a length
	entSecond  = 1 << 13
	entEnd     = 1 << 14
	entOther   = 1 << 15 // end of block, second look or no code
	entLiteral = 1 << 31
)

// codeOrder is the order in which the lengths of the code for lengths come.
const codeOrder = "\x10\x11\x12\x00\x08\x07\x09\x06\x0a\x05\x0b\x04\x0c\x03\x0d\x02\x0e\x01\x0f"

// readCodes reads the two codes of a block from its header.
func (d *Decoder) readCodes() bool {
	d.fixed = false
	nlit, ndist, ncode := 257+d.take(5), 1+d.take(5), 4+d.take(4)
	if nlit > 286 || ndist > 30 {
		return false
	}
	lens := d.lens[:nlit+ndist]
	var first [19]uint8
	for i := range ncode {
		d.refill()
		first[codeOrder[i]] = uint8(d.take(3))
	}
	// The code for lengths lies where the code for distances comes later.
	if !buildTable(d.dist[:], 7, first[:], new(counts).of(first[:]), lengthAlphabet) {
		return false
	}
	var all counts
	for i := 0; i < len(lens); {
		d.refill()
		if d.overrun() {
			return false
		}
		e := d.dist[d.bb&0x7f]
		if e&entOther != 0 {
			return false
		}
		d.take(uint(e & 31))
		v, n := uint8(e>>entValue), 1
		switch v {
		case 16:
			if i == 0 {
				return false
			}
			v, n = lens[i-1], 3+d.take(2)
		case 17:
			v, n = 0, 3+d.take(3)
		case 18:
			v, n = 0, 11+d.take(7)
		}
		if n > len(lens)-i {
			return false
		}
		all[v&maxCode] += uint16(n)
		for ; n > 0; n-- {
			lens[i] = v
			i++
		}
	}
	if lens[256] == 0 {
		return false // a block must have an end symbol
	}
	lits, dists := all.without(lens[nlit:]), new(counts).of(lens[nlit:])
	d.guess = likely(lits.without(lens[256:nlit]))
	return buildTable(d.lit[:], litBits, lens[:nlit], &lits, litAlphabet) &&
		buildTable(d.dist[:], distBits, lens[nlit:], dists, distAlphabet)
}

// likely is what to guess of the entry of a symbol, from the lengths of the codes of
// literals: worth it if at most every fifth guess is wrong, as that costs a few times what
// waiting for the entry does.
func likely(literals counts) uint {
	for l := 1; l <= 8; l++ {
		if 5*int(literals[l]) >= 4<<l {
			return litBits<<entCode | uint(l)
		}
	}
	return 0
}

// fixedCodes makes the tables of the fixed code of the format: short blocks have it, one
// after the other, and to build the tables would take longer than to decode the block.
func (d *Decoder) fixedCodes() bool {
	if !d.fixed {
		t := fixedTables()
		copy(d.lit[:], t.lit[:])
		copy(d.dist[:], t.dist[:])
		d.fixed, d.guess = true, 0
	}
	return true
}

// A fixedTable has the tables of first looks of the fixed code, whose codes are short.
type fixedTable struct {
	lit  [1 << litBits]uint32
	dist [1 << distBits]uint32
}

var fixedTables = sync.OnceValue(func() *fixedTable {
	var lens [288]uint8
	for i := range lens {
		switch {
		case i < 144:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		case i < 280:
			lens[i] = 7
		default:
			lens[i] = 8
		}
	}
	var dist [32]uint8
	for i := range dist {
		dist[i] = 5
	}
	t := &fixedTable{}
	if !buildTable(t.lit[:], litBits, lens[:], new(counts).of(lens[:]), litAlphabet) ||
		!buildTable(t.dist[:], distBits, dist[:], new(counts).of(dist[:]), distAlphabet) {
		panic("inflate: the fixed code has no tables")
	}
	return t
})

// litEntry is the entry of a literal, length or end, without its code's bits.
func litEntry(s int) uint32 {
	switch {
	case s < 256:
		return entLiteral | uint32(s)<<entValue | litBits<<entCode
	case s == 256:
		return entOther | entEnd
	case s < 265:
		return uint32(s-254)<<entValue | distBits<<entCode
	case s < 285: // four lengths for each number of extra bits
		x := uint32(s-261) / 4
		return (3+(4+uint32(s-265)%4)<<x)<<entValue | distBits<<entCode | x
	case s == 285:
		return 258<<entValue | distBits<<entCode
	}
	return entOther
}

func distEntry(s int) uint32 {
	switch {
	case s < 4:
		return uint32(s+1) << entValue
	case s < 30: // two distances for each number of extra bits
		x := uint32(s-2) / 2
		return (1+(2+uint32(s)%2)<<x)<<entValue | x
	}
	return entOther
}

// The entries of all symbols of the three codes, without their codes' bits. The two
// symbols at the end of the fixed code for lengths, and of that for distances, are none.
var (
	litAlphabet    = newAlphabet(288, litEntry, entLength)
	distAlphabet   = newAlphabet(32, distEntry, entCode)
	lengthAlphabet = newAlphabet(19, func(s int) uint32 { return uint32(s) << entValue }, entCode)
)

// An alphabet has the entries of its symbols, and the place of the bits of a code in them.
type alphabet struct {
	entries []uint32
	codeAt  uint8
}

func newAlphabet(n int, entry func(int) uint32, codeAt uint8) *alphabet {
	a := &alphabet{make([]uint32, n), codeAt}
	for s := range a.entries {
		a.entries[s] = entry(s)
	}
	return a
}

// coded is the entry of a symbol whose code has l bits.
func (a *alphabet) coded(s uint16, l int) uint32 {
	e := a.entries[s]
	return e + uint32(l)*(1+^e>>31<<(a.codeAt&31)) // the code alone has a place if it is no literal's
}

// counts is how many codes have each length.
type counts [maxCode + 1]uint16

func (c *counts) of(lens []uint8) *counts {
	for _, l := range lens {
		c[l&maxCode]++
	}
	return c
}

// without takes those of lens away.
func (c counts) without(lens []uint8) counts {
	for _, l := range lens {
		c[l&maxCode]--
	}
	return c
}

// buildTable lays out a canonical code, given the lengths of its codes. It refuses
// more codes than fit, and fewer. Two incomplete codes are taken, which encoders write
// for blocks without matches: a single code of one bit, and none at all.
func buildTable(t []uint32, tableBits int, lens []uint8, count *counts, a *alphabet) bool {
	unused, space := int(count[0]), 0
	for l := 1; l <= maxCode; l++ {
		if space += int(count[l]) << (maxCode - l); space > 1<<maxCode {
			return false
		}
	}
	var room [288]uint16
	sorted := room[:len(lens)]
	sortSymbols(sorted, lens, count)
	first := t[:1<<tableBits]
	if space != 1<<maxCode {
		used := len(lens) - unused
		if used > 1 || used == 1 && count[1] != 1 {
			return false
		}
		one := uint32(entOther)
		if used == 1 {
			one = a.coded(sorted[unused], 1)
		}
		for i := 0; i < len(first); i += 2 {
			first[i], first[i+1] = one, entOther
		}
		return true
	}
	fillTable(first, t[len(first):], tableBits, sorted[unused:], count, a)
	return true
}

// sortSymbols brings the symbols into the order of their codes; those without a code come
// first. It goes from both ends to the middle, as each step waits for the last one that
// met the same length.
func sortSymbols(sorted []uint16, lens []uint8, count *counts) {
	var next, end counts
	at := uint16(0)
	for l, n := range count {
		next[l] = at
		at += n
		end[l] = at
	}
	i, k := 0, len(lens)-1
	for ; i < k; i, k = i+1, k-1 {
		l, m := lens[i]&maxCode, lens[k]&maxCode
		sorted[next[l]] = uint16(i)
		next[l]++
		end[m]--
		sorted[end[m]] = uint16(k)
	}
	if i == k {
		sorted[next[lens[i]&maxCode]] = uint16(i)
	}
}

// fillTable fills a table for a complete code. With each further bit the table for codes
// of so many bits doubles: a code that is shorter leads to its entry whatever follows it.
func fillTable(first, parts []uint32, tableBits int, sorted []uint16, count *counts, a *alphabet) {
	code := uint16(0) // the first bit highest, whatever the length
	i := 0
	for l := 1; l <= tableBits; l++ {
		copy(first[1<<(l-1):1<<l], first[:1<<(l-1)])
		for n := int(count[l]); n > 0; n-- {
			first[bits.Reverse16(code)] = a.coded(sorted[i], l)
			code += 1 << (16 - l)
			i++
		}
	}
	free, size := 0, 1<<(maxCode-tableBits)
	var part []uint32
	prefix := len(first) // of none
	for l := tableBits + 1; l <= maxCode; l++ {
		for n := int(count[l]); n > 0; n-- {
			rev := int(bits.Reverse16(code))
			if head := rev & (len(first) - 1); head != prefix {
				prefix = head
				first[head] = entOther | entSecond | uint32(free)<<entValue
				part = parts[free : free+size]
				free += size
			}
			e := a.coded(sorted[i], l-tableBits)
			for k := rev >> tableBits; k < size; k += 1 << (l - tableBits) {
				part[k] = e
			}
			code += 1 << (16 - l)
			i++
		}
	}
}

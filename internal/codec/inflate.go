package codec

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/farread/farread/internal/adler"
	"github.com/farread/farread/internal/lzcopy"
)

// inflater decodes zlib streams (RFC 1950 and 1951) that lie in memory, into
// memory of known size: that spares the window, the copies and the states of a
// decoder of streams, which are most of the cost for compressible data.
type inflater struct {
	src []byte
	pos int    // next byte of src for the bit buffer; may run past its end, see refill
	bb  uint64 // bits not used yet, the next one lowest
	nb  uint   // number of valid bits

	lit  [1<<litBits + 144<<(maxCode-litBits)]uint32
	dist [1<<distBits + 15<<(maxCode-distBits)]uint32
	lens [286 + 30]uint8

	fixed bool // lit and dist are those of the fixed code
}

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

// An entry of a table: how many bits the code and the extra bits behind it have (bits 0
// to 4), the code alone (8 to 11), and from bit 16 on the byte, base length, base distance
// or, for a second look, where its part begins behind the table of first looks.
const (
	entCode    = 8
	entValue   = 16
	entMask    = 1<<15 - 1 // mask of a value
	entSecond  = 1 << 13
	entEnd     = 1 << 14
	entOther   = 1 << 15 // end of block, second look or no code
	entLiteral = 1 << 31
)

// decode decodes src into dst. It reports whether src begins with a complete
// zlib stream of exactly len(dst) decoded bytes. It may overwrite bytes between
// length and capacity of dst.
func (f *inflater) decode(dst, src []byte) bool {
	// Method 8, a window of at most 32 KiB, a checksum of the two bytes, no
	// preset dictionary.
	if len(src) < 2 || src[0]&15 != 8 || src[0]>>4 > 7 || (int(src[0])<<8|int(src[1]))%31 != 0 || src[1]&0x20 != 0 {
		return false
	}
	f.src, f.pos, f.bb, f.nb = src, 2, 0, 0
	defer func() { f.src = nil }()
	end := len(dst)
	room := dst[:min(cap(dst), end+32)]
	o := 0
	for last := false; !last; {
		f.refill()
		if f.overrun() {
			return false
		}
		last = f.take(1) != 0
		ok := false
		switch f.take(2) {
		case 0:
			o, ok = f.stored(dst, o)
		case 1:
			ok = f.fixedCodes()
			if ok {
				o, ok = f.block(room, o, end)
			}
		case 2:
			ok = f.readCodes()
			if ok {
				o, ok = f.block(room, o, end)
			}
		}
		if !ok {
			return false
		}
	}
	f.align()
	if o != end || f.pos < 0 || len(src)-f.pos < 4 {
		return false
	}
	return binary.BigEndian.Uint32(src[f.pos:]) == adler.Sum(dst)
}

// refill makes at least 56 bits available. After the end of src the bits are
// zeros; overrun reports whether such bits were used.
func (f *inflater) refill() {
	if len(f.src)-f.pos >= 8 {
		f.bb |= binary.LittleEndian.Uint64(f.src[f.pos:]) << (f.nb & 63)
		f.pos += int(63-f.nb) >> 3
		f.nb |= 56
		return
	}
	f.bb, f.pos, f.nb = refillTail(f.src, f.bb, f.pos, f.nb)
}

func refillTail(src []byte, bb uint64, pos int, nb uint) (uint64, int, uint) {
	for ; nb <= 56; nb += 8 {
		if pos < len(src) {
			bb |= uint64(src[pos]) << nb
		}
		pos++
	}
	return bb, pos, nb
}

func (f *inflater) overrun() bool { return f.pos-int(f.nb>>3) > len(f.src) }

// take uses n bits that refill has made available.
func (f *inflater) take(n uint) int {
	v := int(f.bb & (1<<n - 1))
	f.bb >>= n
	f.nb -= n
	return v
}

// align gives whole bytes back, so that pos is the next byte after the bits used.
func (f *inflater) align() {
	f.pos -= int(f.nb >> 3)
	f.bb, f.nb = 0, 0
}

func (f *inflater) stored(dst []byte, o int) (int, bool) {
	f.align()
	if len(f.src)-f.pos < 4 {
		return o, false
	}
	n := int(binary.LittleEndian.Uint16(f.src[f.pos:]))
	if n^0xffff != int(binary.LittleEndian.Uint16(f.src[f.pos+2:])) {
		return o, false
	}
	f.pos += 4
	if n > len(f.src)-f.pos || n > len(dst)-o {
		return o, false
	}
	copy(dst[o:], f.src[f.pos:f.pos+n])
	f.pos += n
	return o + n, true
}

// block decodes symbols to dst[o:end] until the end of the block.
func (f *inflater) block(dst []byte, o, end int) (int, bool) {
	o, more, ok := f.symbols(dst, o, end)
	for more && ok {
		o, more, ok = f.symbol(dst, o, end)
	}
	return o, ok
}

// The ends of both buffers are left to symbol, so that symbols need not look for them:
// it reads two words a turn, and makes four literals or three and a match.
const (
	srcMargin = 16
	dstMargin = 3 + 258 + 32
)

// symbols decodes symbols until the end of the block, or until there is less than the
// margin in src or dst. more says that the block goes on.
func (f *inflater) symbols(dst []byte, o, end int) (_ int, more, ok bool) {
	src, pos, bb := f.src, f.pos, f.bb
	nb := uint32(f.nb) // bits above the lowest six are of no meaning
	for len(src)-pos >= srcMargin && end-o >= dstMargin {
		bb |= binary.LittleEndian.Uint64(src[pos:]) << (nb & 63)
		pos += int(7 - nb>>3&7)
		nb |= 56
		// 56 bits hold three short literals and a length with its extra bits, or four.
		e := f.lit[bb&(1<<litBits-1)]
		if e&entLiteral != 0 {
			dst[o] = byte(e >> entValue)
			bb >>= e & 63
			nb -= e
			o++
			e = f.lit[bb&(1<<litBits-1)]
			if e&entLiteral != 0 {
				dst[o] = byte(e >> entValue)
				bb >>= e & 63
				nb -= e
				o++
				e = f.lit[bb&(1<<litBits-1)]
				if e&entLiteral != 0 {
					dst[o] = byte(e >> entValue)
					bb >>= e & 63
					nb -= e
					o++
					e = f.lit[bb&(1<<litBits-1)]
					if e&entLiteral != 0 {
						dst[o] = byte(e >> entValue)
						bb >>= e & 63
						nb -= e
						o++
						continue
					}
				}
			}
		}
		if e&entOther != 0 {
			if e&entSecond != 0 {
				bb >>= litBits
				nb -= litBits
				e = f.lit[1<<litBits+int(e>>entValue&entMask)+int(bb&(1<<(maxCode-litBits)-1))]
			}
			if e&entOther != 0 {
				f.pos, f.bb, f.nb = pos, bb>>(e&63), uint((nb-e)&63)
				return o, false, e&entEnd != 0
			}
		}
		x := bb
		bb >>= e & 63
		nb -= e
		n := int(e >> entValue & entMask)
		if e&entLiteral != 0 {
			dst[o] = byte(n)
			o++
			continue
		}
		n += int(x & (1<<(e&63) - 1) >> (e >> entCode & 15))

		if nb&63 < maxDistBits {
			bb |= binary.LittleEndian.Uint64(src[pos:]) << (nb & 63)
			pos += int(7 - nb>>3&7)
			nb |= 56
		}
		e = f.dist[bb&(1<<distBits-1)]
		if e&entOther != 0 {
			if e&entSecond == 0 {
				return o, false, false
			}
			bb >>= distBits
			nb -= distBits
			e = f.dist[1<<distBits+int(e>>entValue&entMask)+int(bb&(1<<(maxCode-distBits)-1))]
			if e&entOther != 0 {
				return o, false, false
			}
		}
		dist := int(e>>entValue&entMask) + int(bb&(1<<(e&63)-1)>>(e>>entCode&15))
		bb >>= e & 63
		nb -= e
		if dist > o {
			return o, false, false
		}
		if n <= 32 && dist >= 16 {
			*(*[16]byte)(dst[o:]) = *(*[16]byte)(dst[o-dist:])
			*(*[16]byte)(dst[o+16:]) = *(*[16]byte)(dst[o-dist+16:])
		} else {
			lzcopy.Match(dst, o, dist, n)
		}
		o += n
	}
	f.pos, f.bb, f.nb = pos, bb, uint(nb&63)
	return o, true, true
}

// symbol decodes one literal or match.
func (f *inflater) symbol(dst []byte, o, end int) (_ int, more, ok bool) {
	f.refill()
	if f.overrun() {
		return o, false, false
	}
	e, ok := f.look(f.lit[:], litBits)
	n := e.value + e.extra
	switch {
	case e.kind&entEnd != 0:
		return o, false, true
	case !ok:
		return o, false, false
	case e.kind&entLiteral != 0:
		if o >= end {
			return o, false, false
		}
		dst[o] = byte(n)
		return o + 1, true, true
	}
	f.refill()
	d, ok := f.look(f.dist[:], distBits)
	if dist := d.value + d.extra; ok && n <= end-o && dist <= o {
		lzcopy.Match(dst, o, dist, n)
		return o + n, true, true
	}
	return o, false, false
}

// looked is an entry that was found, with the number in its extra bits.
type looked struct {
	kind         uint32
	value, extra int
}

// look takes a code and its extra bits; it reports false for no code, and for the end of
// the block.
func (f *inflater) look(t []uint32, tableBits uint) (looked, bool) {
	e := t[f.bb&(1<<tableBits-1)]
	if e&entSecond != 0 {
		f.take(tableBits)
		e = t[1<<tableBits+int(e>>entValue&entMask)+int(f.bb&(1<<(maxCode-tableBits)-1))]
	}
	n := uint(e >> entCode & 15)
	f.take(n)
	return looked{e, int(e >> entValue & entMask), f.take(uint(e&31) - n)}, e&entOther == 0
}

// codeOrder is the order in which the lengths of the code for lengths come.
const codeOrder = "\x10\x11\x12\x00\x08\x07\x09\x06\x0a\x05\x0b\x04\x0c\x03\x0d\x02\x0e\x01\x0f"

// readCodes reads the two codes of a block from its header.
func (f *inflater) readCodes() bool {
	f.fixed = false
	nlit, ndist, ncode := 257+f.take(5), 1+f.take(5), 4+f.take(4)
	if nlit > 286 || ndist > 30 {
		return false
	}
	lens := f.lens[:nlit+ndist]
	var first [19]uint8
	for i := range ncode {
		f.refill()
		first[codeOrder[i]] = uint8(f.take(3))
	}
	// The code for lengths lies where the code for distances comes later.
	if !buildTable(f.dist[:], 7, first[:], func(s int) uint32 { return uint32(s) << entValue }) {
		return false
	}
	for i := 0; i < len(lens); {
		f.refill()
		if f.overrun() {
			return false
		}
		e := f.dist[f.bb&0x7f]
		if e&entOther != 0 {
			return false
		}
		f.take(uint(e & 31))
		v, n := uint8(e>>entValue), 1
		switch v {
		case 16:
			if i == 0 {
				return false
			}
			v, n = lens[i-1], 3+f.take(2)
		case 17:
			v, n = 0, 3+f.take(3)
		case 18:
			v, n = 0, 11+f.take(7)
		}
		if n > len(lens)-i {
			return false
		}
		for ; n > 0; n-- {
			lens[i] = v
			i++
		}
	}
	if lens[256] == 0 {
		return false // a block must have an end symbol
	}
	return buildTable(f.lit[:], litBits, lens[:nlit], litEntry) &&
		buildTable(f.dist[:], distBits, lens[nlit:], distEntry)
}

// fixedCodes makes the tables of the fixed code of the format: short blocks have it, one
// after the other, and to build the tables would take longer than to decode the block.
func (f *inflater) fixedCodes() bool {
	if !f.fixed {
		t := fixedTables()
		copy(f.lit[:], t.lit[:])
		copy(f.dist[:], t.dist[:])
		f.fixed = true
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
	if !buildTable(t.lit[:], litBits, lens[:], litEntry) || !buildTable(t.dist[:], distBits, dist[:], distEntry) {
		panic("codec: the fixed code has no tables")
	}
	return t
})

// litEntry is the entry of a literal, length or end, without its code's bits.
func litEntry(s int) uint32 {
	switch {
	case s < 256:
		return entLiteral | uint32(s)<<entValue
	case s == 256:
		return entOther | entEnd
	case s < 265:
		return uint32(s-254) << entValue
	case s < 285: // four lengths for each number of extra bits
		x := uint32(s-261) / 4
		return (3+(4+uint32(s-265)%4)<<x)<<entValue | x
	case s == 285:
		return 258 << entValue
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

// buildTable lays out a canonical code, given the lengths of its codes. It refuses
// more codes than fit, and fewer. Two incomplete codes are taken, which encoders write
// for blocks without matches: a single code of one bit, and none at all.
func buildTable(t []uint32, tableBits int, lens []uint8, entry func(int) uint32) bool {
	var count, next [maxCode + 1]int
	for _, l := range lens {
		count[l]++
	}
	used := len(lens) - count[0]
	count[0] = 0
	code := 0
	for l := 1; l <= maxCode; l++ {
		code = (code + count[l-1]) << 1
		next[l] = code
		if code+count[l] > 1<<l {
			return false
		}
	}
	first := t[:1<<tableBits]
	clear(first)
	if next[maxCode]+count[maxCode] != 1<<maxCode {
		if used > 1 || used == 1 && count[1] != 1 {
			return false
		}
		for i := range first {
			first[i] = entOther
		}
	}
	parts := t[len(first):]
	free, size := 0, 1<<(maxCode-tableBits)
	for s, l8 := range lens {
		l := int(l8)
		if l == 0 {
			continue
		}
		rev := int(bits.Reverse16(uint16(next[l])) >> (16 - l))
		next[l]++
		e := entry(s)
		if l <= tableBits {
			for i := rev; i < len(first); i += 1 << l {
				first[i] = e + uint32(l)*(1<<entCode+1)
			}
			continue
		}
		head := &first[rev&(len(first)-1)]
		if *head == 0 {
			*head = entOther | entSecond | uint32(free)<<entValue
			free += size
		}
		part := parts[*head>>entValue&entMask:][:size]
		for i := rev >> tableBits; i < size; i += 1 << (l - tableBits) {
			part[i] = e + uint32(l-tableBits)*(1<<entCode+1)
		}
	}
	return true
}

package inflate

import (
	"encoding/binary"

	"github.com/farread/farread/internal/lzcopy"
)

// block decodes symbols to dst[o:end] until the end of the block.
func (d *Decoder) block(dst []byte, o, end int) (int, bool) {
	var more, ok bool
	if fast && !d.plain {
		o, more, ok = d.kernel(dst, o, end)
	} else {
		o, more, ok = d.symbols(dst, o, end)
	}
	for more && ok {
		o, more, ok = d.symbol(dst, o, end)
	}
	return o, ok
}

// The ends of both buffers are left to symbol, so that symbols need not look for them:
// it reads three words a turn, and makes six literals or five and a match.
const (
	srcMargin = 24
	dstMargin = 5 + 258 + 32
)

// symbols decodes symbols until the end of the block, or until there is less than the
// margin in src or dst. more says that the block goes on.
func (d *Decoder) symbols(dst []byte, o, end int) (_ int, more, ok bool) {
	src, pos, bb := d.src, d.pos, d.bb
	nb := uint32(d.nb) // bits above the lowest six are of no meaning
	for len(src)-pos >= srcMargin && end-o >= dstMargin {
		bb |= binary.LittleEndian.Uint64(src[pos:]) << (nb & 63)
		pos += int(7 - nb>>3&7)
		nb |= 56
		// 56 bits hold three short literals and a length with its extra bits, or four.
		e := d.lit[bb&(1<<litBits-1)]
		if e&entLiteral != 0 {
			dst[o] = byte(e >> entValue)
			bb >>= e & 63
			nb -= e
			o++
			e = d.lit[bb&(1<<litBits-1)]
			if e&entLiteral != 0 {
				dst[o] = byte(e >> entValue)
				bb >>= e & 63
				nb -= e
				o++
				e = d.lit[bb&(1<<litBits-1)]
				if e&entLiteral != 0 {
					dst[o] = byte(e >> entValue)
					bb >>= e & 63
					nb -= e
					o++
					e = d.lit[bb&(1<<litBits-1)]
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
				e = d.lit[1<<litBits+int(e>>entValue&entMask)+int(bb&(1<<(maxCode-litBits)-1))]
			}
			if e&entOther != 0 {
				d.pos, d.bb, d.nb = pos, bb>>(e&63), uint((nb-e)&63)
				return o, false, e&entEnd != 0
			}
		}
		x := bb
		bb >>= e & 63
		nb -= e
		if e&entLiteral != 0 {
			dst[o] = byte(e >> entValue)
			o++
			continue
		}
		n := int(e>>entValue&lengthMask) + int(x&(1<<(e&63)-1)>>(e>>entLength&15))

		if nb&63 < maxDistBits {
			bb |= binary.LittleEndian.Uint64(src[pos:]) << (nb & 63)
			pos += int(7 - nb>>3&7)
			nb |= 56
		}
		e = d.dist[bb&(1<<distBits-1)]
		if e&entOther != 0 {
			if e&entSecond == 0 {
				return o, false, false
			}
			bb >>= distBits
			nb -= distBits
			e = d.dist[1<<distBits+int(e>>entValue&entMask)+int(bb&(1<<(maxCode-distBits)-1))]
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
	d.pos, d.bb, d.nb = pos, bb, uint(nb&63)
	return o, true, true
}

// symbol decodes one literal or match.
func (d *Decoder) symbol(dst []byte, o, end int) (_ int, more, ok bool) {
	d.refill()
	if d.overrun() {
		return o, false, false
	}
	e, ok := d.look(d.lit[:], litBits, entLength)
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
	d.refill()
	e, ok = d.look(d.dist[:], distBits, entCode)
	if dist := e.value + e.extra; ok && n <= end-o && dist <= o {
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
func (d *Decoder) look(t []uint32, tableBits, codeAt uint) (looked, bool) {
	e := t[d.bb&(1<<tableBits-1)]
	if e&entSecond != 0 {
		d.take(tableBits)
		e = t[1<<tableBits+int(e>>entValue&entMask)+int(d.bb&(1<<(maxCode-tableBits)-1))]
	}
	l := looked{kind: e, value: int(e >> entValue & entMask)}
	if e&entLiteral != 0 {
		d.take(uint(e & 31))
		return l, true
	}
	if codeAt == entLength {
		l.value &= lengthMask
	}
	n := uint(e >> codeAt & 15)
	d.take(n)
	l.extra = d.take(uint(e&31) - n)
	return l, e&entOther == 0
}

package codec

import (
	"encoding/binary"
	"math/bits"
)

// peekBack returns the next bits of a stream that is read backwards, from the highest
// bit down: at least 57 bits, with zeros in place of those before the stream's
// beginning. pos is how many bits are left.
func peekBack(b []byte, pos int) uint64 {
	e := (pos + 7) >> 3
	if e >= 8 && e <= len(b) {
		return binary.LittleEndian.Uint64(b[e-8:e]) << (uint(e*8-pos) & 63)
	}
	var v uint64
	for i := 0; i < e && i < len(b); i++ {
		v |= uint64(b[i]) << (64 - 8*uint(e-i))
	}
	return v << (uint(e*8-pos) & 63)
}

// top is the highest n bits of v, for n below 64.
func top(v uint64, n uint8) uint64 { return v >> 1 >> (63 - n&63) }

// sequences runs the n sequences in the bits of in: each copies some literals and then
// a match. It returns the end in dst and the literals that are left.
func (f *zstdFast) sequences(dst []byte, o, end int, lit, in []byte, n, window int) (int, []byte, bool) {
	lt, ot, mt := f.cur[litLengths], f.cur[offsets], f.cur[matchLengths]
	ls, os, ms := lt.states, ot.states, mt.states
	pos := len(in)*8 - bits.LeadingZeros8(in[len(in)-1]) - 1
	v := peekBack(in, pos)
	li := top(v, lt.log)
	v <<= lt.log & 63
	oi := top(v, ot.log)
	v <<= ot.log & 63
	mi := top(v, mt.log)
	pos -= int(lt.log + ot.log + mt.log)
	rep := f.rep
	for ; n > 0; n-- {
		if pos < 0 || li >= uint64(len(ls)) || oi >= uint64(len(os)) || mi >= uint64(len(ms)) {
			return o, nil, false
		}
		l, d, m := ls[li], os[oi], ms[mi]
		v = peekBack(in, pos)
		dist := int(uint64(d.base) + top(v, d.extra))
		v <<= d.extra & 63
		ml := int(uint64(m.base) + top(v, m.extra))
		v <<= m.extra & 63
		used := d.extra + m.extra
		if used+l.extra+l.bits+m.bits+d.bits > 56 {
			if pos -= int(used); pos < 0 {
				return o, nil, false
			}
			v, used = peekBack(in, pos), 0
		}
		ll := int(uint64(l.base) + top(v, l.extra))
		used += l.extra
		if n > 1 {
			v <<= l.extra & 63
			li = uint64(l.next) + top(v, l.bits)
			v <<= l.bits & 63
			mi = uint64(m.next) + top(v, m.bits)
			v <<= m.bits & 63
			oi = uint64(d.next) + top(v, d.bits)
			used += l.bits + m.bits + d.bits
		}
		pos -= int(used)
		dist = rep3(&rep, dist, ll)

		if ll > len(lit) || ll+ml > end-o || dist > o+ll || dist > window || dist <= 0 {
			return o, nil, false
		}
		if ll <= 16 && cap(lit) >= 16 && len(dst)-o >= 16 {
			*(*[16]byte)(dst[o:]) = *(*[16]byte)(lit[:16])
		} else {
			copy(dst[o:], lit[:ll])
		}
		lit, o = lit[ll:], o+ll
		copyMatch(dst, o, dist, ml)
		o += ml
	}
	f.rep = rep
	return o, lit, pos == 0
}

// rep3 turns the value of an offset code into a distance, and keeps the last three
// distances. Values up to 3 name one of these three, shifted by one if no literals
// came before the match.
func rep3(rep *[3]int, v, ll int) int {
	if v > 3 {
		rep[0], rep[1], rep[2] = v-3, rep[0], rep[1]
		return v - 3
	}
	if ll == 0 {
		v++
	}
	switch v {
	case 1:
	case 2:
		rep[0], rep[1] = rep[1], rep[0]
	case 3:
		rep[0], rep[1], rep[2] = rep[2], rep[0], rep[1]
	default:
		rep[0], rep[1], rep[2] = rep[0]-1, rep[0], rep[1]
	}
	return rep[0]
}

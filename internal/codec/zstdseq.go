package codec

import (
	"encoding/binary"
	"math/bits"

	"github.com/farread/farread/internal/match"
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
func top(v uint64, n fseState) uint64 { return v >> 1 >> (63 - n&63) }

// sequences runs the n sequences in the bits of in: each copies some literals and then
// a match. It returns the end in dst and the literals that are left.
func (f *zstdFast) sequences(dst []byte, o, end int, lit, in []byte, n, window int) (int, []byte, bool) {
	const mask = 1<<fseMaxLog - 1 // a state is always below the table's size
	lt, ot, mt := f.cur[litLengths], f.cur[offsets], f.cur[matchLengths]
	pos := len(in)*8 - bits.LeadingZeros8(in[len(in)-1]) - 1
	v := peekBack(in, pos)
	li := top(v, fseState(lt.log))
	v <<= lt.log & 63
	oi := top(v, fseState(ot.log))
	v <<= ot.log & 63
	mi := top(v, fseState(mt.log))
	pos -= int(lt.log + ot.log + mt.log)
	r0, r1, r2 := f.rep[0], f.rep[1], f.rep[2]
	for ; n > 0; n-- {
		if pos < 0 {
			return o, nil, false
		}
		l, d, m := lt.states[li&mask], ot.states[oi&mask], mt.states[mi&mask]
		if e := (pos + 7) >> 3; e >= 8 {
			v = binary.LittleEndian.Uint64(in[e-8:]) << (uint(-pos) & 7)
		} else {
			v = peekBack(in, pos)
		}
		dist := int(uint64(d>>32) + top(v, d))
		v <<= d & 63
		ml := int(uint64(m>>32) + top(v, m))
		v <<= m & 63
		used := d&63 + m&63
		if sum := l + m + d; sum&63+sum>>8&63 > 56 {
			if pos -= int(used); pos < 0 {
				return o, nil, false
			}
			v, used = peekBack(in, pos), 0
		}
		ll := int(uint64(l>>32) + top(v, l))
		used += l & 63
		if n > 1 {
			v <<= l & 63
			li = uint64(l>>16&0xffff) + top(v, l>>8)
			v <<= l >> 8 & 63
			mi = uint64(m>>16&0xffff) + top(v, m>>8)
			v <<= m >> 8 & 63
			oi = uint64(d>>16&0xffff) + top(v, d>>8)
			used += l>>8&63 + m>>8&63 + d>>8&63
		}
		pos -= int(used)
		switch {
		case dist > 3:
			dist -= 3
			r0, r1, r2 = dist, r0, r1
		case dist == 1 && ll > 0:
			dist = r0
		default:
			dist, r0, r1, r2 = rep3(dist, ll, r0, r1, r2)
		}
		if ll > len(lit) || ll+ml > end-o || dist > o+ll || dist > window || dist <= 0 {
			return o, nil, false
		}
		if ll <= 16 && cap(lit) >= 16 && len(dst)-o >= 16 {
			*(*[16]byte)(dst[o:]) = *(*[16]byte)(lit[:16])
		} else {
			copy(dst[o:], lit[:ll])
		}
		lit, o = lit[ll:], o+ll
		if ml <= 32 && dist >= 16 && len(dst)-o >= 32 {
			*(*[16]byte)(dst[o:]) = *(*[16]byte)(dst[o-dist:])
			*(*[16]byte)(dst[o+16:]) = *(*[16]byte)(dst[o-dist+16:])
		} else {
			match.Copy(dst, o, dist, ml)
		}
		o += ml
	}
	f.rep = [3]int{r0, r1, r2}
	return o, lit, pos == 0
}

// rep3 returns the distance that an offset code up to 3 stands for, and the last three
// distances then. The code names one of these three, shifted by one if no literals came
// before the match.
func rep3(v, ll, r0, r1, r2 int) (dist, _, _, _ int) {
	if ll == 0 {
		v++
	}
	switch v {
	case 1:
		return r0, r0, r1, r2
	case 2:
		return r1, r1, r0, r2
	case 3:
		return r2, r2, r0, r1
	}
	return r0 - 1, r0 - 1, r0, r1
}

package zstdfast

import (
	"encoding/binary"
	"math/bits"

	"github.com/farread/farread/internal/lzcopy"
)

// run is where the sequences of a block have come to, with the tables in force.
type run struct {
	table  [3]fseTable
	state  [3]uint64
	rep    [3]int // the last three distances
	pos, n int    // bits and sequences that are left
	o, l   int    // next byte of the output, and of the literals
	window int

	outEnd, litEnd int  // bounds of the kernel
	plain          bool // without the kernel, as on other processors
}

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

// tail is how many sequences are run without the kernel where it can do nothing.
const tail = 8

// sequences runs the n sequences in the bits of in, which is a part of src: each copies
// some literals and then a match. It sets o and l, and reports whether all bits were used.
func (r *run) sequences(dst []byte, end int, lit, src, in []byte, n int) bool {
	r.start(in, n)
	at := cap(src) - cap(in)
	for r.n > 0 {
		some := r.n
		if hasKernel && !r.plain {
			r.kernel(dst, end, lit, src, at)
			if some > r.n {
				some = 1
			} else {
				some = min(some, tail)
			}
		}
		if !r.steps(dst, end, lit, in, some) {
			return false
		}
	}
	return r.pos == 0
}

// start reads the states in front of n sequences.
func (r *run) start(in []byte, n int) {
	r.n, r.l = n, 0
	r.pos = len(in)*8 - bits.LeadingZeros8(in[len(in)-1]) - 1
	v := peekBack(in, r.pos)
	for kind := range r.table {
		log := r.table[kind].log
		r.state[kind] = top(v, fseState(log))
		v <<= log & 63
		r.pos -= int(log)
	}
}

// steps runs n of the sequences.
func (r *run) steps(dst []byte, end int, lit, in []byte, n int) bool {
	const mask = 1<<fseMaxLog - 1 // a state is always below the table's size
	lt, ot, mt := &r.table[litLengths], &r.table[offsets], &r.table[matchLengths]
	li, oi, mi := r.state[litLengths], r.state[offsets], r.state[matchLengths]
	r0, r1, r2 := r.rep[0], r.rep[1], r.rep[2]
	pos, o := r.pos, r.o
	all := len(lit)
	lit = lit[r.l:]
	last := r.n == n
	r.n -= n
	for ; n > 0; n-- {
		if pos < 0 {
			return false
		}
		l, d, m := lt.states[li&mask], ot.states[oi&mask], mt.states[mi&mask]
		v := peekBack(in, pos)
		dist := int(uint64(d>>32) + top(v, d>>8))
		v <<= d >> 8 & 63
		ml := int(uint64(m>>32) + top(v, m>>8))
		v <<= m >> 8 & 63
		used := d>>8&63 + m>>8&63
		if sum := l + m + d; sum&63+sum>>8&63 > 56 {
			if pos -= int(used); pos < 0 {
				return false
			}
			v, used = peekBack(in, pos), 0
		}
		ll := int(uint64(l>>32) + top(v, l>>8))
		used += l >> 8 & 63
		if n > 1 || !last {
			v <<= l >> 8 & 63
			li = uint64(l>>16&0xffff) + top(v, l)
			v <<= l & 63
			mi = uint64(m>>16&0xffff) + top(v, m)
			v <<= m & 63
			oi = uint64(d>>16&0xffff) + top(v, d)
			used += l&63 + m&63 + d&63
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
		if ll > len(lit) || ll+ml > end-o || dist > o+ll || dist > r.window || dist <= 0 {
			return false
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
			lzcopy.Match(dst, o, dist, ml)
		}
		o += ml
	}
	r.state = [3]uint64{litLengths: li, offsets: oi, matchLengths: mi}
	r.rep, r.pos, r.o, r.l = [3]int{r0, r1, r2}, pos, o, all-len(lit)
	return true
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

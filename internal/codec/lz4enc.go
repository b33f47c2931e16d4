package codec

import (
	"encoding/binary"

	"github.com/farread/farread/internal/lzcopy"
)

const (
	// lz4SmallMax is the longest input for which lz4Encoder is faster than the library
	// without a kernel, measured with text and with JSON.
	lz4SmallMax = 400
	// lz4BlockMax is the longest input whose places C keeps in 16 bits.
	lz4BlockMax = 64<<10 + 10
	lz4TableLog = 13 // as in C for such inputs
	// lz4Skip: how many positions in a row have no match until steps become
	// longer by a byte, as a power of two.
	lz4Skip = 6
)

// lz4Encoder encodes LZ4 blocks of up to lz4BlockMax bytes. The output is that of C's
// LZ4_compress_fast, byte for byte: the encoder looks at the same positions, and takes an
// empty place in the table for position 0, as C does.
//
// Of inputs of a few hundred bytes clearing a table would take as long as all the rest.
// Their positions in the table count on from one input to the next; entries of earlier
// inputs are recognised by being too low. Longer ones are left to a kernel up to their last
// bytes, where there is one (see lz4Kernelled).
type lz4Encoder struct {
	table [1 << lz4TableLog]uint16
	base  int // position of the next input's first byte
}

// lz4State is where the encoder is in its input. Its kernel knows it.
type lz4State struct {
	place lz4Place
	p     int // the position to look at next, or where a match begins or has ended
	lit   int // the first literal that is not written
	out   int // bytes that are written
	ref   int // where the match begins that was found
	step  int // from p to the position after it
	tries int // positions since the last match; with lz4Skip it gives the next step
	accel int
}

type lz4Place int

// The places at which the kernel leaves off.
const (
	lz4Searching lz4Place = iota
	lz4Found
	lz4Matched // behind a match
)

// lz4EncodeRoom is how many bytes the kernel needs in src and in dst.
const lz4EncodeRoom = 128

// lz4Kernelled reports whether the kernel encodes an input of n bytes.
func lz4Kernelled(n int) bool { return hasLZ4Encoder && n > lz4SmallMax && n <= lz4BlockMax }

// encode returns the stream's length, or 0 if it does not fit into dst. src has at
// most lz4BlockMax bytes.
func (z *lz4Encoder) encode(accel int, dst, src []byte) int {
	s := lz4State{p: 1, step: 1, tries: accel << lz4Skip, accel: accel}
	if z.base+len(src) > 1<<16 || len(src) > lz4SmallMax {
		clear(z.table[:])
		z.base = 0
	}
	base := z.base
	z.base += len(src)
	if lz4Kernelled(len(src)) && len(dst) >= lz4EncodeRoom {
		lz4EncodeKernel(&s, &z.table, dst, src)
	}
	return z.finish(s, base, dst, src)
}

// finish encodes from s on.
func (z *lz4Encoder) finish(s lz4State, base int, dst, src []byte) int {
	o, lit, p, ref, last := s.out, s.lit, s.p, s.ref, len(src)-lz4MinTail+1
	step, tries, place := s.step, s.tries, s.place
	for {
		if place == lz4Searching {
			for next := p; ; tries++ {
				p, next = next, next+step
				if step = tries >> lz4Skip; next > last {
					return lz4Tail(dst, o, src[lit:])
				}
				v := binary.LittleEndian.Uint32(src[p:])
				if ref = z.swap(v, p, base); binary.LittleEndian.Uint32(src[ref:]) == v {
					break
				}
			}
		}
		if place != lz4Matched {
			for p > lit && ref > 0 && src[p-1] == src[ref-1] {
				p--
				ref--
			}
			n := lzcopy.Len8(src, p+lz4MinMatch, ref+lz4MinMatch, len(src)-lz4LastLits)
			if o = lz4Put(dst, o, src[lit:], p-lit, p-ref, n); o < 0 {
				return 0
			}
			p += lz4MinMatch + n
			lit = p
		}
		if p >= last {
			return lz4Tail(dst, o, src[lit:])
		}
		z.swap(binary.LittleEndian.Uint32(src[p-2:]), p-2, base)
		v := binary.LittleEndian.Uint32(src[p:])
		if ref, place = z.swap(v, p, base), lz4Found; binary.LittleEndian.Uint32(src[ref:]) != v {
			p++
			step, tries, place = 1, s.accel<<lz4Skip, lz4Searching
		}
	}
}

// swap enters position p, at which v stands, and returns the position that was entered
// before.
func (z *lz4Encoder) swap(v uint32, p, base int) int {
	e := &z.table[v*2654435761>>(32-lz4TableLog)]
	ref := int(*e) - base
	*e = uint16(base + p)
	return max(ref, 0)
}

// lz4Put writes the first k bytes of lit and a match of n bytes more than the
// least. It keeps as much room as C does, so that the same inputs fit.
func lz4Put(dst []byte, o int, lit []byte, k, dist, n int) int {
	if k < 15 && n < 15 && len(dst)-o >= 24 && len(lit) >= 16 {
		dst[o] = byte(k<<4 | n)
		*(*[16]byte)(dst[o+1:]) = *(*[16]byte)(lit)
		o += 1 + k
		binary.LittleEndian.PutUint16(dst[o:], uint16(dist))
		return o + 2
	}
	room := len(dst) - o
	if 1+k+k/255+2+1+lz4LastLits > room || 1+k+(k+240)/255+2+1+lz4LastLits+(n+240)/255 > room {
		return -1
	}
	t := o
	dst[t] = byte(min(k, 15)<<4 | min(n, 15))
	o = lz4Extend(dst, o+1, k)
	o += copy(dst[o:], lit[:k])
	binary.LittleEndian.PutUint16(dst[o:], uint16(dist))
	return lz4Extend(dst, o+2, n)
}

// lz4Tail writes the literals that a block ends with.
func lz4Tail(dst []byte, o int, lit []byte) int {
	k := len(lit)
	if 1+k+(k+240)/255 > len(dst)-o {
		return 0
	}
	dst[o] = byte(min(k, 15) << 4)
	o = lz4Extend(dst, o+1, k)
	return o + copy(dst[o:], lit)
}

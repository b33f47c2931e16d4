// Package inflate decodes zlib streams (RFC 1950 and 1951) that lie in memory whole,
// into memory of exactly the size that they decode to, as the blocks of Blosc's chunks
// do. compress/flate and its relatives read from and write to streams: their windows,
// copies and states are most of the cost there. Where a stream has no known size, or is
// itself read piece by piece, theirs is the decoder to take.
//
// What the package promises: it takes the streams that compress/zlib takes, and decodes
// them to the same bytes; it refuses all others; whatever the stream holds, it reads
// only src and writes only between the beginning and the capacity of dst; it allocates
// nothing. The fuzz target sets it beside compress/zlib. The package is to go when a
// library decodes from buffer to buffer as fast.
package inflate

//go:generate go run -C asm . -out ../symbols_amd64.s -stubs ../symbols_amd64.go -pkg inflate

import (
	"encoding/binary"

	"github.com/farread/farread/internal/adler"
)

// Decoder decodes one stream after the other. The zero value is ready. It is not for
// concurrent use.
type Decoder struct {
	src []byte
	pos int    // next byte of src for the bit buffer; may run past its end, see refill
	bb  uint64 // bits not used yet, the next one lowest
	nb  uint   // number of valid bits

	tables
	lens [286 + 30]uint8

	guess uint // lower half of the entries of most literals; 0 if there are none
	fixed bool // lit and dist are those of the fixed code
	plain bool // without the kernel, for tests
}

// Decode decodes src into dst. It reports whether src begins with a complete
// zlib stream of exactly len(dst) decoded bytes. It may overwrite bytes between
// length and capacity of dst.
func (d *Decoder) Decode(dst, src []byte) bool {
	// Method 8, a window of at most 32 KiB, a checksum of the two bytes, no
	// preset dictionary.
	if len(src) < 2 || src[0]&15 != 8 || src[0]>>4 > 7 || (int(src[0])<<8|int(src[1]))%31 != 0 || src[1]&0x20 != 0 {
		return false
	}
	d.src, d.pos, d.bb, d.nb = src, 2, 0, 0
	defer func() { d.src = nil }()
	end := len(dst)
	room := dst[:min(cap(dst), end+32)]
	o := 0
	for last := false; !last; {
		d.refill()
		if d.overrun() {
			return false
		}
		last = d.take(1) != 0
		ok := false
		switch d.take(2) {
		case 0:
			o, ok = d.stored(dst, o)
		case 1:
			ok = d.fixedCodes()
			if ok {
				o, ok = d.block(room, o, end)
			}
		case 2:
			ok = d.readCodes()
			if ok {
				o, ok = d.block(room, o, end)
			}
		}
		if !ok {
			return false
		}
	}
	d.align()
	if o != end || d.pos < 0 || len(src)-d.pos < 4 {
		return false
	}
	return binary.BigEndian.Uint32(src[d.pos:]) == adler.Sum(dst)
}

// refill makes at least 56 bits available. After the end of src the bits are
// zeros; overrun reports whether such bits were used.
func (d *Decoder) refill() {
	if len(d.src)-d.pos >= 8 {
		d.bb |= binary.LittleEndian.Uint64(d.src[d.pos:]) << (d.nb & 63)
		d.pos += int(63-d.nb) >> 3
		d.nb |= 56
		return
	}
	d.bb, d.pos, d.nb = refillTail(d.src, d.bb, d.pos, d.nb)
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

func (d *Decoder) overrun() bool { return d.pos-int(d.nb>>3) > len(d.src) }

// take uses n bits that refill has made available.
func (d *Decoder) take(n uint) int {
	v := int(d.bb & (1<<n - 1))
	d.bb >>= n
	d.nb -= n
	return v
}

// align gives whole bytes back, so that pos is the next byte after the bits used.
func (d *Decoder) align() {
	d.pos -= int(d.nb >> 3)
	d.bb, d.nb = 0, 0
}

func (d *Decoder) stored(dst []byte, o int) (int, bool) {
	d.align()
	if len(d.src)-d.pos < 4 {
		return o, false
	}
	n := int(binary.LittleEndian.Uint16(d.src[d.pos:]))
	if n^0xffff != int(binary.LittleEndian.Uint16(d.src[d.pos+2:])) {
		return o, false
	}
	d.pos += 4
	if n > len(d.src)-d.pos || n > len(dst)-o {
		return o, false
	}
	copy(dst[o:], d.src[d.pos:d.pos+n])
	d.pos += n
	return o + n, true
}

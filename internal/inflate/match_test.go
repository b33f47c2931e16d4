package inflate

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"testing"
)

// fixedBits writes a block of the fixed code.
type fixedBits struct {
	p  []byte
	bb uint64
	nb uint
}

func (w *fixedBits) bits(v, n int) {
	w.bb |= uint64(v) << w.nb
	for w.nb += uint(n); w.nb >= 8; w.nb -= 8 {
		w.p = append(w.p, byte(w.bb))
		w.bb >>= 8
	}
}

// code writes a code, whose first bit is the highest.
func (w *fixedBits) code(v, n int) {
	for n--; n >= 0; n-- {
		w.bits(v>>n&1, 1)
	}
}

func (w *fixedBits) symbol(s int) {
	switch {
	case s < 144:
		w.code(0x30+s, 8)
	case s < 256:
		w.code(0x190+s-144, 9)
	case s < 280:
		w.code(s-256, 7)
	default:
		w.code(0xc0+s-280, 8)
	}
}

// match writes a match: the last symbol whose base is not above the number, and the rest
// in its extra bits.
func (w *fixedBits) match(n, dist int) {
	s, base, extra := 0, 0, 0
	for c := 257; c < 286; c++ {
		if e := litEntry(c); int(e>>entValue) <= n {
			s, base, extra = c, int(e>>entValue), int(e&31)
		}
	}
	w.symbol(s)
	w.bits(n-base, extra)
	for c := range 30 {
		if e := distEntry(c); int(e>>entValue) <= dist {
			s, base, extra = c, int(e>>entValue), int(e&31)
		}
	}
	w.code(s, 5)
	w.bits(dist-base, extra)
}

// TestMatches: every distance up to where copies are of whole vectors, and far ones, with
// lengths about each number of vectors; and distances that reach before the beginning.
func TestMatches(t *testing.T) {
	t.Parallel()
	dists := []int{95, 96, 97, 257, 1024, 30_000, 32_768}
	for d := 1; d < 70; d++ {
		dists = append(dists, d)
	}
	for _, dist := range dists {
		w, want := &fixedBits{p: []byte{0x78, 0x9c}}, []byte(nil)
		w.bits(3, 3)
		for i := range dist {
			w.symbol(i * 7 & 255)
			want = append(want, byte(i*7))
		}
		for _, n := range []int{3, 258, 4, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 97, 127, 128, 129, 257, 10} {
			w.match(n, dist)
			for range n {
				want = append(want, want[len(want)-dist])
			}
			if n == 32 { // not all matches follow another
				w.symbol(n)
				want = append(want, byte(n))
			}
		}
		good := *w
		good.p = bytes.Clone(w.p)
		for range 100 { // so that the kernel is not kept away from what is before
			good.match(258, dist)
			for range 258 {
				want = append(want, want[len(want)-dist])
			}
		}
		good.symbol(256)
		good.bits(0, 7)
		good.p = binary.BigEndian.AppendUint32(good.p, adler32.Checksum(want))
		compare(t, good.p, len(want))

		if dist < 1000 {
			w = &fixedBits{p: []byte{0x78, 0x9c}}
			w.bits(3, 3)
			for range dist - 1 {
				w.symbol('x')
			}
			w.match(5, dist)
			w.bits(0, 64)
			w.p = append(w.p, make([]byte, 1000)...)
			compare(t, w.p, 2000)
		}
	}
}

package inflate

import (
	"encoding/binary"
	"hash/adler32"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// A streamWriter writes a stream of one block, and keeps what it decodes to.
type streamWriter struct {
	p, want   []byte
	bb        uint64
	nb        int
	lit, dist *code
}

func (w *streamWriter) bits(v, n int) {
	w.bb |= uint64(v) << w.nb
	for w.nb += n; w.nb >= 8; w.nb -= 8 {
		w.p = append(w.p, byte(w.bb))
		w.bb >>= 8
	}
}

// A code has the code of each symbol, the first bit lowest, and its length.
type code [288]struct{ bits, n int }

func newCode(lens []uint8) *code {
	c, next := &code{}, 0
	for l := 1; l <= maxCode; l++ {
		for s, n := range lens {
			if int(n) == l {
				c[s].bits, c[s].n = int(bits.Reverse16(uint16(next))), l
				next += 1 << (16 - l)
			}
		}
	}
	return c
}

func (w *streamWriter) symbol(c *code, s int) { w.bits(c[s].bits, c[s].n) }

func (w *streamWriter) literal(b byte) {
	w.symbol(w.lit, int(b))
	w.want = append(w.want, b)
}

// match writes a match: the last symbol that has a code and whose base is not above the
// number, and the rest in its extra bits.
func (w *streamWriter) match(n, dist int) {
	w.number(w.lit, 257, 286, litEntry, n)
	w.number(w.dist, 0, 30, distEntry, dist)
	for range n {
		w.want = append(w.want, w.want[len(w.want)-dist])
	}
}

func (w *streamWriter) number(c *code, from, to int, entry func(int) uint32, v int) {
	s, base, extra := 0, 0, 0
	for i := from; i < to; i++ {
		if e := entry(i); c[i].n > 0 && int(e>>entValue) <= v {
			s, base, extra = i, int(e>>entValue), int(e&31)
		}
	}
	w.symbol(c, s)
	w.bits(v-base, extra)
}

// end ends the stream.
func (w *streamWriter) end() []byte {
	w.symbol(w.lit, 256)
	w.bits(0, 7)
	return binary.BigEndian.AppendUint32(w.p, adler32.Checksum(w.want))
}

// fixed begins a stream with a block of the fixed code.
func fixed() *streamWriter {
	var lit []uint8
	for i, n := range []int{144, 112, 24, 8} {
		lit = append(lit, slices.Repeat([]uint8{[]uint8{8, 9, 7, 8}[i]}, n)...)
	}
	w := &streamWriter{p: []byte{0x78, 0x9c}, lit: newCode(lit), dist: newCode(slices.Repeat([]uint8{5}, 32))}
	w.bits(3, 3)
	return w
}

// dynamic begins a stream with a block of these codes, for all symbols.
func dynamic(lit, dist []uint8) *streamWriter {
	w := &streamWriter{p: []byte{0x78, 0x9c}, lit: newCode(lit), dist: newCode(dist)}
	w.bits(5, 3)
	w.bits(286-257, 5)
	w.bits(30-1, 5)
	w.bits(19-4, 4)
	for _, s := range codeOrder { // the lengths 0 to 15 in four bits each, no repetitions
		w.bits(map[bool]int{s < 16: 4}[true], 3)
	}
	for _, l := range slices.Concat(lit, dist) {
		w.bits(int(bits.Reverse8(l)>>4), 4)
	}
	return w
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
		w := fixed()
		for i := range dist {
			w.literal(byte(i * 7))
		}
		for _, n := range []int{3, 258, 4, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 97, 127, 128, 129, 257, 10} {
			w.match(n, dist)
			if n == 32 { // not all matches follow another
				w.literal(byte(n))
			}
		}
		for range 10 { // so that the kernel is not kept away from what is before
			w.match(258, dist)
		}
		compare(t, w.end(), len(w.want))

		if dist < 1000 {
			w = fixed()
			for range dist - 1 {
				w.literal('x')
			}
			w.number(w.lit, 257, 286, litEntry, 5)
			w.number(w.dist, 0, 30, distEntry, dist)
			w.bits(0, 40)
			compare(t, append(w.p, make([]byte, 1000)...), 2000)
		}
	}
}

// TestLongest: streams of longest, with distances that have all the bits that there are.
func TestLongest(t *testing.T) {
	t.Parallel()
	for _, l := range []uint8{4, 5, 7, 8} {
		w := longest(l, 33_000, 1000)
		compare(t, w.end(), len(w.want))
	}
}

// longest has n lengths with the longest codes and extra bits that there are, and with
// others, behind every number of literals. But for a few, these have codes of l bits.
func longest(l uint8, before, n int) *streamWriter {
	lit, dist := make([]uint8, 286), make([]uint8, 30)
	literals := 15 << (l - 4)
	for i := range literals {
		lit[i] = l
	}
	for i, s := range []int{250, 251, 257, 258, 261, 266, 270, 275, 279, 282, 256, 284} { // what is left, in halves
		lit[s] = uint8(min(5+i, 15))
	}
	for i := range 14 {
		dist[2*i+1] = uint8(i + 1)
	}
	dist[28], dist[29] = 15, 15
	w := dynamic(lit, dist)
	for range before {
		w.literal(0)
	}
	r := rand.New(rand.NewPCG(uint64(l), 1))
	for i := range n {
		for range r.IntN(9) {
			w.literal(byte(r.IntN(literals)))
		}
		far := min(before, 32_768) - r.IntN(before/4)
		switch i % 4 {
		case 0:
			w.literal(byte(250 + r.IntN(2)))
		case 1:
			w.match(227+r.IntN(31), far)
		case 2:
			w.match(3, far)
		case 3:
			w.match(227+r.IntN(31), 2)
		}
	}
	return w
}

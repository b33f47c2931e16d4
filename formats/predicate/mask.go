package predicate

import (
	"github.com/farread/farread/formats/internal/ordered"
)

// tileWords is how many words the mask of a tile of items takes.
const tileWords = ordered.Tile / 64

// Mask returns which of the items in src, decoded bytes of the array, match: bit i%64 of
// word i/64 is set if item i does. The words are memory of dst if that has the room; the
// unused bits of the last word are 0. A rest of src that is shorter than an item does not
// count.
func (p *Predicate) Mask(dst []uint64, src []byte) []uint64 {
	n := len(src) / p.item
	if words := (n + 63) / 64; cap(dst) >= words {
		dst = dst[:words]
	} else {
		dst = make([]uint64, words)
	}
	for i := 0; i < n; i += ordered.Tile {
		k := min(n-i, ordered.Tile)
		tile := dst[i/64 : (i+k+63)/64]
		p.root.mask(tile, src[i*p.item:], p.item, k)
		if k%64 != 0 {
			tile[len(tile)-1] &= 1<<(k%64) - 1
		}
	}
	return dst
}

// mask fills dst for the first n items of src, at most a tile. Bits behind them are
// undefined.
func (t *test) mask(dst []uint64, src []byte, stride, n int) {
	if t.kind == compare {
		t.maskColumn(dst, src[t.off:], stride, n)
		return
	}
	t.kids[0].mask(dst, src, stride, n)
	var buf [tileWords]uint64
	other := buf[:len(dst)]
	for _, k := range t.kids[1:] {
		k.mask(other, src, stride, n)
		for i, w := range other {
			if t.kind == and {
				dst[i] &= w
			} else {
				dst[i] |= w
			}
		}
	}
}

// setLook chooses what mask looks for: the set, or what is not in it if that is a single
// span.
func (t *test) setLook() {
	t.look, t.flip = t.in, 0
	if c := t.in.complement(universe(t.num)); len(c) == 1 && len(t.in) != 1 && t.num.Kind != ordered.Bool {
		t.look, t.flip = c, ^uint64(0)
	}
}

// maxSpans is how many spans are looked for one after another. Each pass takes about one
// twentieth of the time of a search in a list of them.
const maxSpans = 16

// maskColumn is mask of a comparison. src begins with the first number.
func (t *test) maskColumn(dst []uint64, src []byte, stride, n int) {
	clear(dst)
	var buf [tileWords]uint64
	if len(t.look) > maxSpans {
		t.maskMany(dst, src, stride, n)
	} else {
		for _, one := range t.look {
			part := buf[:len(dst)]
			t.maskSpan(part, src, stride, n, one)
			for i, w := range part {
				dst[i] |= w
			}
		}
	}
	for i := range dst {
		dst[i] ^= t.flip
	}
}

// maskSpan fills dst with the items in one span.
func (t *test) maskSpan(dst []uint64, src []byte, stride, n int, in span) {
	if lanes, ok := ordered.LanesOf(t.num); ok && stride == t.num.Size {
		var buf [ordered.Tile]uint64
		whole := n / 64
		words := lanes.Load(&buf, src, whole*64/lanes.Len())
		lanes.Keys(words)
		lanes.Mask(dst[:whole], words, in.lo, in.hi)
		if n -= whole * 64; n == 0 {
			return
		}
		dst, src = dst[whole:], src[whole*64*stride:]
	}
	switch t.num.Size {
	case 1:
		maskTile[uint8](t.num, dst, src, stride, n, in)
	case 2:
		maskTile[uint16](t.num, dst, src, stride, n, in)
	case 4:
		maskTile[uint32](t.num, dst, src, stride, n, in)
	default:
		maskTile[uint64](t.num, dst, src, stride, n, in)
	}
}

func maskTile[W ordered.Word](num ordered.Type, dst []uint64, src []byte, stride, n int, in span) {
	var buf [ordered.Tile]W
	items := ordered.Load(&buf, src, stride, n, num.BigEndian)
	lo, width := W(in.lo), W(in.hi-in.lo)
	switch num.Kind {
	case ordered.Float:
		maskFloats(dst, items, W(num.Sign()), 8*num.Size-1, lo, width)
	case ordered.Int, ordered.Time: // to flip the sign is to add it, so the items need not be changed
		maskInts(dst, items, lo^W(num.Sign()), width)
	case ordered.Bool:
		if lo == 1 || width == 1 { // true is each number from 1 to the last
			width = W(0) - 1 - lo
		}
		maskInts(dst, items, lo, width)
	default:
		maskInts(dst, items, lo, width)
	}
}

// maskInts finds the items from base to base + width, in the circle of all numbers of
// their size.
func maskInts[W ordered.Word](dst []uint64, items []W, base, width W) {
	for i := range dst {
		var w uint64
		for j, x := range items[64*i : min(64*i+64, len(items))] {
			var b uint64
			if x-base <= width {
				b = 1
			}
			w |= b << (j & 63)
		}
		dst[i] = w
	}
}

// maskFloats finds the floats whose keys are from lo to lo + width. top is the number of
// their sign bit.
func maskFloats[W ordered.Word](dst []uint64, items []W, sign W, top int, lo, width W) {
	for i := range dst {
		var w uint64
		for j, x := range items[64*i : min(64*i+64, len(items))] {
			var b uint64
			if (x^(-(x>>(top&63))|sign))-lo <= width {
				b = 1
			}
			w |= b << (j & 63)
		}
		dst[i] = w
	}
}

// maskMany finds the items whose keys are in a set of many spans.
func (t *test) maskMany(dst []uint64, src []byte, stride, n int) {
	for i := range n {
		if t.look.has(t.num.KeyOf(t.num.Bits(src[i*stride:]))) {
			dst[i/64] |= 1 << (i % 64)
		}
	}
}

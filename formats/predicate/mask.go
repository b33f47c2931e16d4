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

func (t *test) maskColumn(dst []uint64, src []byte, stride, n int) {
	switch t.num.Size {
	case 1:
		maskTile[uint8](t, dst, src, stride, n)
	case 2:
		maskTile[uint16](t, dst, src, stride, n)
	case 4:
		maskTile[uint32](t, dst, src, stride, n)
	default:
		maskTile[uint64](t, dst, src, stride, n)
	}
}

func maskTile[W ordered.Word](t *test, dst []uint64, src []byte, stride, n int) {
	var buf [ordered.Tile]W
	items := ordered.Load(&buf, src, stride, n, t.num.BigEndian)
	in, flip := t.look, t.flip
	switch {
	case len(in) == 0:
		for i := range dst {
			dst[i] = flip
		}
	case t.num.Kind == ordered.Bool:
		maskBools(dst, items, in)
	case len(in) > 1:
		maskMany(dst, items, t.num, in)
	case t.num.Kind == ordered.Float:
		maskFloats(dst, items, W(t.num.Sign()), W(in[0].lo), W(in[0].hi-in[0].lo), flip)
	case t.num.Kind == ordered.Uint:
		maskInts(dst, items, W(in[0].lo), W(in[0].hi-in[0].lo), flip)
	default: // to flip the sign is to add it, so the items need not be changed
		maskInts(dst, items, W(in[0].lo^t.num.Sign()), W(in[0].hi-in[0].lo), flip)
	}
}

// maskInts finds the items from base to base + span, in the circle of all numbers of
// their size, and flips the bits.
func maskInts[W ordered.Word](dst []uint64, items []W, base, span W, flip uint64) {
	for i := range dst {
		var w uint64
		for j, x := range items[64*i : min(64*i+64, len(items))] {
			var b uint64
			if x-base <= span {
				b = 1
			}
			w |= b << (j & 63)
		}
		dst[i] = w ^ flip
	}
}

// maskFloats finds the floats whose keys are from lo to lo + span, and flips the bits.
func maskFloats[W ordered.Word](dst []uint64, items []W, sign, lo, span W, flip uint64) {
	top := 0
	for ; sign>>top != 1; top++ {
		continue
	}
	for i := range dst {
		var w uint64
		for j, x := range items[64*i : min(64*i+64, len(items))] {
			var b uint64
			if (x^(-(x>>(top&63))|sign))-lo <= span {
				b = 1
			}
			w |= b << (j & 63)
		}
		dst[i] = w ^ flip
	}
}

// maskBools finds the bools that are in a set, which is not empty.
func maskBools[W ordered.Word](dst []uint64, items []W, in set) {
	maskInts(dst, items, 1, W(0)-2, 0) // from 1 to the last
	var zeros, ones uint64
	if in.has(0) {
		zeros = ^uint64(0)
	}
	if in.has(1) {
		ones = ^uint64(0)
	}
	for i, w := range dst {
		dst[i] = w&ones | ^w&zeros
	}
}

// maskMany finds the items whose keys are in a set of several spans.
func maskMany[W ordered.Word](dst []uint64, items []W, num ordered.Type, in set) {
	for i := range dst {
		var w uint64
		for j, x := range items[64*i : min(64*i+64, len(items))] {
			if in.has(num.KeyOf(uint64(x))) {
				w |= 1 << j
			}
		}
		dst[i] = w
	}
}

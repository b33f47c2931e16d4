package ordered

import "math/bits"

// Lanes do the arithmetic of several small items in one word of 64 bits: 8 of a byte, or
// 4 of two bytes. The zero Lanes are of no use.
type Lanes struct {
	typ  Type
	high uint64 // the highest bit of each lane
}

// LanesOf returns the lanes of a type, and false if its items are too large for it to be
// worth while.
func LanesOf(t Type) (Lanes, bool) {
	switch t.Size {
	case 1:
		return Lanes{t, 0x8080_8080_8080_8080}, true
	case 2:
		return Lanes{t, 0x8000_8000_8000_8000}, true
	}
	return Lanes{}, false
}

// Len is the number of items in a word.
func (l Lanes) Len() int { return 8 / l.typ.Size }

// All returns a word whose lanes are all x.
func (l Lanes) All(x uint64) uint64 {
	if l.typ.Size == 1 {
		return x * 0x0101_0101_0101_0101
	}
	return x * 0x0001_0001_0001_0001
}

// Load returns items of p, which begins with the first and ends no sooner than the last:
// n words of them, at most Tile, in memory of buf. The first item of a word is in its
// lowest lane.
func (l Lanes) Load(buf *[Tile]uint64, p []byte, n int) []uint64 {
	words := Load(buf, p, 8, n, false)
	if l.typ.BigEndian {
		for i, w := range words {
			words[i] = w>>8&0x00ff_00ff_00ff_00ff | w&0x00ff_00ff_00ff_00ff<<8
		}
	}
	return words
}

// Nonzero returns how many items of the words, of whose bits mask counts, are not x.
func (l Lanes) Nonzero(words []uint64, mask, x uint64) int {
	h, n := l.high, 0
	mask, x = l.All(mask), l.All(x)
	for _, w := range words {
		w = w&mask ^ x
		n += bits.OnesCount64((w&^h + ^h | w) & h)
	}
	return n
}

// Keys turns the items of the words into keys. That of minus zero stays what it is.
func (l Lanes) Keys(words []uint64) {
	h := l.high
	switch l.typ.Kind {
	case Bool:
		for i, w := range words {
			words[i] = (w&^h + ^h | w) & h >> 7
		}
	case Float: // all bits of a negative number are flipped, and of others the sign
		for i, w := range words {
			neg := w & h
			words[i] = w ^ (neg - neg>>15 | h)
		}
	case Int:
		for i, w := range words {
			words[i] = w ^ h
		}
	default:
	}
}

// Outside returns the place of the first word that has a key less than lo or more than
// hi, or how many words there are.
func (l Lanes) Outside(words []uint64, lo, hi uint64) int {
	low, top, span := l.window(lo, hi)
	h := l.high
	for i, w := range words {
		if outside(h, low, top, span, w) != 0 {
			return i
		}
	}
	return len(words)
}

// Mask fills dst with bits: 1 for each key that is from lo to hi. There are 64 keys for
// each word of dst.
func (l Lanes) Mask(dst, words []uint64, lo, hi uint64) {
	low, top, span := l.window(lo, hi)
	h := l.high
	for i := range dst {
		var out uint64
		if l.typ.Size == 1 { // the high bits are brought together, that of the first item lowest
			for _, w := range words[8*i : 8*i+8] {
				out = out>>8 | outside(h, low, top, span, w)>>7*0x0102_0408_1020_4080&(0xff<<56)
			}
		} else {
			for _, w := range words[16*i : 16*i+16] {
				out = out>>4 | outside(h, low, top, span, w)>>15*(1<<60|1<<45|1<<30|1<<15)&(0xf<<60)
			}
		}
		dst[i] = ^out
	}
}

// window returns what outside takes: lo without its high bit, its high bit flipped, and
// how far hi is from lo, each in all lanes.
func (l Lanes) window(first, hi uint64) (low, top, span uint64) {
	lo := l.All(first)
	return lo &^ l.high, ^lo & l.high, l.All(hi - first)
}

// outside returns the high bits h of the lanes whose keys are outside of a window.
func outside(h, low, top, span, keys uint64) uint64 {
	d := ((keys | h) - low) ^ keys&h ^ top // keys - lo, each in its lane
	t := (span | h) - d&^h                 // keeps high bits where the low ones of span are not less
	return (d&^span | ^(span ^ d | t)) & h
}

package codec

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// The three kinds of codes of a sequence, in the order of RFC 8878.
const (
	litLengths = iota
	offsets
	matchLengths
)

const (
	fseMaxLog  = 9
	fseSymbols = 53 // the largest number of symbols of the three kinds
)

// fseState is one state of a decoding table, with the meaning of its symbol: a base value
// (from bit 32 on) to which extra bits (their number in bits 0 to 7) are added. The next
// state is next (bits 16 to 31) plus the number in the next bits (how many: 8 to 15) of the
// stream.
type fseState uint64

func newState(c fseCode, next uint16, n uint8) fseState {
	return fseState(c.base)<<32 | fseState(next)<<16 | fseState(n)<<8 | fseState(c.extra)
}

type fseTable struct {
	log    uint8
	states [1 << fseMaxLog]fseState // 1<<log of them
}

// fseCode is a symbol's meaning.
type fseCode struct {
	base  uint32
	extra uint8
}

// fseConsts are the tables and limits that the format defines.
type fseConsts struct {
	codes  [3][]fseCode
	preset [3]fseTable
}

var fseDefined = sync.OnceValue(func() *fseConsts {
	c := &fseConsts{}
	// Each code begins where the values of the previous code end. The first
	// codes stand for a single value each.
	ramp := func(kind int, base uint32, single int, extra []uint8) {
		for _, x := range append(make([]uint8, single), extra...) {
			c.codes[kind] = append(c.codes[kind], fseCode{base, x})
			base += 1 << x
		}
	}
	ramp(litLengths, 0, 16, []uint8{1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	ramp(matchLengths, 3, 32, []uint8{1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	for x := range uint8(31) {
		c.codes[offsets] = append(c.codes[offsets], fseCode{1 << x, x})
	}
	c.preset[litLengths].build(c, litLengths, 6, []int16{4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2,
		3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1})
	c.preset[offsets].build(c, offsets, 5, []int16{1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		-1, -1, -1, -1, -1})
	ml := []int16{1, 4, 3, 2, 2, 2, 2, 2, 2}
	for len(ml) < 46 {
		ml = append(ml, 1)
	}
	c.preset[matchLengths].build(c, matchLengths, 6, append(ml, -1, -1, -1, -1, -1, -1, -1))
	return c
})

// tables reads how the codes of a block's sequences are coded, and returns the bytes
// that follow: the bits of the sequences.
func (f *zstdFast) tables(in []byte) ([]byte, bool) {
	if len(in) < 1 || in[0]&3 != 0 {
		return nil, false
	}
	modes := in[0]
	in = in[1:]
	c := fseDefined()
	for kind := range f.cur {
		switch modes >> (6 - 2*kind) & 3 {
		case 0:
			f.cur[kind] = &c.preset[kind]
		case 1:
			if len(in) < 1 || int(in[0]) >= len(c.codes[kind]) {
				return nil, false
			}
			f.own[kind].single(c.codes[kind][in[0]])
			f.cur[kind], in = &f.own[kind], in[1:]
		case 2:
			n := f.own[kind].read(c, kind, in)
			if n == 0 {
				return nil, false
			}
			f.cur[kind], in = &f.own[kind], in[n:]
		default:
			if f.cur[kind] == nil {
				return nil, false
			}
		}
	}
	return in, true
}

// single makes a table of a single code, which takes no bits.
func (t *fseTable) single(c fseCode) {
	t.log, t.states[0] = 0, newState(c, 0, 0)
}

// read builds the table from its description at the start of in and returns
// how long that is, or 0 if it is wrong.
func (t *fseTable) read(c *fseConsts, kind int, in []byte) int {
	var buf [128]byte // longer than a description; zeros follow it
	have := 8 * copy(buf[:len(buf)-8], in)
	pos := 0
	peek := func(n int) int {
		return int(binary.LittleEndian.Uint32(buf[pos>>3:]) >> (pos & 7) & (1<<n - 1))
	}
	log := 5 + peek(4)
	pos = 4
	if log > [3]int{9, 8, 9}[kind] {
		return 0
	}
	var norm [fseSymbols]int16
	n := 0
	for left := 1 << log; left > 0; {
		if n >= len(c.codes[kind]) || pos >= have {
			return 0
		}
		// A number from 0 to left+1; the smaller ones take a bit less.
		w := bits.Len(uint(left + 1))
		short := 1<<w - 2 - left
		v := peek(w)
		if low := v & (1<<(w-1) - 1); low < short {
			v = low
			pos += w - 1
		} else {
			if v >= 1<<(w-1) {
				v -= short
			}
			pos += w
		}
		norm[n] = int16(v - 1)
		n++
		left -= max(v-1, 1-v)
		for more := v == 1; more; { // zero: two bits count the zeros that follow
			if pos >= have {
				return 0
			}
			r := peek(2)
			pos += 2
			n += r
			if more = r == 3; n > len(c.codes[kind]) {
				return 0
			}
		}
		if left < 0 {
			return 0
		}
	}
	if pos > have {
		return 0
	}
	t.build(c, kind, uint8(log), norm[:n])
	return (pos + 7) >> 3
}

// build spreads the symbols over the table as the format says. norm has how
// many states each symbol gets, -1 for less than one, which add up to 1<<log.
func (t *fseTable) build(c *fseConsts, kind int, log uint8, norm []int16) {
	size := 1 << log
	t.log = log
	var symbol [1 << fseMaxLog]uint8
	var next [fseSymbols]uint16
	high := size
	for s, n := range norm {
		next[s] = uint16(n)
		if n < 0 {
			high--
			symbol[high], next[s] = uint8(s), 1
		}
	}
	p, step := 0, size>>1+size>>3+3
	for s, n := range norm {
		for ; n > 0; n-- {
			symbol[p] = uint8(s)
			for p = (p + step) & (size - 1); p >= high; {
				p = (p + step) & (size - 1)
			}
		}
	}
	for i := range t.states[:size] {
		s := symbol[i]
		nb := log + 1 - uint8(bits.Len16(next[s]))
		t.states[i] = newState(c.codes[kind][s], next[s]<<nb-uint16(size), nb)
		next[s]++
	}
}

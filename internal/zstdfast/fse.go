package zstdfast

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
// (from bit 32 on) to which extra bits (their number in bits 8 to 15) are added. The next
// state is next (bits 16 to 31) plus the number in the next bits (how many: 0 to 7) of the
// stream.
type fseState uint64

type fseTable struct {
	states [1 << fseMaxLog]fseState // 1<<log of them
	log    uint8
}

// fseCode is a symbol's meaning, as a state has it.
type fseCode fseState

func (c fseCode) state(next uint16, n uint8) fseState {
	return fseState(c) | fseState(next)<<16 | fseState(n)
}

// fseConsts are the tables and limits that the format defines.
type fseConsts struct {
	codes  [3][64]fseCode
	count  [3]int // of codes
	preset [3]fseTable
	log2   [2 << fseMaxLog]uint8 // of numbers of states, rounded down; faster than to count bits
}

func (c *fseConsts) add(kind int, base uint32, extra uint8) {
	c.codes[kind][c.count[kind]] = fseCode(base)<<32 | fseCode(extra)<<8
	c.count[kind]++
}

var fseDefined = sync.OnceValue(func() *fseConsts {
	c := &fseConsts{}
	for i := 2; i < len(c.log2); i++ {
		c.log2[i] = c.log2[i/2] + 1
	}
	// Each code begins where the values of the previous code end. The first
	// codes stand for a single value each.
	ramp := func(kind int, base uint32, single int, extra []uint8) {
		for _, x := range append(make([]uint8, single), extra...) {
			c.add(kind, base, x)
			base += 1 << x
		}
	}
	ramp(litLengths, 0, 16, []uint8{1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	ramp(matchLengths, 3, 32, []uint8{1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	for x := range uint8(31) {
		c.add(offsets, 1<<x, x)
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
func (f *Decoder) tables(in []byte) ([]byte, bool) {
	if len(in) < 1 || in[0]&3 != 0 {
		return nil, false
	}
	modes := in[0]
	in = in[1:]
	c := fseDefined()
	for kind := range f.table {
		t := &f.table[kind]
		switch modes >> (6 - 2*kind) & 3 {
		case 0:
			p := &c.preset[kind]
			t.log = p.log
			copy(t.states[:1<<p.log], p.states[:])
		case 1:
			if len(in) < 1 || int(in[0]) >= c.count[kind] {
				return nil, false
			}
			t.single(c.codes[kind][in[0]])
			in = in[1:]
		case 2:
			n := t.read(c, kind, in)
			if n == 0 {
				return nil, false
			}
			in = in[n:]
		default:
			if !f.known {
				return nil, false
			}
		}
	}
	f.known = true
	return in, true
}

// single makes a table of a single code, which takes no bits.
func (t *fseTable) single(c fseCode) {
	t.log, t.states[0] = 0, c.state(0, 0)
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
		if n >= c.count[kind] || pos >= have {
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
			if more = r == 3; n > c.count[kind] {
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
	var list [1<<fseMaxLog + 8]uint8 // the symbols one after the other, eight at once
	var symbol [1 << fseMaxLog]uint8
	var next [64]uint16
	high, n := size, 0
	for s, k := range norm {
		next[s&63] = uint16(k)
		if k < 0 {
			high--
			symbol[high], next[s&63] = uint8(s), 1
			continue
		}
		for i := 0; i < int(k); i += 8 {
			binary.LittleEndian.PutUint64(list[n+i:], 0x0101010101010101*uint64(s))
		}
		n += int(k)
	}
	p, step := 0, size>>1+size>>3+3
	for _, s := range list[:high] {
		symbol[p&(1<<fseMaxLog-1)] = s
		for p = (p + step) & (size - 1); p >= high; {
			p = (p + step) & (size - 1)
		}
	}
	codes := &c.codes[kind]
	for i, s := range symbol[:size] {
		v := next[s&63]
		next[s&63]++
		nb := log - c.log2[v&(2<<fseMaxLog-1)]
		t.states[i&(1<<fseMaxLog-1)] = codes[s&63].state(v<<(nb&15)-uint16(size), nb)
	}
}

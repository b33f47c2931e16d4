package zstdenc

import "math/bits"

// A bitQueue holds bits that are not written yet, the first in the lowest place, for a reader
// that begins at their end. It is small enough to be kept in registers.
type bitQueue struct {
	v uint64
	n uint
}

func (q bitQueue) add(v uint64, n uint) bitQueue { return bitQueue{q.v | v<<(q.n&63), q.n + n} }

// flush leaves less than 8 bits. It writes up to 8 bytes.
func (q bitQueue) flush(p []byte, at int) (bitQueue, int) {
	store64(p, at, q.v)
	return bitQueue{q.v >> (q.n &^ 7 & 63), q.n & 7}, at + int(q.n>>3)
}

// close adds the bit that marks the end.
func (q bitQueue) close(p []byte, at int) int {
	rest, at := q.add(1, 1).flush(p, at)
	p[at] = byte(rest.v)
	return at + int((rest.n+7)>>3)
}

const (
	maxSymbols = 64 // more than a distribution has (53), so that an index needs no check
	minLog     = 5  // of a table that is described
	maxLog     = 9  // of literal and match lengths; of offsets 8
)

// fseEncoder is a table for coding by one distribution.
type fseEncoder struct {
	log    uint
	states [1 << maxLog]uint16
	symbol [maxSymbols]struct{ bits, find int32 } // as in C: deltaNbBits, deltaFindState
}

// build makes the table. norm has how many of the 1<<log states each symbol gets, -1 for less
// than one.
func (t *fseEncoder) build(log uint, norm []int16) {
	t.log = log
	size := int32(1) << log
	var spread [1 << maxLog]byte
	var first [maxSymbols]int32
	high, total := size-1, int32(0)
	for s, n := range norm {
		first[s] = total
		x := &t.symbol[s]
		switch {
		case n == -1:
			spread[high] = byte(s)
			high--
			fallthrough
		case n == 1:
			x.bits, x.find = int32(log<<16)-size, total-1
			total++
		case n > 1:
			most := int32(log) + 1 - int32(bits.Len16(uint16(n-1)))
			x.bits, x.find = most<<16-int32(n)<<most, total-int32(n)
			total += int32(n)
		}
	}
	pos, step := int32(0), size>>1+size>>3+3
	for s, n := range norm {
		for range n {
			spread[pos&(1<<maxLog-1)] = byte(s)
			pos = (pos + step) & (size - 1)
			for pos > high {
				pos = (pos + step) & (size - 1)
			}
		}
	}
	for u, s := range spread[:size] {
		t.states[first[s&63]&(1<<maxLog-1)] = uint16(int(size) + u)
		first[s&63]++
	}
}

// single makes a table of the one symbol that there is, which takes no bits.
func (t *fseEncoder) single(s byte) {
	t.log, t.states[0] = 0, 1
	t.symbol[s].bits, t.symbol[s].find = -1, -1
}

func (t *fseEncoder) begin(s byte) uint32 {
	x := t.symbol[s&63]
	n := uint32(x.bits+1<<15) >> 16
	return uint32(t.states[(int32((n<<16-uint32(x.bits))>>(n&31))+x.find)&(1<<maxLog-1)])
}

func (t *fseEncoder) next(q bitQueue, state uint32, s byte) (bitQueue, uint32) {
	x := t.symbol[s&63]
	n := uint(int32(state)+x.bits) >> 16
	return q.add(uint64(state)&(1<<(n&63)-1), n), uint32(t.states[(int32(state>>(n&31))+x.find)&(1<<maxLog-1)])
}

func (t *fseEncoder) end(q bitQueue, state uint32) bitQueue {
	return q.add(uint64(state)&(1<<t.log-1), t.log)
}

// normalize gives each symbol its part of 1<<log states, at least one if it is there at all.
// 1<<log is at least twice the number of symbols.
func normalize(norm []int16, count []uint32, total int, log uint) {
	left, most := 1<<log, 0
	scale := uint64(1<<32) << log / uint64(total)
	for s, c := range count {
		n := int((uint64(c)*scale + 1<<31) >> 32)
		if c > 0 {
			n = max(n, 1)
		}
		if c > count[most] {
			most = s
		}
		norm[s] = int16(n)
		left -= n
	}
	for ; left < 0 && -left >= int(norm[most])/2; left++ { // many symbols were given one state for less than a half
		big := most
		for s, n := range norm[:len(count)] {
			if n > norm[big] {
				big = s
			}
		}
		norm[big]--
	}
	norm[most] += int16(left)
}

// describe writes the description of a distribution, which ends with a part that is not 0,
// to p[at:], and returns where it ends.
func describe(p []byte, at int, log uint, norm []int16) int {
	q := bitQueue{}.add(uint64(log-minLog), 4)
	left, threshold, n := 1<<log+1, 1<<log, log+1
	for s := 0; s < len(norm); s++ {
		most := 2*threshold - 1 - left
		left -= max(int(norm[s]), -int(norm[s]))
		v := int(norm[s]) + 1
		if v >= threshold {
			v += most
		}
		k := n
		if v < most {
			k--
		}
		q = q.add(uint64(v), k)
		for left < threshold && threshold > 1 {
			n, threshold = n-1, threshold>>1
		}
		q, at = q.flush(p, at)
		if norm[s] != 0 {
			continue
		}
		zeros := 0
		for ; norm[s+1] == 0; s++ {
			zeros++
		}
		for ; zeros >= 3; zeros -= 3 {
			q, at = q.add(3, 2).flush(p, at)
		}
		q, at = q.add(uint64(zeros), 2).flush(p, at)
	}
	p[at] = byte(q.v)
	return at + int((q.n+7)>>3)
}

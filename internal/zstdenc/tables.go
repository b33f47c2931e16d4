package zstdenc

import (
	"math/bits"
	"sync"
)

// code is what a symbol means: a base, to which extra bits are added.
type code struct {
	base  uint32
	extra uint8
}

// codesFrom are codes for single values, then those with extra bits; each begins where
// the one before it ends.
func codesFrom(base uint32, single int, extra ...uint8) (codes []code) {
	for _, x := range append(make([]uint8, single), extra...) {
		codes = append(codes, code{base, x})
		base += 1 << x
	}
	return codes
}

// The three kinds of symbols of a sequence, in the order of RFC 8878.
const (
	litLengths = iota
	offsets
	matchLengths
)

// sharedTables are those for all inputs.
type sharedTables struct {
	preset      [3]fseEncoder // that the format defines
	bits        [3][64]uint16 // of a symbol by these, in parts of 256
	weights     weightEncoder
	weightsHead []byte // describes it
	litCodes    [64]code
	matchCodes  [64]code
	litCode     [64]byte  // of a length; longer ones have their logarithm and 19
	matchCode   [128]byte // of a length less 3; longer ones have their logarithm and 36
}

// weightParts are parts of 64 that weights have in Huffman codes of text of some hundred
// bytes: most symbols are not there at all, and most of the others once or twice.
var weightParts = []int16{42, 4, 5, 4, 3, 2, 1, 1, 1, 1}

var shared = sync.OnceValue(func() *sharedTables {
	ml := []int16{1, 4, 3, 2, 2, 2, 2, 2, 2}
	for len(ml) < 46 {
		ml = append(ml, 1)
	}
	norms := [3][]int16{
		litLengths: {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2,
			3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1},
		offsets: {1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
			-1, -1, -1, -1, -1},
		matchLengths: append(ml, -1, -1, -1, -1, -1, -1, -1),
	}
	t := &sharedTables{weights: newWeightEncoder(), weightsHead: make([]byte, 64)}
	for kind, log := range [3]uint{6, 5, 6} {
		t.preset[kind].build(log, norms[kind])
		for s, n := range norms[kind] {
			t.bits[kind][s] = uint16(log<<8) - log2(uint32(max(n, 1)))
		}
	}
	t.weightsHead = t.weightsHead[:describe(t.weightsHead, 0, 6, weightParts)]
	lits := codesFrom(0, 16, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	matches := codesFrom(3, 32, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	copy(t.litCodes[:], lits)
	copy(t.matchCodes[:], matches)
	of := func(codes []code, v int) byte {
		i := len(codes) - 1
		for int(codes[i].base) > v {
			i--
		}
		return byte(i)
	}
	for i := range t.litCode {
		t.litCode[i] = of(lits, i)
	}
	for i := range t.matchCode {
		t.matchCode[i] = of(matches, i+3)
	}
	return t
})

// encode sets the symbols of a sequence.
func (t *sharedTables) encode(s *sequence) {
	if int(s.lit) < len(t.litCode) {
		s.litCode = t.litCode[s.lit]
	} else {
		s.litCode = byte(bits.Len16(s.lit)) + 18
	}
	if m := s.match - 3; int(m) < len(t.matchCode) {
		s.matchCode = t.matchCode[m]
	} else {
		s.matchCode = byte(bits.Len16(m)) + 35
	}
	s.offsetCode = byte(bits.Len32(s.offset)) - 1
}

// log2 is the logarithm in parts of 256, to within a few of them.
func log2(v uint32) uint16 {
	n := bits.Len32(v) - 1
	part := v << 8 >> n & 255
	// log2(1+x) is nearly x + 0.34*x*(1-x).
	return uint16(n)<<8 + uint16(part) + uint16(part*(256-part)*87>>16)
}

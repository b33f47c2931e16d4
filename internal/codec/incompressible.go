package codec

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/farread/farread/internal/lzcopy"
)

// A prober tells streams that the fastest encoders of zstd would store as they are, in a part
// of the time that they take to find out: the planes of the last bits of numbers are such
// streams, and they are most of the bytes of measured data.
//
// It looks for matches as an encoder does, and at the entropy of a sample instead of the
// whole stream. A wrong guess costs some ratio or some time, and nothing else.
type prober struct {
	seen [1 << probeBits]uint16 // places by the hash of what is there
	freq [256]uint16
}

const (
	probeBits   = 12
	probeMargin = 8        // the encoder looks for no match in the last bytes
	probeMin    = 2 << 10  // a shorter stream is its own sample, and soon encoded
	probeMax    = 64 << 10 // places take 16 bits

	sampleParts = 8
	samplePart  = 128

	// maxEntropy is the entropy, in bits for a byte, from which on Huffman codes do not save
	// the sixteenth that the library asks for.
	maxEntropy = 7.52

	// minKinds of 64 bytes differ in streams of such entropy, of which 53 usually do.
	minKinds = 40
)

// xlog2x is x * log2(x), for counts that are usual in a sample without an order.
var xlog2x = func() (t [64]float32) {
	for i := 2; i < len(t); i++ {
		t[i] = float32(float64(i) * math.Log2(float64(i)))
	}
	return t
}()

// incompressible reports whether the encoder would find nothing in src.
func (t *prober) incompressible(src []byte) bool {
	return len(src) >= probeMin && len(src) <= probeMax && varied(src) && t.entropy(src) > maxEntropy && t.matched(src) < len(src)>>6+16
}

// varied reports whether most of some bytes of src are different. It saves the entropy of
// streams that are far from incompressible.
func varied(src []byte) bool {
	var seen [256 / 64]uint64
	for i, step := 0, len(src)/64; i < len(src); i += step {
		seen[src[i]>>6] |= 1 << (src[i] & 63)
	}
	n := 0
	for _, x := range seen {
		n += bits.OnesCount64(x)
	}
	return n >= minKinds
}

// entropy is that of a sample of src, in bits for a byte.
func (t *prober) entropy(src []byte) float32 {
	clear(t.freq[:])
	step := (len(src) - samplePart) / (sampleParts - 1)
	for i := range sampleParts {
		for _, b := range src[i*step:][:samplePart] {
			t.freq[b]++
		}
	}
	const n = sampleParts * samplePart
	sum, kinds := float32(0), 0
	for _, c := range t.freq {
		switch {
		case int(c) < len(xlog2x):
			sum += xlog2x[c]
		default:
			return 0 // a byte that is so frequent is worth a Huffman code
		}
		if c > 0 {
			kinds++
		}
	}
	// A sample has less entropy than where it comes from (Miller and Madow).
	return 10 - sum/n + float32(kinds-1)/(2*math.Ln2*n)
}

// matched returns how many bytes of src are in matches with what is before, as the encoder
// finds them, up to a number that is worth encoding.
func (t *prober) matched(src []byte) int {
	const tries, step = 5, 2 // a step more for each 32 bytes without a match
	enough, found := len(src)>>6+16, 0
	clear(t.seen[:]) // else the answer would depend on streams before
	for s, last := 0, 0; s < len(src)-probeMargin-1; {
		x := binary.LittleEndian.Uint64(src[s:])
		at := t.put(x, s)
		if at >= s || binary.LittleEndian.Uint32(src[at:]) != uint32(x) {
			x >>= 8
			if at = t.put(x, s+1); at > s || binary.LittleEndian.Uint32(src[at:]) != uint32(x) {
				s += step + (s-last)>>tries
				continue
			}
			s++
		}
		end := s + 4 + lzcopy.Len8(src, s+4, at+4, len(src))
		for ; s > last && at > 0 && src[s-1] == src[at-1]; s, at = s-1, at-1 {
		}
		if found += end - s; found >= enough {
			break
		}
		s, last = end, end
	}
	return found
}

// put notes that x is at s, and returns where a number of the same hash was.
func (t *prober) put(x uint64, s int) int {
	const prime6 = 227718039650203
	p := &t.seen[x<<16*prime6>>(64-probeBits)]
	at := int(*p)
	*p = uint16(s)
	return at
}

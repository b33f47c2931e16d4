package codec

import "encoding/binary"

// adlerMod is the largest prime below 65536, as RFC 1950 says.
const adlerMod = 65521

// adlerWords is how many words of 8 bytes are summed before lanes of 16 bits
// could overflow: 255*22*23/2 < 65536.
const adlerWords = 22

// adler computes Adler-32 a word at a time. It sums the bytes at even places and those
// at odd places in lanes of 16 bits. It also sums these sums, so that a byte counts
// once for each word after it.
func adler(p []byte) uint32 {
	const lanes = 0x00ff00ff00ff00ff
	a, b := uint64(1), uint64(0)
	for len(p) >= 8*adlerWords {
		var even, odd, evens, odds uint64
		words := (*[8 * adlerWords]byte)(p)
		for i := 0; i < len(words)-15; i += 16 {
			v := binary.LittleEndian.Uint64(words[i:])
			even += v & lanes
			odd += v >> 8 & lanes
			evens += even
			odds += odd
			v = binary.LittleEndian.Uint64(words[i+8:])
			even += v & lanes
			odd += v >> 8 & lanes
			evens += even
			odds += odd
		}
		// Byte k of a word counts 8 times for each word from its own on, less k.
		b += 8*adlerWords*a + 8*(lane(evens, 0)+lane(evens, 1)+lane(evens, 2)+lane(evens, 3)+
			lane(odds, 0)+lane(odds, 1)+lane(odds, 2)+lane(odds, 3))
		b -= 2*lane(even, 1) + 4*lane(even, 2) + 6*lane(even, 3) +
			lane(odd, 0) + 3*lane(odd, 1) + 5*lane(odd, 2) + 7*lane(odd, 3)
		a += lane(even, 0) + lane(even, 1) + lane(even, 2) + lane(even, 3) +
			lane(odd, 0) + lane(odd, 1) + lane(odd, 2) + lane(odd, 3)
		a, b = a%adlerMod, b%adlerMod
		p = p[8*adlerWords:]
	}
	for _, c := range p {
		a += uint64(c)
		b += a
	}
	return uint32(b%adlerMod<<16 | a%adlerMod)
}

func lane(v uint64, i uint) uint64 { return v >> (16 * i) & 0xffff }

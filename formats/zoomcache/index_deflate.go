package zoomcache

import (
	"encoding/binary"
	"math"

	"github.com/klauspost/compress/flate"

	"github.com/farread/farread/internal/adler"
)

// A packer makes pages. It is not for concurrent use.
//
// Half of a page is bytes without a pattern: the low bytes of noise. To look for one
// in them takes most of the time, so the parts that seem to be such go into stored
// blocks of the zlib stream, and only the others are deflated.
type packer struct {
	raw, out []byte
	parts    []int // where the parts of raw end
	w        *flate.Writer
	count    [256]uint16
	logs     []float32 // n log2 n
}

// A guess says which parts of the pages of one section are worth deflating. Pages
// of a section are alike, so it is looked into now and then.
type guess struct {
	noise []bool
	age   int
}

const (
	// guessAge is for how many pages a guess holds.
	guessAge = 16
	// deflateLevel is that of runs of parts with a pattern.
	deflateLevel = 1
	// noPattern is what share of the bytes of a part may be left to leave it as it
	// is, and storedLen what a stored block costs.
	noPattern  = 0.95
	storedLen  = 5
	maxStored  = math.MaxUint16
	zlibHeader = "\x78\x01"
	lastBlock  = "\x03\x00" // an empty one
)

// pack compresses what was collected: its length, then a zlib stream, or the bytes
// where that is no shorter.
func (k *packer) pack(g *guess) ([]byte, error) {
	k.out = binary.AppendUvarint(k.out[:0], uint64(len(k.raw)))
	at := len(k.out)
	k.out = append(k.out, zlibHeader...)
	k.look(g)
	for i, from := 0, 0; i < len(k.parts); {
		j := i + 1
		for j < len(k.parts) && g.noise[j] == g.noise[i] {
			j++
		}
		p := k.raw[from:k.parts[j-1]]
		if g.noise[i] {
			k.store(p)
		} else if err := k.deflate(p); err != nil {
			return nil, err
		}
		i, from = j, k.parts[j-1]
	}
	k.out = append(k.out, lastBlock...)
	k.out = binary.BigEndian.AppendUint32(k.out, adler.Sum(k.raw))
	if len(k.out)-at >= len(k.raw) {
		k.out = append(k.out[:at], k.raw...)
	}
	return k.out, nil
}

// look makes a guess, where the last one is old.
func (k *packer) look(g *guess) {
	if g.age > 0 && len(g.noise) == len(k.parts) {
		g.age--
		return
	}
	g.age, g.noise = guessAge, g.noise[:0]
	from := 0
	for _, end := range k.parts {
		g.noise = append(g.noise, k.isNoise(k.raw[from:end]))
		from = end
	}
}

// isNoise says whether the bytes of p are so evenly spread that no code is shorter.
func (k *packer) isNoise(p []byte) bool {
	if len(p) < 32 {
		return false
	}
	p = p[:min(len(p), pageSpans)]
	for n := len(k.logs); n <= len(p); n++ {
		k.logs = append(k.logs, float32(float64(n)*math.Log2(float64(max(n, 1)))))
	}
	clear(k.count[:])
	for _, b := range p {
		k.count[b]++
	}
	bits := k.logs[len(p)]
	for _, n := range k.count {
		bits -= k.logs[n]
	}
	// So few bytes look less even than what they are a sample of.
	return float64(bits)/8 > noPattern*float64(len(p))*min(1, math.Log2(float64(len(p)))/8)-storedLen
}

// store appends stored blocks.
func (k *packer) store(p []byte) {
	for len(p) > 0 {
		n := min(len(p), maxStored)
		k.out = append(k.out, 0, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		k.out = append(k.out, p[:n]...)
		p = p[n:]
	}
}

// deflate appends blocks of p that end with a byte.
func (k *packer) deflate(p []byte) (err error) {
	if k.w == nil {
		if k.w, err = flate.NewWriter(k, deflateLevel); err != nil {
			return err
		}
	} else {
		k.w.Reset(k)
	}
	if _, err = k.w.Write(p); err == nil {
		err = k.w.Flush()
	}
	return err
}

// Write takes what the deflater makes.
func (k *packer) Write(p []byte) (int, error) {
	k.out = append(k.out, p...)
	return len(p), nil
}

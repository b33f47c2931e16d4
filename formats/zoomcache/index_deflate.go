package zoomcache

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/klauspost/compress/flate"

	"github.com/farread/farread/internal/adler"
)

// A packer makes pages. It is not for concurrent use.
//
// Half of a page is bytes without a pattern: the low bytes of noise. To look for one
// in them, and to make a code for each page, takes more time than all else about an
// index. So parts that seem to be noise go into stored blocks of the zlib stream,
// others into blocks of a code that serves many pages, and only what repeats itself
// is left to a deflater.
type packer struct {
	raw   []byte
	parts []int // where the parts of raw end
	out   bitWriter
	w     *flate.Writer
	count [256]uint16
	logs  []float32 // n log2 n
	trial bytes.Buffer
}

// A guess says how to pack the parts of the pages of one section. Pages of a section
// are alike, so it is made anew only now and then.
type guess struct {
	parts []guessPart
	age   int
}

type guessPart struct {
	code  *code // nil: none is worth it
	noise bool
}

const (
	// guessAge is for how many pages a guess holds.
	guessAge = 48
	// deflateLevel is that of parts that repeat themselves.
	deflateLevel = 1
	// worth is what share of its bytes a part must come down to to have a code, and
	// one of saves bytes what the deflater must save beside it, or come down to, for it
	// is slow.
	worth = 0.97
	saves = 8
	// codeHead is what the head of a block takes that has a code of its own, in
	// bytes, about; storedLen that of a stored one.
	codeHead   = 50
	storedLen  = 5
	maxStored  = math.MaxUint16
	zlibHeader = "\x78\x01"
)

// pack compresses what was collected: its length, then a zlib stream, or the bytes
// where that is no shorter. What it gives is good until the next call.
func (k *packer) pack(g *guess) ([]byte, error) {
	k.out.out = binary.AppendUvarint(k.out.out[:0], uint64(len(k.raw)))
	at := len(k.out.out)
	k.out.out = append(k.out.out, zlibHeader...)
	if err := k.look(g); err != nil {
		return nil, err
	}
	for i, from := 0, 0; i < len(k.parts); {
		j, p := i+1, k.raw[from:k.parts[i]]
		plan := g.parts[i]
		switch {
		case len(p) > 3 && bytes.Equal(p[1:], p[:len(p)-1]):
			k.out.same(p[0], len(p))
		case plan.code != nil:
			k.out.coded(plan.code, p)
		default:
			for j < len(k.parts) && g.parts[j] == plan {
				j++
			}
			p = k.raw[from:k.parts[j-1]]
			if plan.noise {
				k.store(p)
			} else if err := k.deflate(p); err != nil {
				return nil, err
			}
		}
		i, from = j, k.parts[j-1]
	}
	k.out.bits(1|blockFixed, 3) // an empty block is the last one
	k.out.bits(0, 7)
	k.out.align()
	out := binary.BigEndian.AppendUint32(k.out.out, adler.Sum(k.raw))
	if len(out)-at >= len(k.raw) {
		out = append(out[:at], k.raw...)
	}
	k.out.out = out
	return out, nil
}

// look makes a guess, where the last one is old.
func (k *packer) look(g *guess) error {
	if g.age > 0 && len(g.parts) == len(k.parts) {
		g.age--
		return nil
	}
	g.age, g.parts = guessAge, g.parts[:0]
	from := 0
	for _, end := range k.parts {
		p, err := k.guess(k.raw[from:end])
		if err != nil {
			return err
		}
		g.parts = append(g.parts, p)
		from = end
	}
	return nil
}

// guess says what to do with parts like p.
func (k *packer) guess(p []byte) (guessPart, error) {
	if len(p) == 0 {
		return guessPart{}, nil
	}
	n := float64(len(p))
	best := min(max(k.entropy(p), n/8)+codeHead, n*worth) // a code has a bit for each byte
	k.trial.Reset()
	if err := k.deflateTo(&k.trial, p); err != nil {
		return guessPart{}, err
	}
	switch {
	case float64(k.trial.Len()) < max(best-n/saves, best/saves):
		return guessPart{}, nil
	case best < n*worth:
		return guessPart{code: makeCode(&k.count)}, nil
	default:
		return guessPart{noise: true}, nil
	}
}

// entropy says how many bytes p takes in the best code for its bytes, about, and
// counts them.
func (k *packer) entropy(p []byte) float64 {
	p = p[:min(len(p), math.MaxUint16)]
	for n := len(k.logs); n <= len(p); n++ {
		k.logs = append(k.logs, float32(float64(n)*math.Log2(float64(max(n, 1)))))
	}
	clear(k.count[:])
	for _, b := range p {
		k.count[b]++
	}
	sum := k.logs[len(p)]
	for _, n := range k.count {
		sum -= k.logs[n]
	}
	return float64(sum) / 8
}

// store appends stored blocks.
func (k *packer) store(p []byte) {
	for len(p) > 0 {
		n := min(len(p), maxStored)
		k.out.bits(blockStored, 3)
		k.out.align()
		k.out.out = binary.LittleEndian.AppendUint32(k.out.out, uint32(n)|^uint32(n)<<16)
		k.out.out = append(k.out.out, p[:n]...)
		p = p[n:]
	}
}

// deflate appends blocks that end with a byte.
func (k *packer) deflate(p []byte) error {
	k.out.bits(blockStored, 3) // an empty one, so that the next begins with a byte
	k.out.align()
	k.out.out = append(k.out.out, 0, 0, 0xff, 0xff)
	b := bytes.NewBuffer(k.out.out)
	err := k.deflateTo(b, p)
	k.out.out = b.Bytes()
	return err
}

func (k *packer) deflateTo(b *bytes.Buffer, p []byte) (err error) {
	if k.w == nil {
		if k.w, err = flate.NewWriter(b, deflateLevel); err != nil {
			return err
		}
	} else {
		k.w.Reset(b)
	}
	if _, err = k.w.Write(p); err == nil {
		err = k.w.Flush()
	}
	return err
}

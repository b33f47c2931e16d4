package zoomindex

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/farread/farread/internal/adler"
)

// A packer makes pages. It is not for concurrent use.
//
// Half of a page is bytes without a pattern: the low bytes of noise. Looking for
// patterns in them, and making a code for each page, would take more time than
// everything else about an index. So parts that look like noise go into stored blocks
// of the zlib stream. Other parts go into blocks with a code that serves many pages; if
// they have long runs of one byte, the code has copies, too. Only parts that repeat
// themselves in other ways go to a deflater.
type packer struct {
	raw   []byte
	parts []int // ends of the parts of raw
	core  []byte
	out   bitWriter
	count [symbols]uint32
	logs  []float32 // n log2 n
	seen  [repeatTable]uint16
	trial bytes.Buffer
}

// A guess says how to pack each part of the pages of one section. The pages of a
// section are alike, so a new guess is made only now and then.
type guess struct {
	parts []guessPart
	age   int
	share float64 // size of the first page divided by its original size
	pages int     // pages so far
	fresh int     // number of the page, from 1, for which the guess was made
}

type guessPart struct {
	code  *code // nil: no code is worth it
	runs  bool  // parts with copies; adjacent parts share a block
	noise bool
	cycle bool // bytes that come again: spans of windows of one length
}

const (
	// guessAge is how many pages use a guess. It ends earlier if a page shrinks less
	// than the first one did: if its share of the original size is more than worse
	// times as large.
	guessAge = 192
	leastAge = 48 // for a look takes longer than it saves
	worse    = 1.05
	// deflateLevel is the level for parts that repeat themselves.
	deflateLevel = 1
	// A part gets a code if the code shrinks it to less than this share, worth. The
	// deflater is slow, so it must do better than the code: by one byte in saves of the
	// part, or to one in saves of what the code takes.
	worth = 0.97
	saves = 4
	// leastDeflated: a deflater makes no fewer bytes of a part, with what ends it.
	leastDeflated = 8
	// codeHead is about how many bytes the head of a block with a code of its own
	// takes; runsHead is a part's share in the head of a block for several parts.
	codeHead = 50
	runsHead = 12
	// few: a part counts as one with many runs if it shrinks to one of few bytes or
	// less.
	few = 4
	// smallPage is the size below which a page is deflated as a whole: to look at its
	// parts would take longer.
	smallPage = 2 << 10
	// repeatTable is the size of the table of hashes, each of four bytes, that finds
	// repeats.
	repeatTable = 512
	maxStored   = math.MaxUint16
	zlibHeader  = "\x78\x01"
)

// pack compresses the collected bytes. It gives their length and a zlib stream, or the
// bytes themselves if the stream is not shorter. The result is valid until the next
// call.
func (k *packer) pack(g *guess) ([]byte, error) {
	g.pages++
	k.out.out = binary.AppendUvarint(k.out.out[:0], uint64(len(k.raw)))
	at := len(k.out.out)
	k.out.out = append(k.out.out, zlibHeader...)
	if len(k.raw) <= smallPage { // see smallPage
		if err := k.deflate(k.raw); err != nil {
			return nil, err
		}
		return k.end(at), nil
	}
	fresh, err := k.look(g)
	if err != nil {
		return nil, err
	}
	for i, from := 0, 0; i < len(k.parts); {
		j, p := i+1, k.raw[from:k.parts[i]]
		plan, same := g.parts[i], constant(p)
		for (plan.runs || !same && plan.code == nil) && j < len(k.parts) && g.parts[j] == plan {
			same = same && constant(k.raw[k.parts[j-1]:k.parts[j]])
			j++
		}
		switch whole := k.raw[from:k.parts[j-1]]; {
		case same:
			j = i + 1
			k.out.same(p[0], len(p))
		case plan.cycle:
			j = i + 1
			k.out.cycle(p, cycle(p))
		case plan.runs:
			k.out.runs(plan.code, whole)
		case plan.code != nil:
			k.out.coded(plan.code, p)
		case plan.noise:
			k.store(whole)
		default:
			if err := k.deflate(whole); err != nil {
				return nil, err
			}
		}
		i, from = j, k.parts[j-1]
	}
	out := k.end(at)
	switch share := float64(len(out)-at) / float64(len(k.raw)); {
	case fresh:
		g.share = share
	case share > g.share*worse && g.age <= guessAge-leastAge:
		g.age = 0
	}
	return out, nil
}

// end ends the stream that begins at at. If the stream is not shorter than the bytes,
// it puts the bytes in its place.
func (k *packer) end(at int) []byte {
	k.out.bits(1|blockFixed, 3) // the last block is empty
	k.out.bits(0, 7)
	k.out.align()
	out := binary.BigEndian.AppendUint32(k.out.out, adler.Sum(k.raw))
	if len(out)-at >= len(k.raw) {
		out = append(out[:at], k.raw...)
	}
	k.out.out = out
	return out
}

// constant reports whether all bytes of p are the same.
func constant(p []byte) bool { return len(p) == 0 || bytes.Equal(p[1:], p[:len(p)-1]) }

// look makes a new guess if the last one is old.
func (k *packer) look(g *guess) (fresh bool, err error) {
	if g.age > 0 && len(g.parts) == len(k.parts) {
		g.age--
		return false, nil
	}
	g.age, g.parts, g.fresh = guessAge, g.parts[:0], g.pages
	from := 0
	for _, end := range k.parts {
		p, err := k.guess(k.raw[from:end])
		if err != nil {
			return false, err
		}
		g.parts = append(g.parts, p)
		from = end
	}
	from = 0
	for i := 0; i < len(k.parts); {
		j := i + 1
		for g.parts[i].runs && j < len(k.parts) && g.parts[j].runs {
			j++
		}
		if g.parts[i].runs {
			k.countRuns(k.raw[from:k.parts[j-1]])
			c := makeCode(k.count[:], symbols)
			for l := range g.parts[i:j] {
				g.parts[i+l].code = c
			}
		}
		i, from = j, k.parts[j-1]
	}
	return true, nil
}

// guess decides how to pack parts like p.
func (k *packer) guess(p []byte) (guessPart, error) {
	if constant(p) {
		return guessPart{runs: true}, nil
	}
	n := float64(len(p))
	extra := k.countRuns(p)
	runs := k.entropy(symbols) + float64(extra/8) + runsHead
	clear(k.count[:])
	for _, b := range p {
		k.count[b]++
	}
	best := min(max(k.entropy(literals), n/8)+codeHead, n*worth) // a code has a bit for each byte
	least := min(best, runs)
	comes := math.Inf(1)
	if d := cycle(p); d > 0 {
		comes = cycled(p, d)
	}
	least = min(least, comes)
	if most := max(least-float64(n/saves), least/saves); most > leastDeflated && k.repeats(p) {
		k.trial.Reset()
		if err := k.deflateTo(&k.trial, p); err != nil {
			return guessPart{}, err
		}
		if float64(k.trial.Len()) < most {
			return guessPart{}, nil
		}
	}
	switch {
	case comes == least:
		return guessPart{cycle: true}, nil
	case runs < min(best, n/few):
		return guessPart{runs: true}, nil
	case best < n*worth:
		return guessPart{code: makeCode(k.count[:], literals)}, nil
	default:
		return guessPart{noise: true}, nil
	}
}

// countRuns counts the symbols of p if runs are copies. extra is the number of bits
// that copies need besides their symbols.
func (k *packer) countRuns(p []byte) (extra float64) {
	clear(k.count[:])
	for len(p) > 0 {
		b, n := p[0], run(p)
		p = p[n:]
		k.count[b]++
		for n--; n >= leastCopy; {
			some := min(n, mostCopy)
			symbol, _, more := copySymbol(some)
			k.count[symbol]++
			extra += float64(more) + 1
			n -= some
		}
		k.count[b] += uint32(n)
	}
	return extra
}

// repeats reports whether enough of p repeats earlier bytes, other than as runs,
// for a deflater to be worth trying.
func (k *packer) repeats(p []byte) bool {
	clear(k.seen[:])
	found := 0
	for i := 0; i+4 <= len(p) && i < math.MaxUint16; i++ {
		x := binary.LittleEndian.Uint32(p[i:])
		if x == bits.RotateLeft32(x, 8) { // a run
			continue
		}
		at := &k.seen[x*0x9E3779B1>>(32-9)]
		if j := int(*at) - 1; j >= 0 && binary.LittleEndian.Uint32(p[j:]) == x {
			found++
		}
		*at = uint16(i + 1)
	}
	return found > len(p)/16
}

// entropy is about how many bytes the counted symbols below n take in their best code.
func (k *packer) entropy(n int) float64 {
	total := uint32(0)
	for _, c := range k.count[:n] {
		total += c
	}
	sum := k.log(total)
	for _, c := range k.count[:n] {
		if c > 1 {
			sum -= k.log(c)
		}
	}
	return sum / 8
}

// log is n log2 n.
func (k *packer) log(n uint32) float64 {
	if n >= math.MaxUint16 {
		return float64(n) * math.Log2(float64(n))
	}
	for i := len(k.logs); i <= int(n); i++ {
		k.logs = append(k.logs, float32(float64(i)*math.Log2(float64(max(i, 1)))))
	}
	return float64(k.logs[n])
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

func (k *packer) deflateTo(b *bytes.Buffer, p []byte) error {
	w, _ := deflaters.Get().(*flate.Writer)
	if w == nil {
		var err error
		if w, err = flate.NewWriter(b, deflateLevel); err != nil {
			return err
		}
	} else {
		w.Reset(b)
	}
	defer func() {
		w.Reset(io.Discard) // it keeps no memory of a packer
		deflaters.Put(w)
	}()
	if _, err := w.Write(p); err != nil {
		return err
	}
	return w.Flush()
}

// deflaters are those that no packer uses at the moment: each has more than a mebibyte of tables.
var deflaters sync.Pool

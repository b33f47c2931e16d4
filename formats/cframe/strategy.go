package cframe

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// A readCost is the estimated cost of one want in bytes: if its chunk is read
// whole, and if only its blocks are read.
type readCost struct {
	whole  int64 // upper bound of the chunk's length
	blocks int64
}

func (g readCost) extra() int64 { return max(g.whole-g.blocks, 0) }

// largeFlight is the number of large requests that fill a machine's link to the
// store, as in objstore.
const largeFlight = 16

// choose returns true for each chunk that is read whole at once, and false if its block
// starts are read first and its blocks next. It is a pure function of sizes and policy.
//
// To read every chunk whole saves one round trip, or one for each wave of p.Parallel
// requests. MaxGap is the number of bytes that the policy reads in vain to save a round
// trip on one connection. So all chunks are read whole if their extra bytes together
// are at most MaxGap. If the extra bytes are within OverRead of the wanted bytes, they
// may be MaxGap on each of the connections that fill the link, in each wave.
//
// If the second round trip is needed anyway, a chunk is still read whole if its extra
// bytes are at most Free, or at most both MaxGap and OverRead times the bytes of its
// blocks (an OverRead above 1 counts as 1). If the policy makes one request at a time
// (Parallel is 1), it reads up to MaxGap in vain for each chunk, to save one of its two
// requests.
func choose(costs []readCost, p rangeio.Policy) []bool {
	whole := make([]bool, len(costs))
	var extra, wanted int64
	partial := 0
	for _, g := range costs {
		extra += g.extra()
		wanted += min(g.blocks, g.whole)
		if g.extra() > p.Free {
			partial++
		}
	}
	all := extra <= p.MaxGap
	if p.Parallel > 1 && float64(extra) <= p.OverRead*float64(wanted) {
		waves := int64((partial + p.Parallel - 1) / p.Parallel)
		all = all || extra/largeFlight <= p.MaxGap*waves
	}
	for i, g := range costs {
		whole[i] = all || wholeAnyway(g, p)
	}
	return whole
}

// wholeAnyway is choose for one chunk, if there is a second phase anyway.
func wholeAnyway(g readCost, p rangeio.Policy) bool {
	if p.Parallel <= 1 && p.Parallel > 0 {
		return g.extra() <= p.MaxGap
	}
	share := min(p.OverRead, 1) * float64(g.blocks)
	return g.extra() <= max(p.Free, min(int64(share), p.MaxGap))
}

// A job is the state of one want while it is read.
type job struct {
	want, chunk int
	blocks      []int // nil: all, or the blocks of [from, to)
	from, to    int   // range of decoded bytes of the chunk; 0, 0: no range
	bsize       int   // block size that the numbers in blocks refer to; 0: the chunk's own
	dst         []byte
	into        bool     // the whole chunk is decoded into dst; a plan has no dst
	nbytes      int      // decoded length of the chunk, -1: unknown
	off         int64    // offset in the object; in a sparse frame the number of the object, until it is open
	most        int64    // upper bound of the chunk's length; -1: unknown
	n           int64    // bytes to read for the whole chunk; 0: unknown until its header is read
	kept        int64    // decoded bytes that the caller keeps
	inside      int      // number of goroutines that decode it, if that is more than reading.inside
	near        bool     // the frame is local
	head        []byte   // first bytes of the chunk, if they did not have all block starts
	exact       readCost // if isExact is set: what the index tells
	isExact     bool
	apart       bool           // the blocks are known to take several requests
	src         rangeio.Reader // in a sparse frame: reader of the chunk's object, if it is open
}

// all reports whether the whole chunk is wanted.
func (j *job) all() bool { return j.blocks == nil && j.to == 0 }

// blockCount returns the number of blocks of the chunk as the frame tells it,
// or 0 if only the chunk tells.
func (j *job) blockCount() int64 {
	if j.bsize <= 0 || j.nbytes < 0 {
		return 0
	}
	return (int64(j.nbytes)-1)/int64(j.bsize) + 1
}

// Sizes that a plan assumes if the frame does not tell them.
const (
	usualBlock = 64 << 10 // decoded bytes of a block
	unknownMax = 8 << 20  // a chunk of unknown length is read whole up to this
	headGuess  = 4 << 10  // enough for 1000 block starts
	// For the block starts of a longer chunk of unknown blocks, 1/usualStarts of
	// its bytes are read, up to mostStarts: enough if encoded blocks have 256
	// bytes.
	usualStarts, mostStarts = 64, 64 << 10
	startsRoom              = 4 // the length of a dictionary follows the starts
)

// made returns the bytes that are decoded of a chunk, as far as the frame tells.
func (j *job) made() int64 {
	all := max(int64(j.nbytes), 0)
	switch {
	case j.all():
		return all
	case j.to > 0:
		return min(all, int64(j.to-j.from))
	default:
		return min(all, int64(len(j.blocks))*int64(j.bsize))
	}
}

// headSize returns the number of bytes that are read for the block starts of a
// chunk of n bytes.
func (j *job) headSize(n int64) int64 {
	if j.head != nil {
		if h, err := blosc.ParseHeader(j.head); err == nil {
			return int64(h.IndexLen())
		}
	}
	if b := j.blockCount(); b > 0 {
		return min(n, minChunkLen+offsetOfStart*b+startsRoom)
	}
	return min(n, max(headGuess, min(n/usualStarts, mostStarts)))
}

const offsetOfStart = 4

// cost estimates the cost of reading a job whose chunk has at most n bytes.
func (j *job) cost(n int64) readCost {
	g := readCost{whole: n, blocks: n}
	if j.all() || j.nbytes == 0 || j.nbytes < 0 && j.to > 0 {
		return g
	}
	var bytes int64 // decoded bytes of the wanted blocks
	switch b := j.blockCount(); {
	case j.to > 0 && b > 0:
		size := int64(j.bsize)
		bytes = (int64(j.to-1)/size - int64(j.from)/size + 1) * size
	case j.to > 0:
		bytes = int64(j.to-j.from) + usualBlock
	case b > 0:
		bytes = int64(len(j.blocks)) * int64(j.bsize)
	case j.near: // blocks of unknown size; a second read of a local chunk costs no round trip
		g.blocks = min(n, j.headSize(n)+int64(len(j.blocks))*usualBlock)
		return g
	default:
		return g
	}
	share := min(float64(bytes)/float64(j.nbytes), 1)
	g.blocks = min(n, j.headSize(n)+int64(share*float64(n)))
	return g
}

// A strategy divides jobs: chunks without bytes in the frame, chunks to read whole (by
// offset), and chunks whose block starts are read first.
type strategy struct {
	unstored, whole, starts []job

	kept  int64 // encoded bytes of whole chunks, for each at most what the caller keeps of it
	bytes int64 // estimated bytes to read
	made  int64 // bytes that are decoded of them, as far as the frame tells
}

// strategy decides how the chunk of each job is read. It overwrites jobs.
func (f *Frame) strategy(jobs []job) strategy {
	var p strategy
	stored := jobs[:0]
	for _, j := range jobs {
		switch kind, _ := special(f.table.at(j.chunk)); {
		case kind != 0 || j.nbytes == 0:
			p.unstored = append(p.unstored, j)
		case f.info.Sparse || j.n == 0:
			p.starts = append(p.starts, j)
		default:
			stored = append(stored, j)
		}
	}
	slices.SortStableFunc(stored, func(a, b job) int { return cmp.Compare(a.off, b.off) })
	costs := make([]readCost, len(stored))
	for i := range stored {
		if costs[i] = stored[i].exact; !stored[i].isExact {
			costs[i] = stored[i].cost(stored[i].n)
		}
	}
	whole := f.chosen(stored, costs)
	if !slices.Contains(whole, false) {
		p.whole = stored
	} else if p.starts == nil {
		p.starts = stored[:0] // may share memory: an element is read before it is overwritten
	}
	for i, j := range stored {
		p.made += j.made()
		if !whole[i] {
			p.bytes += costs[i].blocks
			p.starts = append(p.starts, j)
			continue
		}
		if len(p.whole) < len(stored) {
			p.whole = append(p.whole, j)
		}
		p.bytes += costs[i].whole
		p.kept += min(j.n, j.kept)
	}
	return p
}

// shareLast makes goroutines that would have nothing to do any more help with the last two whole
// chunks: the last one has all, the one before half of them.
func (p *strategy) shareLast(parallel int) {
	if len(p.starts) > 0 {
		return // blocks follow
	}
	for left := 1; left <= min(parallel/2, len(p.whole), 2); left++ {
		if j := &p.whole[len(p.whole)-left]; j.made() >= pull.WorthWork {
			j.inside = parallel / left
		}
	}
}

// chosen is choose for jobs. If the index tells that the blocks of a chunk take one
// request, to read the whole chunk saves nothing: no phase, and no request.
func (f *Frame) chosen(jobs []job, costs []readCost) []bool {
	single := func(i int) bool { return jobs[i].isExact && !jobs[i].apart }
	var others []readCost
	for i := range jobs {
		if !single(i) {
			others = append(others, costs[i])
		}
	}
	guessed := choose(others, f.o.Policy)
	whole := make([]bool, len(jobs))
	for i := range jobs {
		if single(i) {
			whole[i] = wholeAnyway(costs[i], f.o.Policy)
		} else {
			whole[i], guessed = guessed[0], guessed[1:]
		}
	}
	return whole
}

// why names the chunks or blocks of a request.
func why(parts []pull.Part[piece]) (string, bool) {
	first, last, chunks, whole := parts[0].For.j.chunk, 0, 0, 0
	var j *job
	for i := range parts {
		q := &parts[i].For
		if q.j != j {
			chunks++
		}
		j, last = q.j, q.j.chunk
		if q.c == nil {
			whole++
		}
	}
	switch n := len(parts); {
	case chunks > 1 && whole == n:
		return fmt.Sprintf("all of %d chunks, %d to %d", chunks, first, last), false
	case chunks > 1:
		return fmt.Sprintf("blocks of %d chunks, %d to %d", chunks, first, last), false
	case whole > 0:
		return "all of " + chunkName(first), false
	case parts[0].For.c.x == nil:
		return "the rest of " + chunkName(first), false
	case n == 1:
		return "a block of " + chunkName(first), false
	default:
		return fmt.Sprintf("%d blocks of %s", n, chunkName(first)), false
	}
}

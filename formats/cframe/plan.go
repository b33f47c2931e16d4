package cframe

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// A group is what one want costs, by estimate: the bytes of its chunk and those
// of the blocks wanted of it, block starts included.
type group struct {
	whole  int64 // of the chunk at most
	blocks int64
}

func (g group) extra() int64 { return max(g.whole-g.blocks, 0) }

// largeFlight is how many large requests fill a machine's link to the store, as
// in objstore.
const largeFlight = 16

// choose says which chunks are read whole at once (true) and of which the block
// starts are read first and the blocks next. It is a pure function of sizes and
// policy.
//
// Reading every chunk whole saves a round trip, or one for each wave of
// p.Parallel requests. MaxGap is what the policy reads and drops to save one on
// a connection, so the extra bytes of all chunks may be MaxGap; or more, up to
// MaxGap on each of the connections that fill the link, where they stay within
// OverRead of the bytes wanted.
//
// Where the round trip is spent anyway, a chunk is still read whole if its extra
// bytes are no more than what the policy drops to save a request: Free, or
// OverRead of its blocks up to MaxGap, but never more than these. A policy that prefers
// requests joined to requests in flight (Parallel up to 1) pays up to MaxGap for
// each chunk to save one of its two requests.
func choose(groups []group, p rangeio.Policy) []bool {
	whole := make([]bool, len(groups))
	var extra, wanted int64
	partial := 0
	for _, g := range groups {
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
	for i, g := range groups {
		whole[i] = all || wholeAnyway(g, p)
	}
	return whole
}

// wholeAnyway is choose for a chunk when there is a second phase.
func wholeAnyway(g group, p rangeio.Policy) bool {
	if p.Parallel <= 1 && p.Parallel > 0 {
		return g.extra() <= p.MaxGap
	}
	share := min(p.OverRead, 1) * float64(g.blocks)
	return g.extra() <= max(p.Free, min(int64(share), p.MaxGap))
}

// A job is one want on its way.
type job struct {
	want, chunk int
	blocks      []int // nil: all, or those of [from, to)
	from, to    int   // decoded bytes of the chunk; 0, 0: not by bytes
	bsize       int   // what blocks count in; 0: each chunk's own
	dst         []byte
	nbytes      int            // decoded length of the chunk, -1: not known
	off         int64          // in the object, or its number
	most        int64          // bytes that the chunk may take; -1: not known
	n           int64          // bytes of the whole chunk to read; 0: not known before its header
	kept        int64          // decoded bytes that the caller keeps
	near        bool           // it lies in a local frame
	head        []byte         // its first bytes, if they were too few for the block starts
	src         rangeio.Reader // of a sparse frame: its object, once that is open
}

// all says that everything of the chunk is wanted.
func (j *job) all() bool { return j.blocks == nil && j.to == 0 }

// blockCount is how many blocks the chunk has by what is known before it was
// looked at, 0 if nothing is.
func (j *job) blockCount() int64 {
	if j.bsize <= 0 || j.nbytes < 0 {
		return 0
	}
	return (int64(j.nbytes)-1)/int64(j.bsize) + 1
}

// Sizes that a plan uses where a frame does not say.
const (
	usualBlock = 64 << 10 // decoded
	unknownMax = 8 << 20  // a chunk of unknown length is read whole up to this
	headGuess  = 4 << 10  // block starts of 1000 blocks
	// Of a longer chunk whose blocks nobody knows: starts of blocks of 256 bytes.
	usualStarts, mostStarts = 64, 64 << 10
	startsRoom              = 4 // the length of a dictionary follows the starts
)

// headSize is how much of a chunk of n bytes is read for its block starts.
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

// group estimates the cost of a job whose chunk takes n bytes at most.
func (j *job) group(n int64) group {
	g := group{whole: n, blocks: n}
	if j.all() || j.nbytes == 0 || j.nbytes < 0 && j.to > 0 {
		return g
	}
	var bytes int64 // decoded
	switch b := j.blockCount(); {
	case j.to > 0 && b > 0:
		size := int64(j.bsize)
		bytes = (int64(j.to-1)/size - int64(j.from)/size + 1) * size
	case j.to > 0:
		bytes = int64(j.to-j.from) + usualBlock
	case b > 0:
		bytes = int64(len(j.blocks)) * int64(j.bsize)
	case j.near: // of unknown size; another look at the chunk costs no round trip
		g.blocks = min(n, j.headSize(n)+int64(len(j.blocks))*usualBlock)
		return g
	default:
		return g
	}
	share := min(float64(bytes)/float64(j.nbytes), 1)
	g.blocks = min(n, j.headSize(n)+int64(share*float64(n)))
	return g
}

// A plan is what a read does: chunks that are not stored, those that are read whole, by
// offset, and those whose block starts are read first.
type plan struct {
	unstored, whole, starts []job

	kept  int64 // bytes of whole chunks, of each at most what the caller keeps
	bytes int64 // of everything, by estimate
}

// plan decides for every job how it is read.
func (f *Frame) plan(jobs []job) plan {
	var p plan
	stored := make([]job, 0, len(jobs))
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
	groups := make([]group, len(stored))
	for i := range stored {
		groups[i] = stored[i].group(stored[i].n)
	}
	whole := choose(groups, f.o.Policy)
	if !slices.Contains(whole, false) {
		p.whole = stored
	} else if p.starts == nil {
		p.starts = stored[:0] // the same memory: what is written was read
	}
	for i, j := range stored {
		if !whole[i] {
			p.bytes += groups[i].blocks
			p.starts = append(p.starts, j)
			continue
		}
		if len(p.whole) < len(stored) {
			p.whole = append(p.whole, j)
		}
		p.bytes += groups[i].whole
		p.kept += min(j.n, j.kept)
	}
	return p
}

// why names the chunks of a request.
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

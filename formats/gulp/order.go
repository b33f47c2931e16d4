package gulp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"sort"
)

// ErrCursor is matched if a cursor does not fit the dataset: samples were added
// or taken away, or the cursor has impossible numbers or another version.
var ErrCursor = errors.New("cursor does not fit")

// OrderOptions say which samples of a dataset are visited, and in which order.
// The zero value visits all of them, shuffled with seed 0.
type OrderOptions struct {
	Seed  uint64 // seed of the shuffle
	Epoch uint64 // each epoch of a seed has its own order
	// Rank of World takes its share of the order: positions Rank, Rank+World,
	// and so on. Over all ranks each sample comes exactly once; shares differ
	// by one sample at most. World 0 means 1. A Rank outside [0, World) is an
	// error.
	Rank, World int
	// Worker of Workers takes its share of the share of the rank, by the same rules: one
	// Order for each worker of a rank gives each sample of the rank once. Workers 0
	// means 1.
	Worker, Workers int
	// Block, if set, keeps runs of so many samples of the dataset together: they are read
	// by one request, as long as they lie together. The runs are shuffled over the whole
	// dataset, then the samples of Window of them after another, and samples mix freely
	// in there. 0 shuffles samples over the whole dataset. A share is then a row of runs:
	// shares differ by one sample at most still, but two may have parts of one run.
	//
	// Quality: a sample moves by a third of the dataset on average, as in a full shuffle,
	// and the one after it comes from its own run with a chance of (Block-1)/(Window-1).
	// Where runs are cut changes with the epoch.
	Block int
	// Window is the number of samples that are shuffled among each other. 0 means 16
	// blocks. Batches holds a window in memory; longer windows than fit are read in
	// parts, by more requests.
	Window int
	// Sequential keeps dataset order instead of shuffling.
	Sequential bool
	// Frames makes each frame a sample of its own, Sample.Frame of its id, instead of
	// all frames of an id: the order is one of frames, across ids and chunks. It takes
	// 8 bytes an id.
	Frames bool
}

func (o OrderOptions) withDefaults() OrderOptions {
	if o.World == 0 {
		o.World = 1
	}
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.Window == 0 {
		o.Window = min(o.Block, math.MaxInt32/defaultBlocks) * defaultBlocks
	}
	return o
}

// defaultBlocks is the number of blocks in a window: a sample is followed by its neighbour
// once in sixteen times, and 16 MiB hold a window of blocks of 1 MiB.
const defaultBlocks = 16

func (o OrderOptions) validate() error {
	if o.World < 1 || o.Rank < 0 || o.Rank >= o.World {
		return fmt.Errorf("%s: rank %d of %d", Format, o.Rank, o.World)
	}
	switch {
	case o.Workers < 1 || o.Worker < 0 || o.Worker >= o.Workers || o.Workers > math.MaxInt32/o.World:
		return fmt.Errorf("%s: worker %d of %d, in %d ranks", Format, o.Worker, o.Workers, o.World)
	case o.Block < 0 || o.Window < 0 || o.Block == 0 && o.Window > 0:
		return fmt.Errorf("%s: blocks of %d samples in windows of %d", Format, o.Block, o.Window)
	}
	return nil
}

// A Cursor is a place in an Order, to be kept as JSON and resumed from.
type Cursor struct {
	Version    int    `json:"version"` // 1: also fixes the way of shuffling
	Seed       uint64 `json:"seed"`
	Epoch      uint64 `json:"epoch"`
	Rank       int    `json:"rank"`
	World      int    `json:"world"`
	Sequential bool   `json:"sequential"`
	Next       int64  `json:"next"`             // samples of this rank already given out
	Samples    int64  `json:"samples"`          // number of samples in the whole dataset
	Dataset    string `json:"dataset"`          // digest of names, sizes and counts
	Frames     bool   `json:"frames,omitempty"` // samples are frames
	Worker     int    `json:"worker,omitempty"`
	Workers    int    `json:"workers,omitempty"` // if there are several
	Block      int    `json:"block,omitempty"`
	Window     int    `json:"window,omitempty"`
}

// Versions of a cursor. One of version 2 has blocks, or workers, which readers of version
// 1 do not know.
const (
	cursorVersion = 1
	cursorRuns    = 2
)

// version is that of a cursor of o.
func (o OrderOptions) version() int {
	if o.Block > 0 || o.Workers > 1 {
		return cursorRuns
	}
	return cursorVersion
}

// An Order walks the samples of a dataset in a fixed order. It is for one
// goroutine; several Orders may walk one dataset.
type Order struct {
	d      *Dataset
	o      OrderOptions
	p      permutation
	runs   *runs     // if there are blocks, in the place of p
	starts []int64   // number of samples before each chunk, and at the end of all samples
	frames [][]int64 // if samples are frames: for each chunk, the number of frames up to the end of each id
	next   int64
	digest string
}

// Order loads the dataset and returns the start of the order that o describes.
//
// The shuffle is global: any sample may follow any other, across chunks. It is
// a keyed permutation of the positions that is computed, not stored, so it
// takes no memory, every rank finds its share without talking to others, and a
// cursor needs a single number. The same dataset and options give the same
// order on every machine and in every version with the same Cursor.Version.
func (d *Dataset) Order(ctx context.Context, o OrderOptions) (*Order, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := d.Load(ctx); err != nil {
		return nil, err
	}
	w := &Order{d: d, o: o, starts: make([]int64, 1, len(d.chunks)+1)}
	sum := sha256.New()
	for k, l := range d.chunks {
		t := l.c.Totals()
		n := t.IDs
		if o.Frames {
			n = t.Frames
			w.frames = append(w.frames, l.c.frameEnds())
		}
		w.starts = append(w.starts, w.starts[k]+n)
		fmt.Fprintf(sum, "%q %d %d %d\n", l.pair.Data, t.DataBytes, t.IDs, t.Frames)
	}
	w.digest = fmt.Sprintf("%x", sum.Sum(nil)[:16]) // 128 bits are enough against accidents; there is no attacker
	if o.Block > 0 {
		w.runs = newRuns(w.samples(), o)
		return w, nil
	}
	w.p = newPermutation(uint64(w.samples()), o.Seed, o.Epoch)
	return w, nil
}

// Resume returns the Order that made the cursor, at the place of the cursor: it
// yields exactly the samples that were left. The error matches ErrCursor if
// chunk names, sizes or counts of the dataset have changed, or if the cursor has
// impossible numbers or another version.
func (d *Dataset) Resume(ctx context.Context, c Cursor) (*Order, error) {
	o := OrderOptions{Seed: c.Seed, Epoch: c.Epoch, Rank: c.Rank, World: c.World, Sequential: c.Sequential, Frames: c.Frames,
		Worker: c.Worker, Workers: c.Workers, Block: c.Block, Window: c.Window}
	if c.Version != o.version() {
		return nil, fmt.Errorf("%s: cursor version %d: %w", Format, c.Version, ErrCursor)
	}
	if err := o.withDefaults().validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrCursor)
	}
	w, err := d.Order(ctx, o)
	if err != nil {
		return nil, err
	}
	if c.Samples != w.samples() || c.Dataset != w.digest {
		return nil, fmt.Errorf("%s: the dataset had %d samples, has %d: %w", Format, c.Samples, w.samples(), ErrCursor)
	}
	if c.Next < 0 || c.Next > w.Len() {
		return nil, fmt.Errorf("%s: sample %d of %d: %w", Format, c.Next, w.Len(), ErrCursor)
	}
	w.next = c.Next
	return w, nil
}

func (w *Order) samples() int64 { return w.starts[len(w.starts)-1] }

// Len returns the number of samples that this rank, or worker of it, visits in all.
func (w *Order) Len() int64 {
	if w.runs != nil {
		return w.runs.to - w.runs.from
	}
	share := func(n int64, k, of int) int64 {
		if int64(k) >= n {
			return 0
		}
		return (n-int64(k)-1)/int64(of) + 1
	}
	return share(share(w.samples(), w.o.Rank, w.o.World), w.o.Worker, w.o.Workers)
}

// Cursor returns the present place: it counts the samples that Next has
// returned as done.
func (w *Order) Cursor() Cursor {
	c := Cursor{Version: w.o.version(), Seed: w.o.Seed, Epoch: w.o.Epoch, Rank: w.o.Rank, World: w.o.World, Sequential: w.o.Sequential,
		Next: w.next, Samples: w.samples(), Dataset: w.digest, Frames: w.o.Frames, Block: w.o.Block, Window: w.o.Window}
	if w.o.Workers > 1 {
		c.Worker, c.Workers = w.o.Worker, w.o.Workers
	}
	return c
}

// Next returns the next sample; false at the end. It makes no request.
func (w *Order) Next() (Sample, bool) {
	if w.next >= w.Len() {
		return Sample{}, false
	}
	n := w.place(w.next)
	w.next++
	k := sort.Search(len(w.starts)-1, func(k int) bool { return w.starts[k+1] > n })
	c := w.d.chunks[k].c
	s := Sample{Chunk: c, K: k, N: n}
	i := int(n - w.starts[k])
	if w.o.Frames {
		ends, at := w.frames[k], n-w.starts[k]
		i = sort.Search(len(ends), func(i int) bool { return ends[i] > at })
		s.Frame = int(at)
		if i > 0 {
			s.Frame = int(at - ends[i-1])
		}
	}
	s.ID = c.ID(i)
	return s, true
}

// place returns the position in the dataset of sample i of this rank.
func (w *Order) place(i int64) int64 {
	if w.runs != nil {
		return w.runs.at(i)
	}
	n := (i*int64(w.o.Workers)+int64(w.o.Worker))*int64(w.o.World) + int64(w.o.Rank)
	if w.o.Sequential {
		return n
	}
	return int64(w.p.at(uint64(n)))
}

// frameEnds are the numbers of frames up to the end of each id.
func (c *Chunk) frameEnds() []int64 {
	ends, n := make([]int64, len(c.items)), int64(0)
	for i := range c.items {
		n += int64(len(c.items[i].frames))
		ends[i] = n
	}
	return ends
}

// All yields the remaining samples. A Cursor that is taken in the body of the
// loop counts the current sample as done.
func (w *Order) All() iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		for s, ok := w.Next(); ok; s, ok = w.Next() {
			if !yield(s) {
				return
			}
		}
	}
}

// A permutation maps [0, n) onto itself: a Feistel network over the smallest
// even number of bits that holds n, walked until it lands below n. Being a
// bijection for any round function, it cannot lose or repeat a sample.
type permutation struct {
	n    uint64
	half int // bits of one half
	keys [rounds]uint64
}

const (
	// rounds: four make a Feistel network pseudo-random (Luby and Rackoff),
	// eight leave room for halves of a few bits.
	rounds = 8
	// minHalf keeps the network from degenerating for a handful of samples;
	// the walk through at most 1<<8 positions costs next to nothing.
	minHalf = 4
)

func newPermutation(n, seed, epoch uint64) permutation {
	p := permutation{n: n, half: minHalf}
	if n > 1 {
		p.half = max(minHalf, (bits.Len64(n-1)+1)/2)
	}
	state := mix(seed) ^ mix(epoch+goldenGamma)
	for i := range p.keys {
		state += goldenGamma
		p.keys[i] = mix(state)
	}
	return p
}

func (p *permutation) at(x uint64) uint64 {
	mask := uint64(1)<<p.half - 1
	for {
		l, r := x>>p.half, x&mask
		for _, k := range p.keys {
			l, r = r, l^mix(r^k)&mask
		}
		if x = l<<p.half | r; x < p.n {
			return x
		}
	}
}

// inverse returns the x for which at returns y.
func (p *permutation) inverse(y uint64) uint64 {
	mask := uint64(1)<<p.half - 1
	for {
		l, r := y>>p.half, y&mask
		for i := len(p.keys) - 1; i >= 0; i-- {
			l, r = r^mix(l^p.keys[i])&mask, l
		}
		if y = l<<p.half | r; y < p.n {
			return y
		}
	}
}

// goldenGamma is 2^64 over the golden ratio, the step of the SplitMix64
// generator (Steele, Lea, Flood 2014).
const goldenGamma = 0x9e3779b97f4a7c15

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

package gulp

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// A Dataset is a folder or prefix of gulp chunks, each a pair of objects
// data….gulp and meta….gmeta. Chunks are in the order of the first number in
// their names. A Dataset opens a chunk at its first use and keeps it open, so
// its memory may grow to the indexes of all chunks. Methods are safe for
// concurrent use.
type Dataset struct {
	set     formats.Set
	o       Options
	chunks  []*lazyChunk
	orphans []string
	next    int

	gate   chan struct{} // guards loaded, byID
	loaded bool
	byID   map[string]int

	kept atomic.Int64 // memory of the names, of open chunks and of byID
}

// A ChunkOpener is a formats.Set that opens chunks itself, because it can check
// that two objects belong together. If its Set is a ChunkOpener, a Dataset
// calls OpenChunk for every chunk and does not open index and data by name.
type ChunkOpener interface {
	formats.Set
	// OpenChunk opens both objects, checks that p.Meta is the index of p.Data,
	// and returns the result of Open with o. It may be called for several
	// chunks at the same time, but only once at a time for each chunk.
	OpenChunk(ctx context.Context, p Pair, o Options) (*Chunk, error)
}

// A lazyChunk is opened once. Its gate is a lock that a caller can stop waiting for
// when its context ends.
type lazyChunk struct {
	pair Pair
	num  string // first number in the name, without leading zeros
	gate chan struct{}
	c    *Chunk
}

// OpenDataset lists the set and pairs its names. It reads no object. It uses
// only names of GulpIO's pattern with a number, and none in sub-folders. Data
// without an index are not an error: the index is published last, so such a
// chunk is unfinished; see Unfinished. An index without data is ErrCorrupt, and
// more chunks than Limits.MaxEntries are ErrTooLarge. An empty set is an empty
// dataset.
func OpenDataset(ctx context.Context, set formats.Set, o Options) (*Dataset, error) {
	names, err := set.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: list: %w", Format, err)
	}
	d := &Dataset{set: set, o: o.withDefaults(), gate: make(chan struct{}, 1)}
	have := make(map[string]bool, len(names))
	for _, n := range names {
		have[n] = true
	}
	for _, n := range names {
		pair, num, ok := chunkName(n)
		if !ok {
			continue
		}
		if k, err := strconv.Atoi(num); err == nil && k < maxChunk {
			d.next = max(d.next, k+1)
		}
		switch {
		case n == pair.Data && !have[pair.Meta]:
			d.orphans = append(d.orphans, n)
		case n == pair.Meta && !have[pair.Data]:
			return nil, &formats.Error{Format: Format, Part: n, Off: -1,
				Err: fmt.Errorf("there is no %s: %w", pair.Data, formats.ErrCorrupt)}
		case n == pair.Meta:
			d.chunks = append(d.chunks, &lazyChunk{pair: pair, num: num, gate: make(chan struct{}, 1)})
		}
	}
	if int64(len(d.chunks)) > d.o.Limits.MaxEntries {
		return nil, fmt.Errorf("%s: %d chunks: %w", Format, len(d.chunks), formats.ErrTooLarge)
	}
	d.kept.Add(int64(len(names)) * nameCost)
	slices.SortFunc(d.chunks, func(x, y *lazyChunk) int {
		return cmp.Or(cmp.Compare(len(x.num), len(y.num)), cmp.Compare(x.num, y.num), cmp.Compare(x.pair.Data, y.pair.Data))
	})
	return d, nil
}

// Rough memory of an entry of Dataset.byID, and of a name that was listed.
const (
	entryCost = 48
	nameCost  = 192
)

// HeldBytes returns about how many bytes of memory the Dataset keeps: the indexes of
// the chunks opened so far, and the table of ids after it is loaded. It does not count
// the memory of Readers.
func (d *Dataset) HeldBytes() int64 { return d.kept.Load() }

// maxChunk keeps a hostile name from pushing new numbers to the end of int;
// no dataset has a billion chunks.
const maxChunk = 1 << 30

// chunkName parses a name of GulpIO's pattern.
func chunkName(name string) (pair Pair, num string, ok bool) {
	if strings.Contains(name, "/") || !strings.HasPrefix(name, "data") && !strings.HasPrefix(name, "meta") {
		return Pair{}, "", false
	}
	// GulpIO looks for data*.gulp and meta*.gmeta; other names are not its own.
	pair, ok = PairOf(name)
	if !ok || !strings.HasPrefix(pair.Data, "data") || !strings.HasPrefix(pair.Meta, "meta") {
		return Pair{}, "", false
	}
	isDigit := func(r rune) bool { return '0' <= r && r <= '9' }
	i := strings.IndexFunc(name, isDigit)
	if i < 0 {
		return Pair{}, "", false
	}
	num = name[i:]
	if end := strings.IndexFunc(num, func(r rune) bool { return !isDigit(r) }); end >= 0 {
		num = num[:end]
	}
	if num = strings.TrimLeft(num, "0"); num == "" {
		num = "0"
	}
	return pair, num, true
}

// Len returns the number of chunks.
func (d *Dataset) Len() int { return len(d.chunks) }

// Pair returns the names of the objects of chunk k. Chunks count from 0 in
// dataset order. Pair panics if k is not in [0, Len), as indexing a slice does.
func (d *Dataset) Pair(k int) Pair { return d.chunks[k].pair }

// Totals returns the sums over all chunks. It calls Load, which opens them.
func (d *Dataset) Totals(ctx context.Context) (t Totals, err error) {
	if err := d.Load(ctx); err != nil {
		return t, err
	}
	for _, l := range d.chunks {
		t = t.Add(l.c.totals)
	}
	return t, nil
}

// Unfinished returns the names of data objects without an index. Their writers
// were interrupted; the dataset does not include them.
func (d *Dataset) Unfinished() []string { return slices.Clone(d.orphans) }

// Next returns the number for the next new chunk: the first one above the
// numbers of all chunks, with the unfinished ones.
func (d *Dataset) Next() int { return d.next }

// Chunk opens chunk k, counted from 0 in dataset order, or returns it if it is
// open. Unless the set is a ChunkOpener, it opens the two objects at the same
// time. Callers of the same chunk wait for the first of them; after a failure
// the next call tries again. Chunk panics if k is not in [0, Len), as indexing
// a slice does.
func (d *Dataset) Chunk(ctx context.Context, k int) (*Chunk, error) {
	l := d.chunks[k]
	if err := enter(ctx, l.gate); err != nil {
		return nil, err
	}
	defer leave(l.gate)
	if l.c != nil {
		return l.c, nil
	}
	c, err := d.open(ctx, l.pair)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.pair.Meta, err)
	}
	l.c = c
	d.kept.Add(c.HeldBytes())
	return c, nil
}

// open opens a chunk, by OpenChunk if the set is a ChunkOpener.
func (d *Dataset) open(ctx context.Context, p Pair) (*Chunk, error) {
	if s, ok := d.set.(ChunkOpener); ok {
		return s.OpenChunk(ctx, p, d.o)
	}
	names := [2]string{p.Meta, p.Data}
	var r [2]rangeio.Reader
	err := par.Do(rangeio.OnePhase(ctx), 2, 2, func(ctx context.Context, i int) error {
		var err error
		r[i], err = d.set.Open(ctx, names[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return Open(ctx, r[0], r[1], d.o)
}

func enter(ctx context.Context, gate chan struct{}) error {
	select {
	case gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func leave(gate chan struct{}) { <-gate }

// Load opens every chunk, Options.Parallel at a time, and builds the table from
// id to chunk. An id that occurs in two chunks is ErrCorrupt, as GulpIO refuses
// such a folder too; more index than Limits.MaxMeta in all is ErrTooLarge.
// Loading again costs nothing; after a failure only chunks that are not open
// yet are opened.
func (d *Dataset) Load(ctx context.Context) error {
	if err := enter(ctx, d.gate); err != nil {
		return err
	}
	defer leave(d.gate)
	if d.loaded {
		return nil
	}
	var mu sync.Mutex
	var kept int64
	err := par.Do(rangeio.OnePhase(ctx), len(d.chunks), d.o.Parallel, func(ctx context.Context, k int) error {
		c, err := d.Chunk(ctx, k)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if kept += c.kept; kept > d.o.Limits.MaxMeta {
			return fmt.Errorf("%s: more than %d bytes of index in the dataset: %w", Format, d.o.Limits.MaxMeta, formats.ErrTooLarge)
		}
		return nil
	})
	if err != nil {
		return err
	}
	byID := map[string]int{}
	for k, l := range d.chunks {
		for id := range l.c.IDs() {
			if first, dup := byID[id]; dup {
				return &formats.Error{Format: Format, Part: partOf(id), Off: -1, Err: fmt.Errorf("in %s and in %s: %w",
					d.chunks[first].pair.Meta, l.pair.Meta, formats.ErrCorrupt)}
			}
			byID[id] = k
		}
	}
	d.byID, d.loaded = byID, true
	d.kept.Add(int64(len(byID)) * entryCost)
	return nil
}

// Find returns the chunk that holds id and the chunk's position in the dataset,
// or ErrNoEntry. It loads the dataset.
func (d *Dataset) Find(ctx context.Context, id string) (*Chunk, int, error) {
	if err := d.Load(ctx); err != nil {
		return nil, 0, err
	}
	k, ok := d.byID[id] // does not change once loaded
	if !ok {
		return nil, 0, &formats.Error{Format: Format, Part: partOf(id), Off: -1, Err: formats.ErrNoEntry}
	}
	return d.chunks[k].c, k, nil
}

// A Sample is one id of a dataset, or one frame of an id (OrderOptions.Frames).
type Sample struct {
	ID    string
	Chunk *Chunk // the chunk with its frames
	K     int    // position of the chunk in the dataset
	N     int64  // position of the sample in dataset order
	Frame int    // number of the frame in its id, if samples are frames; otherwise 0
}

// Samples yields every id in dataset order. It opens one chunk after another and
// does not load the dataset, so it yields an id twice if two chunks have it. An
// error comes with a zero Sample and ends the sequence.
func (d *Dataset) Samples(ctx context.Context) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		ctx := rangeio.OnePhase(ctx) // no chunk is opened because of another
		var n int64
		for k := range d.chunks {
			c, err := d.Chunk(ctx, k)
			if err != nil {
				yield(Sample{}, err)
				return
			}
			for id := range c.IDs() {
				if !yield(Sample{ID: id, Chunk: c, K: k, N: n}, nil) {
					return
				}
				n++
			}
		}
	}
}

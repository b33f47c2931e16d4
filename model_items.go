package farread

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/rangeio"
)

// frameItems is the Itemer part of a frame. Its items are its blocks if their lengths
// vary, and its chunks otherwise.
type frameItems struct {
	x *frameData

	counting chan struct{} // holds one entry while headers are read; the end of a context ends the wait for it
	counted  atomic.Pointer[itemTable]
}

// An itemTable says which blocks the chunks of a frame have.
type itemTable struct {
	starts []int64 // number of the first item of each chunk, and at the end the number of all items
	sizes  []int64 // decoded bytes of each chunk
}

func (t *itemTable) len() int64 { return t.starts[len(t.starts)-1] }

// heldBytes returns the memory of the table.
func (t *frameItems) heldBytes() int64 {
	if table := t.counted.Load(); table != nil {
		return int64(8 * (cap(table.starts) + cap(table.sizes)))
	}
	return 0
}

func newItems(x *frameData) *frameItems {
	return &frameItems{x: x, counting: make(chan struct{}, 1)}
}

// blocks reports whether the items are blocks.
func (t *frameItems) blocks() bool { return t.x.f.Info().VLBlocks }

func (t *frameItems) Items() int64 {
	if !t.blocks() {
		return int64(t.x.f.Chunks())
	}
	if table := t.counted.Load(); table != nil {
		return table.len()
	}
	return -1
}

// table returns the table. The first call reads the headers of all chunks to count
// their items.
func (t *frameItems) table(ctx context.Context) (*itemTable, error) {
	if table := t.counted.Load(); table != nil {
		return table, nil
	}
	select {
	case t.counting <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-t.counting }()
	if table := t.counted.Load(); table != nil { // another call has made the table meanwhile
		return table, nil
	}
	const together = 1 << 12
	n := t.x.f.Chunks()
	table := &itemTable{starts: make([]int64, 1, n+1), sizes: make([]int64, 0, n)}
	for from := 0; from < n; from += together {
		headers, err := t.x.f.ChunkHeaders(ctx, from, min(from+together, n))
		if err != nil {
			return nil, err
		}
		for _, h := range headers {
			table.starts = append(table.starts, table.len()+int64(h.Blocks()))
			table.sizes = append(table.sizes, int64(h.NBytes))
		}
	}
	t.counted.Store(table)
	return table, nil
}

// ItemNumber always fails: items of frames have no names.
func (t *frameItems) ItemNumber(_ context.Context, name string) (int64, error) {
	return 0, noItem(cframe.Format, fmt.Sprintf("%q", name))
}

func noItem(format, what string) error {
	return &formats.Error{Format: format, Part: "item " + what, Off: -1, Err: formats.ErrNoEntry}
}

// within returns an error if the items [i, j) do not exist. If items are blocks, it
// returns the table.
func (t *frameItems) within(ctx context.Context, i, j int64) (table *itemTable, err error) {
	n := int64(t.x.f.Chunks())
	if t.blocks() {
		if table, err = t.table(ctx); err != nil {
			return nil, err
		}
		n = table.len()
	}
	if i < 0 || i > j || j > n {
		return nil, noItem(cframe.Format, fmt.Sprintf("%d to %d of %d", i, j, n))
	}
	return table, nil
}

const (
	itemBlocks = 256     // most blocks of a chunk that are held, unless the whole chunk is decoded
	itemBytes  = 4 << 20 // most decoded bytes of these blocks, at their mean length, unless there is only one block
)

// A stretch is a run of items: those of whole chunks, or of some blocks of one chunk.
type stretch struct {
	from, to int // range of chunks
	blocks   []int
	first    int64 // number of the first item of chunk from, or of the first of blocks
}

// stretches calls fn for the stretches that cover the items [i, j). Each chunk is in
// only one of them, so it is read once.
func (t *frameItems) stretches(ctx context.Context, i, j int64, fn func(s stretch) error) error {
	table, err := t.within(ctx, i, j)
	if err != nil {
		return err
	}
	if table == nil {
		return fn(stretch{from: int(i), to: int(j), first: i})
	}
	for i < j {
		k := sort.Search(len(table.starts), func(k int) bool { return table.starts[k] > i }) - 1
		s := stretch{from: k, to: k, first: table.starts[k]}
		for s.to < len(table.sizes) && table.starts[s.to] < j && table.whole(s.to, i, j) {
			s.to++
		}
		if s.to == k {
			s.to, s.first = k+1, i
			for at := i; at < min(j, table.starts[s.to]); at++ {
				s.blocks = append(s.blocks, int(at-table.starts[k]))
			}
		}
		if err := fn(s); err != nil {
			return err
		}
		i = table.starts[s.to]
	}
	return nil
}

// whole reports whether to decode the whole chunk k for the items [i, j). It does if
// most items of the chunk are wanted, or more blocks than may be held.
func (t *itemTable) whole(k int, i, j int64) bool {
	from, to := t.starts[k], t.starts[k+1]
	all, n := to-from, min(j, to)-max(i, from)
	if n <= 1 {
		return n == all
	}
	mean := max(t.sizes[k]/all, 1)
	return 2*n >= all || n > min(itemBlocks, itemBytes/mean)
}

func (t *frameItems) AppendItem(ctx context.Context, dst []byte, i int64) ([]byte, error) {
	out := dst
	err := t.EachItem(ctx, i, i+1, func(_ int64, p []byte) error {
		out = append(dst, p...)
		return nil
	})
	if err != nil {
		return dst, err
	}
	return out, nil
}

// StartItem implements Starter. Of a block most is the length of its chunk.
func (t *frameItems) StartItem(ctx context.Context, i int64) (most int64, finish func(ctx context.Context, dst []byte) ([]byte, error), err error) {
	table, err := t.within(ctx, i, i+1)
	if err != nil {
		return 0, nil, err
	}
	if table != nil {
		most = table.sizes[sort.Search(len(table.starts), func(k int) bool { return table.starts[k] > i })-1]
	} else {
		c, err := t.x.f.Chunk(ctx, int(i))
		if err != nil {
			return 0, nil, err
		}
		if most = int64(c.NBytes); most < 0 {
			h, err := t.x.f.ChunkHeaders(ctx, int(i), int(i)+1)
			if err != nil {
				return 0, nil, err
			}
			most = int64(h[0].NBytes)
		}
	}
	return most, func(ctx context.Context, dst []byte) ([]byte, error) { return t.AppendItem(ctx, dst, i) }, nil
}

func (t *frameItems) EachItem(ctx context.Context, i, j int64, fn func(i int64, p []byte) error) error {
	_, data := rangeio.Steps(ctx) // all stretches together are one read
	return t.stretches(ctx, i, j, func(s stretch) error {
		if s.blocks != nil {
			return t.someBlocks(data, s, fn)
		}
		at := s.first
		err := t.x.f.Each(data, s.from, s.to, func(_, _ int, p []byte) error {
			n := at
			at++
			switch {
			case n < i: // not wanted, but in the same chunk as a wanted item
				return nil
			case n >= j:
				return errStop
			}
			return fn(n, p)
		})
		if err == errStop { //nolint:errorlint // fn has no way to it
			return nil
		}
		return err
	})
}

// someBlocks reads some blocks of a chunk into memory of their own, and calls fn with
// each.
func (t *frameItems) someBlocks(ctx context.Context, s stretch, fn func(i int64, p []byte) error) error {
	items := make([][]byte, len(s.blocks))
	var mu sync.Mutex
	err := t.x.f.EachConcurrent(ctx, []cframe.Want{{Chunk: s.from, Blocks: s.blocks}}, func(_, block int, p []byte) error {
		if block < 0 {
			return &formats.Error{Format: cframe.Format, Part: fmt.Sprintf("chunk %d", s.from), Off: -1,
				Err: fmt.Errorf("no blocks of various lengths: %w", formats.ErrCorrupt)}
		}
		mu.Lock()
		defer mu.Unlock()
		items[block-s.blocks[0]] = append([]byte{}, p...)
		return nil
	})
	if err != nil {
		return err
	}
	for k, p := range items {
		if err := fn(s.first+int64(k), p); err != nil {
			return err
		}
	}
	return nil
}

// ExplainItems plans the stretches of EachItem.
func (t *frameItems) ExplainItems(ctx context.Context, i, j int64) (Plan, error) {
	var all []rangeio.Planned
	err := t.stretches(ctx, i, j, func(s stretch) error {
		var part []rangeio.Planned
		var err error
		if s.blocks != nil {
			part, err = t.x.f.ExplainConcurrent(ctx, []cframe.Want{{Chunk: s.from, Blocks: s.blocks}})
		} else {
			part, err = t.x.f.ExplainEach(ctx, s.from, s.to)
		}
		all = append(all, part...)
		return err
	})
	slices.SortStableFunc(all, func(a, b rangeio.Planned) int { return a.Phase - b.Phase })
	return t.x.plan(-1, all, err)
}

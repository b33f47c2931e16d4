package farread

import (
	"context"
	"fmt"
	"sort"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// frameItems is the Itemer part of a frame whose items are its blocks, if their lengths
// vary, or else its chunks.
type frameItems struct {
	x *frameData

	mu     sync.Mutex
	starts []int64 // of chunks, in items, and one more; nil: not known yet
}

// blocks says that items are blocks.
func (t *frameItems) blocks() bool { return t.x.f.Info().VLBlocks }

func (t *frameItems) Items() int64 {
	if !t.blocks() {
		return int64(t.x.f.Chunks())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.starts == nil {
		return -1
	}
	return t.starts[len(t.starts)-1]
}

// table counts the items of each chunk, by their headers, once.
func (t *frameItems) table(ctx context.Context) ([]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.starts != nil {
		return t.starts, nil
	}
	const together = 1 << 12
	n := t.x.f.Chunks()
	starts := make([]int64, 1, n+1)
	for from := 0; from < n; from += together {
		headers, err := t.x.f.ChunkHeaders(ctx, from, min(from+together, n))
		if err != nil {
			return nil, err
		}
		for _, h := range headers {
			starts = append(starts, starts[len(starts)-1]+int64(h.Blocks()))
		}
	}
	t.starts = starts
	return starts, nil
}

// ItemNumber: items of frames have no names.
func (t *frameItems) ItemNumber(_ context.Context, name string) (int64, error) {
	return 0, noItem(cframe.Format, fmt.Sprintf("%q", name))
}

func noItem(format, what string) error {
	return &formats.Error{Format: format, Part: "item " + what, Off: -1, Err: formats.ErrNoEntry}
}

// within makes sure that there are the items [i, j), and gives the table if items are
// blocks.
func (t *frameItems) within(ctx context.Context, i, j int64) (starts []int64, err error) {
	n := int64(t.x.f.Chunks())
	if t.blocks() {
		if starts, err = t.table(ctx); err != nil {
			return nil, err
		}
		n = starts[len(starts)-1]
	}
	if i < 0 || i > j || j > n {
		return nil, noItem(cframe.Format, fmt.Sprintf("%d to %d of %d", i, j, n))
	}
	return starts, nil
}

// wants finds the items [i, j).
func (t *frameItems) wants(ctx context.Context, i, j int64) ([]cframe.Want, error) {
	starts, err := t.within(ctx, i, j)
	if err != nil {
		return nil, err
	}
	var wants []cframe.Want
	for at := i; at < j; {
		if starts == nil {
			wants = append(wants, cframe.Want{Chunk: int(at)})
			at++
			continue
		}
		k := sort.Search(len(starts), func(k int) bool { return starts[k] > at }) - 1
		w := cframe.Want{Chunk: k}
		for ; at < min(j, starts[k+1]); at++ {
			w.Blocks = append(w.Blocks, int(at-starts[k]))
		}
		wants = append(wants, w)
	}
	return wants, nil
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

const (
	itemBatch  = 256     // items that are read together
	itemBytes  = 4 << 20 // stored bytes of them, unless one takes more
	itemFlight = 16      // chunks that are read side by side
)

// batch is the end of what is read together from item i on.
func (t *frameItems) batch(i, j int64) int64 {
	j = min(i+itemBatch, j)
	if t.blocks() {
		return j
	}
	n := int64(0)
	for k := i; k < min(j, int64(t.x.f.Chunks())); k++ {
		c := t.x.f.Chunk(int(k))
		if n += max(c.MaxLen, 0); k > i && (n > itemBytes || c.MaxLen < 0) {
			return k
		}
	}
	return j
}

func (t *frameItems) EachItem(ctx context.Context, i, j int64, fn func(i int64, p []byte) error) error {
	if _, err := t.within(ctx, i, j); err != nil {
		return err
	}
	for from := i; from < j; {
		to := t.batch(from, j)
		wants, err := t.wants(ctx, from, to)
		if err != nil {
			return err
		}
		items, err := t.read(ctx, wants, from, to)
		if err != nil {
			return err
		}
		for k, p := range items {
			if err := fn(from+int64(k), p); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// read gives a batch of items, in memory of their own.
func (t *frameItems) read(ctx context.Context, wants []cframe.Want, from, to int64) ([][]byte, error) {
	items := make([][]byte, to-from)
	if !t.blocks() {
		err := par.Do(rangeio.OnePhase(ctx), len(wants), itemFlight, func(ctx context.Context, k int) (err error) {
			items[k], err = t.x.f.AppendChunk(ctx, nil, wants[k].Chunk)
			return err
		})
		return items, err
	}
	first := make([]int64, len(wants)) // item of each want's first block, in items
	n := int64(0)
	for k, w := range wants {
		first[k] = n - int64(w.Blocks[0])
		n += int64(len(w.Blocks))
	}
	var mu sync.Mutex
	err := t.x.f.Each(ctx, wants, func(want, block int, p []byte) error {
		if block < 0 {
			return &formats.Error{Format: cframe.Format, Part: fmt.Sprintf("chunk %d", wants[want].Chunk), Off: -1,
				Err: fmt.Errorf("no blocks of various lengths: %w", formats.ErrCorrupt)}
		}
		mu.Lock()
		defer mu.Unlock()
		items[first[want]+int64(block)] = append([]byte{}, p...)
		return nil
	})
	return items, err
}

func (t *frameItems) ExplainItems(ctx context.Context, i, j int64) (Plan, error) {
	wants, err := t.wants(ctx, i, j)
	if err != nil {
		return Plan{}, err
	}
	requests, err := t.x.f.Explain(ctx, wants)
	return t.x.plan(-1, requests, err)
}

package zarr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/rangeio"
)

// An Array reads chunks. Its methods are safe for concurrent use. It keeps the indexes of
// shards that were read last, up to 64 MiB.
type Array struct {
	meta *Meta
	s    Store
	dir  string // in the store that was opened, if the array is one of a group
	o    Options
	it   items
	grid nd.Grid // of ChunkShape

	missing tally // chunks that were read and are not there

	mu     sync.Mutex
	shards lru.Cache[string, *openShard]
}

// keptShards bounds the memory of the indexes of shards, and of shards whose reader holds them.
const keptShards = 64 << 20

func newArray(s Store, m *Meta, o Options) *Array {
	a := &Array{meta: m, s: s, o: o, it: items{m.DType.ItemSize(), wordSize(m.DType), m.Fill}}
	a.grid, _ = nd.NewGrid(m.Shape, m.ChunkShape) // Meta.check has made one
	if b, ok := s.(below); ok {
		a.dir = b.folder
	}
	a.shards.Max = keptShards
	return a
}

// Meta returns what the array is.
func (a *Array) Meta() *Meta { return a.meta }

// Shape returns the lengths of the axes.
func (a *Array) Shape() []int64 { return a.meta.Shape }

// ChunkShape returns the lengths of a chunk.
func (a *Array) ChunkShape() []int64 { return a.meta.ChunkShape }

// DType returns the type of the items.
func (a *Array) DType() dtype.DType { return a.meta.DType }

// ChunkBytes returns the length of a decoded chunk.
func (a *Array) ChunkBytes() int {
	n, _ := nd.Prod(a.meta.ChunkShape) // checked by Meta.check
	return int(n) * a.it.size
}

// ReadChunk reads the chunk at the coordinates in the grid of chunks into dst, which has
// ChunkBytes, in row-major order. A chunk at an edge has the same length; what lies beyond the
// array is whatever was written. A chunk that is not there is full of the fill value, and found
// is false; one of which the store does not say so is ErrMaybeAbsent, but for Options.DeniedIsAbsent. It costs one request; of a shard that was not read lately one more before it, for
// its index. A chunk that is not what the metadata promise is formats.ErrCorrupt. After an error
// the content of dst is undefined.
func (a *Array) ReadChunk(ctx context.Context, dst []byte, at []int64) (found bool, err error) {
	if len(at) != len(a.grid.Count) || len(dst) != a.ChunkBytes() {
		return false, fmt.Errorf("%s: chunk %v into %d bytes, want %d axes and %d bytes", Format, at, len(dst), len(a.grid.Count), a.ChunkBytes())
	}
	for i, n := range at {
		if n < 0 || n >= a.grid.Count[i] {
			return false, fail("", formats.ErrNoEntry, "chunk %v of %v", at, a.grid.Count)
		}
	}
	if a.meta.ShardShape != nil {
		return a.readInner(ctx, dst, at)
	}
	key := a.meta.keys.of(at)
	src, err := a.object(ctx, key, a.meta.enc.most(len(dst)))
	if a.o.absent(err) {
		a.absentAt(dst, at)
		return false, nil
	}
	if err != nil {
		return false, within(a.chunkName(key), err)
	}
	defer bufpool.Put(src)
	if err := a.meta.enc.decode(dst, src, a.meta.ChunkShape, &a.it); err != nil {
		return false, within(a.chunkName(key), err)
	}
	return true, nil
}

// chunkName names a chunk or shard in errors, with the path of the array in its group.
func (a *Array) chunkName(key string) string { return fmt.Sprintf("chunk %q", a.dir+key) }

func innerName(at []int64) string { return "chunk " + strings.Trim(fmt.Sprint(at), "[]") }

// object reads a whole object of at most so many bytes, into memory of bufpool.
func (a *Array) object(ctx context.Context, key string, most int64) ([]byte, error) {
	r, err := a.s.Open(ctx, key, most, 0)
	if err != nil {
		return nil, err
	}
	if r.Size() > most {
		return nil, corrupt("", "%d bytes, more than its items can take", r.Size())
	}
	p := bufpool.Get(int(r.Size()))
	if err := r.ReadRanges(ctx, []rangeio.Span{{P: p}}); err != nil {
		bufpool.Put(p)
		return nil, err
	}
	return p, nil
}

// An openShard is a shard whose index is being read, or was.
type openShard struct {
	done   chan struct{}
	r      rangeio.Reader // nil: there is no such object
	places []place
	err    error
}

// readInner reads a chunk of a shard.
func (a *Array) readInner(ctx context.Context, dst []byte, at []int64) (bool, error) {
	s := a.meta.enc.shard
	outer, inner := make([]int64, len(at)), make([]int64, len(at))
	for i, n := range at {
		outer[i], inner[i] = n/s.grid.Count[i], n%s.grid.Count[i]
	}
	key := a.meta.keys.of(outer)
	name := a.chunkName(key) + " " + innerName(inner)
	index, data := rangeio.Steps(ctx)
	sh, err := a.shard(index, key)
	if err != nil {
		return false, within(a.chunkName(key), err)
	}
	if sh.r == nil {
		a.absentAt(dst, at)
		return false, nil
	}
	p := sh.places[s.number(inner)]
	if p == nowhere {
		a.absentAt(dst, at)
		return false, nil
	}
	if err := p.check(sh.r.Size(), s.enc.most(len(dst))); err != nil {
		return false, within(name, err)
	}
	src := bufpool.Get(int(p.n))
	defer bufpool.Put(src)
	if err := sh.r.ReadRanges(data, []rangeio.Span{{Off: p.off, P: src}}); err != nil {
		return false, within(name, err)
	}
	return true, within(name, s.enc.decode(dst, src, s.inner, &a.it))
}

// shard opens a shard and reads its index, or waits for another call that does so.
func (a *Array) shard(ctx context.Context, key string) (*openShard, error) {
	for {
		a.mu.Lock()
		sh, ok := a.shards.Get(key)
		if !ok {
			sh = &openShard{done: make(chan struct{})}
			a.shards.Put(key, sh, a.meta.enc.shard.grid.Total*indexEntry+1<<10)
		}
		a.mu.Unlock()
		if !ok {
			sh.r, sh.places, sh.err = a.openShard(ctx, key)
			a.keep(key, sh)
			close(sh.done)
			return sh, sh.err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-sh.done:
		}
		if sh.err == nil || !errors.Is(sh.err, context.Canceled) && !errors.Is(sh.err, context.DeadlineExceeded) {
			return sh, sh.err
		}
		// The caller that read the index has ended; the next one reads it again.
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// keep keeps an open shard for the memory that it takes; one that failed is dropped.
func (a *Array) keep(key string, sh *openShard) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now, ok := a.shards.Peek(key); !ok || now != sh {
		return
	}
	if sh.err != nil {
		a.shards.Remove(key)
		return
	}
	if h, ok := sh.r.(interface{ HeldBytes() int64 }); ok {
		a.shards.Put(key, sh, h.HeldBytes()+int64(len(sh.places))*indexEntry)
	}
}

// openShard opens a shard with its index.
func (a *Array) openShard(ctx context.Context, key string) (rangeio.Reader, []place, error) {
	s := a.meta.enc.shard
	n := s.indexLen()
	head, tail := int64(0), n
	if s.atStart {
		head, tail = n, 0
	}
	r, err := a.s.Open(ctx, key, head, tail)
	if a.o.absent(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if r.Size() < n {
		return nil, nil, corrupt("", "a shard of %d bytes, whose index has %d", r.Size(), n)
	}
	off := r.Size() - n
	if s.atStart {
		off = 0
	}
	raw := make([]byte, n)
	if err := r.ReadRanges(ctx, []rangeio.Span{{Off: off, P: raw}}); err != nil {
		return nil, nil, err
	}
	places, err := s.index(raw)
	return r, places, err
}

// ReadBox reads the items of a box with steps of 1 into dst in row-major order, chunk after
// chunk. It holds one chunk besides. A box that is a chunk costs as much as ReadChunk.
func (a *Array) ReadBox(ctx context.Context, dst []byte, box nd.Box) error {
	if err := a.checkBox(dst, box); err != nil {
		return err
	}
	counts := box.Counts()
	chunk := a.meta.ChunkShape
	at, zero := make([]int64, len(counts)), make([]int64, len(counts))
	for _, origin := range a.grid.Meet(box, zero, a.meta.Shape) {
		for i, o := range origin {
			at[i] = o / chunk[i]
		}
		if slices.Equal(origin, box.Start) && slices.Equal(counts, chunk) {
			_, err := a.ReadChunk(ctx, dst, at)
			return err
		}
		if err := a.readPart(ctx, dst, box, counts, at); err != nil {
			return err
		}
	}
	return nil
}

// readPart reads what a chunk has of a box.
func (a *Array) readPart(ctx context.Context, dst []byte, box nd.Box, counts, at []int64) error {
	tmp := bufpool.Get(a.ChunkBytes())
	defer bufpool.Put(tmp)
	if _, err := a.ReadChunk(ctx, tmp, at); err != nil {
		return err
	}
	a.copyPart(dst, box, counts, tmp, at)
	return nil
}

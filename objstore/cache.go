package objstore

import (
	"context"
	"sync"

	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/rangeio"
)

// DefaultBlock is the block size of a Cache: at 80 MB/s a block takes less than
// 1 ms, and the directory of a zip file or the footer of a parquet file is one
// or two of them.
const DefaultBlock = 64 << 10

// privateCache is the size of an Object's cache if the caller gave none.
const privateCache = 4 << 20

// earlyShare is the part of a Cache that early blocks may take.
const earlyShare = 4

// wholeBlocks is the number of blocks up to which a ReadAt goes through the cache. A
// longer read is bulk: it would drive out the blocks that are read again.
const wholeBlocks = 4

// A Cache holds the last blocks that Object.ReadAt read, within a byte budget, and
// joins concurrent misses. A waiter takes over if the reader in front gives up.
// Blocks are whole and checked for length before they enter. Name of the bucket,
// key, ETag, version, size and date are part of their key, so that blocks of a
// replaced object are never served. It is safe for concurrent use, by Objects of
// several buckets if their names differ.
type Cache struct {
	block int64

	mu       sync.Mutex
	blocks   lru.Cache[blockKey, []byte]
	promises map[blockKey]*promise
	early    lru.Cache[blockKey, *promise] // promises of blocks that were loaded early and not used yet
	flying   int64                         // bytes of early blocks that did not come yet
	total    int64                         // most bytes of blocks and early together
}

type blockKey struct {
	id string
	i  int64
}

// A promise is a block that a reader is loading.
type promise struct {
	key   blockKey
	data  []byte        // bytes of the block; nil if the loader gave up
	ready chan struct{} // closed when data was set or the loader gave up

	// The rest belongs to blocks that are loaded early.
	early   *early // nil: a reader loads the block
	size    int64
	settled bool // ready is closed
	claimed bool // a reader uses the block
	keep    bool // the block enters the cache
	dropped bool // others needed its room
	err     error
}

// NewCache makes a cache of at most maxBytes; 0 keeps nothing. blockSize 0 is
// DefaultBlock.
func NewCache(maxBytes, blockSize int64) *Cache {
	if blockSize <= 0 {
		blockSize = DefaultBlock
	}
	c := &Cache{block: blockSize, blocks: lru.Cache[blockKey, []byte]{Max: maxBytes}, promises: map[blockKey]*promise{}}
	c.total, c.early.Max, c.early.Gone = maxBytes, max(maxBytes, 0)/earlyShare, c.gone
	return c
}

// Size is the number of bytes held, of blocks that were loaded early, too.
func (c *Cache) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocks.Cost() + c.early.Cost()
}

// lookup copies the range into p and returns the number of its blocks. If a block is
// missing it returns 0. If fill is false it copies nothing.
func (c *Cache) lookup(id string, off int64, p []byte, fill bool) int64 {
	if len(p) == 0 || int64(len(p)) > wholeBlocks*c.block {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a, b := off/c.block, (off+int64(len(p))-1)/c.block
	for i := a; i <= b; i++ {
		if _, ok := c.blocks.Peek(blockKey{id, i}); ok {
			continue
		}
		if e := c.promises[blockKey{id, i}]; e == nil || e.data == nil {
			return 0
		}
	}
	var h held // blocks that enter the cache may drive others out of it
	for i := a; i <= b && fill; i++ {
		var w *early
		h[i-a], w = c.take(blockKey{id, i})
		w.end()
	}
	for i := a; i <= b && fill; i++ {
		from := max(off-i*c.block, 0)
		copy(p[i*c.block+from-off:], h[i-a][from:])
	}
	return b - a + 1
}

// put keeps a block within the budget.
func (c *Cache) put(e *promise) {
	c.blocks.Put(e.key, e.data, int64(len(e.data)))
	c.blocks.Trim(c.total - c.early.Cost())
}

// take returns a block if it is there, and makes it the one used last. A block that was
// loaded early enters the cache; its load is returned, too, and ends when the caller has
// planned what it reads besides.
func (c *Cache) take(k blockKey) ([]byte, *early) {
	if data, ok := c.blocks.Get(k); ok {
		return data, nil
	}
	e := c.promises[k]
	if e == nil || e.early == nil {
		return nil, nil
	}
	c.use(e, true)
	return e.data, e.early
}

// held has the blocks of a read in progress, so that the read can use them even if the
// cache drops them.
type held [wholeBlocks + 1][]byte

// claim looks for the blocks [a, b] that h does not hold yet, and holds the cached
// ones. The caller must load those in mine, and then end the loads in used; other readers
// are loading those in others.
func (c *Cache) claim(id string, a, b int64, h *held) (mine, others []*promise, used []*early) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := a; i <= b; i++ {
		if h[i-a] != nil {
			continue
		}
		k := blockKey{id, i}
		if data, w := c.take(k); data != nil {
			h[i-a] = data
			if w != nil {
				used = append(used, w)
			}
		} else if e := c.promises[k]; e != nil {
			others = append(others, e)
		} else {
			e = &promise{key: k, ready: make(chan struct{})}
			c.promises[k] = e
			mine = append(mine, e)
		}
	}
	return mine, others, used
}

// settle publishes the loaded blocks. If data is nil it withdraws the promises.
func (c *Cache) settle(mine []*promise, data [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range mine {
		delete(c.promises, e.key)
		if data != nil {
			e.data = data[i]
			c.put(e)
		}
		close(e.ready)
	}
}

// readAt serves ReadAt: head and tail, then cached blocks, then whole blocks
// fetched in one planned call. [off, off+len(p)) lies inside the object.
func (o *object) readAt(ctx context.Context, p []byte, off int64) error {
	if len(p) > 0 {
		o.ahead(ctx, off, int64(len(p)))
	}
	if n := o.copyKept(p, off); n > 0 {
		p, off = p[n:], off+n
	}
	if t := o.info.Size - int64(len(o.tail)); len(p) > 0 && off+int64(len(p)) > t && off < t {
		o.copyKept(p[t-off:], t)
		p = p[:t-off]
	}
	if len(p) == 0 {
		return nil
	}
	c := o.cache
	if int64(len(p)) > wholeBlocks*c.block {
		return o.readLong(ctx, p, off)
	}
	if n := c.lookup(o.id, off, p, true); n > 0 {
		o.hit(n)
		return nil
	}
	return o.readBlocks(ctx, p, off)
}

// copyKept copies bytes from off on out of the head or the tail, and returns how many.
func (o *object) copyKept(p []byte, off int64) int64 {
	if off < int64(len(o.head)) {
		return int64(copy(p, o.head[off:]))
	}
	if t := o.info.Size - int64(len(o.tail)); off >= t {
		return int64(copy(p, o.tail[off-t:]))
	}
	return 0
}

// readBlocks copies the blocks for p from the cache. It loads blocks that are missing,
// and waits for blocks that other readers are loading. If another reader gives up a
// block, it loads that block.
func (o *object) readBlocks(ctx context.Context, p []byte, off int64) error {
	c := o.cache
	a, b := off/c.block, (off+int64(len(p))-1)/c.block
	var h held
	for first := true; ; first = false {
		if err := ctx.Err(); err != nil {
			return o.fail(o.info.Key, Range{off, int64(len(p))}, err)
		}
		mine, others, used := c.claim(o.id, a, b, &h)
		if first {
			o.hit(b - a + 1 - int64(len(mine)+len(others)))
		}
		err := o.loadMine(ctx, mine)
		for _, w := range used {
			w.end()
		}
		if err != nil {
			return err
		}
		if len(mine) == 0 && len(others) == 0 {
			break
		}
		for _, e := range append(mine, others...) {
			select {
			case <-e.ready:
			case <-ctx.Done():
				return o.fail(o.info.Key, Range{off, int64(len(p))}, ctx.Err())
			}
			if e.err != nil {
				return e.err
			}
			if e.data == nil { // its loader gave up
				continue
			}
			h[e.key.i-a] = e.data
			e.early.end()
		}
	}
	for i := a; i <= b; i++ {
		from := max(off-i*c.block, 0)
		copy(p[i*c.block+from-off:], h[i-a][from:])
	}
	return nil
}

// loadMine fills the claimed blocks in one planned call. It keeps or withdraws the
// promises also if it fails or panics.
func (o *object) loadMine(ctx context.Context, mine []*promise) error {
	if len(mine) == 0 {
		return nil
	}
	var loaded [][]byte
	defer func() { o.cache.settle(mine, loaded) }()
	data := make([][]byte, len(mine))
	spans := make([]rangeio.Span, len(mine))
	for i, e := range mine {
		at := e.key.i * o.cache.block
		data[i] = make([]byte, min(o.cache.block, o.info.Size-at))
		spans[i] = rangeio.Span{Off: at, P: data[i]}
		if o.pattern != nil {
			o.pattern.asked.Add(int64(len(data[i])))
		}
	}
	if rest, _ := o.kept(spans); len(rest) > 0 {
		if err := o.read(ctx, rest, 0, nil); err != nil {
			return err
		}
	}
	loaded = data
	return nil
}

package b2nd

import (
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
)

// WithCache returns an array that keeps the decoded blocks it used last, up to
// size bytes. A second read of the same or a nearby slice then reads only blocks
// that are not kept. If size is 0 or less, nothing is kept. The new array shares
// everything else with a. Two kinds of data are not kept: blocks of a slice that
// is longer than the whole cache, and chunks that are decoded straight into the
// caller's memory.
func (a *Array) WithCache(size int64) *Array {
	return a.WithCacheIn(formats.NewCache(size), "")
}

// WithCacheIn is WithCache with a cache that many arrays share. name is
// CacheKey.File in it: arrays of the same name share blocks, so the caller must give
// the same name only to the same bytes. If name is "", WithCacheIn makes a new one.
// A nil cache keeps nothing.
func (a *Array) WithCacheIn(all *formats.Cache, name string) *Array {
	c := a.over(a.f)
	c.cache = nil
	if all != nil && all.Max() > 0 {
		c.cache = &cache{all: all, file: name}
		if name == "" {
			c.cache.file = all.NewName()
		}
	}
	return c
}

// over returns a with f in place of its frame, which has the same items.
func (a *Array) over(f *cframe.Frame) *Array {
	c := &Array{f: f, meta: a.meta, dtype: a.dtype, g: a.g, limits: a.limits, cache: a.cache}
	c.scratch.New = a.scratch.New
	return c
}

// A blockID is the number of a block of an array: of its chunk, and of the block
// in it.
type blockID struct{ chunk, block int }

// A cache holds decoded blocks, which are never changed. It is safe for
// concurrent use.
type cache struct {
	all  *formats.Cache
	file string
}

func (c *cache) key(at blockID) formats.CacheKey {
	return formats.CacheKey{File: c.file, Kind: "block", Chunk: int64(at.chunk), Block: int64(at.block)}
}

func (c *cache) get(at blockID) []byte { return c.all.Get(c.key(at)) }

// put keeps a copy of p, unless p is larger than the whole cache.
func (c *cache) put(at blockID, p []byte) { c.all.Put(c.key(at), p) }

// cached copies blocks from the cache to dst, and returns the wants that are
// left to read.
func (r *sliceRead) cached(wants []cframe.Want) []cframe.Want {
	c, g := r.a.cache, r.a.g
	if c == nil {
		return wants
	}
	s := r.a.scratch.Get().(*scratch) // the pool has only *scratch
	defer r.a.scratch.Put(s)
	left := wants[:0]
	for _, w := range wants {
		if w.Dst != nil {
			left = append(left, w)
			continue
		}
		g.origin(s.origin, int64(w.Chunk))
		n, missing := len(w.Blocks), []int(nil)
		if w.Blocks == nil {
			n = int(g.blocks.Total)
		}
		for i := range n {
			k := i
			if w.Blocks != nil {
				k = w.Blocks[i]
			}
			if p := c.get(blockID{w.Chunk, k}); p != nil {
				r.place(s, k, p)
			} else {
				missing = append(missing, k)
			}
		}
		if len(missing) == 0 {
			continue
		}
		if len(missing) < n {
			w.Blocks = missing
		}
		left = append(left, w)
	}
	return left
}

// keep puts a block into the cache, if there is one. It leaves out blocks of a
// slice that is longer than the cache, since they would evict everything else.
func (r *sliceRead) keep(chunk, block int, p []byte) {
	if c := r.a.cache; c != nil && int64(len(r.dst)) <= c.all.Max() {
		r.a.cache.put(blockID{chunk, block}, p)
	}
}

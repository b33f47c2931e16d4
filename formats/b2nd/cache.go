package b2nd

import (
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
)

// WithCache returns an array that keeps up to size bytes of decoded blocks, the
// ones used last: the same slice again, or one beside it, then reads no block that
// is still kept. With size 0 or less nothing is kept. Everything else is shared
// with a. Not kept are blocks of a slice that is longer than the whole cache, and
// chunks that are decoded straight into the caller's memory.
func (a *Array) WithCache(size int64) *Array {
	return a.WithCacheIn(formats.NewCache(size), "")
}

// WithCacheIn is WithCache with a budget that many arrays share. The name is that of
// the file in formats.CacheKey: arrays of the same name share blocks, so the caller
// vouches that it names the bytes. With "" a name is made that no other array has. A
// nil cache keeps nothing.
func (a *Array) WithCacheIn(all *formats.Cache, name string) *Array {
	c := &Array{f: a.f, meta: a.meta, dtype: a.dtype, g: a.g, limits: a.limits}
	c.scratch.New = a.scratch.New
	if all != nil && all.Max() > 0 {
		c.cache = &cache{all: all, file: name}
		if name == "" {
			c.cache.file = all.NewName()
		}
	}
	return c
}

// A place is that of a block in an array.
type place struct{ chunk, block int }

// A cache holds decoded blocks, which nobody changes. It is safe for concurrent
// use.
type cache struct {
	all  *formats.Cache
	file string
}

func (c *cache) key(at place) formats.CacheKey {
	return formats.CacheKey{File: c.file, Kind: "block", Chunk: int64(at.chunk), Block: int64(at.block)}
}

func (c *cache) get(at place) []byte { return c.all.Get(c.key(at)) }

// put keeps a copy of p, unless p is larger than all of the cache.
func (c *cache) put(at place, p []byte) { c.all.Put(c.key(at), p) }

// cached places the blocks that the cache holds and gives what is left to read.
func (r *reading) cached(wants []cframe.Want) []cframe.Want {
	c, g := r.a.cache, r.a.g
	if c == nil {
		return wants
	}
	s := r.a.scratch.Get().(*scratch) // the pool makes nothing else
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
			if p := c.get(place{w.Chunk, k}); p != nil {
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

// keep puts a block into the cache, if there is one, unless it is part of a slice
// that would only push everything else out.
func (r *reading) keep(chunk, block int, p []byte) {
	if c := r.a.cache; c != nil && int64(len(r.dst)) <= c.all.Max() {
		r.a.cache.put(place{chunk, block}, p)
	}
}

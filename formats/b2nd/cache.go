package b2nd

import (
	"bytes"
	"container/list"
	"sync"

	"github.com/farread/farread/formats/cframe"
)

// WithCache returns an array that keeps up to size bytes of decoded blocks, the
// ones used last: the same slice again, or one beside it, then reads no block that
// is still kept. With size 0 or less nothing is kept. Everything else is shared
// with a. Not kept are blocks of a slice that is longer than the whole cache, and
// chunks that are decoded straight into the caller's memory.
func (a *Array) WithCache(size int64) *Array {
	c := &Array{f: a.f, meta: a.meta, dtype: a.dtype, g: a.g, limits: a.limits}
	c.scratch.New = a.scratch.New
	if size > 0 {
		c.cache = &cache{size: size, room: size, blocks: map[place]*list.Element{}}
	}
	return c
}

// A place is that of a block in an array.
type place struct{ chunk, block int }

// A cache holds decoded blocks, which nobody changes. It is safe for concurrent
// use.
type cache struct {
	mu     sync.Mutex
	size   int64 // bytes in all
	room   int64 // bytes left
	blocks map[place]*list.Element
	order  list.List // of held; the one used last in front
}

type held struct {
	at place
	p  []byte
}

func (c *cache) get(at place) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.blocks[at]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(held).p // the list holds nothing else
}

// put keeps a copy of p.
func (c *cache) put(at place, p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.blocks[at]; ok {
		return
	}
	for c.room < int64(len(p)) {
		last := c.order.Back()
		if last == nil {
			return // larger than all of the cache
		}
		h := c.order.Remove(last).(held) // the list holds nothing else
		delete(c.blocks, h.at)
		c.room += int64(len(h.p))
	}
	c.room -= int64(len(p))
	c.blocks[at] = c.order.PushFront(held{at, bytes.Clone(p)})
}

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
	if c := r.a.cache; c != nil && int64(len(r.dst)) <= c.size {
		r.a.cache.put(place{chunk, block}, p)
	}
}

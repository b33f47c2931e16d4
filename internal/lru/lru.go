// Package lru has a map that evicts the values that were not used for the
// longest time.
package lru

import "iter"

// A Cache holds values by key, up to a sum of costs. Set Max and Gone before the first
// use, and do not change them later. Otherwise the zero value is ready to use. Do not
// copy a Cache after its first use. The owner holds a lock around each call, since it
// usually changes other things together with the cache. Only Put allocates: at most one
// entry, and the memory of the map.
type Cache[K comparable, V any] struct {
	// Max bounds the sum of costs: bytes, or values if each costs 1. Nothing is kept
	// if Max is below 0.
	Max int64
	// Gone is called with each value that leaves the cache: evicted, replaced or
	// removed. The cache is already without the value then, and Gone may not change
	// the cache. It may be nil.
	Gone func(K, V)

	cost int64
	m    map[K]*entry[K, V] // nil before the first Put
	ring entry[K, V]        // sentinel of the ring: its older neighbour is the newest entry, its newer neighbour the oldest
}

type entry[K comparable, V any] struct {
	key          K
	value        V
	cost         int64
	newer, older *entry[K, V]
}

// Len is the number of values.
func (c *Cache[K, V]) Len() int { return len(c.m) }

// Cost is the sum of the costs of all values: at most Max, or 0.
func (c *Cache[K, V]) Cost() int64 { return c.cost }

// Get returns the value of a key, and makes it the one used last.
func (c *Cache[K, V]) Get(key K) (v V, ok bool) {
	e := c.m[key]
	if e == nil {
		return v, false
	}
	e.unlink()
	c.link(e)
	return e.value, true
}

// Peek returns the value of a key, and leaves the order as it is.
func (c *Cache[K, V]) Peek(key K) (v V, ok bool) {
	e := c.m[key]
	if e == nil {
		return v, false
	}
	return e.value, true
}

// Put makes a value the one used last, in place of an earlier one of its key, and
// then evicts those not used for longest until the sum of costs, none of which is
// below 0, is at most Max. So a value that costs more than Max drives out all
// others and goes itself.
func (c *Cache[K, V]) Put(key K, v V, cost int64) {
	c.Remove(key)
	if c.m == nil {
		c.m = map[K]*entry[K, V]{}
		c.ring.newer, c.ring.older = &c.ring, &c.ring
	}
	e := &entry[K, V]{key: key, value: v, cost: cost}
	c.m[key] = e
	c.cost += cost
	c.link(e)
	c.Trim(c.Max)
}

// Trim evicts values that were not used for longest until the sum of costs is at most n.
func (c *Cache[K, V]) Trim(n int64) {
	for c.cost > n && len(c.m) > 0 {
		c.drop(c.ring.newer)
	}
}

// Remove takes a key and its value out, if they are there.
func (c *Cache[K, V]) Remove(key K) {
	if e := c.m[key]; e != nil {
		c.drop(e)
	}
}

// All yields keys and values, the one used last first, and leaves the order as it
// is. The loop may remove the key it is at, and may not change the cache otherwise.
func (c *Cache[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for e := c.ring.older; e != nil && e != &c.ring; {
			older := e.older
			if !yield(e.key, e.value) {
				return
			}
			e = older
		}
	}
}

func (c *Cache[K, V]) drop(e *entry[K, V]) {
	delete(c.m, e.key)
	e.unlink()
	c.cost -= e.cost
	if c.Gone != nil {
		c.Gone(e.key, e.value)
	}
}

func (c *Cache[K, V]) link(e *entry[K, V]) {
	e.newer, e.older = &c.ring, c.ring.older
	e.newer.older, e.older.newer = e, e
}

func (e *entry[K, V]) unlink() {
	e.newer.older, e.older.newer = e.older, e.newer
}

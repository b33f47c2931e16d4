package formats

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/farread/farread/internal/lru"
)

// A Cache holds data of several open files, such as decoded blocks and stored
// chunks, within one budget of bytes. It evicts the data that were not used for the
// longest time. It is safe for concurrent use.
type Cache struct {
	mu  sync.Mutex
	all lru.Cache[CacheKey, []byte]
	n   int64 // names given out
}

// A CacheKey names bytes in a Cache.
type CacheKey struct {
	// File is a name for one version of a file. Two files of the same name share
	// their data in the cache, so a name must have bucket, key, version and offset,
	// or be unique.
	File string
	// Kind keeps apart what packages keep of one file.
	Kind string
	// Chunk and Block are places in the file.
	Chunk, Block int64
}

// NewCache makes a cache of at most size bytes; with 0 or less it keeps nothing.
func NewCache(size int64) *Cache {
	if size <= 0 {
		size = -1
	}
	return &Cache{all: lru.Cache[CacheKey, []byte]{Max: size}}
}

// NewName returns a name for CacheKey.File that this cache has not given to anyone
// else.
func (c *Cache) NewName() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return fmt.Sprintf("\x00%d", c.n)
}

// Size is the number of bytes held.
func (c *Cache) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all.Cost()
}

// Max is the most bytes that the cache holds.
func (c *Cache) Max() int64 { return max(c.all.Max, 0) }

// Get returns the bytes for key, or nil. Do not change them.
func (c *Cache) Get(key CacheKey) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, _ := c.all.Get(key)
	return p
}

// Put keeps a copy of p, unless there are bytes of that key already, or p is longer
// than the whole cache.
func (c *Cache) Put(key CacheKey, p []byte) {
	if int64(len(p)) > c.Max() || c.Max() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.all.Peek(key); !ok {
		c.all.Put(key, bytes.Clone(p), int64(len(p)))
	}
}

// Give is Put without a copy: p belongs to the cache from then on, and nobody may
// change it.
func (c *Cache) Give(key CacheKey, p []byte) {
	n := int64(cap(p))
	if n > c.Max() || c.Max() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.all.Peek(key); !ok {
		c.all.Put(key, p, n)
	}
}

package formats

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/farread/farread/internal/lru"
)

// A Cache is one budget of bytes for what several open files keep of their data:
// decoded blocks, stored chunks. What was used last stays. It is safe for concurrent
// use.
type Cache struct {
	mu  sync.Mutex
	all lru.Cache[CacheKey, []byte]
	n   int64 // names given out
}

// A CacheKey names bytes in a Cache.
type CacheKey struct {
	// File names the version of the bytes that everything else counts in: two files
	// of the same name share what they keep, so a name says bucket, key, version and
	// offset, or is one that nobody else has.
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

// NewName gives a name for CacheKey.File that this cache has not given to anyone else.
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

// Get gives the bytes of a key, which nobody may change, or nil.
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

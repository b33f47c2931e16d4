// Package bufpool lends byte buffers by size class, so that decoding the same
// kinds of chunks again and again allocates nothing.
package bufpool

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	minBits = 10 // below 1 KiB a buffer costs less than its bookkeeping
	maxBits = 31 // a Blosc chunk is not larger
	steps   = 4  // sizes from one power of two to the next
	classes = (maxBits-minBits)*steps + 1
)

// A Pool lends buffers. The zero value is ready, for any number of goroutines.
type Pool struct {
	classes [classes]sync.Pool
	boxes   sync.Pool // empty *[]byte: putting one back must not allocate a new one
	loans   atomic.Int64
}

// shared is the pool of Get and Put. All packages of a process share it, since
// buffers are all alike.
var shared Pool

// Get lends a buffer of length n from the pool that the process shares. Its
// content is undefined, its capacity at least n and at most a quarter more (or
// 1 KiB).
func Get(n int) []byte { return shared.Get(n) }

// Put returns a buffer of Get to the pool. p may be resliced. Do not use p
// after Put.
func Put(p []byte) { shared.Put(p) }

// Loans returns the number of buffers that are in use. Tests use it to find
// buffers that are never returned.
func Loans() int64 { return shared.loans.Load() }

// Get lends a buffer of length n.
func (p *Pool) Get(n int) []byte {
	p.loans.Add(1)
	c, size := class(n)
	if c >= classes {
		return make([]byte, n)
	}
	if box, ok := p.classes[c].Get().(*[]byte); ok {
		b := *box
		*box = nil
		p.boxes.Put(box)
		return b[:n]
	}
	return make([]byte, n, size)
}

// Put takes a buffer back. It keeps those that Get made and drops others.
func (p *Pool) Put(b []byte) {
	p.loans.Add(-1)
	c, size := class(cap(b))
	if c >= classes || cap(b) != size {
		return
	}
	box, ok := p.boxes.Get().(*[]byte)
	if !ok {
		box = new([]byte)
	}
	*box = b[:0]
	p.classes[c].Put(box)
}

// class is the smallest class whose buffers hold n bytes, and their size.
func class(n int) (c, size int) {
	if n <= 1<<minBits {
		return 0, 1 << minBits
	}
	// The power of two below n, and how many quarters of it to add.
	low := bits.Len(uint(n-1)) - 1
	quarter := 1 << low / steps
	k := (n - 1<<low + quarter - 1) / quarter
	return (low-minBits)*steps + k, 1<<low + k*quarter
}

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
	maxBits = 31 // no Blosc chunk is larger
)

// A Pool lends buffers. The zero value is ready, for any number of goroutines.
type Pool struct {
	classes [maxBits - minBits + 1]sync.Pool
	boxes   sync.Pool // empty *[]byte: putting one back must not allocate a new one
	loans   atomic.Int64
}

// shared serves Get and Put: buffers are all alike, so the packages of a
// process share what they keep.
var shared Pool

// Get lends a buffer of length n from the pool that the process shares. Its
// content is undefined and its capacity the next power of two or more.
func Get(n int) []byte { return shared.Get(n) }

// Put gives back what Get lent, resliced or not. Nobody may use p after that.
func Put(p []byte) { shared.Put(p) }

// Loans is how many buffers of the shared pool are lent at this moment, for
// tests that look for buffers that never come back.
func Loans() int64 { return shared.loans.Load() }

// Get lends a buffer of length n.
func (p *Pool) Get(n int) []byte {
	p.loans.Add(1)
	c := class(n)
	if c > maxBits {
		return make([]byte, n)
	}
	if box, ok := p.classes[c-minBits].Get().(*[]byte); ok {
		b := *box
		*box = nil
		p.boxes.Put(box)
		return b[:n]
	}
	return make([]byte, n, 1<<c)
}

// Put takes a buffer back. It keeps those that Get made and drops others.
func (p *Pool) Put(b []byte) {
	p.loans.Add(-1)
	c := class(cap(b))
	if c > maxBits || cap(b) != 1<<c {
		return
	}
	box, ok := p.boxes.Get().(*[]byte)
	if !ok {
		box = new([]byte)
	}
	*box = b[:0]
	p.classes[c-minBits].Put(box)
}

// class is the exponent of the smallest power of two that holds n bytes.
func class(n int) int { return max(bits.Len(uint(max(n, 1)-1)), minBits) }

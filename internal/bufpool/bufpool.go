// Package bufpool lends byte buffers of any size and takes them back.
package bufpool

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// minShift: buffers below 4 KiB share one class; smaller ones cost less to
	// allocate than to look after.
	minShift = 12
	// maxShift: buffers above 64 MiB are allocated and dropped; holding such a
	// one for later would double the memory of a 512 MiB function.
	maxShift = 26
	classes  = maxShift - minShift + 1
)

// A Pool lends buffers in classes of powers of two, so that at most half of a
// buffer is unused. The zero Pool is ready. Its methods are safe for concurrent
// use. A Pool must not be copied. Give one Pool to everything that works with
// buffers of like sizes: it belongs in the owner's struct, not in a package
// variable. Buffers that nobody borrowed for a while go to the garbage
// collector, as with [sync.Pool].
type Pool struct {
	classes [classes]sync.Pool // of *Buf with cap(store) == 1<<(minShift+i)
	loans   atomic.Int64
	bytes   atomic.Int64
}

// A Buf is one loan. It is the borrower's alone until Release.
type Buf struct {
	// B has the length that was asked for, and the contents of an earlier loan:
	// overwrite before reading. It may be sliced and passed around, but nothing
	// may refer to its memory after Release.
	B []byte

	store []byte
	pool  *Pool // nil when not on loan
}

// Get lends a buffer of n bytes. It panics if n is negative: sizes that come
// from a file are checked by those who read them.
func (p *Pool) Get(n int) *Buf {
	if n < 0 {
		panic(fmt.Sprintf("bufpool: size %d", n))
	}
	b := p.take(n)
	b.B = b.store[:n]
	b.pool = p
	p.loans.Add(1)
	p.bytes.Add(int64(cap(b.store)))
	return b
}

// take finds or makes a buffer that can hold n bytes.
func (p *Pool) take(n int) *Buf {
	c := class(n)
	if c >= classes {
		return &Buf{store: make([]byte, n)}
	}
	if b, ok := p.classes[c].Get().(*Buf); ok {
		return b
	}
	return &Buf{store: make([]byte, 1<<(minShift+c))}
}

// Release gives the buffer back. A second Release panics if nobody has borrowed
// the buffer since; otherwise it would end another's loan, so give a Buf exactly
// one owner. Release of a nil Buf does nothing.
func (b *Buf) Release() {
	if b == nil {
		return
	}
	p := b.pool
	if p == nil {
		panic("bufpool: buffer released twice")
	}
	b.pool, b.B = nil, nil
	p.loans.Add(-1)
	p.bytes.Add(-int64(cap(b.store)))
	if c := class(cap(b.store)); c < classes {
		p.classes[c].Put(b)
	}
}

// Loans is how many buffers are out and how many bytes they hold. Tests check
// that it is zero when the work is over; limits and statistics may use it too.
func (p *Pool) Loans() (n, bytes int64) {
	return p.loans.Load(), p.bytes.Load()
}

// class is the index of the smallest class that holds n bytes; it is at least
// classes if there is none.
func class(n int) int {
	if n <= 1<<minShift {
		return 0
	}
	return bits.Len(uint(n-1)) - minShift
}

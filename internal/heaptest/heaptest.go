// Package heaptest measures what lives on the heap, for tests that bound it.
//
// What the heap takes at some moment is what lives and what the collector has not
// come to yet. The latter depends on when it last ran: on all that lives in the
// process, other tests' leftovers too, on how busy the machine is, and on chance. So a
// Meter collects before it looks, and bounds are held against what the collector may
// let that grow to.
package heaptest

import (
	"runtime"
	"sync"
)

// Percent is the GOGC that functions run with: the heap grows by so much of what
// lives before the next collection begins.
const Percent = 50

// A Meter keeps the most that lived on the heap, above what lived when it was made.
// It is safe for concurrent use.
type Meter struct {
	mu     sync.Mutex
	before int64
	most   int64
	looks  int
}

// Start begins to measure. It first runs the collector twice, which frees the memory
// of pools that other tests filled.
func Start() *Meter {
	runtime.GC()
	before := live()
	return &Meter{before: before, most: before}
}

// live is the pages of the heap, and of stacks, that are in use after a collection.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// Kept is how many bytes of objects live because of what makes returns: without the room
// between objects that garbage has left, which others will fill. Pools, and what lived
// before, do not count.
func Kept(makes func() any) int64 {
	before := objects()
	v := makes()
	n := objects() - before
	runtime.KeepAlive(v)
	return n
}

// objects is the bytes of objects that live, pools let go.
func objects() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Look collects and looks, which takes milliseconds, and stops nobody for long.
func (m *Meter) Look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks++
	m.most = max(m.most, live())
}

// Live returns the largest live heap of all Looks, in bytes, less the live heap
// at Start.
func (m *Meter) Live() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most - m.before
}

// Heap returns the size to which the collector lets the heap grow before it runs
// again, with GOGC at Percent: the memory of a process that does nothing else.
func (m *Meter) Heap() int64 { return m.Live() * (100 + Percent) / 100 }

// Looks counts the looks.
func (m *Meter) Looks() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looks
}

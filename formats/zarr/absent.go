package zarr

import (
	"math/bits"
	"sync"
)

// A tally counts chunks, each once.
type tally struct {
	mu    sync.Mutex
	words map[int64]uint64 // bits of the numbers of chunks, by their upper parts
	n     int64
}

func (t *tally) add(number int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.words == nil {
		t.words = map[int64]uint64{}
	}
	word := t.words[number>>6]
	next := word | 1<<(number&63)
	t.n += int64(bits.OnesCount64(next) - bits.OnesCount64(word))
	t.words[number>>6] = next
}

// Absent returns how many of the chunks that were read are not there, so that their items are the
// fill value, each counted once; those that the store refused are among them with Options.DeniedIsAbsent.
func (a *Array) Absent() int64 {
	a.missing.mu.Lock()
	defer a.missing.mu.Unlock()
	return a.missing.n
}

// Chunks returns how many chunks of ChunkShape the array has.
func (a *Array) Chunks() int64 { return a.grid.Total }

// absentAt fills dst with the fill value in place of a chunk that is not there.
func (a *Array) absentAt(dst []byte, at []int64) {
	a.missing.add(a.number(at))
	a.it.put(dst)
}

// number is that of a chunk in row-major order.
func (a *Array) number(at []int64) int64 {
	n := int64(0)
	for i, k := range at {
		n = n*a.grid.Count[i] + k
	}
	return n
}

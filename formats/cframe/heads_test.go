package cframe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/rangeio"
)

// manyTimes is a frame whose offsets name its one chunk, of the given VL blocks, n times.
func manyTimes(t *testing.T, n int, blocks [][]byte) []byte {
	t.Helper()
	b := write(t, WriteOptions{ChunkSize: VaryingSizes}, func(w *Writer) { must(t, w.WriteBlocks(blocks)) })
	f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), Options{})
	must(t, err)
	in := f.Info()
	at := in.indexOff()
	h, err := blosc.ParseHeader(b[at:])
	must(t, err)
	zeros, err := blosc.AppendSpecial(nil, blosc.Zeros, n*offsetLen, offsetLen, n*offsetLen, nil)
	must(t, err)
	b = bytes.Join([][]byte{b[:at], zeros, b[at+int64(h.CBytes):]}, nil)
	binary.BigEndian.PutUint64(b[30:], uint64(int64(n)*in.NBytes))
	binary.BigEndian.PutUint64(b[16:], uint64(len(b)))
	return b
}

// TestHeadsOfManyChunks: what is kept of the first bytes of many chunks, while blocks of
// them are read, is within the memory of the read.
func TestHeadsOfManyChunks(t *testing.T) { // alone: it looks at the heap
	racetest.Skip(t, racetest.Measures)
	const n = 3000
	for _, c := range []struct{ blocks, size int }{{128, 33 << 10}, {20_000, 210}} {
		blocks := make([][]byte, c.blocks)
		for i := range blocks {
			blocks[i] = noise(c.size, i)
		}
		blocks[0] = []byte("short")
		b := manyTimes(t, n, blocks)
		f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), Options{})
		must(t, err)
		wants := make([]Want, n)
		for i := range wants {
			wants[i] = Want{Chunk: i, Blocks: []int{0}}
		}
		heap := heaptest.Start()
		var done atomic.Int64
		must(t, f.EachConcurrent(t.Context(), wants, func(_, _ int, p []byte) error {
			if string(p) != "short" {
				return fmt.Errorf("the block is %q", p)
			}
			if done.Add(1)%(n/16) == 1 {
				heap.Look()
			}
			return nil
		}))
		if done.Load() != n || heap.Live() > 96<<20 {
			t.Errorf("%d blocks in a chunk: %d were read, %d MiB lived", c.blocks, done.Load(), heap.Live()>>20)
		}
	}
}

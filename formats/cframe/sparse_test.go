package cframe

import (
	"bytes"
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// opened is a folder that counts what is opened.
type opened struct {
	*folder

	mu sync.Mutex
	n  map[string]int
}

func (o *opened) Open(ctx context.Context, name string) (rangeio.Reader, error) {
	o.mu.Lock()
	o.n[name]++
	o.mu.Unlock()
	return o.folder.Open(ctx, name)
}

// TestSparseLongStarts: chunks whose block starts are more than what is read at first,
// since the header does not tell how many they are, are read on from their own objects.
func TestSparseLongStarts(t *testing.T) {
	const size, block = 8 << 20, 4096 // 2048 blocks a chunk, 8 KiB of starts
	set := &opened{folder: newFolder(), n: map[string]int{}}
	w, err := NewSetWriter(t.Context(), set, WriteOptions{ChunkSize: size, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, BlockSize: block}})
	must(t, err)
	data := noise(3*size, 7)
	for i := 0; i < len(data); i += block {
		clear(data[i:][:block/2]) // so that blocks are coded, to half their size
	}
	for i := range 3 {
		must(t, w.WriteChunk(data[i*size:][:size]))
	}
	must(t, w.Close())
	f, err := OpenSet(t.Context(), set, Options{Policy: rangeio.Lean()})
	must(t, err)
	if f.Info().BlockSize != 0 {
		t.Fatalf("blocks of %d bytes: the test wants a header that does not tell", f.Info().BlockSize)
	}
	clear(set.n)
	p := make([]byte, size+300_000)
	off := int64(size) + 200_000 // of chunk 1 into chunk 2
	must(t, f.ReadBytes(t.Context(), p, off))
	if !bytes.Equal(p, data[off:][:len(p)]) {
		t.Error("other bytes")
	}
	if want := map[string]int{ChunkFile(1): 1, ChunkFile(2): 1}; !maps.Equal(set.n, want) {
		t.Errorf("opened: %v, want %v", set.n, want)
	}
}

// TestExplainUnstored: a plan of chunks that are not stored lists nothing, in frames of
// one object and of several.
func TestExplainUnstored(t *testing.T) {
	const size = 4000
	for _, sparse := range []bool{false, true} {
		o := WriteOptions{ChunkSize: size, BlockSize: 1000, TypeSize: 4}
		set, file := newFolder(), &sink{}
		var w interface {
			WriteChunk(p []byte) error
			WriteSpecial(kind blosc.Special, size int) error
			Close() error
		}
		var err error
		if sparse {
			w, err = NewSetWriter(t.Context(), set, o)
		} else {
			w, err = NewWriter(file, o)
		}
		must(t, err)
		must(t, w.WriteSpecial(blosc.Zeros, size))
		must(t, w.WriteChunk(noise(size, 1)))
		must(t, w.WriteSpecial(blosc.NaN, size))
		must(t, w.WriteSpecial(blosc.Zeros, size))
		must(t, w.Close())
		var f *Frame
		if sparse {
			f, err = OpenSet(t.Context(), set, Options{})
		} else {
			f, err = Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(file.b), int64(len(file.b))), Options{})
		}
		must(t, err)
		for _, wants := range [][]Want{{{Chunk: 0}, {Chunk: 2}}, {{Chunk: 3, Blocks: []int{1}}}} {
			if q, err := f.ExplainConcurrent(t.Context(), wants); err != nil || len(q) > 0 {
				t.Errorf("sparse %t, %v: %v, %v", sparse, wants, q, err)
			}
		}
		q, err := f.ExplainBytes(t.Context(), 1500, 3*size)
		if err != nil || len(q) != 1 {
			t.Errorf("sparse %t: %v, %v; want one request, of chunk 1", sparse, q, err)
		}
		p := make([]byte, 3*size)
		must(t, f.ReadBytes(t.Context(), p, 1500))
	}
}

package zarrface_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/zarrface"
)

// TestCells: the shapes of Zarr chunks, and whether their blocks can be passed through.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		chunk, block []int
		item         int
		blocks       bool
		want         []int64
		row          bool
	}{
		{[]int{16, 512, 512}, []int{1, 256, 512}, 2, false, []int64{4, 512, 512}, true},
		{[]int{8, 512, 512}, []int{1, 256, 512}, 2, false, []int64{8, 512, 512}, true}, // 4 MiB
		{[]int{8, 512, 512}, []int{1, 256, 512}, 2, true, []int64{1, 256, 512}, true},
		{[]int{8, 512, 512}, []int{3, 256, 512}, 2, true, []int64{8, 512, 512}, false},
		{[]int{17, 512, 512}, []int{2, 512, 512}, 2, false, []int64{17, 512, 512}, false}, // nothing divides
		{[]int{128, 128, 128}, []int{32, 32, 32}, 4, false, []int64{32, 128, 128}, false},
		{[]int{128, 128, 128}, []int{32, 32, 32}, 4, true, []int64{32, 32, 32}, true},
		{[]int{4, 7, 65536}, []int{1, 1, 65536}, 8, false, []int64{1, 1, 65536}, true}, // stays in a row of the chunk
		{[]int{1 << 21}, []int{1 << 20}, 4, false, []int64{1 << 20}, true},             // a block is longer than a cell
		{[]int{}, []int{}, 4, false, []int64{}, true},
	} {
		shape := make([]int64, len(c.chunk))
		for i, n := range c.chunk {
			shape[i] = int64(n)
		}
		m := b2nd.Meta{Shape: shape, ChunkShape: c.chunk, BlockShape: c.block}
		cell, row := zarrface.Geometry(m, c.item, c.blocks)
		if !slices.Equal(cell, c.want) || row != c.row {
			t.Errorf("chunks %v of blocks %v: cells %v, in a row %v; want %v, %v", c.chunk, c.block, cell, row, c.want, c.row)
		}
	}
}

// TestEmptyChunks: chunks without items may have lengths whose product overflows.
func TestEmptyChunks(t *testing.T) {
	for _, item := range []int{1, 4, 1 << 20} {
		for _, byBlock := range []bool{false, true} {
			long := math.MaxInt32/2 + 1 // 2^30
			m := b2nd.Meta{Shape: []int64{0, 1 << 30, 1 << 30, 16}, ChunkShape: []int{0, long, long, 16}, BlockShape: []int{0, long, long, 16}}
			if cell, _ := zarrface.Geometry(m, item, byBlock); !slices.Equal(cell, []int64{1, 1 << 30, 1 << 30, 16}) {
				t.Error(cell)
			}
		}
	}
}

// ramp is an array of little-endian counters, in chunks that hold several cells.
func ramp(t tester, shape []int64, chunk, block []int) *b2nd.Array {
	t.Helper()
	n := int64(8)
	for _, k := range shape {
		n *= k
	}
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i / 8 >> (8 * (i % 8)))
	}
	return newArray(t, b2nd.Meta{Shape: shape, ChunkShape: chunk, BlockShape: block, DType: "<i8"}, p,
		b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4}})
}

// TestCellsOfChunks: cells of long chunks hold the items of their place, at the far edges,
// too, and want only their blocks.
func TestCellsOfChunks(t *testing.T) {
	a := ramp(t, []int64{5, 700, 300}, []int{3, 512, 512}, []int{1, 128, 512})
	v := view(t, a, zarrface.Options{})
	if got := v.ChunkShape(); !slices.Equal(got, []int64{1, 512, 512}) {
		t.Fatal(got)
	}
	sent := 0
	keys(zarrface.Count(v), 100, func(key string) {
		c, err := v.Key(key)
		if err != nil {
			t.Fatal(key, err)
		}
		w := v.Want(c)
		if w.Chunk != c.Number || len(w.Blocks) != 4 || w.Head != 32+4*12 {
			t.Errorf("%s: %+v", key, w)
		}
		stored, err := a.Frame().AppendStored(t.Context(), nil, c.Number)
		if err != nil {
			t.Fatal(err)
		}
		if !zarrface.Passes(v, c, stored) {
			t.Errorf("%s does not pass", key)
		}
		checkChunk(t, key, a, v, zarrface.Pass, c, stored)
		x, err := blosc.ParseIndex(stored)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, s := range v.Spans(c, x) {
			n += s.Len
		}
		if n >= len(stored)/2 {
			t.Errorf("%s: spans of %d bytes of %d", key, n, len(stored))
		}
		sent++
	})
	if sent != 10 {
		t.Errorf("%d chunks", sent)
	}
}

func TestKeys(t *testing.T) {
	v := view(t, ramp(t, []int64{5, 7}, []int{2, 7}, []int{1, 7}), zarrface.Options{})
	for _, key := range []string{"c/0/0", "c/2/0"} {
		if _, err := v.Key(key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, key := range []string{
		"", "c", "c/0", "c/3/0", "c/0/1", "c/0/0/0", "c/00/0", "c/-1/0", "c/+1/0", "c/0/0/", "c//0", "c/ 0/0", "0/0", "c.0.0",
		"c/9223372036854775808/0", "c/1e0/0", ".zarray", ".zattrs", "C/0/0", "c/0/x\x00",
	} {
		if _, err := v.Key(key); !errors.Is(err, zarrface.ErrAbsent) {
			t.Errorf("%q: %v", key, err)
		}
	}
	c, err := v.Key("c/2/0")
	if err != nil || c.Number != 2 || c.Size != 2*7*8 || fmt.Sprint(c.Box.Start, c.Box.Stop) != "[4 0] [5 7]" {
		t.Errorf("%+v, %v", c, err)
	}
	w := v.Want(c)
	if w.Blocks != nil || w.Chunk != 2 || w.Head != 40 {
		t.Errorf("%+v", w)
	}

	scalar := view(t, ramp(t, []int64{}, []int{}, []int{}), zarrface.Options{})
	if c, err := scalar.Key("c"); err != nil || c.Size != 8 {
		t.Errorf("%+v, %v", c, err)
	}
	empty := view(t, openFixture(t, "empty_0x5x7.b2nd"), zarrface.Options{})
	if _, err := empty.Key("c/0/0/0"); !errors.Is(err, zarrface.ErrAbsent) {
		t.Error(err)
	}
}

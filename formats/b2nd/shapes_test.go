package b2nd_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/racetest"
)

func TestDefaultShapes(t *testing.T) {
	for _, c := range []struct {
		shape        []int64
		size         int
		chunk, block []int
	}{
		{nil, 4, nil, nil},
		{[]int64{10}, 4, []int{10}, []int{10}},
		{[]int64{1_000_000}, 8, []int{504_000}, []int{8000}},
		{[]int64{1000, 1000}, 8, []int{504, 1000}, []int{8, 1000}},
		{[]int64{100, 100, 100}, 1, []int{100, 100, 100}, []int{5, 100, 100}},
		{[]int64{4096, 4096}, 4, []int{256, 4096}, []int{4, 4096}},
		{[]int64{1000, 512, 512}, 2, []int{8, 512, 512}, []int{1, 64, 512}},
		{[]int64{1000, 2000, 3000, 3}, 1, []int{1, 406, 3000, 3}, []int{1, 7, 3000, 3}},
		{[]int64{100_003}, 1, []int{100_003}, []int{50_002}}, // a prime: two blocks, an item of padding
		{[]int64{1 << 40}, 4, []int{1 << 20}, []int{1 << 14}},
		{[]int64{7, 5}, 10 << 20, []int{1, 1}, []int{1, 1}},
		{[]int64{0, 5}, 4, []int{209_664, 5}, []int{3276, 5}}, // may grow
		{[]int64{1, 1, 1}, 4, []int{1, 1, 1}, []int{1, 1, 1}},
	} {
		chunk, block := b2nd.DefaultShapes(c.shape, c.size)
		if !slices.Equal(chunk, c.chunk) || !slices.Equal(block, c.block) {
			t.Errorf("%v of %d bytes: chunks %v, blocks %v, want %v, %v", c.shape, c.size, chunk, block, c.chunk, c.block)
		}
	}
}

func TestDefaultShapesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 1<<40)), 0, 16).Draw(t, "shape")
		size := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, 1<<28)).Draw(t, "size")
		chunk, block := b2nd.DefaultShapes(shape, size)
		blockBytes, chunkBytes, padded := size, size, size
		cut := false // an axis before, from the last on, is not whole
		for i := len(shape) - 1; i >= 0; i-- {
			c, b := chunk[i], block[i]
			switch {
			case b < 1 || b > c || int64(c) > shape[i]:
				t.Fatalf("axis %d: block %d, chunk %d of %d", i, b, c, shape[i])
			case c%b != 0 && int64(c) != shape[i]:
				t.Fatalf("axis %d: chunk %d in blocks of %d", i, c, b)
			case cut && c != 1:
				t.Fatalf("axis %d: chunk %v cuts an axis behind", i, chunk)
			}
			cut = cut || int64(c) < shape[i]
			blockBytes *= b
			chunkBytes *= c
			padded *= (c + b - 1) / b * b
		}
		if blockBytes > max(b2nd.DefaultBlockBytes, size) || chunkBytes > max(b2nd.DefaultChunkBytes, size) {
			t.Fatalf("blocks of %d, chunks of %d bytes", blockBytes, chunkBytes)
		}
		if padded > 2*chunkBytes {
			t.Fatalf("%d bytes in chunks of %d", padded, chunkBytes)
		}
	})
}

// The shape that was not given follows from the other.
func TestOneShape(t *testing.T) {
	racetest.Skip(t, racetest.Alone)
	for _, x := range []struct{ chunk, block, wantChunk, wantBlock []int }{
		{chunk: []int{30, 2000}, wantChunk: []int{30, 2000}, wantBlock: []int{3, 2000}},
		{chunk: []int{1, 7}, wantChunk: []int{1, 7}, wantBlock: []int{1, 7}},
		{block: []int{7, 1000}, wantChunk: []int{168, 3000}, wantBlock: []int{7, 1000}},
		{block: []int{600, 3}, wantChunk: []int{600, 3000}, wantBlock: []int{600, 3}},
	} {
		m := b2nd.Meta{Shape: []int64{500, 3000}, DType: "<f8", ChunkShape: x.chunk, BlockShape: x.block}
		items := numbers(500*3000, 8)
		a := open(t, build(t, m, items, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Level: blosc.LevelStore}}))
		if got := a.Meta(); !slices.Equal(got.ChunkShape, x.wantChunk) || !slices.Equal(got.BlockShape, x.wantBlock) {
			t.Errorf("chunks %v, blocks %v: %v, %v", x.chunk, x.block, got.ChunkShape, got.BlockShape)
		}
		if p := slice(t, a, b2nd.Whole(m.Shape)); !bytes.Equal(p, items) {
			t.Errorf("chunks %v, blocks %v: other items", x.chunk, x.block)
		}
	}
	var out memory
	for _, m := range []b2nd.Meta{
		{Shape: []int64{4, 4}, DType: "<f8", ChunkShape: []int{2}},
		{Shape: []int64{4, 4}, DType: "<f8", BlockShape: []int{2}},
		{Shape: []int64{4, 4}, DType: "<f8", BlockShape: []int{0, -1}},
		{Shape: []int64{4, 4}, DType: "<f8", ChunkShape: []int{0, -1}},
	} {
		if _, err := b2nd.NewWriter(&out, m, b2nd.WriteOptions{}); !errors.Is(err, cframe.ErrRefused) {
			t.Errorf("chunks %v, blocks %v: %v", m.ChunkShape, m.BlockShape, err)
		}
	}
}

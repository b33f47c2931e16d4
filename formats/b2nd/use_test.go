package b2nd_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/nd"
)

func TestShapesFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		use          b2nd.Use
		shape        []int64
		size         int
		chunk, block []int
	}{
		{b2nd.Series, []int64{365, 180, 360}, 4, []int{365, 36, 72}, []int{365, 6, 6}},
		{b2nd.Planes, []int64{365, 180, 360}, 4, []int{1, 180, 360}, []int{1, 90, 180}},
		{b2nd.Both, []int64{365, 180, 360}, 4, []int{63, 108, 90}, []int{9, 36, 45}},
		{b2nd.Cubes, []int64{365, 180, 360}, 4, []int{136, 100, 72}, []int{34, 20, 24}},
		{b2nd.Series, []int64{1000000, 12}, 8, []int{504000, 1}, []int{8000, 1}},
		{b2nd.Planes, []int64{1000000, 12}, 8, []int{2720, 12}, []int{160, 12}},
		{b2nd.Both, []int64{1000000, 12}, 8, []int{200000, 2}, []int{8000, 1}},
		{b2nd.Cubes, []int64{1000000, 12}, 8, []int{40000, 12}, []int{625, 12}},
		{b2nd.Series, []int64{8760, 37, 721, 1440}, 4, []int{8760, 4, 5, 5}, []int{8760, 1, 1, 1}},
		{b2nd.Planes, []int64{8760, 37, 721, 1440}, 4, []int{1, 1, 721, 1440}, []int{1, 1, 103, 144}},
		{b2nd.Both, []int64{8760, 37, 721, 1440}, 4, []int{90, 1, 76, 144}, []int{10, 1, 38, 36}},
		{b2nd.Cubes, []int64{8760, 37, 721, 1440}, 4, []int{36, 20, 33, 36}, []int{12, 10, 11, 12}},
		{b2nd.Series, []int64{1000, 10, 10}, 4, []int{1000, 10, 10}, []int{1000, 4, 4}},
		{b2nd.Planes, []int64{1000, 10, 10}, 4, []int{520, 10, 10}, []int{40, 10, 10}},
		{b2nd.Both, []int64{1000, 10, 10}, 4, []int{668, 10, 10}, []int{334, 5, 5}},
		{b2nd.Cubes, []int64{1000, 10, 10}, 4, []int{1000, 10, 10}, []int{125, 10, 10}},
		{b2nd.Series, []int64{5, 20000, 20000}, 2, []int{5, 640, 640}, []int{5, 80, 80}},
		{b2nd.Planes, []int64{5, 20000, 20000}, 2, []int{1, 1440, 1400}, []int{1, 160, 200}},
		{b2nd.Both, []int64{5, 20000, 20000}, 2, []int{1, 1440, 1400}, []int{1, 160, 200}},
		{b2nd.Cubes, []int64{5, 20000, 20000}, 2, []int{5, 640, 640}, []int{5, 80, 80}},
		{b2nd.Both, []int64{1000000}, 8, []int{504000}, []int{8000}},
		{b2nd.Series, []int64{3, 3}, 10485760, []int{1, 1}, []int{1, 1}},
		{b2nd.Series, []int64{0, 100}, 4, []int{1 << 20, 1}, []int{1 << 14, 1}}, // may grow
		{b2nd.Cubes, nil, 4, nil, nil},
		{0, []int64{1000, 1000}, 8, []int{504, 1000}, []int{8, 1000}},
	} {
		chunk, block := b2nd.ShapesFor(c.use, c.shape, c.size)
		if !slices.Equal(chunk, c.chunk) || !slices.Equal(block, c.block) {
			t.Errorf("%s, %v of %d bytes: chunks %v, blocks %v, want %v, %v", c.use, c.shape, c.size, chunk, block, c.chunk, c.block)
		}
	}
}

func TestShapesForHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(0, 1<<40)), 0, 16).Draw(t, "shape")
		size := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, 1<<28)).Draw(t, "size")
		for _, u := range b2nd.Uses() {
			chunk, block := b2nd.ShapesFor(u, shape, size)
			if len(chunk) != len(shape) || len(block) != len(shape) {
				t.Fatalf("%s: chunks %v, blocks %v", u, chunk, block)
			}
			blockBytes, chunkBytes, padded := size, size, size
			for i, c := range chunk {
				b := block[i]
				if b < 1 || b > c || shape[i] > 0 && int64(c) > shape[i] {
					t.Fatalf("%s: axis %d: block %d, chunk %d of %d", u, i, b, c, shape[i])
				}
				blockBytes *= b
				chunkBytes *= c
				padded *= (c + b - 1) / b * b
			}
			if blockBytes > max(b2nd.DefaultBlockBytes, size) || chunkBytes > max(b2nd.DefaultChunkBytes, size) || padded > 2*chunkBytes {
				t.Fatalf("%s: blocks of %d, chunks of %d bytes, %d with padding", u, blockBytes, chunkBytes, padded)
			}
		}
	})
}

// meets is how many chunks a box meets that is as long as the array along some axes, and 1 along
// all others.
func meets(shape []int64, chunk []int, axes ...int) float64 {
	n := 1.0
	for _, i := range axes {
		n *= float64((shape[i]-1)/int64(chunk[i]) + 1)
	}
	return n
}

// Each kind of slices meets the fewest chunks if the shape is for it, and what is for both is
// between.
func TestShapesForMeetFewer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 20_000)), 2, 5).Draw(t, "shape")
		size := rapid.IntRange(1, 64).Draw(t, "size")
		d := len(shape)
		plane := []int{d - 1}
		if d > 2 {
			plane = []int{d - 2, d - 1}
		}
		var along, over [5]float64
		for _, u := range b2nd.Uses() {
			chunk, block := b2nd.ShapesFor(u, shape, size)
			along[u], over[u] = meets(shape, chunk, 0), meets(shape, chunk, plane...)
			if _, err := nd.NewGrid(shape, wide(chunk)); err != nil {
				t.Fatalf("%s: %v", u, err)
			}
			if u == b2nd.Series && meets(shape, block, 0) > 2*float64((shape[0]-1)/max(b2nd.DefaultBlockBytes/int64(size), 1)+1) {
				t.Fatalf("series meet %v blocks of %v", meets(shape, block, 0), block)
			}
		}
		for _, u := range []b2nd.Use{b2nd.Planes, b2nd.Both, b2nd.Cubes} {
			if along[b2nd.Series] > along[u]*4/3+1 {
				t.Fatalf("a series meets %v chunks, %v if they are for %s", along[b2nd.Series], along[u], u)
			}
		}
		for _, u := range []b2nd.Use{b2nd.Series, b2nd.Both, b2nd.Cubes} {
			if over[b2nd.Planes] > over[u]*16/9+1 {
				t.Fatalf("a plane meets %v chunks, %v if they are for %s", over[b2nd.Planes], over[u], u)
			}
		}
	})
}

func TestUseNames(t *testing.T) {
	t.Parallel()
	for _, u := range b2nd.Uses() {
		if got, err := b2nd.ParseUse(u.String()); got != u || err != nil {
			t.Errorf("%s: %v, %v", u, got, err)
		}
	}
	for _, bad := range []string{"", "use 0", "Series", b2nd.Use(0).String(), b2nd.Use(9).String()} {
		if u, err := b2nd.ParseUse(bad); err == nil {
			t.Errorf("%q is %s", bad, u)
		}
	}
}

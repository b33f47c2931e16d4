//go:build !race

// Under the race detector sync.Pool drops buffers on purpose.

package b2nd_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/rangeio"
)

// TestSliceAllocates: a slice takes some dozen allocations, and more blocks of a chunk take
// no more than the lists of a longer read.
func TestSliceAllocates(t *testing.T) { //nolint:paralleltest // it counts allocations
	const rows, columns, longer = 256, 256, 12
	data := make([]byte, 4*rows*columns)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		if data[i] = byte(i >> 8); i%4 < 2 {
			data[i] = byte(r.Uint32())
		}
	}
	m := b2nd.Meta{Shape: []int64{rows, columns}, DType: "<u4", ChunkShape: []int{128, columns}, BlockShape: []int{2, columns}}
	for _, codec := range []blosc.Codec{blosc.LZ4, blosc.Zstd, blosc.BloscLZ, blosc.Zlib} {
		frame := build(t, m, data, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: codec, Level: 1}})
		for name, r := range twoReaders(t, frame) {
			a, err := b2nd.Open(t.Context(), r, b2nd.Options{Parallel: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{",3", ",5:90"} { // an item of each row, many
				few, many := sliceAllocs(t, a, "128:136"+kind), sliceAllocs(t, a, "128:256"+kind)
				if t.Logf("%s, %s, %s: %.0f allocations for 4 blocks, %.0f for 64", codec, name, kind, few, many); few > 75 || many > few+longer {
					t.Errorf("%s, %s, %s: %.0f allocations for 4 blocks, %.0f for 64", codec, name, kind, few, many)
				}
			}
		}
	}
}

// sliceAllocs counts the allocations of a slice into the same memory.
func sliceAllocs(t *testing.T, a *b2nd.Array, slice string) float64 {
	t.Helper()
	s, err := b2nd.ParseSlice(slice)
	if err != nil {
		t.Fatal(err)
	}
	box, err := s.Resolve(a.Shape())
	if err != nil {
		t.Fatal(err)
	}
	n, err := a.SizeOf(box)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, n)
	return testing.AllocsPerRun(10, func() {
		if err := a.ReadSlice(t.Context(), dst, box); err != nil {
			t.Fatal(err)
		}
	})
}

// twoReaders read a frame in memory, and in a file that is opened by its path.
func twoReaders(t *testing.T, frame []byte) map[string]rangeio.Reader {
	t.Helper()
	dir, err := filestore.New(filestore.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objstore.Put(t.Context(), dir, "x.b2nd", bytes.NewReader(frame), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	o, err := objstore.Open(t.Context(), dir, "x.b2nd", objstore.OpenOptions{Head: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]rangeio.Reader{"memory": reader(frame), "path": o}
}

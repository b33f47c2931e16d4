package b2nd_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// planes makes an array of equal chunks of 4 MiB, of items with so many bits of noise. It
// returns the items of a chunk, too.
func planes(t *testing.T, chunks, bits, level int) (o *shared, piece []byte) {
	t.Helper()
	o, piece = &shared{keep: map[*byte]bool{}}, make([]byte, 4<<20)
	for i, v := range noise(len(piece)/4, bits) {
		binary.LittleEndian.PutUint32(piece[4*i:], v)
	}
	m := b2nd.Meta{Shape: []int64{int64(chunks) * 16, 256, 256}, ChunkShape: []int{16, 256, 256}, BlockShape: []int{1, 64, 256}, DType: "<u4"}
	err := b2nd.WriteFrom(t.Context(), o, m, func(_ context.Context, _ b2nd.Box, dst []byte) error {
		for len(dst) > 0 {
			dst = dst[copy(dst, piece):]
		}
		return nil
	}, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: level}})
	if err != nil {
		t.Fatal(err)
	}
	return o, piece
}

// TestCopyFar copies an array of 128 MiB in chunks of 4 MiB that are stored as they are:
// each chunk and its header are one request.
func TestCopyFar(t *testing.T) {
	const chunks = 32
	object, piece := planes(t, chunks, 32, blosc.LevelStore)
	var count objstore.Counter
	obj, err := objstore.Open(t.Context(), bucket{memstore.New(memstore.Config{}), object}, "x", objstore.OpenOptions{Tail: 64 << 10, Counter: &count})
	if err != nil {
		t.Fatal(err)
	}
	a, err := b2nd.Open(t.Context(), obj, b2nd.Options{Tail: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	opened := obj.Stats().Requests
	got, want := crc32.NewIEEE(), crc32.NewIEEE()
	for range chunks {
		_, _ = want.Write(piece) // a hash returns no error
	}
	n, err := a.CopyTo(t.Context(), got, b2nd.Whole(a.Shape()), 0)
	if err != nil || n != chunks*int64(len(piece)) || got.Sum32() != want.Sum32() {
		t.Errorf("%d bytes, sum %x, not %x: %v", n, got.Sum32(), want.Sum32(), err)
	}
	if r := obj.Stats().Requests - opened; r > chunks+2 {
		t.Errorf("%d requests for %d chunks", r, chunks)
	}

	// Chunks that do not lie in the box as a whole.
	box, part := b2nd.Sub([]int64{3, 5, 7}, []int64{90, 200, 256}), crc32.NewIEEE()
	n, err = a.CopyTo(t.Context(), part, box, 0)
	if err != nil || part.Sum32() != crc32.ChecksumIEEE(slice(t, a, box)) {
		t.Errorf("a box: %d bytes, sum %x: %v", n, part.Sum32(), err)
	}
}

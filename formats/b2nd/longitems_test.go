package b2nd_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
)

// Chunks record items of more than 255 bytes as bytes, but a repeated one is
// still a whole item: c-blosc2 opens no frame with a value of another size.
func TestLongItems(t *testing.T) {
	for _, size := range []int{255, 256, 300} {
		m := b2nd.Meta{Shape: []int64{4, 3}, ChunkShape: []int{2, 3}, BlockShape: []int{1, 3}, DType: fmt.Sprintf("|V%d", size)}
		same := bytes.Repeat([]byte{7}, 12*size)
		written := build(t, m, same, b2nd.WriteOptions{})
		edited := file{b: build(t, m, make([]byte, 12*size), b2nd.WriteOptions{})}
		e, err := b2nd.Edit(t.Context(), &edited, b2nd.EditOptions{})
		if err == nil {
			err = e.WriteSlice(b2nd.Sub([]int64{1, 0}, []int64{4, 3}), same[3*size:])
		}
		if err == nil {
			err = e.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{"written": written, "edited": edited.b} {
			a := open(t, b)
			heads, err := a.Frame().ChunkHeaders(t.Context(), 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			if h := heads[0]; h.Special != blosc.Value || h.CBytes != blosc.HeaderLen2+size {
				t.Errorf("%s, items of %d bytes: %s chunk of %d bytes", name, size, h.Special, h.CBytes)
			}
			if p := slice(t, a, b2nd.Sub([]int64{2, 0}, []int64{4, 3})); !bytes.Equal(p, same[:6*size]) {
				t.Errorf("%s, items of %d bytes: other items", name, size)
			}
		}
	}
}

// Filters that know the shape of a block move whole items, however long.
func TestLongItemsInCells(t *testing.T) {
	for _, size := range []int{255, 256, 300} {
		m := b2nd.Meta{Shape: []int64{9, 10}, ChunkShape: []int{8, 8}, BlockShape: []int{4, 8}, DType: fmt.Sprintf("|V%d", size)}
		items := numbers(90, size)
		a := open(t, build(t, m, items, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Filters: []blosc.Filter{{ID: blosc.NDCell, Meta: 3}}}}))
		heads, err := a.Frame().ChunkHeaders(t.Context(), 0, 1)
		if err != nil || heads[0].Memcpyed || !slices.Contains(heads[0].Filters[:], blosc.Filter{ID: blosc.NDCell, Meta: 3}) {
			t.Fatal(heads, err)
		}
		if p := slice(t, a, b2nd.Whole(m.Shape)); !bytes.Equal(p, items) {
			t.Errorf("items of %d bytes: other items", size)
		}
	}
}

package bloscpack_test

import (
	"bytes"
	"testing"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/rangeio"
)

// TestExactReads: an item costs its own bytes if known entries tell its end: in files
// in order, in files in reverse order, beside items that were never written, on both
// sides of a page's end.
func TestExactReads(t *testing.T) {
	const n = 5000
	items := make([][]byte, n)
	up, down, some := make([]int, 0, n), make([]int, 0, n), make([]int, 0, n)
	for i := range items {
		items[i] = bytes.Repeat([]byte("y"), 900+i%50)
		up = append(up, i)
		down = append(down, n-1-i)
		if i%3 != 1 {
			some = append(some, i)
		}
	}
	for name, order := range map[string][]int{"up": up, "down": down, "some": some} {
		file := byHand(t, bloscpack.CRC32, items, order, 0)
		r := &countReads{Reader: reader(file)}
		f, err := bloscpack.Open(t.Context(), r, bloscpack.Options{Head: 4 << 10, Policy: rangeio.Lean()})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int64{0, 3, 2046, 2048, 3000, 4095, 4096, 4998} {
			if i%3 == 1 && name == "some" {
				continue
			}
			if _, err := f.AppendItem(t.Context(), nil, i); err != nil { // its page of the table is known then
				t.Fatal(err)
			}
			r.reads, r.bytes = 0, 0
			p, err := f.AppendItem(t.Context(), nil, i)
			if err != nil || !bytes.Equal(p, items[i]) {
				t.Fatalf("%s: item %d: %v", name, i, err)
			}
			if r.reads != 1 || r.bytes > int64(len(p)+20)*2 {
				t.Errorf("%s: item %d of %d bytes: %d reads of %d bytes", name, i, len(p), r.reads, r.bytes)
			}
		}
	}
}

package blosc_test

import (
	"bytes"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/formattest"
)

const fuzzLimit = 4 << 20

// seeds adds small chunks of every kind.
func seeds(f *testing.F) {
	f.Helper()
	for _, p := range pitfalls {
		f.Add(unhex(f, p.in))
	}
	for _, x := range fixtures(f) {
		if c := x.data(f); len(c) < 2000 {
			f.Add(c)
		}
	}
}

// FuzzDecode decodes any bytes, in one goroutine and in several: the same bytes
// or an error of a known class.
func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, chunk []byte) {
		o := blosc.DecodeOptions{MaxDecoded: fuzzLimit, TypeSize: 4, BlockShape: []int{4, 5}}
		got, err := o.AppendDecoded(nil, chunk)
		if err != nil && !formattest.Allowed(err) {
			t.Fatalf("error of no known class: %v", err)
		}
		o.Parallel = 3
		par, perr := o.AppendDecoded(nil, chunk)
		if (err == nil) != (perr == nil) || !bytes.Equal(got, par) {
			t.Fatalf("%d bytes, %v; in parallel %d, %v", len(got), err, len(par), perr)
		}
	})
}

// FuzzBlocks decodes any bytes block by block. If that and the decoding of the whole
// chunk both succeed, they give the same bytes. (The whole lets the last stream of a
// block run into the next block, as C does; a block alone ends where the next begins.)
func FuzzBlocks(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, chunk []byte) {
		h, err := blosc.ParseHeader(chunk)
		if err != nil || h.NBytes > fuzzLimit || h.Blocks() > 1000 {
			return
		}
		o := blosc.DecodeOptions{TypeSize: 4, BlockShape: []int{4, 5}}
		got, err := blocks(o, chunk)
		if err != nil {
			return
		}
		if want, err := o.AppendDecoded(nil, chunk); err != nil && !h.VL || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%d bytes by block, %d in all, %v", len(got), len(want), err)
		}
	})
}

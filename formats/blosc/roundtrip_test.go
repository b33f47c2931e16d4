package blosc_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
)

// lossless are the filters that change no value.
var lossless = []blosc.FilterID{blosc.NoFilter, blosc.Shuffle, blosc.BitShuffle, blosc.Delta, blosc.ByteDelta}

func drawOptions(r *rapid.T) blosc.EncodeOptions {
	o := blosc.EncodeOptions{
		Codec:     rapid.SampledFrom([]blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd}).Draw(r, "codec"),
		Level:     rapid.IntRange(-1, 9).Draw(r, "level"),
		TypeSize:  rapid.OneOf(rapid.SampledFrom([]int{1, 2, 4, 8, 16}), rapid.IntRange(1, 300)).Draw(r, "typesize"),
		BlockSize: rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 5000)).Draw(r, "blocksize"),
		Split:     blosc.SplitMode(rapid.IntRange(0, 4).Draw(r, "split")),
		Blosc1:    rapid.Bool().Draw(r, "blosc1"),
		Dict:      rapid.Bool().Draw(r, "dict"),
	}
	if o.Blosc1 {
		o.Filters = rapid.SampledFrom([][]blosc.Filter{nil, {}, {{ID: blosc.Shuffle}}, {{ID: blosc.BitShuffle}}}).Draw(r, "filter")
		return o
	}
	for range rapid.IntRange(-1, 6).Draw(r, "filters") {
		o.Filters = append(o.Filters, blosc.Filter{ID: rapid.SampledFrom(lossless).Draw(r, "filter")})
	}
	return o
}

func drawData(r *rapid.T, ts int) []byte {
	kind := rapid.SampledFrom(dataKinds).Draw(r, "data")
	n := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 40000)).Draw(r, "n")
	return sample(kind, n, ts, rapid.Uint64().Draw(r, "seed"))
}

// TestRoundTrip: encoded data come back, whole, in parallel and block by block. The
// bytes do not depend on the number of goroutines. A chunk is never longer than its
// data and the header.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, roundTrip)
	if n := bufpool.Loans(); n != 0 {
		t.Errorf("%d buffers were not given back", n)
	}
}

func roundTrip(r *rapid.T) {
	o := drawOptions(r)
	src := drawData(r, o.TypeSize)
	chunk, err := blosc.AppendEncoded(nil, src, o)
	if err != nil {
		r.Fatal(err)
	}
	po := o
	po.Parallel = 4
	again, err := blosc.AppendEncoded([]byte("x"), src, po)
	if err != nil || !bytes.Equal(again[1:], chunk) {
		r.Fatalf("in parallel: %d bytes, %d alone, %v", len(again)-1, len(chunk), err)
	}
	room := append(make([]byte, 0, 2*len(src)+1000*o.TypeSize+100000), "before"...)
	again, err = blosc.AppendEncoded(room, src, o)
	if err != nil || !bytes.Equal(again, append([]byte("before"), chunk...)) {
		r.Fatalf("into spare capacity: %d bytes, %d else, %v", len(again), len(chunk), err)
	}
	h, err := blosc.ParseHeader(chunk)
	if err != nil || h.CBytes != len(chunk) || h.NBytes != len(src) || h.Extended == o.Blosc1 || len(chunk) > len(src)+h.Len() {
		r.Fatalf("header %+v of %d bytes for %d, %v", h, len(chunk), len(src), err)
	}
	same(r, chunk, src)
}

// same decodes a chunk in every way.
func same(r *rapid.T, chunk, want []byte) {
	for _, limit := range []int{0, 4} {
		got, err := blosc.DecodeOptions{Parallel: limit}.AppendDecoded(nil, chunk)
		if err != nil || !bytes.Equal(got, want) {
			r.Fatalf("%d goroutines: %d bytes, want %d, %v", limit, len(got), len(want), err)
		}
	}
	got, err := blocks(blosc.DecodeOptions{}, chunk)
	if err != nil || !bytes.Equal(got, want) {
		r.Fatalf("block by block: %d bytes, want %d, %v", len(got), len(want), err)
	}
}

func TestRoundTripVL(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		o := drawOptions(r)
		o.Blosc1 = false
		o.Filters = slices.DeleteFunc(o.Filters, func(f blosc.Filter) bool { return f.ID == blosc.Delta })
		src := append([]byte{1}, drawData(r, o.TypeSize)...)
		var parts [][]byte
		for p := src; len(p) > 0; {
			n := rapid.IntRange(1, len(p)).Draw(r, "part")
			parts = append(parts, p[:n])
			p = p[n:]
		}
		chunk, err := blosc.AppendEncodedVL(nil, parts, o)
		if err != nil {
			r.Fatal(err)
		}
		same(r, chunk, src)
		x, err := blosc.ParseIndex(chunk)
		if err != nil {
			r.Fatal(err)
		}
		for i, p := range parts {
			off, n := x.Block(i)
			if size, err := x.VLBlockLen(chunk[off : off+n]); err != nil || size != len(p) {
				r.Fatalf("block %d has %d bytes, want %d, %v", i, size, len(p), err)
			}
		}
	})
}

func TestSpecial(t *testing.T) {
	for _, c := range []struct {
		kind      blosc.Special
		n, ts, bs int
		value     string
		want      string
	}{
		{blosc.Zeros, 5, 4, 0, "", "\x00\x00\x00\x00\x00"},
		{blosc.Zeros, 0, 1, 0, "", ""},
		{blosc.Uninit, 4, 2, 2, "", "\x00\x00\x00\x00"},
		{blosc.NaN, 8, 4, 4, "", "\x00\x00\xc0\x7f\x00\x00\xc0\x7f"},
		{blosc.NaN, 16, 8, 8, "", "\x00\x00\x00\x00\x00\x00\xf8\x7f\x00\x00\x00\x00\x00\x00\xf8\x7f"},
		{blosc.Value, 9, 3, 2, "xyz", "xyzxyzxyz"}, // blocks that begin inside the value
		{blosc.Value, 10, 1, 4, "ab", "ababababab"},
	} {
		chunk, err := blosc.AppendSpecial([]byte("before"), c.kind, c.n, c.ts, c.bs, []byte(c.value))
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		chunk = chunk[len("before"):]
		got, err := blosc.AppendDecoded(nil, chunk)
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
		checkWays(t, blosc.DecodeOptions{}, chunk, []byte(c.want))
	}
	for _, c := range []struct {
		kind  blosc.Special
		n, ts int
		value string
	}{{blosc.None, 4, 1, ""}, {blosc.NaN, 4, 2, ""}, {blosc.NaN, 6, 4, ""}, {blosc.Value, 7, 3, "xyz"}, {blosc.Value, 2, 3, "xyz"},
		{blosc.Value, 3, 1, ""}, {5, 4, 4, ""}, {blosc.Zeros, -1, 4, ""}, {blosc.Uninit, 3, 2, ""}} {
		if p, err := blosc.AppendSpecial(nil, c.kind, c.n, c.ts, 0, []byte(c.value)); err == nil || len(p) > 0 {
			t.Errorf("%+v: % x, %v", c, p, err)
		}
	}
}

// TestFindsSpecial: a chunk of one repeated item needs no more bytes than the item.
func TestFindsSpecial(t *testing.T) {
	for _, c := range []struct {
		kind string
		ts   int
		want blosc.Special
	}{{"zeros", 4, blosc.Zeros}, {"nan", 4, blosc.NaN}, {"nan", 8, blosc.Value}, {"item", 7, blosc.Value}, {"item", 300, blosc.Value}, {"sine", 4, blosc.None}} {
		src := sample(c.kind, 8400, c.ts, 1)
		for _, o := range []blosc.EncodeOptions{{TypeSize: c.ts}, {TypeSize: c.ts, Codec: blosc.Zstd, Filters: []blosc.Filter{}}} {
			h, err := blosc.ParseHeader(encode(t, src, o))
			if err != nil || h.Special != c.want {
				t.Errorf("%s of %d: %v, %v", c.kind, c.ts, h.Special, err)
			}
		}
		if h, err := blosc.ParseHeader(encode(t, src, blosc.EncodeOptions{TypeSize: c.ts, Level: blosc.LevelStore})); err != nil || !h.Memcpyed {
			t.Errorf("%s stored: %+v, %v", c.kind, h, err)
		}
	}
}

// TestLossy: filters that drop bits give back the bits that are left.
func TestLossy(t *testing.T) {
	src := sample("sine", 4000, 4, 1)
	want := bytes.Clone(src)
	for i := 0; i < len(want); i += 4 {
		want[i] = 0
		want[i+1] &= 0xe0
	}
	for _, f := range []blosc.Filter{{ID: blosc.TruncPrec, Meta: 10}, {ID: blosc.TruncPrec, Meta: 256 - 13}, {ID: blosc.IntTrunc, Meta: 19}} {
		chunk := encode(t, src, blosc.EncodeOptions{TypeSize: 4, Filters: []blosc.Filter{f, {ID: blosc.Shuffle}}, Codec: blosc.Zstd})
		if got, err := blosc.AppendDecoded(nil, chunk); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: other bytes, %v", f, err)
		}
	}
}

// TestNDCell: blocks of 30x50 items of two bytes, in cells of 4x4.
func TestNDCell(t *testing.T) {
	src := sample("few", 30*50*2*4, 2, 1)
	o := blosc.EncodeOptions{TypeSize: 2, BlockSize: 30 * 50 * 2, Filters: []blosc.Filter{{ID: blosc.NDCell, Meta: 4}}, BlockShape: []int{30, 50}, Codec: blosc.Zlib}
	chunk := encode(t, src, o)
	if h, err := blosc.ParseHeader(chunk); err != nil || h.Memcpyed {
		t.Fatalf("%+v, %v", h, err)
	}
	d := blosc.DecodeOptions{BlockShape: []int{30, 50}, TypeSize: 2}
	got, err := d.AppendDecoded(nil, chunk)
	if err != nil || !bytes.Equal(got, src) {
		t.Fatalf("other bytes, %v", err)
	}
	checkWays(t, d, chunk, src)
	if _, err := blosc.AppendDecoded(nil, chunk); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("without a shape: %v", err)
	}
	d.BlockShape = []int{40, 50}
	if _, err := d.AppendDecoded(nil, chunk); !errors.Is(err, formats.ErrCorrupt) {
		t.Errorf("with another shape: %v", err)
	}
	o.BlockShape = nil
	if _, err := blosc.AppendEncoded(nil, src, o); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("encoding without a shape: %v", err)
	}
}

// c-blosc2 neither makes nor reads blocks of fewer items than a cell: with one
// of 3x6 items it takes cells of 4x4, with one of 3x5 it fails.
func TestNDCellSmallBlocks(t *testing.T) {
	for _, x := range []struct {
		shape []int
		cell  uint8
		ok    bool
	}{
		{[]int{3, 6}, 4, true}, {[]int{3, 5}, 4, false}, {[]int{200}, 200, true}, {[]int{199}, 200, false}, {[]int{1, 3, 8, 8}, 4, false},
		{[]int{4, 4}, 0, false}, {[]int{0, 4}, 1, false}, {[]int{1 << 40, 1 << 40}, 2, false}, {[]int{2, 2, 2, 2, 2, 2, 2, 2}, 255, false},
	} {
		n := 1
		for _, k := range x.shape {
			n *= min(k, 1000)
		}
		src := sample("few", n*4, 4, 1)
		_, err := blosc.AppendEncoded(nil, src, blosc.EncodeOptions{TypeSize: 4, BlockSize: n * 4, Filters: []blosc.Filter{{ID: blosc.NDCell, Meta: x.cell}}, BlockShape: x.shape})
		if (err == nil) != x.ok || err != nil && !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%v in cells of %d: %v", x.shape, x.cell, err)
		}
	}
}

// FuzzRoundTrip encodes with options and data that the fuzzer draws.
func FuzzRoundTrip(f *testing.F) { f.Fuzz(rapid.MakeFuzz(roundTrip)) }

// TestDict: small blocks of text gain by a dictionary, and each block can be decoded
// alone with it.
func TestDict(t *testing.T) {
	var src []byte
	for i := range uint64(3000) {
		words := []string{"temperature", "pressure", "humidity", "altitude", "latitude", "longitude"}
		src = fmt.Appendf(src, "%s of station %d, ", words[i*i%6], i*i%97)
	}
	for _, c := range []blosc.Codec{blosc.LZ4, blosc.LZ4HC, blosc.Zstd} {
		o := blosc.EncodeOptions{Codec: c, BlockSize: 500, Filters: []blosc.Filter{}}
		plain := encode(t, src, o)
		o.Dict = true
		chunk := encode(t, src, o)
		h, err := blosc.ParseHeader(chunk)
		if err != nil || !h.Dict || len(chunk) > len(plain)*9/10 {
			t.Errorf("%s: %d bytes, %d without, %v", c, len(chunk), len(plain), err)
		}
		if got, err := blosc.AppendDecoded(nil, chunk); err != nil || !bytes.Equal(got, src) {
			t.Errorf("%s: other bytes, %v", c, err)
		}
		checkWays(t, blosc.DecodeOptions{}, chunk, src)
	}
	o := blosc.EncodeOptions{Codec: blosc.Zlib, BlockSize: 500, Filters: []blosc.Filter{}}
	plain := encode(t, src, o)
	o.Dict = true
	if !bytes.Equal(encode(t, src, o), plain) {
		t.Error("zlib knows no dictionary")
	}
}

package blosc_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// TestDecodeMisuse: arguments are checked against the chunk, and memory beyond the
// decoded length is left alone.
func TestDecodeMisuse(t *testing.T) {
	src := sample("text", 1000, 1, 1)
	chunk := encode(t, src, blosc.EncodeOptions{BlockSize: 300, Codec: blosc.Zlib, Filters: []blosc.Filter{{ID: blosc.Delta}}})
	dst := []byte(strings.Repeat("#", 1100))
	if n, err := blosc.DecodeInto(dst, chunk); n != 1000 || err != nil || string(dst[1000:]) != strings.Repeat("#", 100) {
		t.Errorf("%d, %v, % x", n, err, dst[1000:])
	}
	if _, err := blosc.DecodeInto(dst[:999], chunk); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("buffer too small: %v", err)
	}
	x, err := blosc.ParseIndex(chunk)
	if err != nil || len(x.Starts()) != 4 || !x.NeedsFirst() || x.BlockLen(3) != 100 {
		t.Fatalf("%v, %v, %v", x.Starts(), x.NeedsFirst(), err)
	}
	off, n := x.Block(1)
	good := chunk[off : off+n]
	for _, c := range []struct {
		name             string
		i, dst           int
		src, first, dict []byte
		want             error
	}{
		{"good", 1, 300, good, src[:300], nil, nil},
		{"no block", 4, 300, good, src[:300], nil, formats.ErrNoEntry},
		{"negative", -1, 300, good, src[:300], nil, formats.ErrNoEntry},
		{"short source", 1, 300, good[:n-1], src[:300], nil, formats.ErrCorrupt},
		{"short buffer", 1, 299, good, src[:300], nil, formats.ErrCorrupt},
		{"no first block", 1, 300, good, nil, nil, formats.ErrCorrupt},
		{"a dictionary", 1, 300, good, src[:300], src[:300], formats.ErrCorrupt},
	} {
		out := make([]byte, c.dst)
		err := blosc.DecodeOptions{}.DecodeBlock(out, x, c.i, c.src, c.first, c.dict)
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want == nil && string(out) != string(src[300:600]) {
			t.Errorf("%s: other bytes", c.name)
		}
	}
	for _, n := range []int{0, 16, 32, 47} {
		if _, err := blosc.ParseIndex(chunk[:n]); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("index of %d bytes: %v", n, err)
		}
	}
}

// TestEncodeMisuse: options from which no chunk can be made are refused, and dst is as
// before.
func TestEncodeMisuse(t *testing.T) {
	src := sample("few", 4000, 1, 1)
	delta := []blosc.Filter{{ID: blosc.Delta}}
	for _, o := range []blosc.EncodeOptions{
		{Codec: blosc.Snappy}, {Codec: 33}, {Level: 10}, {Level: -2}, {TypeSize: -1}, {BlockSize: -1}, {BlockSize: blosc.MaxBlockSize + 1},
		{Filters: slices.Repeat(delta, 7)}, {Filters: []blosc.Filter{{ID: 99}}}, {Filters: []blosc.Filter{{ID: blosc.NDMean}}},
		{Filters: []blosc.Filter{{ID: blosc.ByteDeltaBuggy}}}, {Blosc1: true, Filters: delta},
		{Blosc1: true, TypeSize: 2, Filters: []blosc.Filter{{ID: blosc.Shuffle}, {ID: blosc.BitShuffle}}},
		{Blosc1: true, TypeSize: 4, Filters: []blosc.Filter{{ID: blosc.Shuffle, Meta: 2}}},
		{TypeSize: 3, Filters: []blosc.Filter{{ID: blosc.TruncPrec, Meta: 10}}}, {TypeSize: 4, Filters: []blosc.Filter{{ID: blosc.TruncPrec, Meta: 24}}},
	} {
		for _, limit := range []int{1, 3} {
			o.Parallel = limit
			got, err := blosc.AppendEncoded([]byte("before"), src, o)
			if !errors.Is(err, formats.ErrUnsupported) || string(got) != "before" {
				t.Errorf("%+v: %d bytes, %v", o, len(got), err)
			}
		}
	}
	for name, c := range map[string]struct {
		blocks [][]byte
		o      blosc.EncodeOptions
	}{
		"none": {}, "empty block": {blocks: [][]byte{src, {}}}, "blosc1": {[][]byte{src}, blosc.EncodeOptions{Blosc1: true}},
		"delta": {[][]byte{src}, blosc.EncodeOptions{Filters: delta}}, "codec": {[][]byte{src}, blosc.EncodeOptions{Codec: 7}},
		"filter": {[][]byte{src, src}, blosc.EncodeOptions{TypeSize: 3, Filters: []blosc.Filter{{ID: blosc.TruncPrec}}}},
	} {
		if got, err := blosc.AppendEncodedVL([]byte("before"), c.blocks, c.o); !errors.Is(err, formats.ErrUnsupported) || string(got) != "before" {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestNames(t *testing.T) {
	var b strings.Builder
	for _, c := range []blosc.Codec{0, 1, 2, 3, 4, 5, 6, 32, 40, 41} {
		fmt.Fprintf(&b, "%s,", c)
	}
	for _, f := range []blosc.FilterID{0, 1, 2, 3, 4, 32, 33, 34, 35, 36, 37} {
		fmt.Fprintf(&b, "%s,", f)
	}
	for s := range blosc.Special(6) {
		fmt.Fprintf(&b, "%s,", s)
	}
	const want = "blosclz,lz4,lz4hc,snappy,zlib,zstd,codec 6,ndlz,htj2k,codec 41," +
		"nofilter,shuffle,bitshuffle,delta,trunc_prec,ndcell,ndmean,bytedelta_buggy,bytedelta,int_trunc,filter 37," +
		"none,zeros,nan,value,uninit,special 5,"
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}

// TestDecodeParsed: a header that was parsed before gives what DecodeInto gives, and one
// of another chunk an error or other bytes.
func TestDecodeParsed(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 2000)
	var chunks [][]byte
	for _, n := range []int{0, 1, 40, 5000, len(data)} {
		for _, o := range []blosc.EncodeOptions{{Codec: blosc.LZ4, TypeSize: 4, BlockSize: 4096}, {Codec: blosc.Zstd, TypeSize: 1}, {Level: blosc.LevelStore}} {
			chunk, err := blosc.AppendEncoded(nil, data[:n], o)
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, chunk)
		}
	}
	dst := make([]byte, len(data))
	for i, c := range chunks {
		h, err := blosc.ParseHeader(c)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := (blosc.DecodeOptions{}).DecodeParsed(dst, c, &h); err != nil || !bytes.Equal(dst[:n], data[:h.NBytes]) {
			t.Errorf("chunk %d: %d bytes, %v", i, n, err)
		}
		if _, err := (blosc.DecodeOptions{}).DecodeParsed(dst, c[:len(c)-1], &h); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("chunk %d, cut: %v", i, err)
		}
		if h.NBytes > 0 {
			if _, err := (blosc.DecodeOptions{}).DecodeParsed(dst[:h.NBytes-1], c, &h); !errors.Is(err, formats.ErrTooLarge) {
				t.Errorf("chunk %d, into too little: %v", i, err)
			}
		}
		for _, other := range chunks {
			n, err := (blosc.DecodeOptions{}).DecodeParsed(dst, other, &h)
			if err == nil && n != h.NBytes {
				t.Errorf("chunk %d: %d bytes of another", i, n)
			}
		}
	}
}

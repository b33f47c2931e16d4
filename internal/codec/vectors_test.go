package codec_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/farread/farread/internal/codec"
)

// unhex reads hex digits with blanks between them.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestStreams decodes streams made by hand, each for one rule. C decides alike on the
// streams that the notes on the formats list.
func TestStreams(t *testing.T) {
	t.Parallel()
	dict := strings.Repeat("hello world, hello blosc ", 12)
	// 8320 literals that are far behind, as runs of 32.
	var far []byte
	var farText []byte
	for i := range 260 {
		far = append(far, 0x1f)
		for j := range 32 {
			far = append(far, byte(7*i+j))
		}
	}
	far[0] |= 0x20
	for i := range far {
		if i%33 != 0 {
			farText = append(farText, far[i])
		}
	}
	at := len(farText) - 8197
	farText = append(append(farText, farText[at:at+3]...), 'Q')

	tests := map[string]struct {
		id   codec.ID
		src  []byte
		dict string
		want string
		bad  bool // want only gives the size
	}{
		"blosclz, marker in the first byte":  {id: codec.BloscLZ, src: unhex(t, "23 61626364 2003 005a"), want: "abcdabcZ"},
		"blosclz, first byte without marker": {id: codec.BloscLZ, src: unhex(t, "03 61626364 2003 005a"), want: "abcdabcZ"},
		"blosclz, first byte with any upper": {id: codec.BloscLZ, src: unhex(t, "e3 61626364 2003 005a"), want: "abcdabcZ"},
		"blosclz, overlap and longer length": {id: codec.BloscLZ, src: unhex(t, "23 61626361 e00500 005a"), want: "abca" + strings.Repeat("a", 14) + "Z"},
		"blosclz, two length bytes":          {id: codec.BloscLZ, src: unhex(t, "20 61 e0ff0100 005a"), want: strings.Repeat("a", 1+9+256) + "Z"},
		"blosclz, far match":                 {id: codec.BloscLZ, src: append(far[:len(far):len(far)], unhex(t, "3fff0005 0051")...), want: string(farText)},
		"blosclz, ends with a match":         {id: codec.BloscLZ, src: unhex(t, "23 61626364 4003"), want: "abcdabcd", bad: true},
		"blosclz, nothing":                   {id: codec.BloscLZ, src: nil, want: "", bad: true},
		"blosclz, no literals":               {id: codec.BloscLZ, src: unhex(t, "20"), want: "", bad: true},
		"blosclz, literals cut":              {id: codec.BloscLZ, src: unhex(t, "23 616263"), want: "abcd", bad: true},
		"blosclz, before the start":          {id: codec.BloscLZ, src: unhex(t, "23 61626364 2004 005a"), want: "abcdabcZ", bad: true},
		"blosclz, length bytes cut":          {id: codec.BloscLZ, src: unhex(t, "20 61 e0ff"), want: strings.Repeat("a", 300), bad: true},
		"blosclz, distance cut":              {id: codec.BloscLZ, src: unhex(t, "20 61 20"), want: "aaaa", bad: true},
		"blosclz, far distance cut":          {id: codec.BloscLZ, src: append(far[:len(far):len(far)], unhex(t, "3fff00")...), want: string(farText), bad: true},
		"blosclz, too long":                  {id: codec.BloscLZ, src: unhex(t, "23 61626364 2003 005a"), want: "abcdabc", bad: true},
		"blosclz, literals too long":         {id: codec.BloscLZ, src: append([]byte{0x3f}, make([]byte, 64)...), want: "0", bad: true},
		"blosclz, too short":                 {id: codec.BloscLZ, src: unhex(t, "23 61626364 2003 005a"), want: "abcdabcZZ", bad: true},

		"lz4, dictionary":             {id: codec.LZ4, src: unhex(t, "0f 2c01 01 50 5a5a5a5a5a"), dict: dict, want: dict[:20] + "ZZZZZ"},
		"lz4, dictionary missing":     {id: codec.LZ4, src: unhex(t, "0f 2c01 01 50 5a5a5a5a5a"), want: dict[:20] + "ZZZZZ", bad: true},
		"lz4hc, literals":             {id: codec.LZ4HC, src: unhex(t, "30 616263"), want: "abc"},
		"lz4, literals cut":           {id: codec.LZ4, src: unhex(t, "30 6162"), want: "abc", bad: true},
		"lz4, distance 0":             {id: codec.LZ4, src: unhex(t, "10 61 0000 50 5a5a5a5a5a"), want: "aaaaaZZZZZ", bad: true},
		"lz4, before the start":       {id: codec.LZ4, src: unhex(t, "10 61 0200 50 5a5a5a5a5a"), want: "aaaaaZZZZZ", bad: true},
		"lz4, nothing from nothing":   {id: codec.LZ4, src: nil, want: "", bad: true},
		"lz4, something from nothing": {id: codec.LZ4, src: nil, want: "a", bad: true},

		"snappy, literals": {id: codec.Snappy, src: unhex(t, "03 08 616263"), want: "abc"},
		"snappy, copy":     {id: codec.Snappy, src: unhex(t, "08 0c 61626364 01 04"), want: "abcdabcd"},
		"snappy, bomb":     {id: codec.Snappy, src: unhex(t, "ffffffff0f 08 616263"), want: "abc", bad: true},
		"snappy, short":    {id: codec.Snappy, src: unhex(t, "04 08 616263"), want: "abcd", bad: true},

		"zlib, stored":            {id: codec.Zlib, src: unhex(t, "7801 010300fcff 616263 024d0127"), want: "abc"},
		"zlib, junk behind":       {id: codec.Zlib, src: unhex(t, "7801 010300fcff 616263 024d0127 ffffff"), want: "abc"},
		"zlib, wrong checksum":    {id: codec.Zlib, src: unhex(t, "7801 010300fcff 616263 024d0128"), want: "abc", bad: true},
		"zlib, one byte short":    {id: codec.Zlib, src: unhex(t, "7801 010300fcff 616263 024d0127"), want: "abcd", bad: true},
		"zlib, one byte long":     {id: codec.Zlib, src: unhex(t, "7801 010300fcff 616263 024d0127"), want: "ab", bad: true},
		"zlib, preset dictionary": {id: codec.Zlib, src: unhex(t, "7820 024d0127 010300fcff 616263 024d0127"), want: "abc", bad: true},
		"zlib, endless blocks":    {id: codec.Zlib, src: unhex(t, "7801 02"), want: "abc", bad: true},
		"zlib, wrong complement":  {id: codec.Zlib, src: unhex(t, "7801 010300fcfe 616263 024d0127"), want: "abc", bad: true},

		"zstd, raw block":       {id: codec.Zstd, src: unhex(t, "28b52ffd 20 03 190000 616263"), want: "abc"},
		"zstd, run":             {id: codec.Zstd, src: unhex(t, "28b52ffd 20 14 a30000 61"), want: strings.Repeat("a", 20)},
		"zstd, two frames":      {id: codec.Zstd, src: unhex(t, "28b52ffd 20 03 190000 616263 28b52ffd 20 01 090000 64"), want: "abcd"},
		"zstd, no content size": {id: codec.Zstd, src: unhex(t, "28b52ffd 00 00 190000 616263"), want: "abc"},
		"zstd, skipped frame":   {id: codec.Zstd, src: unhex(t, "502a4d18 02000000 ffff 28b52ffd 20 03 190000 616263"), want: "abc"},
		"zstd, junk behind":     {id: codec.Zstd, src: unhex(t, "28b52ffd 20 03 190000 616263 00"), want: "abc", bad: true},
		"zstd, 4 bytes of junk": {id: codec.Zstd, src: unhex(t, "28b52ffd 20 03 190000 616263 00000000"), want: "abc", bad: true},
		"zstd, size too large":  {id: codec.Zstd, src: unhex(t, "28b52ffd a0 00000080 190000 616263"), want: "abc", bad: true},
		"zstd, block cut":       {id: codec.Zstd, src: unhex(t, "28b52ffd 20 03 190000 6162"), want: "abc", bad: true},
		"zstd, block missing":   {id: codec.Zstd, src: unhex(t, "28b52ffd 20 03"), want: "abc", bad: true},
		"zstd, unknown dict":    {id: codec.Zstd, src: unhex(t, "28b52ffd 21 07 03 190000 616263"), want: "abc", bad: true},
		"zstd, nothing":         {id: codec.Zstd, src: nil, want: "a", bad: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dec codec.Decoder
			for _, spare := range []int{0, 1, codec.Slack, 50} {
				buf := bytes.Repeat([]byte{0xa5}, len(tt.want)+spare+40)
				err := dec.Decode(tt.id, buf[:len(tt.want):len(tt.want)+spare], tt.src, []byte(tt.dict))
				switch {
				case tt.bad && !errors.Is(err, codec.ErrCorrupt):
					t.Errorf("%d spare: error %v, want ErrCorrupt", spare, err)
				case !tt.bad && err != nil:
					t.Errorf("%d spare: %v", spare, err)
				case !tt.bad && string(buf[:len(tt.want)]) != tt.want:
					t.Errorf("%d spare: got %q, want %q", spare, buf[:len(tt.want)], tt.want)
				}
				if !bytes.Equal(buf[len(tt.want)+spare:], bytes.Repeat([]byte{0xa5}, 40)) {
					t.Errorf("%d spare: written behind the capacity", spare)
				}
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	var dec codec.Decoder
	var enc codec.Encoder
	p := []byte("bytes")
	for _, id := range []codec.ID{6, 7, 32, 255} {
		if err := dec.Decode(id, make([]byte, 5), p, nil); !errors.Is(err, codec.ErrUnsupported) {
			t.Errorf("decoding %v: %v", id, err)
		}
		if _, err := enc.Encode(id, 5, make([]byte, 99), p, nil); !errors.Is(err, codec.ErrUnsupported) {
			t.Errorf("encoding %v: %v", id, err)
		}
	}
	if _, err := enc.Encode(codec.Snappy, 5, make([]byte, 99), p, nil); !errors.Is(err, codec.ErrUnsupported) {
		t.Errorf("encoding Snappy: %v", err)
	}
	for _, id := range []codec.ID{codec.BloscLZ, codec.Zlib, codec.Snappy} {
		if err := dec.Decode(id, make([]byte, 5), p, p); !errors.Is(err, codec.ErrUnsupported) {
			t.Errorf("decoding %v with a dictionary: %v", id, err)
		}
		if _, err := enc.Encode(id, 5, make([]byte, 99), p, p); !errors.Is(err, codec.ErrUnsupported) {
			t.Errorf("encoding %v with a dictionary: %v", id, err)
		}
	}
}

// TestFull: if the destination is too small, an encoder returns 0 and writes no byte
// behind it.
func TestFull(t *testing.T) {
	t.Parallel()
	var enc codec.Encoder
	var dec codec.Decoder
	for _, id := range written {
		for name, class := range classes {
			src := class(2000, 5)
			for _, dict := range dicts(id) {
				whole := roomy(len(src))
				want, err := enc.Encode(id, 5, whole, src, dict)
				if err != nil || want == 0 {
					t.Fatal(id, name, want, err)
				}
				for _, room := range []int{0, 1, 2, 3, 5, 9, 16, want / 2, want - 1, want, want + 1, want + 20} {
					if room < 0 {
						continue
					}
					buf := bytes.Repeat([]byte{0xa5}, room+40)
					n, err := enc.Encode(id, 5, buf[:room], src, dict)
					if err != nil || n > room {
						t.Fatalf("%v, %s into %d bytes: %d, %v", id, name, room, n, err)
					}
					if !bytes.Equal(buf[room:], bytes.Repeat([]byte{0xa5}, 40)) {
						t.Fatalf("%v, %s into %d bytes: written behind", id, name, room)
					}
					if n == 0 {
						if room > want+16 {
							t.Fatalf("%v, %s: %d bytes do not fit into %d", id, name, want, room)
						}
						continue
					}
					got := make([]byte, len(src))
					if err := dec.Decode(id, got, buf[:n], dict); err != nil || !bytes.Equal(got, src) {
						t.Fatalf("%v, %s into %d bytes: decodes wrongly: %v", id, name, room, err)
					}
				}
			}
		}
	}
}

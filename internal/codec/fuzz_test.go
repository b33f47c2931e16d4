package codec_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/internal/codec"
)

// FuzzDecode gives streams of any bytes to every codec: the result is the
// whole content or an error of the package, and nothing behind the capacity is
// touched.
func FuzzDecode(f *testing.F) {
	var enc codec.Encoder
	for _, id := range written {
		for _, name := range slices.Sorted(maps.Keys(classes)) {
			for _, dict := range dicts(id) {
				src := classes[name](300, 9)
				out := roomy(len(src))
				n, err := enc.Encode(id, 5, out, src, dict)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(uint8(id), out[:n], dict, uint16(len(src)), uint8(16))
			}
		}
	}
	f.Add(uint8(codec.Snappy), []byte("\x08\x0cabcd\x01\x04"), []byte(nil), uint16(8), uint8(0))
	var dec codec.Decoder // state that one stream leaves must not harm the next
	f.Fuzz(func(t *testing.T, id uint8, src, dict []byte, size uint16, spare uint8) {
		n, c := int(size), int(size)+int(spare%64)
		var first []byte
		for _, fill := range []byte{0xa5, 0x5a} {
			buf := bytes.Repeat([]byte{fill}, c+32)
			err := dec.Decode(codec.ID(id), buf[:n:c], src, dict)
			if !bytes.Equal(buf[c:], bytes.Repeat([]byte{fill}, 32)) {
				t.Fatal("written behind the capacity")
			}
			if err != nil {
				if !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrUnsupported) {
					t.Fatalf("another error: %v", err)
				}
				return
			}
			// If the result does not depend on the earlier content of the buffer,
			// every byte was written.
			if first != nil && !bytes.Equal(first, buf[:n]) {
				t.Fatal("the result depends on what was in the destination")
			}
			first = buf[:n]
		}
	})
}

// FuzzRoundTrip encodes any bytes with every codec and decodes them.
func FuzzRoundTrip(f *testing.F) {
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		f.Add(classes[name](500, 4), []byte("a dictionary of words"), uint8(5))
	}
	var enc codec.Encoder
	var dec codec.Decoder
	f.Fuzz(func(t *testing.T, src, dict []byte, level uint8) {
		if len(dict) >= 4 && bytes.HasPrefix(dict, []byte{0x37, 0xa4, 0x30, 0xec}) {
			dict = dict[1:] // a damaged trained one is rightly refused
		}
		for _, id := range written {
			d := dict
			l := int(level % 11)
			switch id {
			case codec.BloscLZ:
				d = nil
			case codec.Zlib, codec.Zstd: // another level or dictionary is a new encoder, which is slow to set up
				d, l = nil, 1
			default:
			}
			roundTrip(t, &enc, &dec, id, l, src, d)
		}
	})
}

// TestRoundTripDrawn mixes pieces of the classes, of any sizes, in one block.
func TestRoundTripDrawn(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(classes))
	var enc codec.Encoder
	var dec codec.Decoder
	rapid.Check(t, func(t *rapid.T) {
		var src []byte
		for range rapid.IntRange(0, 5).Draw(t, "pieces") {
			name := rapid.SampledFrom(names).Draw(t, "class")
			n := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, 20_000)).Draw(t, "bytes")
			src = append(src, classes[name](n, rapid.Uint64().Draw(t, "seed"))...)
		}
		id := rapid.SampledFrom(written).Draw(t, "codec")
		var dict []byte
		if id != codec.Zlib && id != codec.BloscLZ && rapid.Bool().Draw(t, "with dictionary") {
			dict = classes[rapid.SampledFrom(names).Draw(t, "dictionary")](rapid.IntRange(0, 70_000).Draw(t, "its size"), 1)
		}
		roundTrip(t, &enc, &dec, id, rapid.IntRange(1, 9).Draw(t, "level"), src, dict)
	})
}

// TestDamaged cuts and changes real streams at every place.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for _, id := range written {
		t.Run("codec="+id.String(), func(t *testing.T) {
			t.Parallel()
			var enc codec.Encoder
			var dec codec.Decoder
			for name, class := range classes {
				src := class(700, 8)
				stream := roomy(len(src))
				n, err := enc.Encode(id, 5, stream, src, nil)
				if err != nil || n == 0 {
					t.Fatal(n, err)
				}
				stream = stream[:n]
				dst := make([]byte, len(src), len(src)+codec.Slack)
				for i := range n {
					if err := dec.Decode(id, dst, stream[:i], nil); !errors.Is(err, codec.ErrCorrupt) {
						t.Fatalf("%s cut to %d of %d bytes: %v", name, i, n, err)
					}
					bad := bytes.Clone(stream)
					for _, x := range []byte{1, 0x80, 0xff} {
						bad[i] = stream[i] ^ x
						if err := dec.Decode(id, dst, bad, nil); err != nil && !errors.Is(err, codec.ErrCorrupt) {
							t.Fatalf("%s with byte %d changed: %v", name, i, err)
						}
					}
				}
			}
		})
	}
}

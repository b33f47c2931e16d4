//go:build !race

// Under the race detector sync.Pool drops buffers on purpose.

package blosc_test

import (
	"testing"

	"github.com/farread/farread/formats/blosc"
)

// TestAllocs: decoding into the caller's memory allocates nothing once the
// pools are warm, whole or by block.
func TestAllocs(t *testing.T) {
	filters := map[string][]blosc.Filter{
		"none": {}, "shuffle": nil, "bitshuffle": {{ID: blosc.BitShuffle}}, "delta": {{ID: blosc.Delta}, {ID: blosc.Shuffle}},
		"bytedelta": {{ID: blosc.Shuffle}, {ID: blosc.ByteDelta}}, "twice": {{ID: blosc.Shuffle}, {ID: blosc.BitShuffle}},
	}
	src := sample("sine", 200000, 4, 1)
	for _, c := range []blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd} {
		for name, f := range filters {
			t.Run(c.String()+"/"+name, func(t *testing.T) {
				chunk := encode(t, src, blosc.EncodeOptions{Codec: c, TypeSize: 4, Filters: f, BlockSize: 32 << 10})
				dst := make([]byte, len(src))
				n := testing.AllocsPerRun(20, func() {
					if _, err := blosc.DecodeInto(dst, chunk); err != nil {
						t.Fatal(err)
					}
				})
				// The collector may empty the pools in between.
				if n >= 1 {
					t.Errorf("%.1f allocations in decoding a chunk", n)
				}
				x, err := blosc.ParseIndex(chunk)
				if err != nil {
					t.Fatal(err)
				}
				off, size := x.Block(0)
				first := make([]byte, x.BlockLen(0))
				n = testing.AllocsPerRun(20, func() {
					if err := (blosc.DecodeOptions{}).DecodeBlock(first, x, 0, chunk[off:off+size], nil, nil); err != nil {
						t.Fatal(err)
					}
				})
				if n >= 1 {
					t.Errorf("%.1f allocations in decoding a block", n)
				}
			})
		}
	}
}

// TestAllocsEncode: encoding a chunk of one block into a dst with enough room
// allocates nothing, for every kind of chunk.
func TestAllocsEncode(t *testing.T) {
	for name, src := range map[string][]byte{
		"short": sample("text", 60, 1, 1), "text": sample("text", 248, 1, 1), "sine": sample("sine", 4000, 4, 1), "noise": sample("random", 248, 1, 1),
	} {
		for _, c := range []blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd} {
			for _, o := range []blosc.EncodeOptions{{Codec: c, Blosc1: true}, {Codec: c, TypeSize: 4, Blosc1: true}, {Codec: c, TypeSize: 4}, {Codec: c, Level: blosc.LevelStore}} {
				dst := make([]byte, 0, 2*len(src)+512)
				n := testing.AllocsPerRun(50, func() {
					if _, err := blosc.AppendEncoded(dst, src, o); err != nil {
						t.Fatal(err)
					}
				})
				if n >= 1 {
					t.Errorf("%s, %s, %+v: %.1f allocations", name, c, o, n)
				}
			}
		}
	}
}

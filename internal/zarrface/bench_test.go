package zarrface_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/zarrface"
)

// pictures are 4 MiB of smooth uint16 in one chunk, whose high bytes have runs.
func pictures(t tester, codec blosc.Codec) *b2nd.Array {
	t.Helper()
	p := make([]byte, 4<<20)
	for i := range len(p) / 2 {
		v := uint16(900 + 300*math.Sin(float64(i)/700) + float64(i*7919%13))
		p[2*i], p[2*i+1] = byte(v), byte(v>>8)
	}
	m := b2nd.Meta{Shape: []int64{8, 512, 512}, ChunkShape: []int{8, 512, 512}, BlockShape: []int{1, 128, 512}, DType: "<u2"}
	return newArray(t, m, p, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: codec, Level: 1}})
}

func BenchmarkEncode(b *testing.B) {
	for _, codec := range []blosc.Codec{blosc.LZ4, blosc.Zstd} {
		for name, o := range map[string]zarrface.Options{"pass": {}, "raw": {Codec: zarrface.Raw}, "zstd": {Codec: zarrface.Zstd}, "float32": {Cast: "float32"}} {
			b.Run(fmt.Sprintf("stored=%s/way=%s", codec, name), func(b *testing.B) {
				v := view(b, pictures(b, codec), o)
				c, stored, _ := storedChunk(b, pictures(b, codec), v)
				if passes := zarrface.Passes(v, c, stored); passes != (name == "pass") {
					b.Fatal("passes", passes)
				}
				var dst []byte
				b.SetBytes(4 << 20)
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if dst, err = v.Encode(dst[:0], c, stored); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("stored=%s/way=anew", codec), func(b *testing.B) {
			a := pictures(b, codec)
			v := view(b, a, zarrface.Options{})
			c, _, _ := storedChunk(b, a, v)
			items := readBox(b, a, c.Box)
			var dst []byte
			b.SetBytes(4 << 20)
			for b.Loop() {
				var err error
				if dst, err = v.EncodeItems(dst[:0], c, items); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestConcurrent: one view answers many at a time.
func TestConcurrent(t *testing.T) {
	for _, o := range []zarrface.Options{{}, {Codec: zarrface.Zstd}, {Codec: zarrface.Gzip}} {
		a := passCase{codec: blosc.Zstd, filters: passFilters["shuffle"], item: 8, block: 512, split: blosc.SplitAlways}
		array := a.array(t, a.data(rand.New(rand.NewPCG(8, 9)), 2))
		v := view(t, array, o)
		c, stored, _ := storedChunk(t, array, v)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := v.Encode(nil, c, stored); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		checkChunk(t, "after many", array, v, o.Codec, c, stored)
		if v.HeldBytes() < int64(len(v.Doc())) {
			t.Error(v.HeldBytes())
		}
	}
}

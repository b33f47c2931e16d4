package bloscpack

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/blosc"
)

// records are JSON objects of about n bytes each, as services log them.
func records(count, n int) [][]byte {
	r := rand.New(rand.NewPCG(uint64(count), uint64(n)))
	words := strings.Fields("lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua enim")
	out := make([][]byte, count)
	for i := range out {
		b := fmt.Appendf(nil, `{"id":%d`, 1000+r.IntN(9000))
		if n >= 50 {
			b = fmt.Appendf(b, `,"user":"u%05d","ms":%.2f`, r.IntN(50_000), r.Float64()*900)
		}
		if n >= 200 {
			b = fmt.Appendf(b, `,"time":"2026-11-%02dT%02d:%02d:%02dZ","ip":"10.%d.%d.%d","status":%d,"text":"`, 1+r.IntN(30), r.IntN(24), r.IntN(60),
				r.IntN(60), r.IntN(256), r.IntN(256), r.IntN(256), []int{200, 200, 200, 404, 500}[r.IntN(5)])
			for len(b) < n-3 {
				b = append(append(b, words[r.IntN(len(words))]...), ' ')
			}
			b = append(b, '"')
		}
		out[i] = append(b, '}')
	}
	return out
}

// TestOverhead: an item costs 8 bytes of table, 16 of chunk and the digest, and never
// more; less if it compresses. The log is the table of docs/formats/bloscpack.md.
func TestOverhead(t *testing.T) {
	t.Parallel()
	codecs := []blosc.EncodeOptions{{Level: blosc.LevelStore}, {Codec: blosc.BloscLZ}, {Codec: blosc.LZ4}, {Codec: blosc.LZ4HC, Level: 9},
		{Codec: blosc.Zlib}, {Codec: blosc.Zstd}, {Codec: blosc.Zstd, Level: 9}}
	if racetest.On {
		codecs = codecs[:4]
	}
	for _, n := range []int{10, 50, 200, 1000, 10_000} {
		items := records(racetest.Share(500_000, 10)/(n+90), n)
		count := int64(len(items))
		text := append(bytes.Join(items, []byte("\n")), '\n')
		each := func(size int64) float64 { return float64(size) / float64(count) }
		row := fmt.Sprintf("%8.0f | %6.1f | %6.1f", each(int64(len(text)))-1, each(int64(len(text))), each(gzipped(t, text)))
		for sum := None; sum.Valid(); sum++ {
			size := packed(t, items, WriteOptions{Checksum: sum, NoChecksum: sum == None, Encode: codecs[0]})
			if want := HeaderLen + count*int64(entryLen+blosc.HeaderLen1+sum.Size()-1) + int64(len(text)); size != want {
				t.Errorf("items of %d bytes, %s: %d bytes, want %d", n, sum, size, want)
			}
		}
		most := packed(t, items, WriteOptions{Encode: codecs[0]})
		for _, e := range codecs {
			size := packed(t, items, WriteOptions{Encode: e})
			if size > most {
				t.Errorf("items of %d bytes, %s: %d bytes, stored %d", n, e.Codec, size, most)
			}
			row += fmt.Sprintf(" | %7.1f", each(size))
		}
		var s sink
		pack(t, &s, WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.Zstd}}, [][]byte{text}, nil)
		t.Logf("%s | %6.1f", row, each(int64(len(s.b))))
	}
}

func packed(t *testing.T, items [][]byte, o WriteOptions) int64 {
	t.Helper()
	o.Variable = true
	var s sink
	pack(t, &s, o, items, nil)
	return int64(len(s.b))
}

func gzipped(t *testing.T, p []byte) int64 {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return int64(b.Len())
}

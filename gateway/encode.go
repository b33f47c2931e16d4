package gateway

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	leastCoded  = 1 << 10 // shorter answers fit into a packet as they are
	codecMemory = 2 << 20 // of one encoder
	gzipLevel   = 5       // levels below 4 find nothing in short texts of numbers
)

// accepted is the encoding that a client takes best: "zstd", "gzip" or "".
func accepted(header string) string {
	best, most := "", 0.0
	for item := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(item, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "zstd" && name != "gzip" {
			continue
		}
		q := 1.0
		if text, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			var err error
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		if q > most || q == most && q > 0 && name == "zstd" {
			best, most = name, q
		}
	}
	return best
}

// zstdEncoder is shared: EncodeAll is safe for concurrent use.
var zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithAllLitEntropyCompression(true), zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(1<<20))
})

// encode returns an answer in an encoding, with its mark in front, or nil if that is not
// shorter by an eighth.
func encode(coding string, body []byte) ([]byte, error) {
	out := make([]byte, 1, len(body)/2+64)
	out[0] = codedBody
	if coding == "zstd" {
		z, err := zstdEncoder()
		if err != nil {
			return nil, err
		}
		out = z.EncodeAll(body, out)
	} else {
		b := bytes.NewBuffer(out)
		z, err := gzip.NewWriterLevel(b, gzipLevel)
		if err != nil {
			return nil, err
		}
		if _, err := z.Write(body); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		out = b.Bytes()
	}
	if len(out) > len(body)-len(body)/8 {
		return nil, nil
	}
	return out, nil
}

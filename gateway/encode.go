package gateway

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/internal/render"
)

const (
	leastCoded  = 1 << 10 // shorter answers fit into a packet as they are
	codecMemory = 2 << 20 // of one encoder
)

// A gzipper makes gzip of one level. Its tables are 1 MiB, so they are used again.
type gzipper struct {
	level int
	pool  sync.Pool
}

// Levels below 4 find nothing in short texts of numbers. Of binary numbers level 2 leaves
// a twelfth more than level 5, in half the time.
var (
	gzipText    = gzipper{level: 5}
	gzipNumbers = gzipper{level: 2}
)

// append appends the gzip of a body.
func (g *gzipper) append(out, body []byte) ([]byte, error) {
	b := bytes.NewBuffer(out)
	z, ok := g.pool.Get().(*gzip.Writer)
	if !ok {
		var err error
		if z, err = gzip.NewWriterLevel(b, g.level); err != nil {
			return nil, err
		}
	}
	z.Reset(b)
	if _, err := z.Write(body); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	z.Reset(nil) // or it would keep the answer
	g.pool.Put(z)
	return b.Bytes(), nil
}

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

// encode returns an answer of a media type in an encoding, with its mark in front, or nil if that is not
// shorter by an eighth.
func encode(coding, media string, body []byte) ([]byte, error) {
	out := make([]byte, 1, len(body)/2+64)
	out[0] = codedBody
	if coding == "zstd" {
		z, err := zstdEncoder()
		if err != nil {
			return nil, err
		}
		out = z.EncodeAll(body, out)
	} else {
		g := &gzipText
		if media == medias[render.Npy] {
			g = &gzipNumbers
		}
		var err error
		if out, err = g.append(out, body); err != nil {
			return nil, err
		}
	}
	if len(out) > len(body)-len(body)/8 {
		return nil, nil
	}
	return out, nil
}

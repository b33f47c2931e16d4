package blosc_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/rangeio"
)

// remote reads a chunk as a frame's reader does: the header, the index, then all
// blocks in one planned read, each decoded when it comes.
type remote struct {
	r    rangeio.Reader
	x    *blosc.Index
	dict []byte
	most int
}

func open(ctx context.Context, r rangeio.Reader, most int) (*remote, error) {
	head := make([]byte, min(r.Size(), blosc.HeaderLen2))
	if err := r.ReadRanges(ctx, []rangeio.Span{{P: head}}); err != nil {
		return nil, err
	}
	h, err := blosc.ParseHeader(head)
	if err != nil {
		return nil, err
	}
	if int64(h.CBytes) > r.Size() {
		return nil, fmt.Errorf("%w: cut short", formats.ErrCorrupt)
	}
	if h.NBytes > most {
		return nil, formats.ErrTooLarge
	}
	head = make([]byte, h.IndexLen())
	if err := r.ReadRanges(ctx, []rangeio.Span{{P: head}}); err != nil {
		return nil, err
	}
	x, err := blosc.ParseIndex(head)
	if err != nil {
		return nil, err
	}
	off, n := x.Dict()
	dict := make([]byte, n)
	return &remote{r, x, dict, most}, r.ReadRanges(ctx, []rangeio.Span{{Off: int64(off), P: dict}})
}

func (m *remote) read(ctx context.Context) ([]byte, error) {
	h := m.x.Header()
	spans := make([]rangeio.Span, h.Blocks())
	total := 0
	for i := range spans {
		off, n := m.x.Block(i)
		if total += n; total > m.most {
			return nil, formats.ErrTooLarge // blocks that overlap
		}
		spans[i] = rangeio.Span{Off: int64(off), P: make([]byte, n)}
	}
	if err := m.r.ReadRanges(ctx, spans); err != nil {
		return nil, err
	}
	out := make([]byte, 0, h.NBytes)
	for i, s := range spans {
		size := m.x.BlockLen(i)
		if h.VL {
			var err error
			if size, err = m.x.VLBlockLen(s.P); err != nil {
				return nil, err
			}
		}
		n := len(out)
		if n+size > h.NBytes {
			return nil, formats.ErrCorrupt
		}
		out = out[:n+size]
		first := out[:min(h.BlockBytes(), n+size)]
		if err := (blosc.DecodeOptions{}).DecodeBlock(out[n:], m.x, i, s.P, first, m.dict); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// TestSuite reads damaged chunks. Blosc has no checksums, so a flipped bit may well
// give other bytes, but never more than the header may claim.
func TestSuite(t *testing.T) {
	delta := blosc.EncodeOptions{TypeSize: 4, BlockSize: 512, Filters: []blosc.Filter{{ID: blosc.Delta}, {ID: blosc.Shuffle}}, Codec: blosc.LZ4}
	zstd := blosc.EncodeOptions{TypeSize: 8, BlockSize: 1024, Codec: blosc.Zstd, Dict: true}
	blosc1 := blosc.EncodeOptions{TypeSize: 4, BlockSize: 1024, Codec: blosc.LZ4HC, Blosc1: true, Filters: []blosc.Filter{{ID: blosc.BitShuffle}}}
	text := sample("text", 3000, 1, 1)
	chunks := map[string][]byte{
		"delta": encode(t, sample("sine", 3000, 4, 1), delta), "zstd": encode(t, sample("ramp", 9000, 8, 1), zstd),
		"blosc1": encode(t, sample("sine", 5000, 4, 1), blosc1), "blosclz": encode(t, text, blosc.EncodeOptions{}),
		"zlib": encode(t, text, blosc.EncodeOptions{Codec: blosc.Zlib, BlockSize: 1000}), "stored": encode(t, text[:500], blosc.EncodeOptions{Level: blosc.LevelStore}),
		"value": encode(t, sample("item", 500, 5, 1), blosc.EncodeOptions{TypeSize: 5}),
	}
	vl, err := blosc.AppendEncodedVL(nil, [][]byte{text[:100], text[100:900], text[900:]}, blosc.EncodeOptions{Codec: blosc.LZ4})
	if err != nil {
		t.Fatal(err)
	}
	chunks["vl"] = vl
	for name, chunk := range chunks {
		t.Run(name, func(t *testing.T) {
			most := 16 * (1000 + len(chunk))
			formattest.Run(t, formattest.Suite{
				Objects: []formattest.Object{{Name: "chunk", Data: chunk}},
				Open: func(ctx context.Context, r []rangeio.Reader) (formattest.Read, error) {
					m, err := open(ctx, r[0], most)
					if err != nil {
						return nil, err
					}
					return m.read, nil
				},
				Check: func(got []byte) error {
					if len(got) > most {
						return fmt.Errorf("%d bytes out of %d", len(got), len(chunk))
					}
					return nil
				},
				Stride: 3,
			})
		})
	}
}

func encode(tb testing.TB, src []byte, o blosc.EncodeOptions) []byte {
	tb.Helper()
	p, err := blosc.AppendEncoded(nil, src, o)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// eventLines are n lines as programs log them: short ones, of about 110 bytes,
// which Blosc stores as they are, or long ones, of about 330.
func eventLines(n int, long bool) []byte {
	r := rand.New(rand.NewPCG(3, 5)) //nolint:gosec // data, no secrets
	kinds := []string{"click", "view", "purchase", "scroll", "search"}
	agents := []string{"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15", "curl/8.14.1"}
	p := make([]byte, 0, 350*n)
	for i := range n {
		at := i * 37
		p = fmt.Appendf(p, `{"id":%d,"time":"2026-11-%02dT%02d:%02d:%02d.%03dZ","user":"user-%05d","event":"%s","ms":%.3f,"ok":%t`,
			i, 1+at/86_400_000%28, at/3_600_000%24, at/60_000%60, at/1000%60, at%1000, r.IntN(100_000), kinds[r.IntN(len(kinds))], r.Float64()*1000, r.IntN(10) > 0)
		if long {
			p = fmt.Appendf(p, `,"session":"%016x%016x","page":"/shop/%s/%d?from=%s","agent":"%s","at":{"lat":%.5f,"lon":%.5f}`,
				r.Uint64(), r.Uint64(), kinds[r.IntN(len(kinds))], r.IntN(50_000), kinds[r.IntN(len(kinds))], agents[r.IntN(len(agents))], r.Float64()*180-90, r.Float64()*360-180)
		}
		p = append(p, "}\n"...)
	}
	return p
}

// bloscpackLines: a million lines of JSON in memory into a Bloscpack file in
// memory, each a chunk of LZ4, by the code of `farread pack` on one core.
func bloscpackLines(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.bloscpack(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, long := range []bool{false, true} {
		rs, err := b.lines(ctx, p, eventLines(part(b, 1_000_000, 300_000, 10_000), long))
		if err != nil {
			return nil, err
		}
		rows = append(rows, rs...)
	}
	return rows, nil
}

func (b *bench) lines(ctx context.Context, p *python, text []byte) ([]row, error) {
	n := bytes.Count(text, []byte("\n"))
	const share = 5 // the peer takes seconds, so it gets a fifth
	part := text[:len(text)/share]
	part = part[:1+bytes.LastIndexByte(part, '\n')]
	raw, theirs := filepath.Join(b.dir, "events.jsonl"), filepath.Join(b.dir, "peer.lines.blp")
	if err := os.WriteFile(raw, part, 0o600); err != nil {
		return nil, err
	}
	bk := memstore.New(memstore.Config{})
	if _, err := objstore.Put(ctx, bk, "events.jsonl", bytes.NewReader(text), objstore.PutOptions{}); err != nil {
		return nil, err
	}
	var out parts
	var w, back work
	few := *b
	few.rounds = min(b.rounds, 3) // long ones
	zstdRow, err := few.zstdLines(ctx, p, bk, text, part, raw)
	if err != nil {
		return nil, err
	}
	made, err := few.interleave(ctx, packLines(bk, &out, nil), p.side(&w, "lines", raw, theirs, "lz4", "5"))
	if err != nil {
		return nil, err
	}
	file := out.bytes()
	read, err := few.interleave(ctx, readLines(file, text), p.side(&back, "read_lines", theirs, "0"))
	if err != nil {
		return nil, err
	}
	if sum := crc32.ChecksumIEEE(part); w.sum != sum || back.sum != sum {
		return nil, errors.New("the peer has packed or read other lines")
	}
	sample := text[:min(len(text), 16<<20)]
	gz, zs, err := wholeSizes(sample)
	if err != nil {
		return nil, err
	}
	const goal = 300e6
	whole := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) * float64(len(text)) / float64(len(part)))
	}
	r := against(fmt.Sprintf("pack %d lines of JSON, of %d bytes, from memory, a chunk of LZ4 each", n, len(text)/n), "B", float64(len(text)), made[0], whole(made[1]), 0)
	r.goal, r.judged, r.met = fmt.Sprintf(">= %g MB/s a core", goal/1e6), true, float64(len(text))/made[0].Seconds() >= goal
	percent := func(size int, of []byte) float64 { return 100 * float64(size) / float64(len(of)) }
	r.note = fmt.Sprintf("of the text: the file %.0f %%, as one piece gzip %.0f %%, zstd %.0f %%", percent(len(file), text), percent(gz, sample), percent(zs, sample))
	return []row{r, zstdRow, against(fmt.Sprintf("read %d such lines of %d bytes in order", n, len(text)/n), "B", float64(len(text)), read[0], whole(read[1]), 0)}, nil
}

// zstdLines is the same with zstd 1. Blosc stores what is below 128 bytes as it is.
func (b *bench) zstdLines(ctx context.Context, p *python, bk objstore.Bucket, text, part []byte, raw string) (row, error) {
	var out parts
	var w work
	theirs := filepath.Join(b.dir, "peer.zstd.blp")
	d, err := b.interleave(ctx, packLines(bk, &out, &blosc.EncodeOptions{Codec: blosc.Zstd, Level: 1, Filters: []blosc.Filter{}}), p.side(&w, "lines", raw, theirs, "zstd", "1"))
	if err != nil {
		return row{}, err
	}
	info, err := os.Stat(theirs)
	if err != nil {
		return row{}, err
	}
	n, size, share := bytes.Count(text, []byte("\n")), float64(len(text)), float64(len(text))/float64(len(part))
	r := against(fmt.Sprintf("pack %d such lines of %d bytes, a chunk of zstd 1 each", n, len(text)/n), "B", size, d[0], time.Duration(float64(d[1])*share), 0)
	const goal = 150e6
	r.goal, r.judged, r.met = fmt.Sprintf(">= %g MB/s a core", goal/1e6), true, size/d[0].Seconds() >= goal
	r.note = fmt.Sprintf("of the text: the file %.0f %%, the peer's %.0f %%", 100*float64(len(out.bytes()))/size, 100*float64(info.Size())/float64(len(part)))
	return r, nil
}

func packLines(bk objstore.Bucket, out *parts, o *blosc.EncodeOptions) side {
	return onCPU(func(ctx context.Context) error {
		ob, err := objstore.Open(ctx, bk, "events.jsonl", objstore.OpenOptions{})
		if err != nil {
			return err
		}
		items, err := pack.FindItems(ctx, ob, pack.ItemOptions{})
		if err != nil {
			return err
		}
		out.reset()
		_, err = items.Write(ctx, out, pack.ItemWrite{Parallel: 1, Encode: o})
		return err
	})
}

// parts is an output in memory, in parts like those that are uploaded: a longer
// beginning moves nothing but its own part. It keeps its memory for the next time.
type parts struct {
	head []byte
	rest [][]byte
	free [][]byte
}

const partBytes = 8 << 20

func (p *parts) reset() {
	p.free = append(p.free, p.rest...)
	p.head, p.rest = nil, nil
}

func (p *parts) next() []byte {
	if n := len(p.free); n > 0 {
		part := p.free[n-1][:0]
		p.free = p.free[:n-1]
		return part
	}
	return make([]byte, 0, partBytes)
}

func (p *parts) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		if n := len(p.rest); n == 0 || len(p.rest[n-1]) == partBytes {
			p.rest = append(p.rest, p.next())
		}
		last := &p.rest[len(p.rest)-1]
		n := min(len(rest), partBytes-len(*last))
		*last = append(*last, rest[:n]...)
		rest = rest[n:]
	}
	return len(b), nil
}

// Patch and Rehead reach the first part, which is more than a writer may ask for.
func (p *parts) Patch(off int64, b []byte) error {
	if head := int64(len(p.head)); off < head {
		n := copy(p.head[off:], b)
		off, b = head, b[n:]
	}
	if len(b) > 0 {
		copy(p.rest[0][off-int64(len(p.head)):], b)
	}
	return nil
}

func (p *parts) Rehead(n int64, b []byte) error {
	p.head, p.rest[0] = b, p.rest[0][n:]
	return nil
}

func (p *parts) bytes() []byte { return bytes.Join(append([][]byte{p.head}, p.rest...), nil) }

// readLines reads all lines, one after the other, after once that does not count
// and is compared with the text.
func readLines(file, text []byte) side {
	got := make([]byte, 0, len(text))
	return func(ctx context.Context) (time.Duration, error) {
		once := func() error {
			got = got[:0]
			f, err := bloscpack.Open(ctx, rangeio.FromReaderAt(bytes.NewReader(file), int64(len(file))), bloscpack.Options{Parallel: 1})
			if err != nil {
				return err
			}
			return f.Each(ctx, 0, f.Len(), func(_ int64, p []byte) error {
				got = append(append(got, p...), '\n')
				return nil
			})
		}
		return checkedFirst(once, func() bool { return bytes.Equal(got, text) }, onCPU(func(context.Context) error { return once() }))(ctx)
	}
}

// wholeSizes is what gzip and zstd make of a text as one piece, at their usual
// levels.
func wholeSizes(text []byte) (gz, zs int, err error) {
	if gz, err = sizeOf(text, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }); err != nil {
		return 0, 0, err
	}
	zs, err = sizeOf(text, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
	return gz, zs, err
}

func sizeOf(text []byte, open func(io.Writer) (io.WriteCloser, error)) (int, error) {
	var c counted
	w, err := open(&c)
	if err != nil {
		return 0, err
	}
	_, err = w.Write(text)
	err = errors.Join(err, w.Close())
	return c.n, err
}

// counted counts the bytes written to it.
type counted struct{ n int }

func (c *counted) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

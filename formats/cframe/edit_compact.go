package cframe

import (
	"bytes"
	"context"
	"errors"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/rangeio"
)

// compactWindow is the number of encoded bytes that Compact reads at a time.
const compactWindow = 8 << 20

// Compact writes a copy of the frame f to w, as a contiguous frame without dead
// bytes. It copies the encoded chunks in order, and the metalayers. If f has an index
// inside, of use or not, or one of use beside it, the copy has a new one inside, with the same statistics. It does not
// decode blocks, so codecs and filters do not matter. f may be sparse. The caller
// commits w. If a Writer refuses a chunk, for example one of Blosc1, Compact
// returns ErrRefused. After any error w is useless.
//
// Compact holds 8 MiB of chunks, or the longest chunk, and 8 bytes for each chunk.
// It reads a contiguous frame in windows: one planned read for up to 1024 headers,
// the next for the chunks. In a sparse frame it opens each chunk's object twice:
// for the header, and then, one object after another, for the chunk.
func Compact(ctx context.Context, w formats.Output, f *Frame) error {
	f, err := f.whole(ctx)
	if err != nil {
		return err
	}
	in := f.Info()
	o := WriteOptions{TypeSize: in.TypeSize, ChunkSize: max(in.ChunkSize, 0), BlockSize: in.BlockSize,
		Encode: in.encodeOptions(), Metalayers: f.layers, Limits: f.o.Limits}
	have, err := f.Index(ctx)
	if err != nil {
		return err
	}
	if have.Inside || have.Size > 0 {
		o.Index = WithIndex
	}
	if in.ChunkSize == 0 {
		o.ChunkSize = VaryingSizes
	}
	if o.ChunkSize > 0 && o.ChunkSize%in.TypeSize != 0 {
		o.ChunkSize = 0 // old writers made such frames; the first chunk sets the same size
	}
	fw, err := NewWriter(w, o)
	if err != nil {
		return err
	}
	trailer, err := f.readTrailer(ctx)
	if err != nil {
		return err
	}
	if fw.vl, err = parseTrailer(bytes.Clone(trailer), f.trailerOff); err != nil {
		return err
	}
	fw.vl = withoutIndex(fw.vl)
	for i := 0; i < f.Chunks(); {
		if i, err = f.copyWindow(ctx, fw, i); err != nil {
			return err
		}
	}
	if ix := f.heads.used(); ix != nil && fw.heads != nil {
		if err := fw.heads.CopyStats(ctx, ix); err != nil && !errors.Is(err, index.ErrUnusable) {
			return err
		}
	}
	return fw.Close()
}

// copyWindow copies some chunks from chunk i on, and returns the number of the
// next one.
func (f *Frame) copyWindow(ctx context.Context, w *Writer, i int) (int, error) {
	const most = 1024 // headers at a time
	to := min(i+most, f.Chunks())
	headers, err := f.ChunkHeaders(ctx, i, to)
	if err != nil {
		return 0, err
	}
	total := 0
	for k := range headers {
		if total += headers[k].CBytes; k > 0 && total > compactWindow {
			headers = headers[:k]
			break
		}
	}
	chunks, err := f.encoded(ctx, i, headers)
	if err != nil {
		return 0, err
	}
	for k, chunk := range chunks {
		if c := f.chunk(i + k); c.Special != blosc.None {
			err = w.WriteSpecial(c.Special, c.NBytes)
		} else {
			err = w.WriteEncoded(chunk)
		}
		if err != nil {
			return 0, err
		}
	}
	return i + len(chunks), nil
}

// encoded reads the encoded chunks from chunk i on, one for each of headers.
// The result is nil for a chunk without bytes in the frame.
func (f *Frame) encoded(ctx context.Context, i int, headers []blosc.Header) ([][]byte, error) {
	chunks := make([][]byte, len(headers))
	var spans []rangeio.Span
	for k := range headers {
		c := f.chunk(i + k)
		if c.Special != blosc.None {
			continue
		}
		chunks[k] = make([]byte, headers[k].CBytes)
		if !f.info.Sparse {
			spans = append(spans, rangeio.Span{Off: c.Off, P: chunks[k]})
			continue
		}
		name := ChunkFile(c.Off)
		r, err := f.set.Open(ctx, name)
		if err != nil {
			return nil, wrap(name, -1, err)
		}
		if err := r.ReadRanges(ctx, []rangeio.Span{{P: chunks[k]}}); err != nil {
			return nil, wrap(name, 0, err)
		}
	}
	if len(spans) == 0 {
		return chunks, nil
	}
	if err := f.r.ReadRanges(ctx, spans); err != nil {
		return nil, wrap(partOf(i), spans[0].Off, err)
	}
	return chunks, nil
}

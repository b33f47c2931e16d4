package bloscpack

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

const (
	missing = -1 // entry of a chunk that was never written

	// maxTrust is the longest distance to the next chunk that is read as a whole
	// for the sake of one chunk. What lies between may be a gap; of a longer
	// distance the chunk's header is read first, which next to 64 MiB is little.
	maxTrust = 64 << 20
	// Chunks whose end no neighbour tells are guessed to be twice as long as the
	// average, within these; what is missing is a second request.
	minGuess, maxGuess = 4 << 10, 64 << 10
)

// A place is where a chunk lies by the table.
type place struct {
	i    int64 // number of the chunk
	off  int64
	room int64 // bytes to the next chunk, or to the end of the file
	sure bool  // the next chunk by number begins there
}

// A piece is a chunk in memory, its header checked and its digest verified.
type piece struct {
	place
	h    blosc.Header
	b    []byte // the encoded chunk
	next int64  // where the chunk's digest ends in the file
}

// notAborted is the error of every read of a file whose writing did not end.
func (f *File) notAborted() error {
	if !f.aborted {
		return nil
	}
	what := "every offset is -1"
	if f.h.Chunks < 0 {
		what = "the number of chunks is -1"
	}
	return corrupt("", -1, "aborted: %s, so the file was not finished; `farread verify --repair OUT` salvages its whole chunks", what)
}

// checkRange checks that [i, j) are chunks of a file that can be read.
func (f *File) checkRange(i, j int64) error {
	if err := f.notAborted(); err != nil {
		return err
	}
	if i < 0 || j < i || j > f.h.Chunks {
		bad := i
		if i >= 0 && i <= f.h.Chunks {
			bad = j - 1
		}
		return fail(f.h.Part(bad), -1, formats.ErrNoEntry, "there are %d", f.h.Chunks)
	}
	return nil
}

// places gives where the chunks [i, j) lie by the table. Entries that are -1 are
// places, too.
func (f *File) places(ctx context.Context, i, j int64) ([]place, error) {
	if !f.h.Offsets {
		return f.walked(ctx, i, j)
	}
	last := min(j+1, f.h.Chunks)
	offs, err := f.t.read(ctx, i, last)
	if err != nil {
		return nil, err
	}
	out := make([]place, j-i)
	for k := range out {
		p := place{i: i + int64(k), off: offs[k], room: f.size - offs[k]}
		if k+1 < len(offs) && offs[k+1] > p.off {
			p.room, p.sure = offs[k+1]-p.off, true
		}
		if p.i == f.h.Chunks-1 && (k == 0 || offs[k-1] < p.off) {
			p.sure = true // the last in the file, too, unless chunks lie in another order
		}
		out[k] = p
	}
	return out, nil
}

// inFile checks that a chunk can lie where the table says.
func (f *File) inFile(p place) error {
	switch {
	case p.off == missing:
		return fail(f.h.Part(p.i), -1, formats.ErrNoEntry, "never written: its offset is -1")
	case p.off < f.body:
		return corrupt(f.h.Part(p.i), p.off, "inside header, metadata or table, which end at %d", f.body)
	case p.off > f.size-blosc.HeaderLen1:
		return corrupt(f.h.Part(p.i), p.off, "outside the file of %d bytes", f.size)
	}
	return nil
}

// guess is how many bytes are read of a chunk at first.
func (f *File) guess(p place) int64 {
	most := min(p.room, f.size-p.off)
	digest := int64(f.h.Checksum.Size())
	if want := f.h.want(p.i); want >= 0 {
		most = min(most, want+blosc.HeaderLen2+digest) // encoding never adds more than a header
	}
	if p.sure && most <= maxTrust {
		return most
	}
	average := (f.size - f.body) / max(f.h.Chunks, 1)
	return min(most, max(minGuess, min(2*average, maxGuess)))
}

// load reads chunks: one planned read, and one more for those that turn out to be
// longer than was guessed. Digests are verified, and headers checked against the
// file. The encoded bytes lie in a lent buffer, which release gives back.
func (f *File) load(ctx context.Context, places []place) (out []piece, release func(), err error) {
	var total int64
	spans := make([]rangeio.Span, len(places))
	for _, p := range places {
		if err := f.inFile(p); err != nil {
			return nil, nil, err
		}
		total += f.guess(p)
	}
	buf := bufpool.Get(int(total))
	lent := [][]byte{buf}
	release = func() {
		for _, b := range lent {
			bufpool.Put(b)
		}
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	for k, p := range places {
		n := f.guess(p)
		spans[k] = rangeio.Span{Off: p.off, P: buf[:n:n]}
		buf = buf[n:]
	}
	if err := f.r.ReadRanges(ctx, spans); err != nil {
		return nil, nil, f.wrapRead(places, err)
	}
	out = make([]piece, len(places))
	var rest []rangeio.Span
	var restOf []int
	for k, p := range places {
		h, n, err := f.head(p, spans[k].P)
		if err != nil {
			return nil, nil, err
		}
		out[k] = piece{place: p, h: h, next: p.off + n}
		if n > int64(len(spans[k].P)) {
			b := bufpool.Get(int(n))
			lent = append(lent, b)
			have := copy(b, spans[k].P)
			rest = append(rest, rangeio.Span{Off: p.off + int64(have), P: b[have:]})
			spans[k].P = b
			restOf = append(restOf, k)
		}
		spans[k].P = spans[k].P[:n]
	}
	if len(rest) > 0 {
		if err := f.r.ReadRanges(ctx, rest); err != nil {
			return nil, nil, f.wrapRead([]place{places[restOf[0]]}, err)
		}
	}
	for k := range out {
		out[k].b = spans[k].P
	}
	return out, release, nil
}

// wrapRead names chunks in an error of a read.
func (f *File) wrapRead(places []place, err error) error {
	part := f.h.Part(places[0].i)
	if n := len(places); n > 1 {
		part = fmt.Sprintf("%s to %d", part, places[n-1].i)
	}
	return wrap(part, places[0].off, err)
}

// head checks the header of a chunk against the file. n is the length of chunk
// and digest.
func (f *File) head(p place, b []byte) (h blosc.Header, n int64, err error) {
	part := f.h.Part(p.i)
	h, err = blosc.ParseHeader(b)
	if err != nil {
		return h, 0, wrap(part, p.off, err)
	}
	n = int64(h.CBytes) + int64(f.h.Checksum.Size())
	switch want := f.h.want(p.i); {
	case n > f.size-p.off:
		return h, 0, corrupt(part, p.off, "%d bytes with its checksum, the file ends after %d", n, f.size-p.off)
	case p.sure && n > p.room && f.h.Version == Version4:
		return h, 0, corrupt(part, p.off, "%d bytes with its checksum overlap the next chunk, which begins after %d", n, p.room)
	case h.NBytes == 0 && h.CBytes != h.Len():
		return h, 0, corrupt(part, p.off, "nothing, encoded in %d bytes", h.CBytes)
	case want >= 0 && int64(h.NBytes) != want:
		return h, 0, corrupt(part, p.off, "%d decoded bytes, the file's header says %d", h.NBytes, want)
	case int64(h.NBytes) > f.o.Limits.MaxDecoded:
		return h, 0, tooLarge(part, p.off, "%d decoded bytes, %d allowed", h.NBytes, f.o.Limits.MaxDecoded)
	}
	return h, n, nil
}

// check verifies the digest behind the chunk and takes it off.
func (f *File) check(p *piece) error {
	b := p.b
	p.b = b[:p.h.CBytes:p.h.CBytes]
	if f.o.NoVerify {
		return nil
	}
	return wrap(f.h.Part(p.i), p.off, f.h.Checksum.verify(p.b, b[p.h.CBytes:]))
}

// appendPiece decodes a chunk behind dst.
func (f *File) appendPiece(dst []byte, p *piece) ([]byte, error) {
	if err := f.check(p); err != nil {
		return dst, err
	}
	o := blosc.DecodeOptions{TypeSize: f.h.TypeSize, MaxDecoded: f.o.Limits.MaxDecoded, Parallel: f.o.Parallel}
	out, err := o.AppendDecoded(dst, p.b)
	if err != nil {
		return dst, wrap(f.h.Part(p.i), p.off, err)
	}
	return out, nil
}

// AppendItem appends the decoded chunk i to dst. It is one request, one more
// where its entry of the table is not known yet, and one more for a chunk whose
// end no neighbour tells and that is longer than usual. An item that was never
// written is ErrNoEntry, a file whose writing did not end ErrCorrupt.
func (f *File) AppendItem(ctx context.Context, dst []byte, i int64) ([]byte, error) {
	if err := f.checkRange(i, i+1); err != nil {
		return dst, err
	}
	places, err := f.places(ctx, i, i+1)
	if err != nil {
		return dst, err
	}
	pieces, release, err := f.load(ctx, places)
	if err != nil {
		return dst, err
	}
	defer release()
	return f.appendPiece(dst, &pieces[0])
}

// ReadItems gives the decoded chunks [i, j). Neighbours share requests.
func (f *File) ReadItems(ctx context.Context, i, j int64) ([][]byte, error) {
	if err := f.checkRange(i, j); err != nil {
		return nil, err
	}
	var out [][]byte
	err := f.Each(ctx, i, j, func(_ int64, p []byte) error {
		out = append(out, append([]byte{}, p...))
		return nil
	})
	return out, err
}

// ReadChunks decodes the chunks [i, j) into dst, back to back, and tells how many
// bytes they are. It fails with ErrTooLarge where dst is too short.
func (f *File) ReadChunks(ctx context.Context, dst []byte, i, j int64) (int, error) {
	n := 0
	err := f.Each(ctx, i, j, func(k int64, p []byte) error {
		if len(p) > len(dst)-n {
			return tooLarge(f.h.Part(k), -1, "%d decoded bytes, room for %d", len(p), len(dst)-n)
		}
		n += copy(dst[n:], p)
		return nil
	})
	return n, err
}

package bloscpack

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

const (
	missing = -1 // the entry of a chunk that was never written

	// maxTrust bounds how much is read for one chunk because the next chunk begins
	// there. A gap may follow the chunk, so for a longer distance the chunk's header
	// is read first; that request costs little next to 64 MiB.
	maxTrust = 64 << 20
	// If no neighbour tells where a chunk ends, the first request fetches twice the
	// average length, within these bounds. A second request fetches the rest.
	minGuess, maxGuess = 512, 64 << 10
)

// A place is the position of a chunk, by the table or by the headers of the
// chunks before it.
type place struct {
	i    int64 // number of the chunk
	off  int64
	room int64 // bytes up to the next known chunk, or to the end of the file

	bound bool // a chunk begins at off+room
	sure  bool // room is most likely the chunk's length, so read all of it
}

// A piece is an encoded chunk in memory. Its header is checked; its digest is
// checked when it is decoded.
type piece struct {
	place
	h    blosc.Header
	b    []byte // the encoded chunk and its digest
	next int64  // offset of the end of the digest in the file
}

// notAborted returns an error if the file is not finished. All reads of chunks
// return it.
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

// checkRange checks that the file is finished and has the chunks [i, j).
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

// run returns a run for the chunks before j. It also reads the entry of chunk
// j, which tells where chunk j-1 ends.
func (f *File) run(j int64) *run { return &run{t: &f.t, end: min(j+1, f.h.Chunks)} }

// places appends the places of the chunks [i, j) to out. A chunk that was never
// written has a place with off -1.
func (f *File) places(ctx context.Context, r *run, out []place, i, j int64) ([]place, error) {
	if !f.usesTable() {
		walked, err := f.walked(ctx, i, j)
		return append(out, walked...), err
	}
	last := min(j+1, f.h.Chunks)
	offs, err := r.read(ctx, i, last)
	if err != nil {
		return nil, err
	}
	first, ordered := len(out), true
	for k := range int(j - i) {
		p := place{i: i + int64(k), off: offs[k], room: f.size - offs[k]}
		switch {
		case k+1 < len(offs) && offs[k+1] > p.off:
			p.room, p.bound, p.sure = offs[k+1]-p.off, true, true
		case k+1 < len(offs):
			ordered = false // or the next chunk was never written
		default: // the last chunk ends with the file
			p.sure = p.i == f.h.Chunks-1
		}
		out = append(out, p)
	}
	if f.h.Version == Version4 {
		f.narrow(out[first:], offs, ordered)
	}
	return out, nil
}

// narrow sets room for chunks that are not in the order of their numbers, or whose
// next chunk was never written: room then ends at the next chunk in the file, among
// those whose entries are in memory.
func (f *File) narrow(places []place, offs []int64, ordered bool) {
	if len(places) == 1 {
		if ordered && f.t.inOrder(places[0].i) {
			return
		}
		near := f.t.around(places[0].i)
		if next := offs[len(offs)-1]; len(near) > 0 && !slices.Contains(near, next) {
			near = append(near, next) // its entry is on the next page
		}
		if len(near) > 0 {
			offs = near
		}
	} else if ordered {
		return
	}
	sorted := slices.DeleteFunc(slices.Clone(offs), func(off int64) bool { return off == missing })
	inOrder := ascending(sorted)
	slices.Sort(sorted)
	for k := range places {
		p := &places[k]
		p.room, p.bound, p.sure = f.size-p.off, false, int64(len(sorted)) >= f.h.Chunks
		if at, _ := slices.BinarySearch(sorted, p.off+1); at < len(sorted) {
			p.room, p.bound, p.sure = sorted[at]-p.off, true, p.sure || inOrder
		}
	}
}

// ascending reports whether offsets ascend. It skips chunks that were never written.
func ascending(offs []int64) bool {
	last := int64(missing)
	for _, off := range offs {
		if off != missing && off < last {
			return false
		}
		last = max(last, off)
	}
	return true
}

// inFile checks that a chunk can begin at p.off. It returns ErrNoEntry for a
// chunk that was never written.
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

// guess returns how many bytes of a chunk the first request fetches.
func (f *File) guess(p place) int64 {
	most := min(p.room, f.size-p.off)
	digest := int64(f.h.Checksum.Size())
	if want := f.h.want(p.i); want >= 0 {
		most = min(most, want+blosc.HeaderLen2+digest) // an encoded chunk is longer than its data by at most a header
	}
	if p.sure && most <= maxTrust {
		return most
	}
	average := (f.size - f.body) / max(f.h.Chunks, 1)
	return min(most, max(minGuess, min(2*average, maxGuess)))
}

// wrapRead adds the names of the chunks to an error of a read.
func (f *File) wrapRead(err error, places ...place) error {
	part := f.h.Part(places[0].i)
	if n := len(places); n > 1 {
		part = fmt.Sprintf("%s to %d", part, places[n-1].i)
	}
	return wrap(part, places[0].off, err)
}

// head parses the header of a chunk and checks it against the file. n is the
// length of the chunk with its digest.
func (f *File) head(p place, b []byte) (h blosc.Header, n int64, err error) {
	h, err = blosc.ParseHeader(b)
	if err != nil {
		return h, 0, f.inChunk(p, err)
	}
	n = int64(h.CBytes) + int64(f.h.Checksum.Size())
	switch want := f.h.want(p.i); {
	case n > f.size-p.off:
		return h, 0, f.bad(p, formats.ErrCorrupt, "%d bytes with its checksum, the file ends after %d", n, f.size-p.off)
	case p.bound && n > p.room && f.h.Version == Version4:
		return h, 0, f.bad(p, formats.ErrCorrupt, "%d bytes with its checksum overlap the next chunk, which begins after %d", n, p.room)
	case h.NBytes == 0 && h.CBytes != h.Len():
		return h, 0, f.bad(p, formats.ErrCorrupt, "nothing, encoded in %d bytes", h.CBytes)
	case want >= 0 && int64(h.NBytes) != want:
		return h, 0, f.bad(p, formats.ErrCorrupt, "%d decoded bytes, the file's header says %d", h.NBytes, want)
	case int64(int(n)) != n: // a chunk of 2 GiB with its checksum, if int has 32 bits
		return h, 0, f.bad(p, formats.ErrTooLarge, "%d bytes with its checksum", n)
	case int64(h.NBytes) > f.o.Limits.MaxDecoded:
		return h, 0, f.bad(p, formats.ErrTooLarge, "%d decoded bytes, %d allowed", h.NBytes, f.o.Limits.MaxDecoded)
	}
	return h, n, nil
}

// inChunk adds the name of the chunk to err.
func (f *File) inChunk(p place, err error) error {
	if err == nil {
		return nil
	}
	return wrap(f.h.Part(p.i), p.off, err)
}

func (f *File) bad(p place, cause error, text string, args ...any) error {
	return fail(f.h.Part(p.i), p.off, cause, text, args...)
}

// check verifies the digest of a chunk, and returns the chunk without its
// digest.
func (f *File) check(p *piece) ([]byte, error) {
	chunk := p.b[:p.h.CBytes:p.h.CBytes]
	if f.o.NoVerify {
		return chunk, nil
	}
	return chunk, f.inChunk(p.place, f.h.Checksum.verify(chunk, p.b[p.h.CBytes:]))
}

func (f *File) decoder(parallel int) blosc.DecodeOptions {
	return blosc.DecodeOptions{TypeSize: f.h.TypeSize, MaxDecoded: f.o.Limits.MaxDecoded, Parallel: parallel}
}

// appendPiece appends the decoded chunk to dst.
func (f *File) appendPiece(dst []byte, p *piece, parallel int) ([]byte, error) {
	chunk, err := f.check(p)
	if err != nil {
		return dst, err
	}
	out, err := f.decoder(parallel).AppendDecoded(dst, chunk)
	if err != nil {
		return dst, f.inChunk(p.place, err)
	}
	return out, nil
}

// decodePiece decodes a chunk into dst, which has the chunk's decoded length.
func (f *File) decodePiece(dst []byte, p *piece, parallel int) error {
	chunk, err := f.check(p)
	if err != nil {
		return err
	}
	_, err = f.decoder(parallel).DecodeParsed(dst, chunk, &p.h)
	return f.inChunk(p.place, err)
}

// AppendItem appends the decoded chunk i to dst. It is one planned read. It is
// one more if the table's entry is not in memory, and one more if the chunk is
// long and no neighbour tells where it ends. If there is no table, or a version 3
// table contradicts the chunks, it reads the headers of all chunks before i, once
// for each File. It returns ErrNoEntry if the file does not have the item or
// never wrote it, and ErrCorrupt if the file is not finished. If it fails, it
// returns dst as it was.
func (f *File) AppendItem(ctx context.Context, dst []byte, i int64) ([]byte, error) {
	if err := f.checkRange(i, i+1); err != nil {
		return dst, err
	}
	p, err := f.one(ctx, i, math.MaxInt64)
	if err != nil {
		return dst, err
	}
	if !p.whole() {
		b, err := f.rest(ctx, p)
		bufpool.Put(p.b)
		if err != nil {
			return dst, err
		}
		p.b = b
	}
	defer bufpool.Put(p.b)
	return f.appendPiece(dst, p, f.o.Parallel)
}

// whole reports whether all of the chunk is read.
func (p *piece) whole() bool { return p.off+int64(len(p.b)) >= p.next }

// rest reads what is missing of a chunk, and returns the chunk in a buffer of bufpool.
func (f *File) rest(ctx context.Context, p *piece) ([]byte, error) {
	have := len(p.b)
	b := bufpool.Get(int(p.next - p.off))
	copy(b, p.b)
	if err := f.r.ReadRanges(ctx, []rangeio.Span{{Off: p.off + int64(have), P: b[have:]}}); err != nil {
		bufpool.Put(b)
		return nil, f.wrapRead(err, p.place)
	}
	return b, nil
}

// one reads chunk i into a buffer from bufpool, or the start of it: at most so many bytes, and the header. If a table of version 3 contradicts
// the chunks, the chunks are right: the Python tool writes the table but never reads
// it.
func (f *File) one(ctx context.Context, i, most int64) (*piece, error) {
	places, err := f.places(ctx, f.run(i+1), nil, i, i+1)
	if err != nil {
		return nil, err
	}
	p := places[0]
	c, err := f.oneAt(ctx, p, most)
	if f.h.Version != Version3 || !f.usesTable() {
		return c, err
	}
	if err == nil {
		ok, err := f.chained(ctx, p, c.next-p.off)
		if ok {
			return c, nil
		}
		if err != nil {
			bufpool.Put(c.b)
			return nil, err
		}
	} else if !isFormat(err) {
		return nil, err
	}
	walked, werr := f.walked(ctx, i, i+1)
	if werr == nil && walked[0].off == p.off {
		return c, err
	}
	if c != nil {
		bufpool.Put(c.b)
	}
	switch {
	case werr == nil:
		return f.oneAt(ctx, walked[0], most)
	case !isFormat(werr):
		return nil, werr
	case err == nil:
		err = corrupt("offsets", f.t.off+i*entryLen, "entry %d is %d, which the chunks contradict; they cannot be followed either: %v", i, p.off, werr)
	}
	return nil, err
}

// oneAt reads the start of the chunk at p: as many bytes as guess says.
func (f *File) oneAt(ctx context.Context, p place, most int64) (*piece, error) {
	if err := f.inFile(p); err != nil {
		return nil, err
	}
	b := bufpool.Get(int(min(f.guess(p), most)))
	c, err := f.pieceAt(ctx, p, b)
	if err != nil {
		bufpool.Put(b)
		return nil, err
	}
	return c, nil
}

func (f *File) pieceAt(ctx context.Context, p place, b []byte) (*piece, error) {
	if err := f.r.ReadRanges(ctx, []rangeio.Span{{Off: p.off, P: b}}); err != nil {
		return nil, f.wrapRead(err, p)
	}
	h, n, err := f.head(p, b)
	if err != nil {
		return nil, err
	}
	return &piece{place: p, h: h, next: p.off + n, b: b[:min(n, int64(len(b)))]}, nil
}

// chained reports whether the chunk at p, found by a table of version 3, fits between
// its neighbours: it ends where the table says that the next one begins. n is the
// chunk's length with its digest.
func (f *File) chained(ctx context.Context, p place, n int64) (bool, error) {
	switch {
	case p.i < f.h.Chunks-1:
		return p.sure && p.room == n && (p.i > 0 || p.off == f.body), nil
	case p.i > 0 && p.off+n == f.size:
		return true, nil
	}
	// After an append by the Python tool, bytes may follow the last chunk. Then
	// the chunk before it tells whether the last chunk begins at p.
	return f.afterOther(ctx, p)
}

// afterOther reads the header of the chunk before p and reports whether that chunk
// ends where p begins.
func (f *File) afterOther(ctx context.Context, p place) (bool, error) {
	if p.i == 0 {
		return p.off == f.body, nil
	}
	before, err := f.places(ctx, f.run(p.i), nil, p.i-1, p.i)
	if err != nil || f.inFile(before[0]) != nil {
		return false, notFormat(err)
	}
	b := make([]byte, min(blosc.HeaderLen2, f.size-before[0].off))
	if err := f.r.ReadRanges(ctx, []rangeio.Span{{Off: before[0].off, P: b}}); err != nil {
		return false, wrap(f.h.Part(p.i-1), before[0].off, err)
	}
	_, n, err := f.head(before[0], b)
	return err == nil && before[0].off+n == p.off, nil
}

// notFormat returns nil if err is about the bytes of the file, else err.
func notFormat(err error) error {
	if isFormat(err) {
		return nil
	}
	return err
}

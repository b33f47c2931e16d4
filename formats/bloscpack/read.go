package bloscpack

import (
	"context"
	"fmt"
	"slices"

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
	minGuess, maxGuess = 512, 64 << 10
)

// A place is where a chunk lies by the table.
type place struct {
	i    int64 // number of the chunk
	off  int64
	room int64 // bytes to the next chunk that is known, or to the end of the file

	bound bool // a chunk begins there
	sure  bool // all of it is worth reading: it is most likely the chunk's length
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

// run reads the table up to the entries of chunk j.
func (f *File) run(j int64) *run { return &run{t: &f.t, end: min(j+1, f.h.Chunks)} }

// places appends where the chunks [i, j) lie by the table. Entries that are -1
// are places, too.
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
			ordered = false // or the next one was never written
		default: // the last by number is the last in the file, too
			p.sure = p.i == f.h.Chunks-1
		}
		out = append(out, p)
	}
	if f.h.Version == Version4 {
		f.narrow(out[first:], offs, ordered)
	}
	return out, nil
}

// narrow finds what bounds chunks that do not lie in the order of their numbers,
// or lack a neighbour: the next chunk in the file among those whose entries are
// at hand.
func (f *File) narrow(places []place, offs []int64, ordered bool) {
	if len(places) == 1 {
		if ordered && f.t.inOrder(places[0].i) {
			return
		}
		near := f.t.around(places[0].i)
		if next := offs[len(offs)-1]; len(near) > 0 && !slices.Contains(near, next) {
			near = append(near, next) // it stands on another page
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

// ascending tells whether chunks lie in the order of their numbers, but for those
// that were never written.
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

// A group is chunks that were read together. Their encoded bytes lie in lent
// buffers, which release gives back.
type group struct {
	pieces []piece
	err    error // of the chunk after them
	lent   [][]byte

	spans []rangeio.Span
	parts [][]byte // what is read of each place
	free  chan *group
}

// release gives the buffers back, and the group to the source that made it.
func (g *group) release() {
	for _, b := range g.lent {
		bufpool.Put(b)
	}
	clear(g.lent)
	clear(g.pieces)
	clear(g.spans)
	clear(g.parts)
	g.lent, g.pieces, g.spans, g.parts, g.err = g.lent[:0], g.pieces[:0], g.spans[:0], g.parts[:0], nil
	select {
	case g.free <- g:
	default: // there is none, or it has enough
	}
}

// lend gives n bytes that live as long as the group.
func (g *group) lend(n int64) []byte {
	b := bufpool.Get(int(n))
	g.lent = append(g.lent, b)
	return b
}

// load reads chunks that lie in the file: one planned read, and one more for
// those that turn out to be longer than was guessed. Headers are checked against
// the file; at the first that is wrong the group ends. Digests are not yet
// looked at. The planned read is made under one, the other under ctx.
func (f *File) load(ctx, one context.Context, g *group, places []place) error {
	err := f.fill(ctx, one, g, places)
	if err != nil {
		g.release()
	}
	return err
}

func (f *File) fill(ctx, one context.Context, g *group, places []place) error {
	var total int64
	for _, p := range places {
		total += f.guess(p)
	}
	f.cut(g, places, g.lend(total))
	if err := f.r.ReadRanges(one, g.spans); err != nil {
		return f.wrapRead(places, err)
	}
	var rest []rangeio.Span
	for k, p := range places {
		h, n, err := f.head(p, g.parts[k])
		if err != nil {
			g.err = err
			break
		}
		b := g.parts[k]
		if n > int64(len(b)) {
			whole := g.lend(n)
			have := copy(whole, b)
			rest = append(rest, rangeio.Span{Off: p.off + int64(have), P: whole[have:]})
			b = whole
		}
		g.pieces = append(g.pieces, piece{place: p, h: h, next: p.off + n, b: b[:n]})
	}
	if len(rest) > 0 {
		if err := f.r.ReadRanges(ctx, rest); err != nil {
			return f.wrapRead(places, err)
		}
	}
	return nil
}

// cut cuts buf into what is read of each place. Neighbours in the file are
// neighbours in memory, and share a span.
func (f *File) cut(g *group, places []place, buf []byte) {
	used := 0
	g.parts, g.pieces = slices.Grow(g.parts, len(places)), slices.Grow(g.pieces, len(places))
	for _, p := range places {
		n := int(f.guess(p))
		g.parts = append(g.parts, buf[used:used+n:used+n])
		if last := len(g.spans) - 1; last >= 0 && g.spans[last].End() == p.off {
			g.spans[last].P = buf[used-len(g.spans[last].P) : used+n]
		} else {
			g.spans = append(g.spans, rangeio.Span{Off: p.off, P: buf[used : used+n]})
		}
		used += n
	}
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
	case int64(int(n)) != n: // a chunk of 2 GiB and its checksum, where int has 32 bits
		return h, 0, f.bad(p, formats.ErrTooLarge, "%d bytes with its checksum", n)
	case int64(h.NBytes) > f.o.Limits.MaxDecoded:
		return h, 0, f.bad(p, formats.ErrTooLarge, "%d decoded bytes, %d allowed", h.NBytes, f.o.Limits.MaxDecoded)
	}
	return h, n, nil
}

// inChunk names the chunk in an error.
func (f *File) inChunk(p place, err error) error {
	if err == nil {
		return nil
	}
	return wrap(f.h.Part(p.i), p.off, err)
}

func (f *File) bad(p place, cause error, text string, args ...any) error {
	return fail(f.h.Part(p.i), p.off, cause, text, args...)
}

// check verifies the digest behind a chunk and gives the chunk without it.
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

// appendPiece decodes a chunk behind dst.
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

// decodePiece decodes a chunk into dst, which has its length.
func (f *File) decodePiece(dst []byte, p *piece, parallel int) error {
	chunk, err := f.check(p)
	if err != nil {
		return err
	}
	_, err = f.decoder(parallel).DecodeInto(dst, chunk)
	return f.inChunk(p.place, err)
}

// AppendItem appends the decoded chunk i to dst. It is one planned read, one more
// if its entry of the table is not known yet, and one more for a chunk whose end
// no neighbour tells and that is longer than usual. Without a table, or if the
// one of version 3 contradicts the chunks, the headers of the chunks before i are
// followed, once for each File. An item that the file does not have, or that was
// never written, is ErrNoEntry, a file whose writing did not end ErrCorrupt. With
// an error the result is dst.
func (f *File) AppendItem(ctx context.Context, dst []byte, i int64) ([]byte, error) {
	if err := f.checkRange(i, i+1); err != nil {
		return dst, err
	}
	g, err := f.one(ctx, i)
	if err != nil {
		return dst, err
	}
	defer g.release()
	return f.appendPiece(dst, &g.pieces[0], f.o.Parallel)
}

// one reads chunk i. Where the table of version 3, which the Python tool writes
// and never reads, contradicts the chunks, these are right.
func (f *File) one(ctx context.Context, i int64) (*group, error) {
	places, err := f.places(ctx, f.run(i+1), nil, i, i+1)
	if err != nil {
		return nil, err
	}
	p := places[0]
	g, err := f.oneAt(ctx, p)
	if f.h.Version != Version3 || !f.usesTable() {
		return g, err
	}
	if err == nil {
		ok, err := f.chained(ctx, p, g.pieces[0].next-p.off)
		if ok {
			return g, nil
		}
		if err != nil {
			g.release()
			return nil, err
		}
	} else if !isFormat(err) {
		return nil, err
	}
	walked, werr := f.walked(ctx, i, i+1)
	switch {
	case werr != nil && isFormat(werr):
		if err == nil {
			g.release()
			err = corrupt("offsets", f.t.off+i*entryLen, "entry %d is %d, which the chunks contradict; they cannot be followed either: %v", i, p.off, werr)
		}
		return nil, err
	case werr == nil && walked[0].off == p.off:
		return g, err
	}
	if g != nil {
		g.release()
	}
	if werr != nil {
		return nil, werr
	}
	return f.oneAt(ctx, walked[0])
}

func (f *File) oneAt(ctx context.Context, p place) (*group, error) {
	if err := f.inFile(p); err != nil {
		return nil, err
	}
	g := &group{}
	if err := f.load(ctx, ctx, g, []place{p}); err != nil {
		return nil, err
	}
	if err := g.err; err != nil {
		g.release()
		return nil, err
	}
	return g, nil
}

// chained tells whether a chunk found by a table of version 3, n bytes long with
// its digest, begins and ends where its neighbours' entries say.
func (f *File) chained(ctx context.Context, p place, n int64) (bool, error) {
	switch {
	case p.i < f.h.Chunks-1:
		return p.sure && p.room == n && (p.i > 0 || p.off == f.body), nil
	case p.i > 0 && p.off+n == f.size:
		return true, nil
	}
	// An append of the Python tool may leave bytes behind the last chunk: then the
	// one before it tells.
	return f.afterOther(ctx, p)
}

// afterOther tells whether a chunk begins where the one before it ends, whose
// header it reads.
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

// notFormat is err unless that is about bytes.
func notFormat(err error) error {
	if isFormat(err) {
		return nil
	}
	return err
}

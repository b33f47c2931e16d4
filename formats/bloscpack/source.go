package bloscpack

import (
	"context"
	"errors"
	"slices"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

const (
	// batchEntries is the number of entries that are read from the table at a
	// time.
	batchEntries = 16 << 10
	// maxGroup bounds the chunks of a group, since each takes 200 bytes besides
	// its data.
	maxGroup = 8 << 10
	// firstWindow is the length of the first read if the lengths of chunks are
	// unknown.
	firstWindow = 1 << 20
)

// A source reads the encoded chunks of a range, in order, and passes them on in
// groups.
type source struct {
	f    *File
	r    rangeio.Reader // reads the chunks; a pull.Dry for plans
	i, j int64          // the chunks still to read

	lax   bool // skip chunks that were never written, instead of an error
	chain bool // each chunk must begin where the one before it ends
	// off is where the next chunk begins if chain is set, -1: unknown.
	off int64

	used    extents
	misled  bool  // the table is wrong
	missing int64 // number of chunks that were skipped
	first   int64 // number of the first of them

	torn []piece // memory for the groups of cut
}

// A group holds the chunks of a window. short tells that the guessed length of a
// chunk was too small, so that its last bytes are missing.
type group struct {
	pieces []piece
	failed error // error of the chunk after pieces
	short  bool
}

func (f *File) source(i, j int64) *source {
	s := &source{f: f, r: f.r, i: i, j: j, off: -1, first: -1, chain: f.h.Version == Version3 || !f.h.Offsets, misled: f.distrust}
	if s.chain && i == 0 {
		s.off = f.body
	}
	return s
}

// errMisled tells that the table is wrong about the next chunk, so the headers
// of chunks have to be followed.
var errMisled = errors.New("the chunks contradict the table")

// each calls fn with one group after another. It returns the error of a chunk
// after fn has got all chunks before it. The encoded bytes are valid during the
// call only.
func (s *source) each(ctx context.Context, fn func(group []piece) error) error {
	if s.f.usesTable() || s.i > 0 || s.j < s.f.h.Chunks {
		err := s.placed(ctx, fn)
		if !errors.Is(err, errMisled) {
			return err
		}
	}
	return s.follow(ctx, fn)
}

// placed reads the chunks at their entries of the table. If chain is set, it returns
// errMisled at the first chunk whose entry is wrong.
func (s *source) placed(ctx context.Context, fn func(group []piece) error) error {
	f := s.f
	p := pull.Pull[place]{From: s.r, Window: f.o.Window, Parts: s.parts, Came: f.came,
		Failed: func(parts []pull.Part[place], err error) error {
			return f.wrapRead(err, parts[0].For, parts[len(parts)-1].For)
		},
		Why: f.why,
	}
	for w, err := range p.Windows(ctx) {
		if out, ok := errors.AsType[outside](err); ok {
			if s.chain && f.usesTable() {
				return s.lost(ctx, out.i, out.error)
			}
			return out.error
		}
		if err != nil {
			return err
		}
		if err := s.window(ctx, w, fn); err != nil {
			return err
		}
	}
	return nil
}

// An outside error is about chunk i, which cannot begin where the table says.
type outside struct {
	i int64
	error
}

// parts adds the places of chunks to a Pull, each with the number of bytes that guess
// returns.
func (s *source) parts(ctx context.Context, add func(pull.Part[place]) error) error {
	f, run := s.f, s.f.run(s.j)
	batch := make([]place, 0, min(batchEntries, s.j-s.i))
	for i := s.i; i < s.j; i += batchEntries {
		var err error
		if batch, err = f.places(ctx, run, batch[:0], i, min(i+batchEntries, s.j)); err != nil {
			return err
		}
		for _, p := range batch {
			if s.lax && p.off == missing {
				if s.missing++; s.first < 0 {
					s.first = p.i
				}
				continue
			}
			if err := f.inFile(p); err != nil {
				return outside{p.i, err}
			}
			if err := add(pull.Part[place]{Off: p.off, Len: f.guess(p), For: p}); err != nil {
				return err
			}
		}
	}
	return nil
}

// lost handles a wrong entry for chunk i: it finds where the chunk begins, sets off,
// and returns errMisled. If the place cannot be found, it returns cause, the error of
// the chunk.
func (s *source) lost(ctx context.Context, i int64, cause error) error {
	s.misled = true
	if s.off >= 0 {
		return errMisled
	}
	walked, err := s.f.walked(ctx, i, i+1)
	switch {
	case err == nil:
		s.off = walked[0].off
		return errMisled
	case cause == nil || !isFormat(err):
		return err
	}
	return cause
}

// came parses the headers of the chunks of a window, while the window before it
// is decoded.
func (f *File) came(w *pull.Window[place]) {
	g, ok := w.Note.(*group)
	if !ok {
		g = &group{}
		w.Note = g
	}
	*g = group{pieces: slices.Grow(g.pieces[:0], len(w.Parts))}
	for k := range w.Parts {
		p, b := w.Parts[k].For, w.Bytes(k)
		h, n, err := f.head(p, b)
		if err != nil {
			g.failed = err
			return
		}
		g.short = g.short || n > int64(len(b))
		g.pieces = append(g.pieces, piece{place: p, h: h, next: p.off + n, b: b[:min(n, int64(len(b)))]})
	}
}

// window passes the chunks of a window to fn.
func (s *source) window(ctx context.Context, w *pull.Window[place], fn func([]piece) error) error {
	g := w.Note.(*group) //nolint:forcetypeassert // came has made it
	if g.short {
		lent, err := s.complete(ctx, g.pieces)
		defer func() {
			for _, b := range lent {
				bufpool.Put(b)
			}
		}()
		if err != nil {
			return s.f.wrapRead(err, w.Parts[0].For, w.Parts[len(w.Parts)-1].For)
		}
	}
	if s.chain && s.f.usesTable() {
		return s.linked(ctx, g, w.Parts, fn)
	}
	for k := range g.pieces {
		s.used.add(g.pieces[k].off, g.pieces[k].next, g.pieces[k].i)
	}
	s.i += int64(len(g.pieces))
	return s.give(g.pieces, g.failed, fn)
}

// complete reads the missing bytes of chunks into buffers from bufpool, which
// the caller returns.
func (s *source) complete(ctx context.Context, group []piece) (lent [][]byte, err error) {
	var rest []rangeio.Span
	for k := range group {
		p := &group[k]
		if have, n := len(p.b), int(p.next-p.off); n > have {
			whole := bufpool.Get(n)
			lent = append(lent, whole)
			copy(whole, p.b)
			rest = append(rest, rangeio.Span{Off: p.off + int64(have), P: whole[have:]})
			p.b = whole
		}
	}
	return lent, s.r.ReadRanges(ctx, rest)
}

// give passes a group to fn, and then returns failed, the error of the chunk
// after the group.
func (*source) give(group []piece, failed error, fn func([]piece) error) error {
	if len(group) > 0 {
		if err := fn(group); err != nil {
			return err
		}
	}
	return failed
}

// linked passes the chunks of a version 3 file to fn as long as each begins where the
// one before it ends. If the chunk after them is bad, its entry may be wrong: then
// linked returns errMisled, and follow reads the chunk where it must begin.
func (s *source) linked(ctx context.Context, g *group, parts []pull.Part[place], fn func([]piece) error) error {
	group := g.pieces
	for k := range group {
		p := &group[k]
		follows := p.off == s.off
		if s.off < 0 { // in the midst of the file
			var err error
			if follows, err = s.f.chained(ctx, p.place, p.next-p.off); err != nil {
				return err
			}
		}
		if !follows {
			if err := s.give(group[:k], nil, fn); err != nil {
				return err
			}
			return s.lost(ctx, p.i, nil)
		}
		s.i, s.off = p.i+1, p.next
	}
	if err := s.give(group, nil, fn); err != nil || g.failed == nil {
		return err
	}
	if p := parts[len(group)].For; p.off != s.off {
		return s.lost(ctx, p.i, g.failed)
	}
	return errMisled
}

// follow reads the file from s.off on and finds chunks by their headers.
func (s *source) follow(ctx context.Context, fn func(group []piece) error) error {
	f := s.f
	p := pull.Pull[struct{}]{From: s.r, Window: f.o.Window,
		Failed: func(_ []pull.Part[struct{}], err error) error { return wrap(f.h.Part(s.i), s.off, err) },
		Why:    func([]pull.Part[struct{}]) (string, bool) { return "chunks", true },
	}
	p.Stretch(s.off, f.size, min(firstWindow, f.o.Window))
	var torn []byte // first bytes of a chunk that began in an earlier window
	if s.i < s.j {
		for w, err := range p.Windows(ctx) {
			if err != nil {
				return err
			}
			if err := s.cut(w.Bytes(0), &torn, fn); err != nil {
				return err
			}
			if s.i >= s.j {
				break
			}
		}
	}
	if _, dry := s.r.(*pull.Dry); s.i < s.j && !dry {
		return f.inFile(place{i: s.i, off: s.off, room: f.size - s.off})
	}
	return nil
}

// cut cuts b into chunks and passes them to fn. b continues torn, the first
// bytes of a chunk. If the last chunk in b is incomplete, cut leaves its bytes
// in torn.
func (s *source) cut(b []byte, torn *[]byte, fn func([]piece) error) error {
	group := s.torn[:0]
	defer func() { clear(group); s.torn = group }()
	for s.i < s.j {
		p := place{i: s.i, off: s.off, room: s.f.size - s.off}
		if err := s.f.inFile(p); err != nil {
			return s.give(group, err, fn)
		}
		whole, h, n, err := s.next(p, b, torn)
		if err != nil || whole == nil {
			return s.give(group, err, fn)
		}
		b = b[n:]
		p.room, p.sure = int64(len(whole)), true
		group = append(group, piece{place: p, h: h, next: s.off + p.room, b: whole})
		s.i, s.off = s.i+1, s.off+p.room
		if len(group) == maxGroup || len(*torn) > 0 {
			if err := fn(group); err != nil {
				return err
			}
			group, *torn = group[:0], (*torn)[:0]
		}
	}
	return s.give(group, nil, fn)
}

// next returns the chunk at p with its digest; n is how many bytes of b belong to
// it. whole is nil if b ends before the chunk does.
func (s *source) next(p place, b []byte, torn *[]byte) (whole []byte, h blosc.Header, n int, err error) {
	if len(*torn) == 0 {
		if int64(len(b)) >= min(blosc.HeaderLen2, p.room) {
			h, size, err := s.f.head(p, b)
			if err != nil || size <= int64(len(b)) {
				return b[:size:size], h, int(size), err
			}
			*torn = make([]byte, 0, size)
		}
		*torn = append(*torn, b...)
		return nil, h, 0, nil
	}
	had := len(*torn)
	top := func(size int64) bool {
		*torn = append(*torn, b[len(*torn)-had:][:min(max(size-int64(len(*torn)), 0), int64(len(b)-len(*torn)+had))]...)
		return int64(len(*torn)) >= size
	}
	if !top(min(blosc.HeaderLen2, p.room)) {
		return nil, h, 0, nil
	}
	h, size, err := s.f.head(p, *torn)
	if err != nil || !top(size) {
		return nil, h, 0, err
	}
	return (*torn)[:size:size], h, len(*torn) - had, nil
}

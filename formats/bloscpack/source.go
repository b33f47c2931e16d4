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
	// batchEntries is how many entries of the table are looked at together.
	batchEntries = 16 << 10
	// maxGroup bounds the chunks of a group, whose books are 200 bytes each.
	maxGroup = 8 << 10
	// firstWindow is how much is read at first if nothing tells how many chunks that
	// makes.
	firstWindow = 1 << 20
)

// A source gives the encoded chunks of a range in groups, in order.
type source struct {
	f    *File
	r    rangeio.Reader // of the chunks
	i, j int64          // chunks that are left

	lax   bool // skip chunks that were never written
	chain bool // each chunk begins where the one before it ends
	// off is where the next chunk of a chain begins, -1 if that is not known.
	off int64

	used    extents
	misled  bool  // the table was wrong
	missing int64 // chunks that were skipped
	first   int64 // of them

	torn []piece // memory of groups that are followed
}

// A group is the chunks of a window. If the end of a chunk was guessed too early, its
// last bytes are missing.
type group struct {
	pieces []piece
	failed error // of the chunk after them
	short  bool
}

func (f *File) source(i, j int64) *source {
	s := &source{f: f, r: f.r, i: i, j: j, off: -1, first: -1, chain: f.h.Version == Version3 || !f.h.Offsets, misled: f.distrust}
	if s.chain && i == 0 {
		s.off = f.body
	}
	return s
}

// errMisled says that the table does not tell where the next chunk lies.
var errMisled = errors.New("the chunks contradict the table")

// each calls fn with group after group. An error comes after the chunks before it.
// Encoded bytes are valid during the call.
func (s *source) each(ctx context.Context, fn func(group []piece) error) error {
	if s.f.usesTable() || s.i > 0 || s.j < s.f.h.Chunks {
		err := s.placed(ctx, fn)
		if !errors.Is(err, errMisled) {
			return err
		}
	}
	return s.follow(ctx, fn)
}

// placed gives the chunks that lie at their entries; errMisled at the first chunk of a
// chain that does not.
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

// An outside error is about a chunk that cannot lie where the table says.
type outside struct {
	i int64
	error
}

// parts adds the places of chunks, with as many bytes of each as are worth reading at
// once.
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

// lost returns errMisled, after it has found where chunk i of a chain begins: the
// table was wrong there. If that place cannot be found it returns cause, the fault of
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

// came looks at the headers of the chunks of a window.
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

// window gives the chunks of a window.
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

// complete reads the missing bytes of chunks, into lent buffers.
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

// give hands a group on, and then gives the error of the chunk after it.
func (*source) give(group []piece, failed error, fn func([]piece) error) error {
	if len(group) > 0 {
		if err := fn(group); err != nil {
			return err
		}
	}
	return failed
}

// linked gives the chunks of a table of version 3, as long as they follow each other.
// If the next one is bad, its place is first checked by following the chunks.
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

// follow finds chunks by their headers, from s.off on.
func (s *source) follow(ctx context.Context, fn func(group []piece) error) error {
	f := s.f
	p := pull.Pull[struct{}]{From: s.r, Window: f.o.Window,
		Failed: func(_ []pull.Part[struct{}], err error) error { return wrap(f.h.Part(s.i), s.off, err) },
		Why:    func([]pull.Part[struct{}]) (string, bool) { return "chunks", true },
	}
	p.Stretch(s.off, f.size, min(firstWindow, f.o.Window))
	var torn []byte // of a chunk that began in an earlier window
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

// cut cuts chunks from b, which continues torn. It leaves the beginning of an
// incomplete last chunk in torn.
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

// next gives the bytes of the chunk at p, with its digest, and how many bytes of b
// belong to it; nil if b ends before.
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

package bloscpack

import (
	"context"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

const (
	// batchEntries is how many entries of the table are looked at together.
	batchEntries = 16 << 10
	// maxGroup bounds the chunks of a group, whose books are 200 bytes each.
	maxGroup = 8 << 10
	// firstWindow is how much is read at first where nothing tells how many chunks
	// that are.
	firstWindow = 1 << 20
)

// A source gives the encoded chunks of a range in groups, in order.
type source struct {
	f    *File
	i, j int64 // what is left

	places []place // of the next chunks
	batch  []place // the memory of places
	run    *run
	free   chan *group
	lax    bool // pass over chunks that were never written
	chain  bool // each chunk begins where the one before it ends

	// Where chunks are followed by their headers alone:
	stream bool
	off    int64
	carry  []byte // bytes at off that were read already
	spare  []byte // room for them
	size   int64  // of the next window

	used    extents
	misled  bool  // the table was wrong
	missing int64 // chunks passed over
	first   int64 // of them
}

func (f *File) source(i, j int64) *source {
	s := &source{f: f, i: i, j: j, run: f.run(j), free: make(chan *group, 3), off: -1, size: min(f.o.Window, firstWindow), first: -1, chain: f.h.Version == Version3 || !f.h.Offsets, misled: f.distrust}
	if !f.usesTable() && i == 0 && j == f.h.Chunks {
		s.stream, s.off = true, f.body
	}
	if s.chain && i == 0 {
		s.off = f.body
	}
	return s
}

// group is one that was given back, or a new one.
func (s *source) group() *group {
	select {
	case g := <-s.free:
		return g
	default:
		return &group{free: s.free}
	}
}

// next gives the next group, nil at the end. A group may end with an error, after
// which there is no next.
//
// The table is read under table and chunks under one, which all groups share,
// since no group depends on another.
func (s *source) next(ctx, table, one context.Context) (*group, error) {
	if s.i >= s.j {
		return nil, nil
	}
	if s.stream {
		return s.follow(one)
	}
	places, err := s.pick(table)
	if err != nil || len(places) == 0 {
		return nil, err
	}
	if s.chain && s.f.usesTable() {
		if err := s.f.inFile(places[0]); err != nil && s.off < 0 {
			return s.seek(one, err)
		}
		if s.off >= 0 && places[0].off != s.off {
			return s.mislead(one)
		}
	}
	g := s.group()
	if err := s.f.load(ctx, one, g, places); err != nil {
		return nil, err
	}
	if s.chain && s.f.usesTable() {
		return s.linked(ctx, one, g, places)
	}
	s.i = places[len(places)-1].i + 1
	for k := range g.pieces {
		s.used.add(g.pieces[k].off, g.pieces[k].next, g.pieces[k].i)
	}
	return g, nil
}

// linked checks that the chunks of a table of version 3 follow each other. From
// the first that does not on, chunks are followed.
func (s *source) linked(ctx, one context.Context, g *group, places []place) (*group, error) {
	for k := range g.pieces {
		p := &g.pieces[k]
		follows := p.off == s.off
		if s.off < 0 { // in the midst of the file
			var err error
			if follows, err = s.f.chained(ctx, p.place, p.next-p.off); err != nil {
				g.release()
				return nil, err
			}
		}
		if !follows {
			g.pieces, g.err, s.misled = g.pieces[:k], nil, true
			break
		}
		s.i, s.off = p.i+1, p.next
	}
	if g.err == nil && !s.misled {
		return g, nil
	}
	if k := len(g.pieces); k < len(places) && s.off >= 0 && places[k].off != s.off {
		s.misled = true
	}
	s.stream = true
	if len(g.pieces) > 0 {
		g.err = nil // what failed is looked at once more, where it follows the others
		return g, nil
	}
	err := g.err
	g.release()
	if s.off < 0 { // not even the first one
		return s.seek(one, err)
	}
	return s.follow(one)
}

// seek goes on without the table in the midst of the file: the first chunk is
// found from the beginning. cause is what was wrong with it where the table says;
// nil: only the chunks before and behind it.
func (s *source) seek(ctx context.Context, cause error) (*group, error) {
	walked, err := s.f.walked(ctx, s.i, s.i+1)
	switch {
	case err == nil:
		s.off = walked[0].off
		return s.mislead(ctx)
	case cause == nil || !isFormat(err):
		return nil, err
	}
	return nil, cause
}

// mislead goes on without the table.
func (s *source) mislead(ctx context.Context) (*group, error) {
	s.stream, s.misled = true, true
	return s.follow(ctx)
}

// pick gives the places of the next group: what a window holds of chunks that can
// lie where the table says. An error is that of the first place.
func (s *source) pick(ctx context.Context) ([]place, error) {
	for {
		if len(s.places) == 0 {
			if s.i >= s.j {
				return nil, nil
			}
			var err error
			if s.batch, err = s.f.places(ctx, s.run, s.batch[:0], s.i, min(s.i+batchEntries, s.j)); err != nil {
				return nil, err
			}
			s.places = s.batch
		}
		if s.lax && s.places[0].off == missing {
			if s.missing++; s.first < 0 {
				s.first = s.places[0].i
			}
			s.i, s.places = s.i+1, s.places[1:]
			continue
		}
		break
	}
	total := int64(0)
	for k, p := range s.places {
		n := s.f.guess(p)
		err := s.f.inFile(p)
		switch {
		case err != nil && k == 0:
			if s.chain {
				return s.places[:1], nil // it is followed
			}
			return nil, err
		case err == nil && (k == 0 || total+n <= s.f.o.Window && k < maxGroup):
			total += n
			continue
		}
		out := s.places[:k]
		s.places = s.places[k:]
		return out, nil
	}
	out := s.places
	s.places = nil
	return out, nil
}

// follow reads the next window and finds the chunks in it by their headers.
func (s *source) follow(ctx context.Context) (*group, error) {
	f := s.f
	g := s.group()
	size := max(s.size, int64(len(s.carry)))
	for {
		size = min(size, f.size-s.off)
		buf := g.lend(max(size, 0))
		have := copy(buf, s.carry)
		s.carry = nil
		if have < len(buf) {
			if err := f.r.ReadRanges(ctx, []rangeio.Span{{Off: s.off + int64(have), P: buf[have:]}}); err != nil {
				g.release()
				return nil, wrap(f.h.Part(s.i), s.off, err)
			}
		}
		if size = s.find(g, buf); size == 0 {
			return g, nil
		}
		s.carry = buf // a chunk longer than the window
	}
}

// find cuts chunks from b, which begins at s.off, and keeps the rest of it for
// the next window. Where not even one is whole, b has to be need bytes long.
func (s *source) find(g *group, b []byte) (need int64) {
	f := s.f
	pos := 0
	for s.i < s.j && len(g.pieces) < maxGroup {
		p := place{i: s.i, off: s.off, room: f.size - s.off}
		rest := b[pos:]
		if g.err = f.inFile(p); g.err != nil {
			return 0
		}
		if need = min(blosc.HeaderLen2, p.room); int64(len(rest)) < need {
			break
		}
		h, n, err := f.head(p, rest)
		if err != nil {
			g.err = err
			return 0
		}
		if need = n; int64(len(rest)) < n {
			break
		}
		p.room, p.sure = n, true
		g.pieces = append(g.pieces, piece{place: p, h: h, next: s.off + n, b: rest[:n:n]})
		pos += int(n)
		s.i, s.off = s.i+1, s.off+n
	}
	if len(g.pieces) == 0 {
		return need
	}
	s.spare = append(s.spare[:0], b[pos:]...) // the group's buffer may go back before the next window
	s.carry = s.spare
	s.size = min(2*s.size, f.o.Window)
	if len(g.pieces) == maxGroup { // tiny ones: what a group cannot take is copied from window to window
		s.size = min(max(int64(pos), minWindow), f.o.Window)
	}
	return 0
}

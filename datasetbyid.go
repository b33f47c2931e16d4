package farread

import (
	"context"
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A lazyByID is a chunk of a dataset that is opened by its index, once. Its gate is a lock
// that a caller can stop waiting for.
type lazyByID struct {
	gate chan struct{}
	g    *GulpByID // guarded by gulpSet.mu
}

// Select returns a Chunk that has the frames from to to-1 of id, as far as there are
// such, and the number of the chunk of the dataset. Frames are read from it as from that
// of GulpByID.Select.
//
// Chunks with an index beside them, which the listing has shown, are opened by it, as by
// OpenGulpByID, and the others as by Load: 3 and 2 requests a chunk in one phase. Then
// all indexes are asked for the id, since a dataset has no order of ids: one phase and a
// request a chunk, if they have more than 40 KiB. So Select reads 49 KB a chunk, and 12
// KiB more if the chunk has more than about 20,000 frames, where Find reads each .gmeta.
// Further calls make requests only for pages that are not in memory.
//
// An unknown id is formats.ErrNoEntry, one in two chunks formats.ErrCorrupt.
func (d *GulpDataset) Select(ctx context.Context, id string, from, to int) (*gulp.Chunk, int, error) {
	if !d.set.indexed() {
		return d.Find(ctx, id)
	}
	all, err := d.byID(ctx)
	if err != nil {
		return nil, 0, err
	}
	found := make([]*gulp.Chunk, len(all))
	err = par.Do(rangeio.OnePhase(ctx), len(all), d.set.parallel(), func(ctx context.Context, k int) error {
		c, err := all[k].Select(ctx, id, from, to)
		if errors.Is(err, formats.ErrNoEntry) {
			return nil
		}
		if changed(err) {
			d.set.forget(d.Pair(k))
		}
		found[k] = c
		return d.inPair(k, err)
	})
	if err != nil {
		return nil, 0, err
	}
	at := -1
	for k, c := range found {
		switch {
		case c != nil && at < 0:
			at = k
		case c != nil:
			return nil, 0, d.aboutID(id, fmt.Errorf("in %s and in %s: %w", d.Pair(at).Meta, d.Pair(k).Meta, formats.ErrCorrupt))
		}
	}
	if at < 0 {
		return nil, 0, d.aboutID(id, formats.ErrNoEntry)
	}
	return found[at], at, nil
}

func (d *GulpDataset) aboutID(id string, err error) error {
	return &formats.Error{Format: gulp.Format, Part: fmt.Sprintf("id %.80q", id), Off: -1, Err: err}
}

// inPair names the chunk of an error.
func (d *GulpDataset) inPair(k int, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", d.Pair(k).Meta, err)
	}
	return err
}

// byID opens all chunks, by their indexes where there are such. Chunks that are open cost
// nothing.
func (d *GulpDataset) byID(ctx context.Context) ([]*GulpByID, error) {
	all := make([]*GulpByID, d.Len())
	err := par.Do(rangeio.OnePhase(ctx), len(all), d.set.parallel(), func(ctx context.Context, k int) (err error) {
		all[k], err = d.chunkByID(ctx, k)
		return err
	})
	return all, err
}

func (d *GulpDataset) chunkByID(ctx context.Context, k int) (*GulpByID, error) {
	s, p := d.set, d.Pair(k)
	l := s.lazy[p.Data]
	if l == nil { // no index
		if _, err := d.Chunk(ctx, k); err != nil {
			return nil, err
		}
		return s.have(p), nil
	}
	select {
	case l.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.gate }()
	if g := s.have(p); g != nil {
		return g, nil
	}
	g, err := s.openByID(ctx, p)
	if err != nil {
		return nil, d.inPair(k, err)
	}
	s.mu.Lock()
	l.g = g
	s.mu.Unlock()
	return g, nil
}

// indexed reports whether the listing has shown an index beside a chunk.
func (s *gulpSet) indexed() bool { return len(s.lazy) > 0 }

// parallel is how many chunks are opened at a time.
func (s *gulpSet) parallel() int {
	const most = 8 // as gulp.Options.Parallel
	if n := s.o.Parallel; n > 0 {
		return n
	}
	return most
}

// have returns a chunk that is open, by its index or by its .gmeta, or nil.
func (s *gulpSet) have(p gulp.Pair) *GulpByID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.open[p]; g != nil {
		return g.byID()
	}
	if l := s.lazy[p.Data]; l != nil {
		return l.g
	}
	return nil
}

// byID returns the same chunk as a GulpByID.
func (g *Gulp) byID() *GulpByID {
	x := &GulpByID{Meta: g.Meta, Data: g.Data, c: g.c, o: g.o, gate: make(chan struct{}, 1)}
	x.whole.Store(g)
	return x
}

// openByID opens a chunk by its index. Its requests are steps of ctx as those of
// OpenChunk.
func (s *gulpSet) openByID(ctx context.Context, p gulp.Pair) (g *GulpByID, err error) {
	place := gulp.Pair{Meta: s.prefix + p.Meta, Data: s.prefix + p.Data}
	rest := ctx
	err = objstore.Again(ctx, func() (err error) {
		objects, next := rangeio.Steps(rest)
		rest = next
		if g, err = s.c.openObjects(objects, s.b, place, true, gulpindex.Tail, &s.patience); err != nil {
			return err
		}
		g.o = s.c.gulpOptions(s.o.Options)
		if err = g.useIndex(rest); err == nil && g.Index == nil {
			g.Beside = nil
			_, err = g.Whole(rest)
		}
		return err
	})
	if err == nil {
		err = s.asListed(p, g.Meta, g.Data)
	}
	return g, err
}

// wholeOf reads the .gmeta of a chunk that is open by its index. It returns nil if there
// is none, or if it was replaced meanwhile: then the chunk must be opened anew.
func (s *gulpSet) wholeOf(ctx context.Context, p gulp.Pair) (*Gulp, error) {
	l := s.lazy[p.Data]
	if l == nil {
		return nil, nil
	}
	s.mu.Lock()
	x := l.g
	s.mu.Unlock()
	if x == nil {
		return nil, nil
	}
	g, err := x.Whole(ctx)
	if changed(err) {
		s.forget(p)
		return nil, nil
	}
	return g, err
}

func changed(err error) bool {
	return errors.Is(err, objstore.ErrChanged) || errors.Is(err, objstore.ErrNotFound)
}

// forget lets the next call open a chunk anew.
func (s *gulpSet) forget(p gulp.Pair) {
	if l := s.lazy[p.Data]; l != nil {
		s.mu.Lock()
		l.g = nil
		s.mu.Unlock()
	}
}

// besides notes which of the listed names are indexes beside chunks.
func (s *gulpSet) besides(names []string) {
	have := make(map[string]bool, len(names))
	for _, n := range names {
		have[n] = true
	}
	for _, n := range names {
		if have[n+index.Suffix] {
			s.lazy[n] = &lazyByID{gate: make(chan struct{}, 1)}
		}
	}
}

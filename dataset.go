package farread

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A GulpDataset is an open folder or prefix of gulp chunks.
type GulpDataset struct {
	*gulp.Dataset
	set *gulpSet
}

// OpenGulpDataset lists the folder or prefix that uri names; chunks are opened
// when they are needed, two requests each, all side by side. Every pair is held
// against the ETag that its index names, as OpenGulp does it, whichever method
// opens it: one that is just being replaced is opened once more, and then fails
// with objstore.ErrChanged. The method may then be called again. A folder without any
// chunk is objstore.ErrNotFound.
//
// Load is one phase where each .gmeta is at most 256 KiB.
func (c *Client) OpenGulpDataset(ctx context.Context, uri string, o GulpOptions) (*GulpDataset, error) {
	b, prefix, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.GulpDatasetIn(ctx, b, prefix, o)
}

// GulpDatasetIn is OpenGulpDataset for a prefix of a bucket, with or without its
// slash; "" is all of the bucket. No text is parsed.
func (c *Client) GulpDatasetIn(ctx context.Context, b objstore.Bucket, prefix string, o GulpOptions) (*GulpDataset, error) {
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	s := &gulpSet{c: c, b: b, prefix: prefix, o: o, open: map[gulp.Pair]*Gulp{},
		phase: rangeio.OnePhase(context.Background())} // of no caller: it outlives this call
	d, err := gulp.OpenDataset(ctx, s, c.gulpOptions(o.Options))
	if err != nil {
		return nil, err
	}
	if d.Len() == 0 && len(d.Unfinished()) == 0 {
		return nil, &objstore.Error{Op: "open", Bucket: b.Name(), Key: prefix,
			Err: fmt.Errorf("no gulp chunk, data….gulp beside meta….gmeta: %w", objstore.ErrNotFound)}
	}
	return &GulpDataset{d, s}, nil
}

// Objects are the index and the data of chunk k, once that is open; else nil.
func (d *GulpDataset) Objects(k int) (meta, data *objstore.Object) {
	d.set.mu.Lock()
	defer d.set.mu.Unlock()
	if g := d.set.open[d.Pair(k)]; g != nil {
		return g.Meta, g.Data
	}
	return nil, nil
}

// gulpSet is the dataset as formats see it.
type gulpSet struct {
	c      *Client
	b      objstore.Bucket
	prefix string
	o      GulpOptions
	phase  context.Context //nolint:containedctx // only the phase that it names: no open depends on another

	mu   sync.Mutex
	open map[gulp.Pair]*Gulp
}

var _ gulp.ChunkOpener = (*gulpSet)(nil)

// OpenChunk opens a pair as OpenGulp does. Each first try is in the phase that
// all of them share; a second one waits for the first.
func (s *gulpSet) OpenChunk(ctx context.Context, p gulp.Pair, o gulp.Options) (*gulp.Chunk, error) {
	place := gulp.Pair{Meta: s.prefix + p.Meta, Data: s.prefix + p.Data}
	var phase context.Context = inPhase{ctx, s.phase}
	var g *Gulp
	err := objstore.Again(ctx, func() (err error) {
		defer func() { phase = rangeio.OnePhase(ctx) }() // of a second try
		g, err = s.c.openPair(ctx, phase, s.b, place, GulpOptions{Options: o})
		return err
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.open[p] = g
	s.mu.Unlock()
	return g.Chunk, nil
}

// Open opens one object.
func (s *gulpSet) Open(ctx context.Context, name string) (rangeio.Reader, error) {
	return s.c.open(ctx, s.b, s.prefix+name, objstore.OpenOptions{})
}

// List names the objects that can be halves of chunks.
func (s *gulpSet) List(ctx context.Context) ([]string, error) {
	end := s.c.c.Counter.Begin(ctx)
	defer end()
	var names []string
	for _, start := range []string{"data", "meta"} {
		for in, err := range s.b.List(ctx, s.prefix+start) {
			if err != nil {
				return nil, err
			}
			if name := strings.TrimPrefix(in.Key, s.prefix); !strings.Contains(name, "/") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// inPhase is a context with another's place among phases. That other one must
// have no values but this.
type inPhase struct {
	context.Context                 //nolint:containedctx // it is one
	phase           context.Context //nolint:containedctx // consulted for values only, for the length of one call
}

func (p inPhase) Value(key any) any {
	if v := p.phase.Value(key); v != nil {
		return v
	}
	return p.Context.Value(key)
}

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
// when they are needed, two requests each, all side by side. Load fails with
// objstore.ErrChanged where a pair is just being replaced; opening the dataset
// again then helps.
func (c *Client) OpenGulpDataset(ctx context.Context, uri string, o GulpOptions) (*GulpDataset, error) {
	b, prefix, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	s := &gulpSet{c: c, b: b, prefix: prefix, o: o, phase: rangeio.OnePhase(ctx), open: map[string]*objstore.Object{}}
	d, err := gulp.OpenDataset(ctx, s, c.gulpOptions(o.Options))
	if err != nil {
		return nil, err
	}
	return &GulpDataset{d, s}, nil
}

// Chunk is gulp.Dataset.Chunk, held against the ETag that its index names.
func (d *GulpDataset) Chunk(ctx context.Context, k int) (*gulp.Chunk, error) {
	c, err := d.Dataset.Chunk(ctx, k)
	if err == nil {
		err = d.set.paired(d.Pair(k))
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Load is gulp.Dataset.Load, with every pair held against the ETag that its
// index names. The cost is one phase where each .gmeta is at most 256 KiB.
func (d *GulpDataset) Load(ctx context.Context) error {
	if err := d.Dataset.Load(ctx); err != nil {
		return err
	}
	for k := range d.Len() {
		if err := d.set.paired(d.Pair(k)); err != nil {
			return err
		}
	}
	return nil
}

// Find returns the chunk that holds id, and its position. It loads the dataset.
func (d *GulpDataset) Find(ctx context.Context, id string) (*gulp.Chunk, int, error) {
	if err := d.Load(ctx); err != nil {
		return nil, 0, err
	}
	return d.Dataset.Find(ctx, id)
}

// Objects are the index and the data of chunk k, once that is open; else nil.
func (d *GulpDataset) Objects(k int) (meta, data *objstore.Object) {
	d.set.mu.Lock()
	defer d.set.mu.Unlock()
	return d.set.open[d.Pair(k).Meta], d.set.open[d.Pair(k).Data]
}

// gulpSet is the dataset as formats see it.
type gulpSet struct {
	c      *Client
	b      objstore.Bucket
	prefix string
	o      GulpOptions
	phase  context.Context //nolint:containedctx // only the phase that it names: no open depends on another

	mu   sync.Mutex
	open map[string]*objstore.Object
}

// Open opens one object.
func (s *gulpSet) Open(ctx context.Context, name string) (rangeio.Reader, error) {
	o := objstore.OpenOptions{Head: s.c.dataHead()}
	isMeta := strings.HasSuffix(name, gulp.MetaSuffix)
	if isMeta {
		o.Head = metaHead
	}
	ob, err := s.c.open(inPhase{ctx, s.phase}, s.b, s.prefix+name, o) //nolint:contextcheck // it ends with ctx
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.open[name] = ob
	s.mu.Unlock()
	if isMeta {
		return ob, nil
	}
	return wrap(ob, s.o), nil
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

// paired holds the objects of an open pair against each other.
func (s *gulpSet) paired(p gulp.Pair) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	meta, data := s.open[p.Meta], s.open[p.Data]
	if meta == nil || data == nil {
		return nil
	}
	if err := paired(meta, data); err != nil {
		return fmt.Errorf("%s: %w", p.Meta, err)
	}
	return nil
}

// inPhase is a context with another's place among phases.
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

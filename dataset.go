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

// OpenGulpDataset lists the folder or prefix that uri names. A chunk is opened when a
// method needs it, by two requests at the same time; several chunks are opened at the
// same time, too. As in OpenGulp, a data object must have the ETag that its index
// names. If it has another one, somebody is just replacing the chunk: the method opens
// the chunk once more, and if that fails, returns objstore.ErrChanged. The caller may
// then call the method again. If the folder has no chunk, OpenGulpDataset returns
// objstore.ErrNotFound.
//
// Load is one phase if each .gmeta has at most 256 KiB. Select finds an id without it where
// chunks have indexes beside them.
func (c *Client) OpenGulpDataset(ctx context.Context, uri string, o GulpOptions) (*GulpDataset, error) {
	b, prefix, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.GulpDatasetIn(ctx, b, prefix, o)
}

// GulpDatasetIn is OpenGulpDataset for a prefix of a bucket, with or without its slash;
// "" means the whole bucket. It parses no text.
func (c *Client) GulpDatasetIn(ctx context.Context, b objstore.Bucket, prefix string, o GulpOptions) (*GulpDataset, error) {
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	s := &gulpSet{c: c, b: c.ours(b), prefix: prefix, o: o, open: map[gulp.Pair]*Gulp{}, lazy: map[string]*lazyByID{}, listed: map[string]listed{}}
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

// Objects returns the objects of the index and the data of chunk k. They are nil if the
// chunk is not open yet.
func (d *GulpDataset) Objects(k int) (meta, data *objstore.Object) {
	d.set.mu.Lock()
	defer d.set.mu.Unlock()
	if g := d.set.open[d.Pair(k)]; g != nil {
		return g.Meta, g.Data
	}
	if l := d.set.lazy[d.Pair(k).Data]; l != nil && l.g != nil {
		return l.g.Meta, l.g.Data
	}
	return nil, nil
}

// HeldBytes returns about how many bytes of memory the dataset keeps: the indexes and
// objects of the chunks opened so far, and the table of ids after it is loaded.
func (d *GulpDataset) HeldBytes() int64 {
	n := d.Dataset.HeldBytes() + int64(len(d.set.listed))*listedCost
	d.set.mu.Lock()
	defer d.set.mu.Unlock()
	for _, g := range d.set.open {
		n += g.Meta.HeldBytes() + g.Data.HeldBytes()
	}
	for _, l := range d.set.lazy {
		if l.g != nil && l.g.Index != nil {
			n += l.g.Index.HeldBytes() + l.g.Beside.HeldBytes()
		}
	}
	return n
}

// gulpSet gives package gulp the objects of the dataset.
type gulpSet struct {
	c      *Client
	b      objstore.Bucket
	prefix string
	o      GulpOptions

	patience objstore.Patience // of chunks that are opened by their indexes

	// lazy has the chunks with an index beside them, by the names of their data. It does
	// not change after List.
	lazy map[string]*lazyByID

	// listed has the objects that the listing has shown. It does not change after List.
	listed map[string]listed

	mu     sync.Mutex
	open   map[gulp.Pair]*Gulp
	pinned bool // chunks must be as listed
}

var _ gulp.ChunkOpener = (*gulpSet)(nil)

// OpenChunk opens a pair as OpenGulp does. The requests for the two objects are one
// step of ctx; the next step is the rest of the index, or a second try. Chunks that
// Load opens under one context take these steps together.
func (s *gulpSet) OpenChunk(ctx context.Context, p gulp.Pair, o gulp.Options) (*gulp.Chunk, error) {
	place := gulp.Pair{Meta: s.prefix + p.Meta, Data: s.prefix + p.Data}
	rest := ctx
	g, err := s.wholeOf(ctx, p)
	if g == nil && err == nil {
		err = objstore.Again(ctx, func() (err error) {
			objects, next := rangeio.Steps(rest)
			rest = next
			g, err = s.c.openPair(rest, objects, s.b, place, GulpOptions{Options: o})
			return err
		})
	}
	if err == nil {
		err = s.asListed(p, g.Meta, g.Data)
	}
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

// List lists the objects that can be an index or the data of a chunk.
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
				s.listed[name] = listed{in.Size, in.ETag, in.ModTime}
			}
		}
	}
	slices.Sort(names)
	s.besides(names)
	return names, nil
}

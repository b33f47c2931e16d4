package farread

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A GulpByID is an open gulp chunk whose frames are found by their id. If there is an
// index beside the chunk, a frame is found without the .gmeta. All methods are safe for
// concurrent use.
type GulpByID struct {
	Meta, Data *objstore.Object
	// Beside is the object of the index, and Index the index. Both are nil if the chunk
	// was opened without an index: then the .gmeta is in memory.
	Beside *objstore.Object
	Index  *gulpindex.Index

	c     *Client
	o     gulp.Options
	gate  chan struct{} // guards loading
	found error         // why the index that was found when the chunk was opened is not used
	whole atomic.Pointer[Gulp]
}

// lookForIndex is the size of a .gmeta from which a Client looks for an index before it
// reads the rest of it. To read so many bytes takes as long as a round trip.
const lookForIndex = 1 << 20

// besideTail returns how many bytes of the end of an index to fetch. early says that it is
// asked for along with the chunk. If it is not, it is asked for in place of most of a long
// .gmeta: then, and if the policy saves requests, it is better to have all of it.
func (c *Client) besideTail(o GulpOptions, early bool) int64 {
	switch usual := rangeio.Fast().Free; {
	case c.c.Policy.Free < usual: // saves bytes
		return gulpindex.Tail
	case c.c.Policy.Free > usual || !early:
		return metaHead
	case o.Numbered:
		return 2 * gulpindex.Tail
	}
	return gulpindex.Tail
}

// OpenGulpByID opens the gulp chunk that uri names by either of its two objects. The
// index beside it is asked for together with both objects if GulpOptions.Beside says
// that there is one, or if the last one that the Client looked for in this folder was
// there. That is one phase of three requests, for 49,153 bytes at the most; a .gmeta of up
// to 8 KiB comes whole. A frame then costs one request if the index has up to 40 KiB, as
// that of 20,000 frames, and otherwise two in two phases: one for 12 KiB of the index, and
// one for the frame.
//
// Otherwise both objects are opened as by OpenGulp. If the .gmeta has more than 1 MiB,
// OpenGulpByID looks for the index before it reads the rest, and fetches 256 KiB of it, or
// 40 if the policy saves bytes; if there is no index, this costs one request and one phase. An index that is about another version of one of the
// objects, or damaged, is not used; none is if the server gives no ETags.
func (c *Client) OpenGulpByID(ctx context.Context, uri string, o GulpOptions) (*GulpByID, error) {
	b, key, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.GulpByIDIn(ctx, b, key, o)
}

// GulpByIDIn is OpenGulpByID for the key of either object in a bucket. It parses no
// text.
func (c *Client) GulpByIDIn(ctx context.Context, b objstore.Bucket, key string, o GulpOptions) (*GulpByID, error) {
	b = c.ours(b)
	return anyPair(ctx, b, key, func(p gulp.Pair) (*GulpByID, error) {
		early := o.Beside || c.expectBeside(b, p.Data)
		g, err := c.openObjects(rangeio.OnePhase(ctx), b, p, early, c.besideTail(o, true), &objstore.Patience{})
		if err != nil {
			return nil, err
		}
		g.o = c.gulpOptions(o.Options)
		if !early && g.Meta.Size() > lookForIndex && gulpPairOf(g.Meta, g.Data).Bound() {
			if g.Beside, err = c.openSide(ctx, b, p.Data, c.besideTail(o, false), g.Data.Patience()); err != nil && ctx.Err() != nil {
				return nil, err
			}
			g.found = unreadable(ctx, err)
		}
		if err := g.useIndex(ctx); err != nil {
			return nil, err
		}
		if g.Index == nil {
			if g.Beside != nil {
				c.learnBeside(b, p.Data, false)
				g.Beside = nil
			}
			_, err = g.Whole(ctx)
		}
		return g, err
	})
}

// openObjects opens the objects of a pair under ctx, the index beside them too if early
// is set, with tail bytes of its end. It does not read the index of either kind.
func (c *Client) openObjects(ctx context.Context, b objstore.Bucket, p gulp.Pair, early bool, tail int64, patience *objstore.Patience) (*GulpByID, error) {
	g := &GulpByID{c: c, gate: make(chan struct{}, 1)}
	eg, ctx := errgroup.WithContext(ctx)
	meta, data := int64(metaHead), c.dataHead()
	if early {
		meta, data = gulpindex.Short, 1
		eg.Go(func() error {
			side, err := c.openSide(ctx, b, p.Data, tail, patience)
			g.Beside, g.found = side, unreadable(ctx, err) // if that fails, the .gmeta is read
			return nil
		})
	}
	eg.Go(func() (err error) {
		g.Meta, err = c.open(ctx, b, p.Meta, objstore.OpenOptions{Head: meta, Patience: patience})
		return err
	})
	eg.Go(func() (err error) {
		g.Data, err = c.open(ctx, b, p.Data, objstore.OpenOptions{Head: data, Patience: patience})
		return err
	})
	if err := eg.Wait(); err != nil {
		return nil, err
	}
	if err := paired(g.Meta, g.Data); err != nil {
		if c.c.DiskCache != nil {
			c.c.DiskCache.Distrust()
		}
		return nil, err
	}
	return g, nil
}

// useIndex opens the index of g.Beside. If it cannot be used, g.Index stays nil.
func (g *GulpByID) useIndex(ctx context.Context) error {
	if g.Beside == nil {
		return nil
	}
	x, err := openGulpIndex(ctx, g.Beside, g.Meta, g.Data, g.o)
	switch {
	case err == nil:
		g.Index = x
	case index.Unusable(err):
		g.found = err
	}
	return ctx.Err()
}

// A GulpIndex is what lies beside a gulp chunk as its index.
type GulpIndex struct {
	Bytes int64 `json:"bytes"` // size of the object; 0 if it could not be opened
	// Unusable says why the object is not used: it is damaged, about another version of
	// the chunk, or cannot be read. It is "" if the index is right.
	Unusable string `json:"unusable,omitempty"`
}

// Beside looks for the index beside the chunk, which costs one request. It returns nil if
// there is none. If whole is set, it reads all of the index, and compares it with the
// chunk. An index that cannot be read is no error.
func (g *Gulp) Beside(ctx context.Context, whole bool) (*GulpIndex, error) {
	side, err := g.c.openSide(ctx, g.Data.Bucket(), g.Data.Info().Key, gulpindex.Tail, g.Data.Patience())
	if err == nil && side == nil {
		return nil, nil
	}
	out := &GulpIndex{}
	if err == nil {
		var x *gulpindex.Index
		out.Bytes = side.Size()
		if x, err = openGulpIndex(ctx, side, g.Meta, g.Data, g.o); err == nil && whole {
			err = x.Verify(ctx, g.Chunk)
		}
	}
	if err = unreadable(ctx, err); index.Unusable(err) {
		out.Unusable, err = unusedIndex(err).Reason, nil
	}
	return out, err
}

// BuildIndex makes the index of the chunk. The caller stores it beside the data, under
// their key and index.Suffix. If the server gives no ETag of one of the objects, or a weak
// one, that is formats.ErrUnsupported.
func (g *Gulp) BuildIndex() ([]byte, error) {
	return gulpindex.Build(g.Chunk, gulpPairOf(g.Meta, g.Data))
}

// openGulpIndex opens the index of a pair. If it cannot be used, the error matches
// index.ErrUnusable.
func openGulpIndex(ctx context.Context, side, meta, data *objstore.Object, o gulp.Options) (*gulpindex.Index, error) {
	return gulpindex.Open(ctx, besideReader{side}, data, gulpPairOf(meta, data), gulpindex.Options{Gulp: o})
}

func gulpPairOf(meta, data *objstore.Object) gulpindex.Pair {
	of := func(ob *objstore.Object) gulpindex.Version {
		return gulpindex.Version{Size: ob.Size(), ETag: ob.Info().ETag}
	}
	return gulpindex.Pair{Data: of(data), Meta: of(meta)}
}

// Totals returns the sums over the chunk. It makes no request.
func (g *GulpByID) Totals() gulp.Totals {
	if w := g.whole.Load(); w != nil {
		return w.Totals()
	}
	return g.Index.Totals()
}

// Select returns a Chunk that has the frames from to to-1 of id, as far as there are
// such, and perhaps more frames and ids. If the part of the index with the id is not in
// memory, it costs one request. If that part is damaged, or the index was replaced,
// Select reads the .gmeta. An unknown id is formats.ErrNoEntry.
//
//	c, err := g.Select(ctx, "702766", 16, 17)
//	jpeg, err := c.AppendFrame(ctx, nil, "702766", 16)
func (g *GulpByID) Select(ctx context.Context, id string, from, to int) (*gulp.Chunk, error) {
	if w := g.whole.Load(); w == nil {
		c, err := g.Index.Select(ctx, id, from, to)
		if !index.Unusable(err) {
			return c, err
		}
	}
	w, err := g.Whole(ctx)
	if err != nil {
		return nil, err
	}
	_, err = w.Frames(id)
	return w.Chunk, err
}

// MetaData returns the meta_data of id as gulp.Chunk.MetaData does. If the index has their
// place, they cost one request, and one more phase if the part of the index with the id is
// not in memory. If not, as in chunks with fewer than 4 frames an id, MetaData reads the
// .gmeta.
func (g *GulpByID) MetaData(ctx context.Context, id string) (json.RawMessage, error) {
	if g.whole.Load() == nil {
		p, err := g.metaByIndex(ctx, id)
		if !index.Unusable(err) {
			return p, err
		}
	}
	w, err := g.Whole(ctx)
	if err != nil {
		return nil, err
	}
	return w.MetaData(id)
}

// metaByIndex returns index.ErrUnusable if the index does not have the place, or a wrong
// one.
func (g *GulpByID) metaByIndex(ctx context.Context, id string) (json.RawMessage, error) {
	off, n, known, err := g.Index.MetaPlace(ctx, id)
	if err != nil || known && n == 0 {
		return nil, err
	}
	if !known || n > g.o.Limits.MaxMeta {
		return nil, index.ErrUnusable
	}
	p := make([]byte, n)
	if err := g.Meta.ReadRanges(ctx, []rangeio.Span{{Off: off, P: p}}); err != nil {
		return nil, err
	}
	if !gulp.ValidMeta(p) {
		return nil, index.ErrUnusable
	}
	return p, nil
}

// Numbered is Select by the number of frames in the file, which count over all ids in
// file order. The frames are those of the only id of the Chunk, "", and keep their
// numbers. A range of them is one planned read:
//
//	c, err := g.Numbered(ctx, 20_000, 20_100)
//	jpegs, err := c.AppendFrames(ctx, nil, "", 20_000, 20_100, 1)
//
// If the parts of the index with the frames are not in memory, Numbered costs one phase.
// If the ids of the chunk are not in the order of their bytes, the end of the index that
// OpenGulpByID reads has none of these parts, unless the index is shorter.
func (g *GulpByID) Numbered(ctx context.Context, from, to int) (*gulp.Chunk, error) {
	if w := g.whole.Load(); w == nil {
		c, err := g.Index.Numbered(ctx, from, to)
		if !index.Unusable(err) {
			return c, err
		}
	}
	w, err := g.Whole(ctx)
	if err != nil {
		return nil, err
	}
	return w.Numbered(from, to)
}

// Whole reads the .gmeta, as OpenGulp does, unless it is in memory. From then on no
// other method makes requests for the index.
func (g *GulpByID) Whole(ctx context.Context) (*Gulp, error) {
	if w := g.whole.Load(); w != nil {
		return w, nil
	}
	select {
	case g.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-g.gate }()
	if w := g.whole.Load(); w != nil {
		return w, nil
	}
	c, err := gulp.Open(ctx, g.Meta, g.Data, g.o)
	if err != nil {
		return nil, err
	}
	w := &Gulp{Chunk: c, Meta: g.Meta, Data: g.Data, c: g.c, o: g.o, unused: g.found}
	g.whole.Store(w)
	return w, nil
}

// HeldBytes returns the memory of the chunk, its index and the objects, in bytes; see
// Dataset.
func (g *GulpByID) HeldBytes() int64 {
	n := g.Meta.HeldBytes() + g.Data.HeldBytes()
	if w := g.whole.Load(); w != nil {
		n += w.Chunk.HeldBytes()
	}
	if g.Index != nil {
		n += g.Index.HeldBytes() + g.Beside.HeldBytes()
	}
	return n
}

package farread

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// Gulp chunks, and datasets of them.
type (
	gulpPair struct {
		*data
		gulpImages
	}
	gulpFolder struct {
		*data
		gulpImages
	}
)

func newGulp(at Place, g *Gulp) Dataset {
	x := &pairData{single{g.Meta}, g}
	core := &data{driver: x, name: gulp.Format, place: at}
	return enabled(&gulpPair{core, gulpImages{x}}, core)
}

func newGulpSet(at Place, set *GulpDataset) Dataset {
	x := &setData{set}
	core := &data{driver: x, name: gulp.Format, place: at}
	return enabled(&gulpFolder{core, gulpImages{x}}, core)
}

// A gulpSource finds the chunk that holds an id, and the key of its data.
type gulpSource interface {
	chunkOf(ctx context.Context, id string) (c *gulp.Chunk, key string, err error)
}

// gulpImages is the Imager part.
type gulpImages struct{ x gulpSource }

func (m gulpImages) Images(ctx context.Context, id string) (int, error) {
	c, _, err := m.x.chunkOf(ctx, id)
	if err != nil {
		return 0, err
	}
	return c.Frames(id)
}

func (m gulpImages) AppendImage(ctx context.Context, dst []byte, id string, i int) (p []byte, media string, err error) {
	c, _, err := m.x.chunkOf(ctx, id)
	if err != nil {
		return dst, "", err
	}
	out, err := c.AppendFrame(ctx, dst, id, i)
	if err != nil {
		return dst, "", err
	}
	return out, MediaType(out[len(dst):]), nil
}

func (m gulpImages) EachImage(ctx context.Context, id string, from, to int, fn func(i int, p []byte) error) error {
	c, _, err := m.x.chunkOf(ctx, id)
	if err != nil {
		return err
	}
	return c.EachFrame(ctx, id, from, to, 1, fn)
}

func (m gulpImages) ExplainImages(ctx context.Context, id string, from, to int) (Plan, error) {
	c, key, err := m.x.chunkOf(ctx, id)
	if err != nil {
		return Plan{}, err
	}
	var p Plan
	var requests []rangeio.Planned
	if requests, err = c.ExplainFrames(ctx, id, from, to, 1); err != nil {
		return Plan{}, err
	}
	for i := from; i < to; i++ {
		f, err := c.Frame(id, i)
		if err != nil {
			return Plan{}, err
		}
		p.Size += f.Size
	}
	p.Requests = located(requests, key, 0)
	return p, nil
}

// pairData drives one gulp chunk.
type pairData struct {
	single
	g *Gulp
}

func (x *pairData) chunkOf(_ context.Context, id string) (*gulp.Chunk, string, error) {
	_, err := x.g.Frames(id)
	return x.g.Chunk, x.g.Data.Info().Key, err
}

// Source is the index, which is published last, and names its data by their ETag.
func (x *pairData) Source(context.Context) (Source, error) {
	s := sourceOf(x.g.Meta)
	s.Size += x.g.Data.Size()
	if s.ID = versionOf(x.g.Data); s.ID != "" && versionOf(x.g.Meta) != "" {
		s.ID = hashed(s.ID, versionOf(x.g.Meta))
	}
	return s, nil
}

// Current looks at both objects.
func (x *pairData) Current(ctx context.Context) (bool, error) {
	if is, err := x.g.Meta.Current(ctx); !is || err != nil {
		return is, err
	}
	return x.g.Data.Current(ctx)
}

func (x *pairData) describe(_ context.Context, _ DescribeOptions, out *Description) error {
	named := x.g.Data.Info()
	if strings.HasSuffix(out.Place.Key, gulp.MetaSuffix) {
		named = x.g.Meta.Info()
	}
	out.images(GulpDetail{Totals: x.g.Totals(), Chunks: 1, MetaBytes: x.g.Meta.Size(), Named: named})
	return nil
}

func (d *Description) images(n GulpDetail) {
	d.Entries, d.Images, d.NBytes, d.CBytes, d.Detail = n.IDs, n.Frames, n.Bytes, n.DataBytes, n
}

func (x *pairData) Entries(_ context.Context, after string) iter.Seq2[Entry, error] {
	return numbered(after, int64(x.g.Len()), func(i int64) Entry { return idEntry(x.g.Chunk, int(i), i) })
}

// idEntry is id k of a chunk, the n-th of all.
func idEntry(c *gulp.Chunk, k int, n int64) Entry {
	it, err := c.Item(c.ID(k))
	if err != nil {
		return Entry{N: n, Name: c.ID(k), Size: -1, Stored: -1} // cannot be: the id is the chunk's own
	}
	return Entry{N: n, Name: it.ID, Size: it.Bytes, Stored: it.Bytes, Images: it.Frames, MetaData: gulp.PlainJSON(it.MetaData)}
}

func (x *pairData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	r, err := x.g.Verify(ctx, progress)
	return gulpReport(r), err
}

func gulpReport(r gulp.Report) Report {
	return Report{Entries: r.IDs, NBytes: r.Bytes, CBytes: r.Bytes + r.Padding, Detail: r}
}

func (x *pairData) Handle() any { return x.g }

// setData drives a dataset of gulp chunks.
type setData struct{ set *GulpDataset }

func (x *setData) chunkOf(ctx context.Context, id string) (*gulp.Chunk, string, error) {
	c, k, err := x.set.Find(ctx, id)
	if err != nil {
		return nil, "", err
	}
	return c, x.set.set.prefix + x.set.Pair(k).Data, nil
}

func (x *setData) Source(ctx context.Context) (Source, error) {
	if err := x.set.Load(ctx); err != nil {
		return Source{}, err
	}
	s, ids := Source{}, []string{x.set.set.b.Name(), x.set.set.prefix}
	for k := range x.set.Len() {
		meta, data := x.set.Objects(k)
		s.Size += meta.Size() + data.Size()
		for _, ob := range []*objstore.Object{meta, data} {
			if t := ob.Info().ModTime; t.After(s.Time) {
				s.Time = t
			}
			id := versionOf(ob)
			if id == "" {
				ids = nil
			}
			if ids != nil {
				ids = append(ids, id)
			}
		}
	}
	if ids != nil {
		s.ID = hashed(ids...)
	}
	return s, nil
}

// Current lists the folder, and holds names, sizes and ETags against what is open.
func (x *setData) Current(ctx context.Context) (bool, error) {
	s := x.set.set
	want := map[string]*objstore.Object{}
	for k := range x.set.Len() {
		p := x.set.Pair(k)
		want[s.prefix+p.Meta], want[s.prefix+p.Data] = x.set.Objects(k)
	}
	for _, start := range []string{"data", "meta"} {
		for in, err := range s.b.List(ctx, s.prefix+start) {
			if err != nil {
				return false, err
			}
			ob, ours := want[in.Key]
			switch {
			case !ours && strings.HasSuffix(in.Key, gulp.MetaSuffix) && !strings.Contains(strings.TrimPrefix(in.Key, s.prefix), "/"):
				return false, nil // another chunk
			case ours && ob != nil && (in.Size != ob.Size() || in.ETag != "" && in.ETag != ob.Info().ETag):
				return false, nil
			}
			delete(want, in.Key)
		}
	}
	return len(want) == 0, nil
}

func (x *setData) describe(ctx context.Context, _ DescribeOptions, out *Description) (err error) {
	n := GulpDetail{Chunks: x.set.Len(), Unfinished: x.set.Unfinished()}
	if n.Totals, err = x.set.Totals(ctx); err != nil {
		return err
	}
	for k := range x.set.Len() {
		meta, _ := x.set.Objects(k)
		n.MetaBytes += meta.Size()
	}
	out.images(n)
	return nil
}

func (x *setData) Entries(ctx context.Context, after string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		from, err := resume(after)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		n := int64(0)
		for k := range x.set.Len() {
			c, err := x.set.Chunk(ctx, k)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for i := max(from-n, 0); i < int64(c.Len()); i++ {
				e := idEntry(c, int(i), n+i)
				if e.Cursor = cursor(n + i); !yield(e, nil) {
					return
				}
			}
			n += int64(c.Len())
		}
		if from > n {
			yield(Entry{}, fmt.Errorf("cursor %q of %d entries: %w", after, n, objstore.ErrInvalid))
		}
	}
}

func (x *setData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	r, err := x.set.Verify(ctx, progress)
	return gulpReport(r), err
}

func (x *setData) Handle() any { return x.set }

var errFolder = fmt.Errorf("a folder, no dataset: %w", formats.ErrUnsupported)

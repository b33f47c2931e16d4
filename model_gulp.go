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

// Gulp chunks, and datasets of gulp chunks.
type (
	gulpPair struct {
		*data
		gulpImages
		pair *pairData
	}
	gulpFolder struct {
		*data
		gulpImages
	}
)

func newGulp(at Place, g *GulpByID) Dataset {
	x := &pairData{single{g.Meta}, g}
	core := &data{driver: x, name: gulp.Format, place: at}
	return enabled(&gulpPair{core, gulpImages{x}, x}, core)
}

func newGulpSet(at Place, set *GulpDataset) Dataset {
	x := &setData{set}
	core := &data{driver: x, name: gulp.Format, place: at}
	return enabled(&gulpFolder{core, gulpImages{x}}, core)
}

// A gulpSource finds the gulp chunks of images.
type gulpSource interface {
	// chunkOf returns a chunk that holds the frames from to to-1 of an id, as far as the id
	// has them, and the key of its data.
	chunkOf(ctx context.Context, id string, from, to int) (c *gulp.Chunk, key string, err error)
	// each reads all images; explain plans each.
	each(ctx context.Context, fn func(id string, i int, p []byte) error) error
	explain(ctx context.Context) (Plan, error)
}

// gulpImages is the Imager part of gulp chunks and datasets.
type gulpImages struct{ x gulpSource }

func (m gulpImages) Images(ctx context.Context, id string) (int, error) {
	c, _, err := m.x.chunkOf(ctx, id, 0, 0)
	if err != nil {
		return 0, err
	}
	return c.Frames(id)
}

func (m gulpImages) AppendImage(ctx context.Context, dst []byte, id string, i int) (p []byte, media string, err error) {
	c, _, err := m.x.chunkOf(ctx, id, i, i+1)
	if err != nil {
		return dst, "", err
	}
	out, err := c.AppendFrame(ctx, dst, id, i)
	if err != nil {
		return dst, "", err
	}
	return out, MediaType(out[len(dst):]), nil
}

func (m gulpImages) EachImage(ctx context.Context, id string, from, to, step int, fn func(i int, p []byte) error) error {
	lo, hi := span(from, to, step)
	c, _, err := m.x.chunkOf(ctx, id, lo, hi)
	if err != nil {
		return err
	}
	return c.EachFrame(ctx, id, from, to, step, fn)
}

func (m gulpImages) ExplainImages(ctx context.Context, id string, from, to, step int) (Plan, error) {
	lo, hi := span(from, to, step)
	c, key, err := m.x.chunkOf(ctx, id, lo, hi)
	if err != nil {
		return Plan{}, err
	}
	var p Plan
	var requests []rangeio.Planned
	if requests, err = c.ExplainFrames(ctx, id, from, to, step); err != nil {
		return Plan{}, err
	}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		f, err := c.Frame(id, i)
		if err != nil {
			return Plan{}, err
		}
		p.Size += f.Size
	}
	p.Requests = located(requests, key, 0)
	return p, nil
}

// span returns the range [lo, hi) of the frames from, from+step, … before to.
func span(from, to, step int) (lo, hi int) {
	if step < 0 {
		return to + 1, from + 1
	}
	return from, to
}

func (m gulpImages) EachImageOfAll(ctx context.Context, fn func(id string, i int, p []byte) error) error {
	return m.x.each(ctx, fn)
}

func (m gulpImages) ExplainImagesOfAll(ctx context.Context) (Plan, error) { return m.x.explain(ctx) }

// pairData is the driver of one gulp chunk.
type pairData struct {
	single
	g *GulpByID
}

func (x *pairData) chunkOf(ctx context.Context, id string, from, to int) (*gulp.Chunk, string, error) {
	c, err := x.g.Select(ctx, id, from, to)
	return c, x.g.Data.Info().Key, err
}

// ByNumber makes a gulp chunk a Numberer.
func (p *gulpPair) ByNumber() Numbered { return Numbered{gulpImages{numberedPair{p.pair}}} }

// A numberedPair is the images of a chunk as those of one id.
type numberedPair struct{ *pairData }

func (x numberedPair) chunkOf(ctx context.Context, id string, from, to int) (*gulp.Chunk, string, error) {
	if id != "" {
		return nil, "", fmt.Errorf("id %q of images by number: %w", id, formats.ErrNoEntry)
	}
	c, err := x.g.Numbered(ctx, from, to)
	return c, x.g.Data.Info().Key, err
}

func (x *pairData) each(ctx context.Context, fn func(id string, i int, p []byte) error) error {
	g, err := x.g.Whole(ctx)
	if err != nil {
		return err
	}
	return g.Each(ctx, fn)
}

func (x *pairData) explain(ctx context.Context) (Plan, error) {
	g, err := x.g.Whole(ctx)
	if err != nil {
		return Plan{}, err
	}
	requests, err := g.ExplainEach(ctx)
	if err != nil {
		return Plan{}, err
	}
	return Plan{Size: x.g.Totals().Bytes, Requests: located(requests, x.g.Data.Info().Key, 0)}, nil
}

// Source identifies the index, which is published last and names its data by their
// ETag. Its ID needs certain versions of both.
func (x *pairData) Source(context.Context) (Source, error) {
	s := sourceOf(x.g.Meta)
	s.Size += x.g.Data.Size()
	data, meta := versionOf(x.g.Data), versionOf(x.g.Meta)
	if s.ID = ""; data != "" && meta != "" {
		s.ID = hashed(data, meta)
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

// Entries reads the .gmeta, which has the meta_data.
func (x *pairData) Entries(ctx context.Context, o EntriesOptions) iter.Seq2[Entry, error] {
	g, err := x.g.Whole(ctx)
	if err != nil {
		return func(yield func(Entry, error) bool) { yield(Entry{}, err) }
	}
	return numbered(o.After, int64(g.Len()), func(i int64) Entry { return idEntry(g.Chunk, int(i), i) })
}

// idEntry returns the entry of id k of a chunk. It is the n-th of all entries.
func idEntry(c *gulp.Chunk, k int, n int64) Entry {
	it, err := c.Item(c.ID(k))
	if err != nil {
		return Entry{N: n, Name: c.ID(k), Off: -1, Size: -1, Stored: -1} // cannot happen: the id comes from the chunk
	}
	return Entry{N: n, Name: it.ID, Off: -1, Size: it.Bytes, Stored: it.Bytes, Images: it.Frames, MetaData: gulp.PlainJSON(it.MetaData)}
}

func (x *pairData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	g, err := x.g.Whole(ctx)
	if err != nil {
		return Report{}, err
	}
	r, err := g.Verify(ctx, progress)
	out := GulpReport{Report: r}
	if err == nil {
		out.Index, err = g.Beside(ctx, true)
	}
	return gulpReport(out), err
}

func gulpReport(r GulpReport) Report {
	return Report{Entries: r.IDs, NBytes: r.Bytes, CBytes: r.Bytes + r.Padding, Detail: r}
}

func (x *pairData) HeldBytes() int64 { return ownBytes + x.g.HeldBytes() }

func (x *pairData) Handle() any {
	if g := x.g.whole.Load(); g != nil {
		return g
	}
	return x.g
}

// setData is the driver of a dataset of gulp chunks.
type setData struct{ set *GulpDataset }

func (x *setData) chunkOf(ctx context.Context, id string, from, to int) (*gulp.Chunk, string, error) {
	c, k, err := x.set.Select(ctx, id, from, to)
	if err != nil {
		return nil, "", err
	}
	return c, x.set.set.prefix + x.set.Pair(k).Data, nil
}

func (x *setData) each(ctx context.Context, fn func(id string, i int, p []byte) error) error {
	return x.set.Each(ctx, fn)
}

func (x *setData) explain(ctx context.Context) (Plan, error) {
	n, err := x.set.Totals(ctx)
	if err != nil {
		return Plan{}, err
	}
	requests, err := x.set.ExplainEach(ctx)
	if err != nil {
		return Plan{}, err
	}
	for i := range requests {
		requests[i].Object = x.set.set.prefix + requests[i].Object
	}
	return Plan{Size: n.Bytes, Requests: requests}, nil
}

// load opens all chunks, by their indexes where there are such.
func (x *setData) load(ctx context.Context) error {
	if !x.set.set.indexed() {
		return x.set.Load(ctx)
	}
	_, err := x.set.byID(ctx)
	return err
}

func (x *setData) totals(ctx context.Context) (t gulp.Totals, err error) {
	if !x.set.set.indexed() {
		return x.set.Totals(ctx)
	}
	all, err := x.set.byID(ctx)
	if err != nil {
		return t, err
	}
	for _, g := range all {
		t = t.Add(g.Totals())
	}
	return t, nil
}

func (x *setData) Source(ctx context.Context) (Source, error) {
	if err := x.load(ctx); err != nil {
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

// Current lists the folder, and compares names, sizes and ETags with the open objects.
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
				return false, nil // there is a new chunk
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
	if n.Totals, err = x.totals(ctx); err != nil {
		return err
	}
	for k := range x.set.Len() {
		meta, _ := x.set.Objects(k)
		n.MetaBytes += meta.Size()
	}
	out.images(n)
	return nil
}

func (x *setData) Entries(ctx context.Context, o EntriesOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		from, err := resume(o.After)
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
				if e.Cursor, e.Object = cursor(n+i), x.set.Pair(k).Data; !yield(e, nil) {
					return
				}
			}
			n += int64(c.Len())
		}
		if from > n {
			yield(Entry{}, fmt.Errorf("cursor %q of %d entries: %w", o.After, n, objstore.ErrInvalid))
		}
	}
}

func (x *setData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	r, err := x.set.Verify(ctx, progress)
	return gulpReport(GulpReport{Report: r}), err
}

func (x *setData) HeldBytes() int64 { return ownBytes + x.set.HeldBytes() }

func (x *setData) Handle() any { return x.set }

var errFolder = fmt.Errorf("a folder, no dataset: %w", formats.ErrUnsupported)

package pack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/internal/digest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// KindChunks is the kind of plans that PlanChunks makes.
const KindChunks = "gulp-chunks"

const chunksVersion = 1

// A Place is a folder of a bucket.
type Place struct {
	Bucket string `json:"bucket"` // its bare name
	Prefix string `json:"prefix"` // "", or it ends in a slash
}

// A ChunksPlan is how the images below a prefix become chunks of a gulp dataset. Each is a
// part that any machine can make; the files of part K are in the object ChunkListKey(K)
// beside the plan. Its JSON is that of a plan of package parts.
type ChunksPlan struct {
	Version int    `json:"farread_plan"`
	ID      string `json:"id"` // hash of source, its listing, layout, destination and Full
	Kind    string `json:"kind"`
	Parts   int    `json:"parts"`
	Bytes   int64  `json:"bytes"` // of the files
	Source  Place  `json:"source"`
	Dest    Place  `json:"dest"`
	First   int    `json:"first"` // number of the chunk of part 0; no part of the ID
	Full    int64  `json:"full"`  // a chunk is full with so many bytes of data
	Layout  Layout `json:"layout"`
	Name    string `json:"name"` // id of files in no folder

	// What the labels files say of all parts.
	Labels          int64  `json:"labels"`
	Unlabelled      int64  `json:"labels_without_frames"`
	FirstUnlabelled string `json:"first_unlabelled,omitempty"`
}

// ChunksOptions tune PlanChunks.
type ChunksOptions struct {
	Source, Dest Place
	Layout       Layout // ByNames: names of the listing tell
	Full         int64
	Limits       Limits // zero fields: those of DefaultLimits, but 16 million files and any number of bytes
}

func (o *ChunksOptions) limits() Limits {
	l := o.Limits
	if l.Entries == 0 {
		l.Entries = 1 << 24 // at 500 bytes each
	}
	if l.Bytes == 0 {
		l.Bytes = 1 << 60
	}
	if l.Text == 0 {
		l.Text = 1 << 30 // the labels of so many
	}
	return l.WithDefaults()
}

// ImageChunks is a ChunksPlan with the files of all parts.
type ImageChunks struct {
	Plan ChunksPlan

	files  []chunkFile // of all parts one after the other, without labels
	ids    []*series
	labels map[string][]fields // of ids that have some
}

type chunkFile struct {
	*remote

	t *series // nil: a text of a sample
}

// PlanChunks lists the prefix of b once and cuts it into the chunks that a Stream of [Prefix]
// into a dataset makes, without reading an image: names tell which files are images, sizes
// where chunks end. Only labels files are read, and what they say of an id is in the list
// of its part. If Stream would refuse the upload by names, sizes or labels, PlanChunks fails
// with the same error. It takes about 500 bytes of memory for an image.
func PlanChunks(ctx context.Context, b objstore.Bucket, o ChunksOptions) (*ImageChunks, error) {
	src, err := Prefix(ctx, b, o.Source.Prefix, Options{Limits: o.limits()})
	if err != nil {
		return nil, err
	}
	p := src.(*prefix) //nolint:forcetypeassert // Prefix makes no other
	s := newStream(p, nil, Options{Layout: o.Layout, Limits: p.l})
	c := &ImageChunks{}
	if err := s.look(ctx, p); err != nil {
		return nil, err
	}
	parts, err := c.cut(ctx, s, p, o.Full)
	if err != nil {
		return nil, err
	}
	if err := c.label(s, parts-1); err != nil {
		return nil, err
	}
	c.ids = s.order
	c.Plan = ChunksPlan{
		Version: chunksVersion, Kind: KindChunks, Parts: parts, Bytes: p.about.Size, Source: o.Source, Dest: o.Dest, Full: o.Full,
		Layout: s.layout, Name: p.about.Name, Labels: s.res.Labels, Unlabelled: s.res.Unlabelled, FirstUnlabelled: s.res.FirstUnlabelled,
	}
	c.Plan.ID = digest.JSON([]any{c.Plan, p.about.Layout}) // which is a digest of the files
	return c, nil
}

// cut does what Stream does with files, but for their bytes, and returns how many chunks
// there are.
func (c *ImageChunks) cut(ctx context.Context, s *stream, p *prefix, full int64) (chunks int, err error) {
	c.files = make([]chunkFile, 0, len(p.members))
	var data int64 // bytes of the chunk
	var m *remote
	one := s.named(func(e File, _ io.Reader) error {
		switch {
		case m.etag == "":
			return kit.Unsupported("the store gives no ETag, by which another machine could tell whether it reads the same bytes")
		case isLabels(e.Name):
			return s.file(e, &whole{ctx: ctx, from: &listed{p.b, m, false}})
		case s.layout == WebDataset && texted(e.Name):
			c.files = append(c.files, chunkFile{m, nil})
			return s.fits(e)
		case e.Size == 0:
			_, err := checkImage(nil)
			return err
		}
		if err := s.fits(e); err != nil {
			return err
		}
		ids := len(s.order)
		t, err := s.enter(e.Name)
		switch {
		case err != nil:
			return err
		case len(s.order) == ids && t.chunk != chunks-1:
			return Apart(t.id)
		case len(s.order) > ids:
			if chunks == 0 || gulp.ChunkEnds(data, full) {
				chunks, data = chunks+1, 0
			}
			t.chunk = chunks - 1
		}
		data += gulp.StoredLen(e.Size)
		s.res.Frames++
		c.files = append(c.files, chunkFile{m, t})
		return nil
	})
	for i := range p.members {
		m = &p.members[i]
		if err := one(File{Name: m.name, Size: m.size, Off: -1}, nil); err != nil {
			return 0, err
		}
	}
	return chunks, nil
}

// Apart is the error for an id whose frames would be in two chunks.
func Apart(id string) error {
	return fmt.Errorf("the frames of id %.200q lie apart in SRC, more than a chunk: %w", id, formats.ErrUnsupported)
}

// whole reads an object at the first Read.
type whole struct {
	ctx  context.Context //nolint:containedctx // of one call
	from *listed
	r    *bytes.Reader
}

func (w *whole) Read(p []byte) (int, error) {
	if w.r == nil {
		text := make([]byte, w.from.Size())
		if err := w.from.ReadRanges(w.ctx, []rangeio.Span{{P: text}}); err != nil {
			return 0, err
		}
		w.r = bytes.NewReader(text)
	}
	return w.r.Read(p)
}

// label finds the labels of all ids. Texts of samples go to the part of their image, those
// without one to the last part.
func (c *ImageChunks) label(s *stream, last int) error {
	bases, err := s.close()
	if err != nil {
		return err
	}
	c.labels = map[string][]fields{}
	for _, t := range s.order {
		if found := s.labels.find(t.subject(bases)); found != nil {
			c.labels[t.id] = found
		}
	}
	if err := s.labels.other(s.order[0].names[0]); err != nil {
		return err
	}
	s.tally()
	for i := range c.files {
		f := &c.files[i]
		if f.t != nil {
			continue
		}
		key, _ := sampleOf(f.name)
		if f.t = s.ids[key]; f.t == nil {
			f.t = &series{chunk: last}
		}
	}
	slices.SortStableFunc(c.files, func(a, b chunkFile) int { return a.t.chunk - b.t.chunk })
	return nil
}

// IDs yields the ids in their order.
func (c *ImageChunks) IDs() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, t := range c.ids {
			if !yield(t.id) {
				return
			}
		}
	}
}

// A chunkList is the files of a part.
type chunkList struct {
	Plan   string              `json:"plan"`
	Part   int                 `json:"part"`
	Files  []listedFile        `json:"files"`
	Labels map[string][]fields `json:"labels,omitempty"` // what labels files say of ids
}

type listedFile struct {
	Key  string `json:"key"` // behind the prefix
	ETag string `json:"etag"`
	Size int64  `json:"size"`
	ID   string `json:"id,omitempty"` // if the name does not tell it
}

// ChunkListKey is the key of the list of a part, behind the folder of its plan.
func ChunkListKey(part int) string { return fmt.Sprintf("inputs/%08d.json", part) }

// lists yields the lists of all parts.
func (c *ImageChunks) lists() iter.Seq[*chunkList] {
	return func(yield func(*chunkList) bool) {
		files := c.files
		for part := range c.Plan.Parts {
			l := &chunkList{Plan: c.Plan.ID, Part: part, Labels: map[string][]fields{}}
			for len(files) > 0 && files[0].t.chunk == part {
				f := files[0]
				one := listedFile{Key: strings.TrimPrefix(f.key, c.Plan.Source.Prefix), ETag: f.etag, Size: f.size}
				if id := f.t.id; id != "" && c.Plan.Layout.perFile() && id != c.Plan.Layout.id(f.name, c.Plan.Name) {
					one.ID = id
				}
				if found := c.labels[f.t.id]; found != nil {
					l.Labels[f.t.id] = found
				}
				l.Files, files = append(l.Files, one), files[1:]
			}
			if !yield(l) {
				return
			}
		}
	}
}

// PutLists writes the lists of all parts below dir of the bucket. A list that is there stays:
// it is of the same plan.
func (c *ImageChunks) PutLists(ctx context.Context, b objstore.Bucket, dir string) error {
	g, ctx := errgroup.WithContext(ctx)
	const sideBySide = 16 // each waits for its round trip
	g.SetLimit(sideBySide)
	for l := range c.lists() {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			text, err := json.Marshal(l)
			if err != nil {
				return err
			}
			_, err = objstore.Put(ctx, b, dir+ChunkListKey(l.Part), bytes.NewReader(append(text, '\n')), objstore.PutOptions{ContentType: "application/json", IfAbsent: true})
			if errors.Is(err, objstore.ErrExists) {
				return nil
			}
			return err
		})
	}
	return g.Wait()
}

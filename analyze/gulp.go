package analyze

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"

	"github.com/farread/farread/analyze/internal/groups"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/internal/digest"
	"github.com/farread/farread/rangeio"
)

// A GulpReader has gulp chunks, as a *gulp.Dataset. Its methods may be called from several
// goroutines.
type GulpReader interface {
	Len() int
	Chunk(ctx context.Context, k int) (*gulp.Chunk, error)
}

// GulpOptions say what is asked of the images of a gulp. The fields of an image are id (a
// text), frame (its number among those of the id), frames (how many the id has), size (its
// bytes), and those of the first value of the meta_data of its id, such as label.
type GulpOptions struct {
	Stats []Stat
	Where *predicate.Values // nil: all images
	Match *regexp.Regexp    // nil: all ids
	Group []string          // as of ItemsOptions
	// Bytes is how many bytes the indexes have, which are all that is read.
	Bytes  int64
	Memory int64  // bounds the states of groups; 0: DefaultMemory
	Source string // identifies the chunks: a checkpoint of another Source is refused

	room int64 // for groups on the machine that opens a plan; 0: Memory bounds them
}

// Gulp is the [Work] that reduces what the indexes of gulp chunks say of their images. A
// chunk is a part. argmin and argmax are numbers of images in file order.
type Gulp struct {
	work[*imagesOf]

	r     GulpReader
	o     GulpOptions
	plan  *groups.Plan
	total *groups.Table
	next  int64 // number of the first image of the next chunk
}

// imagesOf is the result of a chunk. Its images are numbered from 0.
type imagesOf struct {
	n     int64
	table *groups.Table
}

// NewGulp plans the job. It opens no chunk, and no image is read. Errors are those of
// NewItems.
func NewGulp(r GulpReader, o GulpOptions) (*Gulp, error) {
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	j := &Gulp{r: r, o: o}
	var err error
	if j.plan, err = newGroups(o.Group, o.Stats, groupRoom(o.Memory, o.room)); err != nil {
		return nil, err
	}
	where, match := spelled(o.Where, o.Match)
	j.total = j.plan.NewTable()
	j.job = Job[*imagesOf]{Parts: r.Len(), Map: j.part, Merge: j.merge, Encode: encodeImages, Decode: j.decode}
	j.finish = func(context.Context) (*Answers, error) { return groupAnswers(j.total) }
	j.job.ID = digest.JSON(struct {
		Version      int
		Kind, Source string
		Stats        []Stat
		Group        [][]string
		Where, Match string
		Chunks       int
	}{checkpointVersion, "gulp by chunk", o.Source, o.Stats, j.plan.Keys, where, match, r.Len()})
	return j, nil
}

// merge is the job's Merge.
func (j *Gulp) merge(_ int, c *imagesOf) error {
	if c.n > math.MaxInt64-j.next {
		return fmt.Errorf("%d images behind %d: %w", c.n, j.next, formats.ErrCorrupt)
	}
	c.table.Shift(j.next)
	j.next += c.n
	return ofGroups(j.total.Merge(c.table))
}

// storedImages is the result of a chunk as JSON.
type storedImages struct {
	Images int64
	Groups json.RawMessage
}

func encodeImages(c *imagesOf) ([]byte, error) {
	text, err := c.table.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedImages{c.n, text})
}

func (j *Gulp) decode(line []byte) (*imagesOf, error) {
	var in storedImages
	if err := json.Unmarshal(line, &in); err != nil || in.Images < 0 {
		return nil, fmt.Errorf("no images of a chunk: %w", formats.ErrCorrupt)
	}
	t, err := j.plan.ParseTable(in.Groups)
	return &imagesOf{in.Images, t}, err
}

// Bytes returns GulpOptions.Bytes.
func (j *Gulp) Bytes() int64 { return j.o.Bytes }

// Explain lists no requests: Run makes those that open chunks.
func (j *Gulp) Explain(context.Context) ([]rangeio.Planned, error) { return nil, nil }

// part reduces the images of a chunk.
func (j *Gulp) part(ctx context.Context, k int) (*imagesOf, error) {
	c, err := j.r.Chunk(ctx, k)
	if err != nil {
		return nil, err
	}
	f, t, n := newFinder(j.plan, j.o.Where), j.plan.NewTable(), int64(0)
	for at := range c.Len() {
		id := c.ID(at)
		frames, err := c.Frames(id)
		if err != nil {
			return nil, err
		}
		if j.o.Match != nil && !j.o.Match.MatchString(id) {
			n += int64(frames)
			continue
		}
		if err := j.images(f, t, c, at, n, int64(frames)); err != nil {
			return nil, err
		}
		if n += int64(frames); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return &imagesOf{n, t}, nil
}

// images adds the images of an id, of which image n is the first one.
func (j *Gulp) images(f *finder, t *groups.Table, c *gulp.Chunk, at int, n, frames int64) error {
	id := c.ID(at)
	meta, err := c.MetaData(id)
	if err != nil {
		return err
	}
	first := []byte("null")
	if list, err := gulp.MetaList(meta); err == nil && len(list) > 0 {
		first = list[0]
	}
	values, ok := f.scan.Scan(first)
	if !ok { // an id whose meta_data encoding/json does not take has no fields
		values, _ = f.scan.Scan([]byte("null"))
	}
	f.set(values, "id", predicate.Value{Kind: predicate.Text, Text: []byte(id)})
	f.set(values, "frames", predicate.Value{Kind: predicate.Whole, Whole: frames})
	i := int64(0)
	for place := range c.Places(at) {
		f.set(values, "frame", predicate.Value{Kind: predicate.Whole, Whole: i})
		f.set(values, "size", predicate.Value{Kind: predicate.Whole, Whole: place.Size})
		if err := f.take(t, n+i, values); err != nil {
			return err
		}
		i++
	}
	return nil
}

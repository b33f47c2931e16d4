package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/emit"
	"github.com/farread/farread/cmd/farread/internal/human"
	"github.com/farread/farread/formats/gulp"
)

// A gulpContent is one gulp chunk, or a dataset of them.
type gulpContent struct {
	opened

	pair *farread.Gulp
	set  *farread.GulpDataset
}

var _ content = (*gulpContent)(nil)

// chunks yields the open gulp chunks of the target in order.
func (t *gulpContent) chunks(ctx context.Context, fn func(c *gulp.Chunk, k int) error) error {
	if t.pair != nil {
		return fn(t.pair.Chunk, 0)
	}
	for k := range t.set.Len() {
		c, err := t.set.Chunk(ctx, k)
		if err != nil {
			return err
		}
		if err := fn(c, k); err != nil {
			return t.inChunk(k, err)
		}
	}
	return nil
}

// inChunk names the chunk of a dataset in an error.
func (t *gulpContent) inChunk(k int, err error) error {
	if err == nil || t.set == nil {
		return err
	}
	return fmt.Errorf("%s: %w", t.set.Pair(k).Meta, err)
}

// find is the chunk that holds id, and the name of its data in a dataset.
func (t *gulpContent) find(ctx context.Context, id string) (c *gulp.Chunk, data string, err error) {
	if t.pair != nil {
		_, err := t.pair.Frames(id)
		return t.pair.Chunk, "", err
	}
	c, k, err := t.set.Find(ctx, id)
	if err != nil {
		return nil, "", err
	}
	return c, t.set.Pair(k).Data, nil
}

// dataKey is the key of a chunk's data: that of the pair, or of the data of that name
// in a dataset.
func (t *gulpContent) dataKey(name string) string {
	if t.pair != nil {
		return t.pair.Data.Info().Key
	}
	for k := range t.set.Len() {
		if _, data := t.set.Objects(k); data != nil && name == t.set.Pair(k).Data {
			return data.Info().Key
		}
	}
	return name
}

// totals sums up all chunks.
func (t *gulpContent) totals(ctx context.Context) (gulp.Totals, error) {
	if t.pair != nil {
		return t.pair.Totals(), nil
	}
	return t.set.Totals(ctx)
}

// gulpInfo is the JSON of `info` for gulp chunks and datasets of them.
type gulpInfo struct {
	Format    string `json:"format"`
	URI       string `json:"uri"`
	Size      int64  `json:"size"` // of the object that the URI names; for a dataset of all objects
	ETag      string `json:"etag,omitempty"`
	IDs       int64  `json:"ids"`
	Frames    int64  `json:"frames"`
	DataBytes int64  `json:"data_bytes"`
	MetaBytes int64  `json:"meta_bytes"`
	Payload   int64  `json:"payload_bytes"` // without padding
	Unclaimed int64  `json:"unclaimed_bytes"`
	Chunks    int    `json:"chunks"`
	// Unfinished are data objects that never got an index.
	Unfinished []string `json:"unfinished,omitempty"`
}

func (t *gulpContent) info(ctx context.Context) (description, error) {
	in, err := t.d.Describe(ctx, farread.DescribeOptions{})
	if err != nil {
		return description{}, err
	}
	n, _ := in.Detail.(farread.GulpDetail)
	g := &gulpInfo{Format: in.Format, URI: t.uri, Size: in.Source.Size, IDs: n.IDs, Frames: n.Frames, DataBytes: n.DataBytes,
		MetaBytes: n.MetaBytes, Payload: n.Bytes, Unclaimed: n.Unclaimed(), Chunks: n.Chunks, Unfinished: n.Unfinished}
	if t.pair != nil {
		g.Size, g.ETag = n.Named.Size, n.Named.ETag
	}
	return description{g, g.table()}, nil
}

func (g *gulpInfo) table() *human.Table {
	t := human.NewTable("", "")
	t.Add("uri", human.Printable(g.URI))
	if g.Chunks == 1 {
		t.Add("format", g.Format)
	} else {
		t.Add("format", fmt.Sprintf("%s, %s", g.Format, human.Plural(int64(g.Chunks), "chunk")))
	}
	t.Add("ids", human.Count(g.IDs))
	t.Add("frames", human.Count(g.Frames))
	images := human.Size(g.Payload)
	if g.Frames > 0 {
		images += fmt.Sprintf(", %s a frame", human.Size(g.Payload/g.Frames))
	}
	t.Add("images", images)
	t.Add("data", human.Size(g.DataBytes))
	t.Add("index", human.Size(g.MetaBytes))
	if g.Unclaimed > 0 {
		t.Add("unclaimed", human.Size(g.Unclaimed)+" of the data belong to no frame")
	}
	if g.ETag != "" {
		t.Add("etag", g.ETag)
	}
	if len(g.Unfinished) > 0 {
		t.Add("unfinished", strings.Join(g.Unfinished, ", "))
	}
	return t
}

// idLine is a line of `ls --json` of a gulp.
type idLine struct {
	ID       string          `json:"id"`
	Frames   int             `json:"frames"`
	Bytes    int64           `json:"bytes"`
	MetaData json.RawMessage `json:"meta_data"`
	Chunk    string          `json:"chunk,omitempty"` // of a dataset: the data object
}

func (t *gulpContent) ls(ctx context.Context, l *listing) error {
	if t.set != nil && noIDs(ctx, t) { // an empty dataset has nothing to list but its objects
		return (&folderContent{t.opened}).ls(ctx, l)
	}
	head := []string{"ID", ">FRAMES", ">SIZE", "META_DATA"}
	if t.set != nil {
		head = append(head, "CHUNK")
	}
	l.head(head...)
	return t.chunks(ctx, func(c *gulp.Chunk, k int) error {
		for it := range c.All() {
			meta := gulp.PlainJSON(it.MetaData)
			if meta == nil {
				meta = []byte("null")
			}
			line := idLine{ID: it.ID, Frames: it.Frames, Bytes: it.Bytes, MetaData: meta}
			row := []string{human.Printable(line.ID), human.Count(int64(line.Frames)), human.Size(line.Bytes), human.Shorten(human.Printable(metaText(meta)), 60)}
			if t.set != nil {
				line.Chunk = t.set.Pair(k).Data
				row = append(row, human.Printable(line.Chunk))
			}
			if err := l.add(line, row...); err != nil {
				return err
			}
		}
		return nil
	})
}

func noIDs(ctx context.Context, t *gulpContent) bool {
	n, err := t.totals(ctx)
	return err == nil && n.IDs == 0
}

// metaText is meta_data for a table: a list of a single value becomes that value.
func metaText(raw []byte) string {
	if list, err := gulp.MetaList(raw); err == nil && len(list) == 1 {
		raw = list[0]
	}
	if s := string(raw); s != "{}" && s != "null" && s != "[]" {
		return s
	}
	return ""
}

// labelsFile is the file of a folder in which `pack` finds meta_data.
const labelsFile = "labels.json"

func (t *gulpContent) unpack(ctx context.Context, dst string, force bool) error {
	if err := freshFolder(dst, force); err != nil {
		return err
	}
	x, err := t.frames(ctx, selector{})
	if err != nil {
		return err
	}
	s, err := t.a.folderSink(dst, sameFrame)
	if err != nil {
		return err
	}
	defer s.Abort()
	labels, err := emit.Labels(func(each func(c *gulp.Chunk) error) error {
		return t.chunks(ctx, func(c *gulp.Chunk, _ int) error { return each(c) })
	})
	if err != nil {
		return err
	}
	if err := s.File(labelsFile, labels); err != nil {
		return err
	}
	if err := t.a.copy(ctx, x, s, "unpack"); err != nil {
		return err
	}
	if err := s.Commit(); err != nil {
		return err
	}
	t.a.remark("%s of %s, %s, in %s", human.Plural(int64(x.frames), "frame"), human.Plural(ids(ctx, t), "id"), human.Size(x.bytes), dst)
	return nil
}

func ids(ctx context.Context, t *gulpContent) int64 {
	n, err := t.totals(ctx)
	if err != nil {
		return 0
	}
	return n.IDs
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/render"
)

// A gulpContent is one gulp chunk, or a dataset of gulp chunks.
type gulpContent struct {
	opened

	in farread.Description
	n  farread.GulpDetail
}

var _ content = (*gulpContent)(nil)

func newGulp(ctx context.Context, o opened, how aim) (*gulpContent, error) {
	if set, ok := o.d.Handle().(*farread.GulpDataset); ok && how.listed {
		return &gulpContent{opened: o, n: farread.GulpDetail{Chunks: set.Len(), MetaBytes: set.MetaBytes()}}, nil
	}
	in, err := o.d.Describe(ctx, farread.DescribeOptions{})
	n, _ := in.Detail.(farread.GulpDetail)
	return &gulpContent{o, in, n}, err
}

// several reports whether t is a dataset, even if it has a single chunk.
func (t *gulpContent) several() bool { return t.n.Named.Key == "" }

// ids calls fn for each id. In a dataset, an error of fn gets the name of its chunk.
func (t *gulpContent) ids(ctx context.Context, fn func(e *farread.Entry) error) error {
	for e, err := range t.d.Entries(ctx, farread.EntriesOptions{}) {
		if err != nil {
			return err
		}
		if err := fn(&e); err != nil {
			if pair, ok := gulp.PairOf(e.Object); ok {
				err = fmt.Errorf("%s: %w", pair.Meta, err)
			}
			return err
		}
	}
	return nil
}

// gulpInfo is the JSON of `info` for gulp chunks and datasets.
type gulpInfo struct {
	Format    string `json:"format"`
	URI       string `json:"uri"`
	Size      int64  `json:"size"` // bytes of the object that the URI names; for a dataset, of all objects
	ETag      string `json:"etag,omitempty"`
	IDs       int64  `json:"ids"`
	Frames    int64  `json:"frames"`
	DataBytes int64  `json:"data_bytes"`
	MetaBytes int64  `json:"meta_bytes"`
	Payload   int64  `json:"payload_bytes"` // bytes of the frames without padding
	Unclaimed int64  `json:"unclaimed_bytes"`
	Chunks    int    `json:"chunks"`
	// Unfinished lists data objects that never got an index.
	Unfinished []string `json:"unfinished,omitempty"`
	// Beside is the index of farread's own beside the chunk, if there is one.
	Beside *farread.GulpIndex `json:"index_beside,omitempty"`
}

func (t *gulpContent) info(ctx context.Context) (description, error) {
	n := &t.n
	g := &gulpInfo{Format: t.in.Format, URI: t.uri, Size: t.in.Source.Size, IDs: n.IDs, Frames: n.Frames, DataBytes: n.DataBytes,
		MetaBytes: n.MetaBytes, Payload: n.Bytes, Unclaimed: n.Unclaimed(), Chunks: n.Chunks, Unfinished: n.Unfinished}
	if !t.several() {
		g.Size, g.ETag = n.Named.Size, n.Named.ETag
	}
	var err error
	if g.Beside, err = t.beside(ctx); err != nil {
		return description{}, err
	}
	return description{g, g.table()}, nil
}

// beside returns what lies beside a chunk as its index, or nil.
func (t *gulpContent) beside(ctx context.Context) (*farread.GulpIndex, error) {
	switch g := t.d.Handle().(type) {
	case *farread.Gulp:
		return g.Beside(ctx, false)
	case *farread.GulpByID: // it was used to open the chunk
		return &farread.GulpIndex{Bytes: g.Beside.Size()}, nil
	}
	return nil, nil
}

// besideText describes an index beside a chunk.
func besideText(x *farread.GulpIndex) string {
	if x.Unusable != "" && x.Bytes == 0 {
		return "not used: " + x.Unusable
	}
	if x.Unusable != "" {
		return fmt.Sprintf("%s, not used: %s", human.Size(x.Bytes), x.Unusable)
	}
	return human.Size(x.Bytes)
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
	if g.Beside != nil {
		t.Add("index beside", besideText(g.Beside))
	}
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

// metaText returns meta_data as text for a table. A list of a single value becomes this
// value.
func metaText(raw []byte) string {
	if list, err := gulp.MetaList(raw); err == nil && len(list) == 1 {
		raw = list[0]
	}
	if s := string(raw); s != "{}" && s != "null" && s != "[]" {
		return s
	}
	return ""
}

// labelsFile is the file of a folder from which `pack` reads meta_data.
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
	labels, err := render.Labels(func(put func(id string, meta json.RawMessage) error) error {
		return t.ids(ctx, func(e *farread.Entry) error { return put(e.Name, e.MetaData) })
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
	t.a.remark("%s of %s, %s, in %s", human.Plural(t.in.Images, "frame"), human.Plural(t.in.Entries, "id"), human.Size(t.in.NBytes), dst)
	return nil
}

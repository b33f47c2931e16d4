package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats/gulp"
)

func newInfo(a *app) *cobra.Command {
	var how aim
	c := &cobra.Command{
		Use: "info URI", Short: "What it is: format, sizes, counts",
		Long: `Say what a URI names: its format, sizes and counts, from its headers and index
alone. A gulp chunk is named by either of its two objects, a dataset of chunks by
its folder. Any other folder is summed up.`,
		Example: `  farread info s3://frames/clips/sunrise.tar.gulp
  farread info s3://frames/train/ --json`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			how.folder = true
			return at(args[0], again(cmd.Context(), func() error { return a.info(cmd.Context(), args[0], how) }))
		},
	}
	offsetFlag(c, &how.offset)
	return c
}

// gulpInfo is the JSON of `info` for gulp chunks and datasets of them.
type gulpInfo struct {
	Format    string `json:"format"`
	URI       string `json:"uri"`
	Size      int64  `json:"size"` // of the object that the URI names; of all of them for a dataset
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

type folderInfo struct {
	Format  *string `json:"format"` // null: a folder has none
	URI     string  `json:"uri"`
	Size    int64   `json:"size"`
	Objects int64   `json:"objects"`
}

func (a *app) info(ctx context.Context, uri string, how aim) error {
	t, err := a.open(ctx, uri, how)
	if err != nil {
		return err
	}
	if t.pair == nil && t.set == nil {
		return a.infoFolder(ctx, t)
	}
	n, err := t.totals(ctx)
	if err != nil {
		return err
	}
	g := gulpInfo{Format: gulp.Format, URI: t.uri, IDs: n.IDs, Frames: n.Frames, DataBytes: n.DataBytes,
		Payload: n.Bytes, Unclaimed: n.Unclaimed(), Chunks: 1}
	if t.pair != nil {
		g.MetaBytes = t.pair.Meta.Size()
		named := t.pair.Data.Info()
		if strings.HasSuffix(t.key, gulp.MetaSuffix) {
			named = t.pair.Meta.Info()
		}
		g.Size, g.ETag = named.Size, named.ETag
	} else {
		for k := range t.set.Len() {
			meta, data := t.set.Objects(k)
			g.MetaBytes += meta.Size()
			g.Size += meta.Size() + data.Size()
		}
		g.Chunks, g.Unfinished = t.set.Len(), t.set.Unfinished()
	}
	if a.flags.json {
		return writeJSON(a.stdout, g)
	}
	return a.tableOf(g)
}

func (a *app) tableOf(g gulpInfo) error {
	t := newTable("", "")
	t.add("uri", printable(g.URI))
	if g.Chunks == 1 {
		t.add("format", g.Format)
	} else {
		t.add("format", fmt.Sprintf("%s, %s", g.Format, plural(int64(g.Chunks), "chunk")))
	}
	t.add("ids", count(g.IDs))
	t.add("frames", count(g.Frames))
	images := humanSize(g.Payload)
	if g.Frames > 0 {
		images += fmt.Sprintf(", %s a frame", humanSize(g.Payload/g.Frames))
	}
	t.add("images", images)
	t.add("data", humanSize(g.DataBytes))
	t.add("index", humanSize(g.MetaBytes))
	if g.Unclaimed > 0 {
		t.add("unclaimed", humanSize(g.Unclaimed)+" of the data belong to no frame")
	}
	if g.ETag != "" {
		t.add("etag", g.ETag)
	}
	if len(g.Unfinished) > 0 {
		t.add("unfinished", strings.Join(g.Unfinished, ", "))
	}
	return t.write(a.stdout)
}

func (a *app) infoFolder(ctx context.Context, t *target) error {
	f := folderInfo{URI: t.uri}
	for in, err := range t.bucket.List(ctx, t.key) {
		if err != nil {
			return err
		}
		f.Objects++
		f.Size += in.Size
	}
	if f.Objects == 0 {
		return errNothingThere
	}
	if a.flags.json {
		return writeJSON(a.stdout, f)
	}
	out := newTable("", "")
	out.add("uri", printable(f.URI))
	out.add("objects", count(f.Objects))
	out.add("size", humanSize(f.Size))
	return out.write(a.stdout)
}

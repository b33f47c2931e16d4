package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/human"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/objstore"
)

func newIndex(a *app) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "index URI", Short: "Write the index beside a file that makes later cold reads cheap",
		Long: `Write the index of a file that has none beside it, under its name and .fri: in the
bucket or folder where the file is. It is about one version of the file, known by size
and ETag: when the file changes it is ignored, and this command writes it anew. Nothing
shows before it is whole. Files that farread writes have an index where it is of use.

The index of a gulp chunk finds the frames of an id without the .gmeta. It is made of
the .gmeta, which is read whole, and is about both objects. It takes about 2 bytes a
frame, and a few bytes an id.

Of a zoom-cache file all is read. Its index holds summaries of all levels, with true
means and extremes, finer bins where the rate is constant, and where packets lie: about
0.5 to 8 % of the file, and coarser if it would take more than a quarter of
--max-memory. farread view finds it.`,
		Example: `  farread index s3://series/foreign.zoom
  farread index s3://frames/foreign/data_0.gulp
  farread index day.zoom --json
  farread explain s3://series/foreign.zoom --track 1 --width 2000`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at(args[0], objstore.Again(cmd.Context(), func() error { return a.index(cmd.Context(), args[0], force) }))
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also where there is an index")
	return c
}

// indexReport is the JSON of index.
type indexReport struct {
	URI   string `json:"uri"`
	Index string `json:"index"` // URI of the index; "": it lies inside the file
	Size  int64  `json:"size"`
	File  int64  `json:"file_size"`
	New   bool   `json:"written"`
}

func (a *app) index(ctx context.Context, uri string, force bool) error {
	c, err := a.open(ctx, uri, aim{})
	if err != nil {
		return err
	}
	switch t := c.(type) {
	case *zoomContent:
		return a.indexZoom(ctx, t, force)
	case *gulpContent:
		if !t.several() {
			return a.indexGulp(ctx, t, force)
		}
		return fmt.Errorf("a dataset of gulp chunks; name one chunk: %w", formats.ErrUnsupported)
	}
	return fmt.Errorf("only zoom-cache files and gulp chunks have such an index: %w", formats.ErrUnsupported)
}

func (a *app) indexZoom(ctx context.Context, t *zoomContent, force bool) error {
	r := indexReport{URI: t.uri, Index: t.uri + index.Suffix, File: t.f.Size()}
	have, err := t.f.UsedIndex(ctx)
	if err != nil {
		return err
	}
	if have != nil && !force {
		if r.Size = have.Bytes; have.Inside {
			r.Index = ""
		}
		return a.indexed(r)
	}
	b := a.newBar("index", t.f.Size())
	defer b.clear()
	p, err := t.f.BuildIndex(ctx, t.f.Object.Info().ETag, zoomindex.WriteOptions{
		MaxMemory: int64(a.flags.maxMemory) / 4, Progress: b.set}) // at the end there are two copies of an index in memory
	b.clear()
	if err != nil {
		return err
	}
	return a.putIndex(ctx, t.bucket, t.key, p, r)
}

func (a *app) indexGulp(ctx context.Context, t *gulpContent, force bool) error {
	have, err := t.beside(ctx)
	if err != nil {
		return err
	}
	h := t.d.Handle()
	if byID, ok := h.(*farread.GulpByID); ok && force {
		if h, err = byID.Whole(ctx); err != nil {
			return err
		}
	}
	// The index has the name of the data, whichever object the URI names.
	r := indexReport{URI: t.uri, File: t.n.DataBytes}
	switch g := h.(type) {
	case *farread.GulpByID:
		r.Index = join(t.bucket.Name(), g.Data.Info().Key) + index.Suffix
		r.Size = have.Bytes
		return a.indexed(r)
	case *farread.Gulp:
		key := g.Data.Info().Key
		r.Index = join(t.bucket.Name(), key) + index.Suffix
		if have != nil && have.Unusable == "" && !force {
			r.Size = have.Bytes
			return a.indexed(r)
		}
		p, err := g.BuildIndex()
		if err != nil {
			return err
		}
		return a.putIndex(ctx, t.bucket, key, p, r)
	}
	return nil
}

// putIndex writes the index beside a file. It replaces an older index only if this is
// still the index that it has read.
func (a *app) putIndex(ctx context.Context, b objstore.Bucket, key string, p []byte, r indexReport) error {
	r.Size, r.New = int64(len(p)), true
	if err := putBeside(ctx, b, key+index.Suffix, p); err != nil {
		return fmt.Errorf("%s: %w", key+index.Suffix, err)
	}
	return a.indexed(r)
}

func putBeside(ctx context.Context, b objstore.Bucket, key string, p []byte) error {
	o := objstore.PutOptions{ContentType: "application/octet-stream", IfAbsent: true}
	_, err := objstore.Put(ctx, b, key, bytes.NewReader(p), o)
	if !errors.Is(err, objstore.ErrExists) {
		return err
	}
	old, err := objstore.Open(ctx, b, key, objstore.OpenOptions{Head: 1})
	if err != nil {
		return err
	}
	o.IfAbsent, o.IfMatch = false, old.Info().ETag
	_, err = objstore.Put(ctx, b, key, bytes.NewReader(p), o)
	return err
}

func (a *app) indexed(r indexReport) error {
	if a.flags.json {
		return writeJSON(a.stdout, r)
	}
	size := fmt.Sprintf("%s, %s of the file", human.Size(r.Size), share(r.Size, r.File))
	var text string
	switch {
	case r.Index == "":
		text = fmt.Sprintf("%s has an index inside, %s", human.Printable(r.URI), size)
	case r.New:
		text = fmt.Sprintf("%s: %s", human.Printable(r.Index), size)
	default:
		text = fmt.Sprintf("%s is up to date, %s", human.Printable(r.Index), size)
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

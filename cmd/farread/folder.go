package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/peek"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// errNothingThere is the error for a folder without objects. In an object store such a
// folder does not exist.
var errNothingThere = fmt.Errorf("nothing there: %w", objstore.ErrNotFound)

var errNoDataset = fmt.Errorf("a folder without gulp chunks (data_0.gulp, meta_0.gmeta …), and no sparse frame: %w", formats.ErrUnsupported)

// A folderContent is a folder or prefix that is not a dataset.
type folderContent struct {
	opened
}

var _ content = (*folderContent)(nil)

type folderInfo struct {
	Format  *string `json:"format"` // null: a folder has no format
	URI     string  `json:"uri"`
	Size    int64   `json:"size"`
	Objects int64   `json:"objects"`
	// What the index of a group says; Stale are the arrays of which it does not count.
	Arrays []zarrArrayInfo            `json:"arrays,omitempty"`
	Attrs  map[string]json.RawMessage `json:"attrs,omitempty"`
	Stale  []string                   `json:"stale,omitempty"`
	// What is said of a folder of images that becomes a gulp, or of texts that become items.
	Contents *peek.Found `json:"contents,omitempty"`
	Pack     string      `json:"pack,omitempty"` // the line that packs it
}

func (t *folderContent) info(ctx context.Context) (description, error) {
	h, err := t.held(ctx)
	switch {
	case err != nil:
		return description{}, unlisted(err)
	case h.n == 0:
		return description{}, errNothingThere
	}
	f := folderInfo{URI: t.uri, Size: h.size, Objects: h.n}
	g, err := t.group(ctx, h)
	if err != nil {
		return description{}, err
	}
	out := human.NewTable("", "")
	out.Add("uri", human.Printable(f.URI))
	out.Add("objects", human.Count(f.Objects))
	out.Add("size", human.Size(f.Size))
	if g != nil {
		f.Attrs, f.Arrays, f.Stale = g.Attrs, described(g), g.Stale
		addArrays(out, f.Arrays)
		addJSON(out, "attrs", f.Attrs)
	}
	if g == nil {
		t.packs(&f, h, out)
	}
	return description{f, out}, nil
}

// packs tells what pack makes of the folder, if all files are images or belong to them, or all are texts.
func (t *folderContent) packs(f *folderInfo, h heldFolder, out *human.Table) {
	names := make([]string, len(h.list))
	for i, in := range h.list {
		names[i] = strings.TrimPrefix(in.Key, h.prefix)
	}
	found, ok := peek.Folder(names)
	if !ok || int64(len(names)) < h.n {
		return
	}
	src := strings.TrimRight(t.uri, "/")
	stem := path.Base(src)
	if stem == "." || stem == ".." || stem == "/" || strings.HasSuffix(src, ":") {
		if stem = "frames"; found.Pack == peek.Items {
			stem = "files"
		}
	}
	f.Contents, f.Pack = &found, typedLine(src+"/", stem+string(found.Pack))
	for _, l := range found.Lines {
		out.Add(l.Name, human.Printable(l.Value))
	}
	out.Add("pack", human.Printable(f.Pack))
}

func (t *folderContent) pick(ctx context.Context, _ selector) (selection, error) {
	return nil, t.noDataset(ctx)
}

// verified is never called, since a folder cannot be verified.
func (t *folderContent) verified(farread.Report) (any, string) { return nil, "" }

func (t *folderContent) unpack(ctx context.Context, _ string, _ bool) error { return t.noDataset(ctx) }

// noDataset returns an error that tells whether the folder is not a dataset or does not
// exist.
func (t *folderContent) noDataset(ctx context.Context) error {
	for _, err := range t.bucket.List(ctx, t.key) {
		if err != nil {
			return unlisted(err)
		}
		if store := all.Store(t.uri); store != "" {
			return fmt.Errorf("%s: %w", store, formats.ErrUnsupported)
		}
		return errNoDataset
	}
	return errNothingThere
}

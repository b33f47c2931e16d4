package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/human"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/objstore"
)

// errNothingThere is the answer for a folder without objects: in an object store such
// a folder does not exist.
var errNothingThere = fmt.Errorf("nothing there: %w", objstore.ErrNotFound)

var errNoDataset = fmt.Errorf("a folder without gulp chunks (data_0.gulp, meta_0.gmeta …), and no sparse frame: %w", formats.ErrUnsupported)

// A folderContent is a folder or prefix that is no dataset.
type folderContent struct {
	opened
}

var _ content = (*folderContent)(nil)

type folderInfo struct {
	Format  *string `json:"format"` // null: a folder has none
	URI     string  `json:"uri"`
	Size    int64   `json:"size"`
	Objects int64   `json:"objects"`
}

func (t *folderContent) info(ctx context.Context) (description, error) {
	in, err := t.d.Describe(ctx, farread.DescribeOptions{Scan: true})
	switch {
	case err != nil && in.Entries == 0:
		return description{}, errNothingThere
	case err != nil:
		return description{}, unlisted(err)
	}
	f := folderInfo{URI: t.uri, Size: in.CBytes, Objects: in.Entries}
	out := human.NewTable("", "")
	out.Add("uri", human.Printable(f.URI))
	out.Add("objects", human.Count(f.Objects))
	out.Add("size", human.Size(f.Size))
	return description{f, out}, nil
}

// objectLine is a line of `ls --json` of a prefix.
type objectLine struct {
	URI    string    `json:"uri"`
	Size   int64     `json:"size"`
	Format *string   `json:"format"` // by name; null: of no known format
	Time   time.Time `json:"modified,omitzero"`
}

func (t *folderContent) ls(ctx context.Context, l *listing) error {
	base := strings.TrimSuffix(t.uri, "/") + "/"
	l.head(">SIZE", "MODIFIED", "FORMAT", "URI")
	n := 0
	for in, err := range t.bucket.List(ctx, t.key) {
		if err != nil {
			return unlisted(err)
		}
		n++
		o := objectLine{URI: base + strings.TrimPrefix(in.Key, t.key), Size: in.Size, Time: in.ModTime}
		format := all.ByName(in.Key)
		if format != "" {
			o.Format = &format
		}
		if err := l.add(o, human.Size(o.Size), o.Time.Local().Format("2006-01-02 15:04"), format, human.Printable(o.URI)); err != nil {
			return err
		}
	}
	if n == 0 {
		return errNothingThere
	}
	return nil
}

func (t *folderContent) pick(ctx context.Context, _ selector) (selection, error) {
	return nil, t.noDataset(ctx)
}

// verified is never asked for: a folder cannot be verified.
func (t *folderContent) verified(farread.Report) (any, string) { return nil, "" }

func (t *folderContent) unpack(ctx context.Context, _ string, _ bool) error { return t.noDataset(ctx) }

// noDataset tells apart a folder that is something else and one that does not exist.
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

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
)

// errNothingThere is the answer for a folder without objects: in an object
// store that is no folder at all.
var errNothingThere = fmt.Errorf("nothing there: %w", objstore.ErrNotFound)

func newLs(a *app) *cobra.Command {
	var how aim
	c := &cobra.Command{
		Use: "ls URI", Short: "What is inside: ids, or the objects of a folder",
		Long: `List what is inside: the ids of a gulp chunk or dataset in file order, with their
frames and meta_data, or the objects of any other folder or prefix, everything
below it included. --objects lists the objects of a dataset, too.

With --json each line is one object.`,
		Example: `  farread ls s3://frames/clips/sunrise.tar.gulp
  farread ls s3://frames/ --json
  farread ls s3://frames/train/ --objects`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			how.folder = true
			return at(args[0], again(cmd.Context(), func() error { return a.ls(cmd.Context(), args[0], how) }))
		},
	}
	offsetFlag(c, &how.offset)
	c.Flags().BoolVar(&how.raw, "objects", false, "list the objects of a folder, also when they form a dataset")
	return c
}

// idLine is a line of `ls --json` of a gulp.
type idLine struct {
	ID       string          `json:"id"`
	Frames   int             `json:"frames"`
	Bytes    int64           `json:"bytes"`
	MetaData json.RawMessage `json:"meta_data"`
	Chunk    string          `json:"chunk,omitempty"` // of a dataset: the data object
}

// objectLine is a line of `ls --json` of a prefix.
type objectLine struct {
	URI    string    `json:"uri"`
	Size   int64     `json:"size"`
	Format *string   `json:"format"` // by name; null: none that is known
	Time   time.Time `json:"modified,omitzero"`
}

func (a *app) ls(ctx context.Context, uri string, how aim) error {
	t, err := a.open(ctx, uri, how)
	if err != nil {
		return err
	}
	if t.set != nil && noIDs(ctx, t) {
		t.set = nil // all that there is to see of an empty dataset are its objects
	}
	if t.pair == nil && t.set == nil {
		return a.lsFolder(ctx, t)
	}
	head := []string{"ID", ">FRAMES", ">SIZE", "META_DATA"}
	if t.set != nil {
		head = append(head, "CHUNK")
	}
	out := newTable(head...)
	err = t.chunks(ctx, func(c *gulp.Chunk, k int) error {
		for it := range c.Items() {
			meta := gulp.PlainJSON(it.MetaData)
			if meta == nil {
				meta = []byte("null")
			}
			l := idLine{ID: it.ID, Frames: it.Frames, Bytes: it.Bytes, MetaData: meta}
			if t.set != nil {
				l.Chunk = t.set.Pair(k).Data
			}
			if a.flags.json {
				if err := writeJSON(a.stdout, l); err != nil {
					return err
				}
				continue
			}
			row := []string{printable(l.ID), count(int64(l.Frames)), humanSize(l.Bytes), shorten(printable(metaText(meta)), 60)}
			if t.set != nil {
				row = append(row, printable(l.Chunk))
			}
			out.add(row...)
		}
		return nil
	})
	if err != nil || a.flags.json {
		return err
	}
	return out.write(a.stdout)
}

func noIDs(ctx context.Context, t *target) bool {
	n, err := t.totals(ctx)
	return err == nil && n.IDs == 0
}

// metaText is meta_data for a table: without the list around a single value.
func metaText(raw []byte) string {
	if list, err := gulp.MetaList(raw); err == nil && len(list) == 1 {
		raw = list[0]
	}
	if s := string(raw); s != "{}" && s != "null" && s != "[]" {
		return s
	}
	return ""
}

func (a *app) lsFolder(ctx context.Context, t *target) error {
	base := strings.TrimSuffix(t.uri, "/") + "/"
	out := newTable(">SIZE", "MODIFIED", "FORMAT", "URI")
	n := 0
	for in, err := range t.bucket.List(ctx, t.key) {
		if err != nil {
			return unlisted(err)
		}
		n++
		l := objectLine{URI: base + strings.TrimPrefix(in.Key, t.key), Size: in.Size, Time: in.ModTime}
		format := all.ByName(in.Key)
		if format != "" {
			l.Format = &format
		}
		if a.flags.json {
			if err := writeJSON(a.stdout, l); err != nil {
				return err
			}
			continue
		}
		out.add(humanSize(l.Size), l.Time.Local().Format("2006-01-02 15:04"), format, printable(l.URI))
	}
	if n == 0 {
		return errNothingThere
	}
	if a.flags.json {
		return nil
	}
	return out.write(a.stdout)
}

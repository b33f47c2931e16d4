package main

import (
	"bufio"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/human"
	"github.com/farread/farread/objstore"
)

func newLs(a *app) *cobra.Command {
	var how aim
	var scan bool
	c := &cobra.Command{
		Use: "ls URI", Short: "What is inside: ids, chunks, items, tracks, or the objects of a folder",
		Long: `List what is inside: the ids of a gulp chunk or dataset in file order, with their
frames and meta_data; the chunks of a Blosc2 frame or array; the chunks or items of a
Bloscpack file, with their names where they are files; the tracks of a zoom-cache
file; or the objects of any other
folder or prefix, everything below it included. --objects lists the objects of a
dataset, too.

Of a frame's chunks the index tells where they begin and which of them are not
stored at all (special: zeros, nan, uninit). Their exact sizes, and which are special by
their own headers, are looked up in local files, and in others with --scan;
without it, stored is all up to the next chunk. A sparse frame's offset is the
number in its chunk's name. What a Bloscpack file's items take, stored and decoded,
only they tell; one without an offset was never written. What the tracks of a
zoom-cache file hold its index tells, or a count, of local files or with --scan.

With --json each line is one object.`,
		Example: `  farread ls s3://frames/clips/sunrise.tar.gulp
  farread ls s3://frames/ --json
  farread ls s3://frames/train/ --objects`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at(args[0], objstore.Again(cmd.Context(), func() error { return a.ls(cmd.Context(), args[0], how, scan) }))
		},
	}
	offsetFlag(c, &how.offset)
	c.Flags().BoolVar(&scan, "scan", false, "look into every chunk, item or block for what the index does not tell")
	c.Flags().BoolVar(&how.raw, "objects", false, "list the objects of a folder, also when they form a dataset")
	return c
}

// A listing is the output of ls: a line of JSON, or a row of a table, for each entry.
type listing struct {
	w    io.Writer
	json bool
	scan bool // look at each entry itself if the index does not tell all
	t    *human.Table
}

// head names the columns of the table.
func (l *listing) head(cells ...string) { l.t = human.NewTable(cells...) }

// add lists one entry: v as JSON, cells for people.
func (l *listing) add(v any, cells ...string) error {
	if l.json {
		return writeJSON(l.w, v)
	}
	l.t.Add(cells...)
	if l.t.Len() < human.LongTable {
		return nil
	}
	return l.t.Print(l.w)
}

func (a *app) ls(ctx context.Context, uri string, how aim, scan bool) error {
	c, err := a.open(ctx, uri, how)
	if err != nil {
		return err
	}
	if _, folder := c.(*folderContent); how.raw && !folder {
		return usagef("--objects lists a folder, and %s is none", human.Printable(uri))
	}
	w := bufio.NewWriterSize(a.stdout, fileBuffer)
	l := &listing{w: w, json: a.flags.json, scan: scan}
	err = c.ls(ctx, l)
	if err == nil && !l.json {
		err = l.t.Print(w)
	}
	if ferr := w.Flush(); err == nil { // the lines before an error, too
		err = ferr
	}
	return err
}

package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

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
			return at(args[0], again(cmd.Context(), func() error { return a.ls(cmd.Context(), args[0], how) }))
		},
	}
	offsetFlag(c, &how.offset)
	c.Flags().BoolVar(&how.raw, "objects", false, "list the objects of a folder, also when they form a dataset")
	return c
}

// A listing is what ls prints: for each thing a line of JSON, or a row of a table.
type listing struct {
	w    io.Writer
	json bool
	t    *table
}

// head names the columns of the table.
func (l *listing) head(cells ...string) { l.t = newTable(cells...) }

// add lists one thing: v as JSON, cells for people.
func (l *listing) add(v any, cells ...string) error {
	if l.json {
		return writeJSON(l.w, v)
	}
	l.t.add(cells...)
	return nil
}

func (a *app) ls(ctx context.Context, uri string, how aim) error {
	c, err := a.open(ctx, uri, how)
	if err != nil {
		return err
	}
	l := &listing{w: a.stdout, json: a.flags.json}
	if err := c.ls(ctx, l); err != nil || l.json {
		return err
	}
	return l.t.write(a.stdout)
}

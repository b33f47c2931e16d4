package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newVerify(a *app) *cobra.Command {
	var how aim
	c := &cobra.Command{
		Use: "verify URI", Short: "Read everything, check every bound, count and checksum",
		Long: `Read all of it and check whatever can be checked. Of a gulp chunk or dataset: the
JSON of the index, every id and frame against the size of the data and against
each other, and every byte of data and padding. GulpIO stores no checksums, so
images are only looked at for JPEG's markers, and those that have none are counted.

Some things are no fault and only remarked: ids that unpack refuses, since they are
no path inside a folder ("../x"), and unfinished chunks, data that an interrupted
writer left without an index. No reader takes those for part of the dataset, and
they may be deleted.

Of a Blosc2 frame or array, or a bare chunk: header, offsets and metadata against
each other and the object, and every chunk's header, blocks and decoded size. Blosc
stores no checksums: a flipped bit that decodes to something else goes unseen.

The exit code is 7 when something is wrong, and the line says where.`,
		Example: `  farread verify s3://frames/train/
  farread verify data_0.gulp --json`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at(args[0], again(cmd.Context(), func() error { return a.verify(cmd.Context(), args[0], how) }))
		},
	}
	offsetFlag(c, &how.offset)
	return c
}

func (a *app) verify(ctx context.Context, uri string, how aim) error {
	c, err := a.open(ctx, uri, how)
	if err != nil {
		return err
	}
	report, text, err := c.verify(ctx)
	if err != nil {
		return err
	}
	if a.flags.json {
		return writeJSON(a.stdout, report)
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
}

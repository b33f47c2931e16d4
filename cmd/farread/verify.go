package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

func newVerify(a *app) *cobra.Command {
	var (
		how   aim
		out   string
		force bool
	)
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
each other and the object, and every chunk's header, blocks and decoded size; and the
index, with the ranges in it, against chunks and items. Blosc stores no checksums: a
flipped bit that decodes to something else goes unseen, unless the ranges show it. An
index that is damaged or of another version is used by no reader, and only remarked.

Of a Bloscpack file: header, metadata and table against each other and the object,
the checksum and decoded size of every chunk, and whether chunks overlap. Items that
were never written are the exit code 3. --repair OUT saves its whole chunks, also of a
file whose writing did not end (aborted), that was cut short, or that is damaged in
the middle, in a new file of the same kind, and says how many were saved and lost.
Items behind a lost one move up; an array that lost chunks becomes the bytes that are
left. OUT is not replaced without --force, and the exit code is 0 when it was written.

Of a zoom-cache file: headers, every packet and summary of its tracks against codec,
count and length, the checksums of compressed packets, and then every summary, and the
index inside or beside it, against the samples, from which they are made anew. Stamps
that go back and packets that name wrong ends are no fault and only counted.

The exit code is 7 when something is wrong, and the line says where; so it is for an
aborted file.`,
		Example: `  farread verify s3://frames/train/
  farread verify data_0.gulp --json
  farread verify records.blp --repair saved.blp`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if force && out == "" {
				return usagef("--force goes with --repair")
			}
			return at(args[0], objstore.Again(cmd.Context(), func() error {
				if cmd.Flags().Changed("repair") {
					return a.repair(cmd.Context(), args[0], out, force, how)
				}
				return a.verify(cmd.Context(), args[0], how)
			}))
		},
	}
	c.Flags().StringVar(&out, "repair", "", "save the whole chunks of a Bloscpack file in the new file `OUT`, local or in S3")
	c.Flags().BoolVar(&force, "force", false, "replace OUT of --repair")
	offsetFlag(c, &how.offset)
	return c
}

func (a *app) verify(ctx context.Context, uri string, how aim) error {
	c, err := a.open(ctx, uri, how)
	if err != nil {
		return err
	}
	if f, ok := c.(*folderContent); ok {
		return f.noDataset(ctx)
	}
	r, err := a.verifying(ctx, c.dataset())
	if err != nil {
		return err
	}
	report, text := c.verified(r)
	if a.flags.json {
		return writeJSON(a.stdout, report)
	}
	_, err = fmt.Fprintln(a.stdout, human.Lines(text))
	return err
}

// verifying verifies a dataset and shows a bar after the first progress.
func (a *app) verifying(ctx context.Context, d farread.Dataset) (farread.Report, error) {
	var b bar
	defer func() { b.clear() }()
	began := false
	return d.Verify(ctx, func(done, total int64) {
		if !began {
			b, began = a.newBar("verify", total), true
		}
		b.set(done, total)
	})
}

// repair saves the whole parts of a damaged file.
func (a *app) repair(ctx context.Context, uri, out string, force bool, how aim) error {
	b, key, err := a.client.Bucket(ctx, out)
	if err != nil {
		return err
	}
	if key == "" || strings.HasSuffix(key, "/") {
		return usagef("--repair %q is a folder; name a file", out)
	}
	c, err := a.open(ctx, uri, how)
	if err != nil {
		return err
	}
	r, ok := c.(repairer)
	if !ok {
		return usagef("--repair is for Bloscpack files")
	}
	defer sink.NewFolders(b)()
	var rep repaired
	_, err = a.packObject(ctx, target{uri: out, bucket: b, key: key}, force, func(ctx context.Context, w objstore.Writer) (err error) {
		rep, err = r.repair(ctx, w)
		return err
	})
	if err != nil {
		return err
	}
	rep.Output = out
	if a.flags.json {
		return writeJSON(a.stdout, rep)
	}
	_, err = fmt.Fprintln(a.stdout, human.Lines(rep.text()))
	return err
}

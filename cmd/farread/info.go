package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/farread/farread/objstore"
)

func newInfo(a *app) *cobra.Command {
	var how aim
	c := &cobra.Command{
		Use: "info URI", Short: "What it is: format, sizes, counts, shapes",
		Long: `Say what a URI names: its format, sizes and counts, from its headers and index
alone. A gulp chunk is named by either of its two objects, a dataset of chunks by
its folder. A Blosc2 frame or array is an object, or a part of one that begins at
--offset, or the folder of a sparse one; so is a Bloscpack file, whose items tell their
lengths only with --scan. Of an array whose index has ranges it says the least and the
greatest number. Of a zoom-cache file it says origin, tracks and index, and how
many packets, samples and levels the tracks have where the file has an index, is local,
or with --scan, which reads all of it. Any other folder is summed up.

Of what is no dataset yet, .npy, .npz, .wav, .csv, .tsv, .txt, .log, .jsonl, .ndjson
(and .gz or .zst of these), .parquet, .tar, .tar.gz, .tar.zst, .zip, images, a folder of
images or texts, and Zarr in a folder, a prefix, a zip or on a server, it says what is
in it, as far as its head, its directory or its metadata tell, and the line to type that
packs it.`,
		Example: `  farread info s3://frames/clips/sunrise.tar.gulp
  farread info s3://arrays/temperature.b2nd
  farread info s3://frames/train/ --json
  farread info https://host/day.wav
  farread info s3://climate/era5.zarr`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at(args[0], objstore.Again(cmd.Context(), func() error { return a.info(cmd.Context(), args[0], how) }))
		},
	}
	offsetFlag(c, &how.offset)
	c.Flags().BoolVar(&how.scan, "scan", false, "go through all of a Bloscpack or zoom-cache file for what only that tells")
	return c
}

func (a *app) info(ctx context.Context, uri string, how aim) error {
	if in, ok, err := a.lookZarr(ctx, uri, how); ok {
		return a.tellZarr(in, err)
	}
	if p, err := a.peek(ctx, uri, how); p != nil || err != nil {
		if p.holdsZarr() {
			if in, ok, err := a.zarrInfo(ctx, uri); ok {
				return a.tellZarr(in, err)
			}
		}
		return a.tellPeek(p, err)
	}
	c, err := a.open(ctx, uri, how)
	if err != nil {
		return whatToDo(uri, err)
	}
	d, err := c.info(ctx)
	if err != nil {
		return err
	}
	if a.flags.json {
		return writeJSON(a.stdout, d.json)
	}
	return d.table.Print(a.stdout)
}

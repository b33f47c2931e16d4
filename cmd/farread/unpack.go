package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/objstore"
)

func newUnpack(a *app) *cobra.Command {
	var force, group bool
	var how aim
	c := &cobra.Command{
		Use: "unpack URI... DST", Short: "A dataset back into files",
		Long: `Write what a dataset was made of to local files.

Every frame of a gulp chunk or dataset goes to the folder DST, as DST/ID/0000.jpg …,
with the labels and other meta_data in DST/labels.json. Packing that folder gives the
same frames and meta_data again; but for ids without frames, and for a label that pack
takes from the sub-folder of an id that has none. DST must not be there yet, or be
empty; with --force files of the same names are replaced and others stay.

An array goes to DST.npy as numpy.save writes it, to the folder DST.zarr as Zarr
(version 3, zstd, the array's chunks, with names of axes, attributes and fill value;
--shard puts so many items along each axis into one file). Several arrays, or a folder
of arrays, go into one DST.zarr as a group with consolidated metadata, coordinates as
arrays of their own, so that xarray opens it; --group does so with one. Of a group
arrays with as many axes as --shard has lengths get shards, of whole chunks. By any
other name an array is written as its items alone, with a note of what they are in
DST.json (see: farread help notes).
Names that promise another format, such as DST.nc or DST.h5, are refused. Another Blosc2
frame or chunk goes to the file DST as the bytes it holds. A DST that is there is only
replaced with --force; a DST.zarr then as a whole.

A Bloscpack file becomes what it was made of: lines the file of lines, files a folder
of them, records the file with their prefixes, a NumPy array DST.npy or its items and
a note, and anything else the file DST. Items that nothing is known of go to the files
0, 1, 2 … of the folder DST, or, where DST ends in .txt or .jsonl, to a line each.

A zoom-cache file of one track becomes its samples, as CSV or in DST.npy. Several
tracks of one type and length, as of a WAV or an array, become the columns of DST.npy;
of others get --track gives one at a time.

Nothing shows before all of it was read.`,
		Example: `  farread unpack s3://frames/clips/sunrise.tar.gulp sunrise/
  farread unpack s3://arrays/temperature.b2nd temperature.npy
  farread unpack s3://arrays/temperature.b2nd temperature.zarr --shard 24,240,320
  farread unpack s3://arrays/era5/ climate.zarr
  farread unpack s3://arrays/t2m.b2nd s3://arrays/u10.b2nd both.zarr
  farread pack sunrise/ sunrise.gulp`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("missing URI or DST")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			if last == 1 && !group {
				return at(args[0], a.unpack(cmd.Context(), args[0], args[1], force, how))
			}
			if dst := args[last]; !isZarr(dst) || strings.Contains(dst, "://") {
				return usagef("DST %q: several arrays, and --group, go into a local DST.zarr", dst)
			}
			return objstore.Again(cmd.Context(), func() error { return a.unpackGroup(cmd.Context(), args[:last], args[last], force, how) })
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace a file, or write into a folder that has files already")
	c.Flags().Var(&how.shard, "shard", "DST.zarr: shape of a shard, which is a file of whole chunks")
	c.Flags().BoolVar(&group, "group", false, "DST.zarr: a group, also of one array, with its coordinates as arrays")
	noVerifyFlag(c, &how.noVerify)
	offsetFlag(c, &how.offset)
	return c
}

func (a *app) unpack(ctx context.Context, uri, dst string, force bool, how aim) error {
	if strings.Contains(dst, "://") {
		return usagef("DST %q: unpack writes to local files", dst)
	}
	return objstore.Again(ctx, func() error {
		c, err := a.open(ctx, uri, how)
		if err != nil {
			return err
		}
		if _, ok := c.(*folderContent); ok && isZarr(dst) {
			return a.unpackGroup(ctx, []string{uri}, dst, force, how)
		}
		return c.unpack(ctx, dst, force)
	})
}

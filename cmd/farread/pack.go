package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
)

const packLong = `Pack uploads into a dataset. DST decides what is made:

  x.gulp                 one gulp chunk of images, x.gulp and x.gmeta
  folder/ --format gulp  a dataset of chunks data_N.gulp, meta_N.gmeta; one that
                         is there is appended to; a chunk ends with the id by
                         which its data reach --chunk bytes
  x.b2nd                 an n-dimensional array
  folder/ --format b2nd  one array for each member of a .npz, or array of a Zarr group;
                         of .npz, .zarr and .zarr.zip without --format, too
  x.b2frame              the bytes of any file as a Blosc2 frame
  x.blp                  records, files or bytes as Bloscpack
  x.zoom                 a long series of samples with summaries of them

JPEG, PNG, WebP, AVIF and GIF images go into a gulp untouched. SRC is a tar, tar.gz,
tar.zst or zip of them, a folder, local or a prefix of a bucket, or local images.
--layout says which of them are one id:

  clips        each folder, its images are the frames; images in no folder belong to
               their name before the last "_" or "-" and a number; the folder above
               is the label
  imagefolder  each image, by its path without the suffix; its folder is the label
  webdataset   images of one name up to the first dot; .cls is the label, .txt the
               text, .json more fields
  flat         each image; folders say nothing

Without it names decide, if they leave no doubt, else it is clips: .cls, .txt or .json
beside images of the same name are webdataset; eight or more images whose names differ
by more than numbers, in every folder of three or more, are imagefolder, or flat in one
folder. labels.csv or labels.json in SRC become meta_data. labels.csv has a header, with
a column called id, file, filename or path: the id, or a file of it, with its folders
and its suffix or without; all other columns become fields, each by a name of its own,
of numbers where all cells are numbers.

An array is a .npy, a member of a .npz (--member), or any other file with a note of
what its bytes are beside it (see: farread help notes), or with --dtype and --shape
instead. SRC may be -, standard input: a .npy, or items of --dtype and --shape, which
are packed as they come. It is cut into chunks, and these into blocks, which are read
alone; their shapes are chosen unless --chunk-shape and --block-shape are given, or
--for says what slices are read most: series (along the first axis), planes (of the
last two), both, or small cubes; farread advise tells what that saves. Memory is
bounded by --max-memory, whatever the size of SRC.

--dims names its dimensions, --coord says where the items along one lie (numbers,
datetime64 or text; more than 64 KiB of them become NAME.b2nd beside), --attrs has
attributes such as units, and --fill the value of items that were never written. They
are stored in the array; info shows them, slice selects by them, and Zarr clients of
farread serve get them.

SRC may be Zarr, version 2 or 3: x.zarr, a folder, a prefix of a bucket or a folder of
a plain HTTP server; an array in one (x.zarr/temp); or a .zip whose top or only folder
is Zarr. It keeps its chunks, of shards those within, unless --chunk-shape or --for is
given, and names of axes, attributes and the fill value. A group becomes an array for
each of its own, in folder/, or one of them with --member. A .b2nd is packed anew, with
what its items mean: in other chunks, or by another --codec.

A .b2nd or .b2frame has an index of where the blocks of its chunks begin, if that takes
at most 2 %: always with --index, never with --index=false. Slices from afar take fewer
requests by it; python-blosc2 keeps it as a vlmetalayer and ignores it.

A .blp holds one item for each line of text or JSON Lines (.gz and .zst of them are
unpacked), or for each file of an archive, a folder or several SRC, with its name;
an item is read alone. Records that follow their lengths are told apart by
--records u32le, u32be, u64le, u64be (4 or 8 bytes, little- or big-endian) or varint
(as protobuf's delimited messages). A .npy is stored as the bloscpack tool does, and
all other bytes, or all with --records chunks, in chunks of --chunk bytes. unpack
gives back what SRC was.

A .zoom is made of a WAV (each channel a track), of a .npy of one or two axes (each
column a track), of a .csv or .tsv with a header (.csv.gz and .csv.zst, too), of a
.parquet, or of raw samples with a note, or with --dtype and --shape. --rate and
--origin say what SRC does not; --codec stores samples as another type: f32, f64, i16,
u8, pcm-i16 and so on.

A CSV (, ; or tab; decimal commas; UTF-8, UTF-16, Latin-1) has a column of times called
time, date, year or the like, else the first with dates, else its first; a year beside
months or quarters, and a date beside times of day, are taken together. Times are
seconds, ISO 8601, counts since 1970 (epoch, time_ms), dates as people write them
(2012/1/9, Jan 1 2000, 19-Sep-03, 31.12.2025 12:30, 1974Q1, 2024-W05, 2024-032) and, in
columns called so, dates (19580329, 20240501120000), years (1958, 1958.2027) and days of
a spreadsheet (45123.5). What is taken for more than seconds or ISO 8601 is told, with
what else it may be; what nobody can know is refused. --time, --times, --time-format and
--tz say it. Marks between thousands (1,234.5) are taken as such where a cell of the
column can be nothing else. Empty cells and NA are gaps. Columns of text (no number
among their first 100 values) are passed over, and named; --columns and --skip choose.
Times that go back are an error that names the line; --sort puts the rows in order.
Parquet goes by the same rules; columns of times and of numbers keep their type.

--append puts SRC behind what is in DST, one file that is there: the array behind the
items of a .b2nd (of another .b2nd and of Zarr, too), along the first axis, where types
and all other lengths must be the same; bytes behind those of a .b2frame; lines, records
or files behind the items of a .blp that pack made of such; the samples of a WAV, .npy,
CSV or Parquet behind those of a .zoom with the same tracks and the same rate, or with
times that go on. Times that go back are refused. The coordinate of an array's first
axis grows by that of SRC, or by --coord; one that is a list is never left too short,
and one that is in order stays so. The result is what pack makes of all at once. What is
there is not sent again: S3 copies it, but for the first 5 MiB and what ends the file.
An index beside a .b2nd, .b2frame or .zoom is removed: the new one lies inside.
Readers see the old file or the new one. If somebody else changes it in the meantime,
nothing is appended (exit code 5). explain --append tells the cost before.

--on ARN lets a state machine of Step Functions pack one array of a bucket or a URL, by
parts of --part-size, on as many workers as there are parts, and follows it. Workers
stage their chunks below --work; at the end S3 copies them into DST, which shows then,
with the bytes that one machine makes. Images below a prefix of a bucket become chunks
of a gulp dataset, each a part, which show at the end. The same command takes what is
there, follows a run that goes on, or starts one for what is missing. An interrupt
leaves the run; --stop ends it.

A DST that exists is refused with exit code 5 unless --force is given, and so is an
id that the dataset has already. Nothing shows before all of it was read: data go
first, and the index, which makes them visible, last. An interrupt leaves a dataset
as it was, or with whole new chunks or arrays.

Files of DST that lie in SRC are passed over: a folder may be packed into itself.

From S3 to S3 this is the very job that the pack function runs: the output carries
its source's version, and packing the same version again does nothing.`

type packFlags struct {
	format string
	chunk  sizeFlag
	force  bool
	more   bool // --append
	layout string
	array  arrayFlags
	meta   metaFlags
	blosc  bloscFlags
	blp    blpFlags
	zoom   zoomFlags
	on     packElsewhere
}

// A packer makes one format.
type packer struct {
	format   string
	suffixes []string // suffixes of DST
	flags    []string // flags that other packers do not have
	pack     func(ctx context.Context, a *app, srcs []string, dst target, f *packFlags) error
}

func packers() []packer {
	return []packer{
		{gulp.Format, []string{gulp.DataSuffix, gulp.MetaSuffix}, []string{"chunk", "layout", "on", "work", "batch-size", "stop"}, packGulp},
		{all.B2ND, []string{pack.ArraySuffix}, slices.Concat(arrayFlagNames(), metaFlagNames(), bloscFlagNames(), []string{"index"}, elsewhereNames()), packArrays},
		{frameFormat, []string{".b2frame"}, append(bloscFlagNames(), "chunk", "typesize", "index"), packBytes},
		{bloscpack.Format, []string{bloscpack.Suffix}, append(bloscFlagNames(), "chunk", "typesize", "records", "checksum"), packItems},
		{zoomcache.Format, []string{zoomcache.Suffix}, append(zoomFlagNames(), "codec", "dtype", "shape", "order"), packSeries},
	}
}

// packerOf returns the packer for DST, and refuses the flags of other packers.
func packerOf(dst target, f *packFlags, cmd *cobra.Command) (*packer, error) {
	if kind := all.Foreign(dst.uri); kind != "" {
		return nil, usagef("%s names %s, which is not written here: %s", human.Printable(dst.uri), kind, packGoes(dst.uri))
	}
	list := packers()
	i := slices.IndexFunc(list, func(p packer) bool {
		if f.format != "" {
			return p.format == f.format
		}
		return slices.Contains(p.suffixes, path.Ext(dst.key))
	})
	known := make([]string, 0, len(list))
	for _, p := range list {
		known = append(known, p.suffixes[0])
	}
	switch {
	case i < 0 && f.format != "":
		return nil, fmt.Errorf("format %q: want one of gulp, b2nd, b2frame, bloscpack, zoomcache: %w", f.format, formats.ErrUnsupported)
	case i < 0 && path.Ext(dst.key) != "":
		return nil, fmt.Errorf("%s: want a name that ends in one of %v: %w", human.Printable(dst.uri), known, formats.ErrUnsupported)
	case i < 0:
		return nil, usagef("DST %q names no format: end it in one of %v, or add --format for a folder", dst.uri, known)
	}
	for _, p := range list {
		for _, name := range p.flags {
			if cmd.Flags().Changed(name) && !slices.Contains(list[i].flags, name) {
				return nil, usagef("--%s does not go with %s", name, list[i].format)
			}
		}
	}
	return &list[i], nil
}

// manyArrays reports whether all of srcs have arrays in them, by their names: a folder is for these.
func manyArrays(srcs []string) bool {
	return !slices.ContainsFunc(srcs, func(src string) bool {
		name := strings.TrimSuffix(src, "/")
		return !strings.HasSuffix(name, ".npz") && !strings.HasSuffix(name, ".zarr") && !strings.HasSuffix(name, zarrZipSuffix)
	})
}

func newPack(a *app) *cobra.Command {
	var f packFlags
	c := &cobra.Command{
		Use: "pack SRC... DST", Short: "An upload into a dataset: images into a gulp, arrays into b2nd, records into Bloscpack, series into .zoom",
		Long: packLong,
		Example: `  farread pack photos.tar.zst photos.gulp
  farread pack classes/ s3://frames/classes/ --format gulp --layout imagefolder
  farread pack shard-000000.tar s3://frames/shard-000000.gulp --layout webdataset
  farread pack temperature.npy s3://arrays/temperature.b2nd --codec zstd-5
  farread pack temperature.npy s3://arrays/series.b2nd --for series
  farread pack --append today.npy s3://arrays/temperature.b2nd
  farread pack t2m.npy t2m.b2nd --dims time,lat,lon --coord time=time.npy --attrs t2m.json
  farread pack era5.zarr s3://arrays/era5/
  farread pack s3://in/all.npy s3://arrays/all.b2nd --on arn:aws:states:REGION:ACCOUNT:stateMachine:NAME --work s3://jobs/packs
  farread pack s3://images/train/ s3://frames/train/ --format gulp --on arn:aws:states:REGION:ACCOUNT:stateMachine:NAME --work s3://jobs/packs
  farread pack https://host/era5.zarr/t2m t2m.b2nd --chunk-shape 365,90,90
  cat grid.raw | farread pack - s3://arrays/grid.b2nd --dtype '<f4' --shape 720,1440
  farread pack grid.raw grid.b2nd --dtype '<f4' --shape 720,1440 --chunk-shape 90,1440
  farread pack events.jsonl s3://logs/events.blp
  farread pack --append today.jsonl s3://logs/events.blp
  farread pack messages.bin messages.blp --records varint --codec zstd-5 --checksum crc32
  farread pack day.wav s3://series/day.zoom --origin 2026-05-01T00:00:00Z
  farread pack tide.csv tide.zoom --zlib
  farread pack --append today.csv tide.zoom
  farread pack tide.csv level.zoom --time time --times s --columns level
  farread pack samples.raw s3://series/x.zoom --dtype '<i2' --shape 3600000,4 --rate 1000
  farread pack s3://uploads/day.wav s3://series/day.wav.zoom
  farread pack s3://uploads/clips/sunrise.tar s3://frames/clips/sunrise.tar.gulp
  farread pack day1/ day2/ s3://frames/train/ --format gulp --chunk 64MiB`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("missing SRC or DST")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			if err := f.stdinOnly(args[:last]); err != nil {
				return err
			}
			b, key, err := a.client.Bucket(cmd.Context(), args[last])
			if err != nil {
				return at(args[last], err)
			}
			dst := target{uri: args[last], bucket: b, key: key}
			if path.Ext(key) != pack.ArraySuffix && args[0] == fromStdin {
				return usagef("-: what comes on standard input becomes an array: end DST in %s", pack.ArraySuffix)
			}
			if f.format == "" && !f.more && path.Ext(key) == "" && manyArrays(args[:last]) {
				f.format = all.B2ND
			}
			p, err := packerOf(dst, &f, cmd)
			if err != nil {
				return err
			}
			if err := f.on.check(); err != nil {
				return err
			}
			if f.more {
				if f.on.on != "" {
					return usagef("--append puts little behind what is there: it is for this machine, not for --on")
				}
				if err := appendable(p, dst, &f, cmd); err != nil {
					return err
				}
				return notRead(args[:last], a.appendTo(cmd.Context(), p, args[:last], dst, &f))
			}
			defer sink.NewFolders(b)()
			return notRead(args[:last], p.pack(cmd.Context(), a, args[:last], dst, &f))
		},
	}
	c.Flags().StringVar(&f.format, "format", "", "what to make where DST's name does not say: gulp, b2nd, b2frame, bloscpack, zoomcache")
	c.Flags().Var(&f.chunk, "chunk", "a chunk of a gulp dataset ends with the id that reaches this size (256MiB); chunks of a .b2frame (4MiB) and of a .blp without items (1MiB) have it")
	c.Flags().Lookup("chunk").DefValue = "0" // help shows no default, since the default depends on the format
	c.Flags().BoolVar(&f.force, "force", false, "replace a DST that exists")
	c.Flags().BoolVar(&f.more, "append", false, "put SRC behind what is in DST, a .b2nd, .b2frame, .blp or .zoom that is there")
	c.Flags().StringVar(&f.layout, "layout", "", "which images of a gulp are one id: clips, imagefolder, webdataset, flat; empty: by their names")
	f.array.register(c)
	f.meta.register(c)
	f.blosc.register(c)
	f.blp.register(c)
	f.zoom.register(c)
	f.on.register(c)
	offer(c.Flags(), "layout", pack.Layouts()...)
	offer(c.Flags(), "format", gulp.Format, all.B2ND, "b2frame", bloscpack.Format, zoomcache.Format)
	return c
}

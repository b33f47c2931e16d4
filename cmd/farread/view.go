package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/internal/render"
)

const viewLong = `Look at a track of a zoom-cache file from afar, in [--from, --to), or at an array with
axes. --track takes a track's number or its name. A time that lies beside all that the
track has is refused.

--width W makes about W points of all samples in it, each with the least and the
greatest of its samples, exactly: no spike is lost. Points begin and end where the
spans that they are made of do. With an index, inside the file or beside it (see:
farread index), this takes two or three requests, whatever the time; without one all
packets are read. Mean and rms are those of the samples.

--level L shows the summaries of one level, as they are stored. Level 1 has one for
each packet, every further level one for two of the level below; farread info tells how
many levels there are. One that the track has not got is refused.

OUT's suffix, or --format, says how they are written:
  .json   {"track", "level", "utc_origin", "points": [{"t0", "t1", "entry", "exit", "min",
          "max", "mean", "rms", "first", "last", "count"}]}: t0 and t1 in seconds since
          utc_origin, which a file may lack, entry and exit the sample offsets. What a
          summary has not got, and NaN, is null; infinities are "inf" and "-inf". Of a
          multichannel track each point has "channels", a list of such without times.
  .csv    the same columns, a line for each point or channel
  .npy    with --width: f8 of (points, channels, 9): t0, t1, min, max, mean, count, rms,
          entry, exit
  .dat    with --width: as peaks.js and audiowaveform have it, in version 2, of
          --bits 16 or 8; --format peaks is their JSON. Floats count from -1 to 1
  .png .svg  a plot over the time, in UTC where the file has an origin, of --width
          points (1000): the band from least to greatest, a pixel for each point, and the
          mean; samples themselves where they are that far apart. --tracks A,B has up
          to 24 tracks in one plot, each with its colour and its name in a legend
Without -o a table is shown, with --json that JSON. Of a damaged file --resync takes
what is whole, and tells on stderr what was passed over.

Of an array, view draws the SLICE, or all of it, as .png or .svg: one axis as a line,
two as colours beside a bar that tells their numbers (--colors, --range, --robust). Axes
have the dimensions' names, units and coordinates, times by the calendar in UTC; without
coordinates positions. Values of a coordinate rise upwards, pressures and depths run
down, and other rows as they are stored. Where a pixel has several items, a line shows
the least and the greatest of them, colours their mean. farread slice -o x.png writes
items as pixels alone.

--width, --height are pixels of the data without axes, --title a text over it, --dark
light on dark.

--open needs no --width: it opens the page of farread serve in the browser, at these
tracks and this time, and prints its address (with --json as {"url"}), until Ctrl-C.
Without --track all tracks are shown. Nothing but this file is served, on this machine.`

// drawn reports whether OUT is a picture, which has a width of its own.
func drawn(out, format string) bool {
	if format == "" {
		format = strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
	}
	return format == render.PNG || format == render.SVG
}

func newView(a *app) *cobra.Command {
	var (
		sel selector
		how aim
		out string
		pg  bool
	)
	c := &cobra.Command{
		Use: "view URI [SLICE] [--track N --width W] -o OUT", DisableFlagsInUseLine: true, Short: "Summaries of a zoom-cache file, a long series from afar; pictures of arrays",
		Long: viewLong,
		Example: `  farread view s3://series/day.zoom --track 1 --width 2000 -o day.png
  farread view s3://datasets/series/tide.csv.zoom --track level --width 2000 --json
  farread view talk.zoom --track 1 --width 4000 --bits 8 -o talk.dat
  farread view day.zoom --track 1 --level 8
  farread view s3://series/day.zoom --track 1 --level 3 --from 6h --to 7h -o hour.csv
  farread view s3://series/air.zoom --tracks temp_C,dew_C --width 800 --height 200 --dark -o two.png
  farread view day.zoom --track 1 --from 6h --to 7h --open
  farread view s3://arrays/t2m.b2nd 'time=2025-03-01' --title '2 m temperature' -o map.png
  farread view s3://arrays/t2m.b2nd ':, 30, 5' --width 1200 -o place.svg`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return exactly("URI")(nil, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f := render.Views(); sel.format != "" && !slices.Contains(f, sel.format) {
				return usagef("--format %q: want %s", sel.format, strings.Join(f, ", "))
			}
			sel.plot, sel.drawn = !pg, drawn(out, sel.format)
			if err := sel.parse(args[1:]); err != nil {
				return err
			}
			if err := sel.picture.check(); err != nil {
				return err
			}
			if err := sel.look.check(); err != nil {
				return err
			}
			if pg {
				return at(args[0], a.show(cmd.Context(), args[0], sel, how, cmd, "track", "from", "to"))
			}
			if err := notForeign(out, "want a name in .json, .csv, .npy, .dat, .png or .svg"); err != nil {
				return err
			}
			out, how.bignum = a.shown(&sel, out), sel.bignum
			if sel.slice == nil {
				return at(args[0], a.get(cmd.Context(), args[0], sel, out, how))
			}
			return inSlice(args[0], args[1], a.get(cmd.Context(), args[0], sel, out, how))
		},
	}
	c.Flags().StringVar(&sel.format, "format", "", strings.Join(render.Views(), ", ")+", whatever OUT is called")
	c.Flags().StringVarP(&out, "output", "o", "", "`OUT`: a file, or - for stdout")
	offsetFlag(c, &how.offset)
	resyncFlag(c, &how.resync)
	openFlag(c, &pg)
	sel.register(c, []func(*pflag.FlagSet){sel.ofTrack, sel.ofView, sel.ofItems, sel.ofLabels}, "resync", "format")
	sel.look.register(c)
	sel.picture.register(c)
	offer(c.Flags(), "format", render.Views()...)
	offer(c.Flags(), "bits", "8", "16")
	return c
}

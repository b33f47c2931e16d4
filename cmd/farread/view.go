package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const viewLong = `Look at a track of a zoom-cache file from afar, in [--from, --to).

--width W makes about W points of all samples in it, each with the least and the
greatest of its samples, exactly: no spike is lost. Points begin and end where the
spans that they are made of do. With an index, inside the file or beside it (see:
farread index), this takes two or three requests, whatever the time; without one all
packets are read. Mean and rms are those of the samples.

--level L shows the summaries of one level, as they are stored. Level 1 has one for
each packet, every further level one for two of the level below.

OUT's suffix, or --format, says how they are written:
  .json   {"track", "level", "points": [{"t0", "t1", "entry", "exit", "min", "max",
          "mean", "rms", "first", "last", "count"}]}: t0 and t1 in seconds, entry and
          exit the sample offsets. What a summary has not got, and NaN, is null;
          infinities are "inf" and "-inf". Of a multichannel track each point has
          "channels", a list of such without times.
  .csv    the same columns, a line for each point or channel
  .npy    with --width: f8 of (points, 8), or (points, channels, 8): t0, t1, min, max,
          mean, rms, entry, exit
  .dat    with --width: as peaks.js and audiowaveform have it, of 16 bits; --format
          peaks is their JSON of version 2
  .png .svg  with --width: a plot of the band from least to greatest, the mean and
          the time
Without -o a table is shown, with --json that JSON.`

func newView(a *app) *cobra.Command {
	sel := selector{viewing: true}
	var (
		how aim
		out string
	)
	c := &cobra.Command{
		Use: "view URI --track N --width W -o OUT", DisableFlagsInUseLine: true, Short: "Summaries of a zoom-cache file: a long series from afar",
		Long: viewLong,
		Example: `  farread view s3://series/day.zoom --track 1 --width 2000 -o day.json
  farread view day.zoom --track 1 --level 8
  farread view s3://series/day.zoom --track 1 --level 3 --from 6h --to 7h -o hour.csv`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f := viewFormats(sel.width != 0); sel.format != "" && !slices.Contains(f, sel.format) {
				return usagef("--format %q: want %s", sel.format, strings.Join(f, ", "))
			}
			if err := sel.parse(cmd, nil); err != nil {
				return err
			}
			switch {
			case sel.has("level") && sel.has("width"):
				return usagef("--level and --width: only one of them")
			case !sel.has("level") && !sel.has("width"):
				return usagef("missing --width W, how many points, or --level L, stored summaries")
			}
			if out == "" {
				out = "-"
				if a.flags.json && sel.format == "" {
					sel.format = viewJSON
				}
			}
			return at(args[0], a.get(cmd.Context(), args[0], sel, out, how))
		},
	}
	registerTrack(c, &sel)
	c.Flags().IntVar(&sel.level, "level", 0, "the stored summaries of level `L`; 1 is the finest")
	c.Flags().IntVar(&sel.width, "width", 0, "about `W` points, each with the least and the greatest of its samples")
	c.Flags().StringVar(&sel.format, "format", "", strings.Join(viewFormats(true), ", ")+", whatever OUT is called")
	c.Flags().StringVarP(&out, "output", "o", "", "`OUT`: a file, or - for stdout")
	offsetFlag(c, &how.offset)
	return c
}

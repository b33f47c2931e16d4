package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const viewLong = `Look at a track of a zoom-cache file from afar: the summaries of one level, as they
are stored. Level 1 has one for each packet, every further level one for two of the
level below. Those that touch [--from, --to) are shown.

OUT's suffix, or --format, says how they are written:
  .json   {"track", "level", "points": [{"t0", "t1", "entry", "exit", "min", "max",
          "mean", "rms", "first", "last", "count"}]}: t0 and t1 in seconds, entry and
          exit the sample offsets. What a summary has not got, and NaN, is null;
          infinities are "inf" and "-inf". Of a multichannel track each point has
          "channels", a list of such without times.
  .csv    the same columns, a line for each point or channel
Without -o a table is shown, with --json that JSON.`

func newView(a *app) *cobra.Command {
	sel := selector{viewing: true}
	var (
		how aim
		out string
	)
	c := &cobra.Command{
		Use: "view URI --track N --level L -o OUT", DisableFlagsInUseLine: true, Short: "Summaries of a zoom-cache file: a long series from afar",
		Long: viewLong,
		Example: `  farread view day.zoom --track 1 --level 8
  farread view s3://series/day.zoom --track 1 --level 3 --from 6h --to 7h -o hour.csv`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f := viewFormats(); sel.format != "" && !slices.Contains(f, sel.format) {
				return usagef("--format %q: want %s", sel.format, strings.Join(f, ", "))
			}
			if err := sel.parse(cmd, nil); err != nil {
				return err
			}
			if !sel.has("level") {
				return usagef("missing --level: 1 is the finest")
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
	c.Flags().StringVar(&sel.format, "format", "", strings.Join(viewFormats(), ", ")+", whatever OUT is called")
	c.Flags().StringVarP(&out, "output", "o", "", "`OUT`: a file, or - for stdout")
	offsetFlag(c, &how.offset)
	return c
}

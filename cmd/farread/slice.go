package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/internal/render"
)

func newSlice(a *app) *cobra.Command {
	var (
		sel selector
		how aim
		out string
		pg  bool
	)
	c := &cobra.Command{
		Use: "slice URI SLICE -o OUT", DisableFlagsInUseLine: true, Short: "Cut a slice out of an n-dimensional array",
		Long: `Read a slice of a b2nd array, spelled as in NumPy: integers, start:stop:step,
negative ones counted from the end, one ellipsis. Only the chunks, or the blocks
of chunks, that hold selected items are read.

Where dimensions have coordinates (info shows them), NAME=LABEL selects the item
there, and NAME=FROM:TO those between two labels: both ends are included, as in
xarray, whichever way the axis runs. Labels are numbers, texts or times; 2025-03 is
all of March. Where no item is equal, --nearest takes the nearest. Parts without a
name are positions along the other axes.

OUT's suffix, or --format, says how the items are written:
  .npy    as numpy.save does it
  .raw    the bytes alone, in C order
  .json   nested lists, a line for each row
  .csv    a line for each row of the last axis; of items with members a line for
          each item, under a line of their names
  .png    the items of a 2-d slice as pixels, see --colors; farread view has axes
  .b2nd   an array like the one that is cut, which python-blosc2 and farread open
  .arrow  a file of Arrow IPC: a column v with a row for each item of the first axis,
          or, of items with members, a column for each member and a row for each item
Without -o a small slice is shown as a table, with --json as JSON. A terminal gets it as
NumPy prints it: in nested brackets, in lines of its width, and of more than 1,000 items
the first and last three along each axis, of more than 10,000 without reading others. A
file or pipe gets all. -o - writes to stdout, as --format says.

--where EXPR gives only the items of the slice that match (without SLICE, of the
array), each with its index in the array: as at and v in .json and .npy (a
structured array, at of one int64 for each axis), in columns at[0], at[1], … and v
of .csv, as a table; .raw has the items alone. EXPR compares v,
or members of the items by name, with numbers, true and false, or times:
  v > 3    -2.5 <= temp < 5    not flag == 0    site.id == 7 or t >= '2025-03-01'
with and, or, not and parentheses; NaN matches nothing but !=. Chunks and blocks
that cannot match by the ranges in the array's index are not read; --stats says how
many were. Arrays that farread packs have them; farread index --ranges makes them.

--open opens the page of farread serve in the browser, at this slice, and prints its
address (with --json as {"url"}), until Ctrl-C: the last two axes of which more than one
item is selected as a picture, or one axis as a profile. Nothing but this array is
served, on this machine.

An integer that is out of bounds is an error (exit code 2); slices are cut to the
array, as in NumPy. A slice that read a thousand times what it gave, and 8 MiB or more,
is remarked on: farread advise tells which chunks would suit it.`,
		Example: `  farread slice s3://arrays/temperature.b2nd '0:10, 5, ::2' -o part.npy
  farread slice weather.b2nd '-1, ...' -o last.png
  farread slice s3://arrays/t2m.b2nd 'time=2025-03-01:2025-04-01, lat=40:60' -o part.npy
  farread slice s3://arrays/t2m.b2nd 'lat=52.1, lon=4.3' --nearest -o series.csv
  farread slice https://host/events.b2nd ':100' --field energy -o - --format csv
  farread slice https://host/events.b2nd --where 'energy > 7.5 and not flag == 0'
  farread slice s3://arrays/temperature.b2nd '0' --where 'v > 310' -o hot.npy --stats
  farread slice weather.b2nd '30, 100:132, 160:192' --open`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && sel.has("where") {
				return nil
			}
			return exactly("URI", "SLICE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				args = append(args, "...")
			}
			if f := render.Arrays(); sel.format != "" && sel.format != render.Text && !slices.Contains(f, sel.format) {
				return usagef("--format %q: want %s or text", sel.format, strings.Join(f, ", "))
			}
			if err := sel.parse(args[1:]); err != nil {
				return err
			}
			if err := sel.picture.check(); err != nil {
				return err
			}
			if pg {
				return inSlice(args[0], args[1], a.show(cmd.Context(), args[0], sel, how, cmd, "field", "colors", "range", "robust"))
			}
			out = a.shown(&sel, out)
			return inSlice(args[0], args[1], a.get(cmd.Context(), args[0], sel, out, how))
		},
	}
	sel.register(c, []func(*pflag.FlagSet){sel.ofItems, sel.ofValues})
	c.Flags().StringVar(&sel.format, "format", "", "npy, raw, json, csv, png, b2nd, arrow or text, whatever OUT is called")
	sel.picture.register(c)
	openFlag(c, &pg)
	c.Flags().StringVarP(&out, "output", "o", "", "`OUT`: a file, or - for stdout")
	offsetFlag(c, &how.offset)
	return c
}

// shown returns OUT for a command that shows its result if no OUT is given. --json
// describes the shown result; --format sets its exact form.
func (a *app) shown(s *selector, out string) string {
	if out == "" {
		out = "-"
	}
	if out == "-" && a.flags.json && s.format == "" {
		s.format = render.JSON
	}
	return out
}

// inSlice adds URI and slice before an error.
func inSlice(uri, slice string, err error) error {
	return atPart(uri, " ["+strings.TrimSpace(slice)+"]", err)
}

// parseSlice reads the text of a slice.
func parseSlice(text string) (*b2nd.Slice, error) {
	if arraymeta.HasLabels(text) {
		if _, err := arraymeta.ParseSelection(text); err != nil {
			return nil, usagef("%s", err)
		}
		return &b2nd.Slice{}, nil // the array resolves it
	}
	s, err := b2nd.ParseSlice(text)
	if err != nil {
		return nil, usagef("%s", err)
	}
	return &s, nil
}

// negative finds slices that begin with a minus, such as "-1, ...", in the arguments of
// the commands that take slices. It puts a space before such a slice, so that it is not
// taken for a flag, unless it is the value of a flag.
func negative(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd.Name() != "slice" && cmd.Name() != "explain" && cmd.Name() != "advise" && cmd.Name() != "analyze" {
		return args
	}
	out := slices.Clone(args)
	for i, arg := range args {
		if len(arg) > 1 && arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9' && (i == 0 || !takesValue(cmd, args[i-1])) {
			out[i] = " " + arg
		}
	}
	return out
}

// takesValue reports whether the argument after arg is the value of a flag.
func takesValue(cmd *cobra.Command, arg string) bool {
	var f *pflag.Flag
	switch {
	case strings.Contains(arg, "="):
	case strings.HasPrefix(arg, "--"):
		f = lookup(cmd, func(s *pflag.FlagSet) *pflag.Flag { return s.Lookup(arg[2:]) })
	case len(arg) > 1 && arg[0] == '-':
		f = lookup(cmd, func(s *pflag.FlagSet) *pflag.Flag { return s.ShorthandLookup(arg[len(arg)-1:]) })
	}
	return f != nil && f.NoOptDefVal == ""
}

func lookup(cmd *cobra.Command, in func(*pflag.FlagSet) *pflag.Flag) *pflag.Flag {
	if f := in(cmd.Flags()); f != nil {
		return f
	}
	return in(cmd.InheritedFlags())
}

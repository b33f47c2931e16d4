package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/internal/picture"
	"github.com/farread/farread/internal/render"
)

// lookFlags say how a picture with axes looks.
type lookFlags struct {
	height int
	title  string
	dark   bool
	flags  *pflag.FlagSet
}

func (f *lookFlags) register(c *cobra.Command) {
	f.flags = newFlags()
	f.flags.IntVar(&f.height, "height", 0, "height of the data in a .png or .svg in pixels, `H`, 80 to 4000 (default 320)")
	f.flags.StringVar(&f.title, "title", "", "`TEXT` over a .png or .svg")
	f.flags.BoolVar(&f.dark, "dark", false, "a .png or .svg light on dark")
	c.Flags().AddFlagSet(f.flags)
}

// check refuses what no picture has.
func (f *lookFlags) check() error {
	if !slices.Contains(changed(f.flags), "height") {
		return nil
	}
	if f.height < picture.MinHeight || f.height > picture.MaxHeight {
		return usagef("--height %d: want %d to %d", f.height, picture.MinHeight, picture.MaxHeight)
	}
	return nil
}

// only refuses the flags for files that are no picture with axes.
func (f *lookFlags) only(format string) error {
	if given := changed(f.flags); len(given) > 0 && format != render.PNG && format != render.SVG {
		return usagef("--%s goes with .png and .svg", given[0])
	}
	return nil
}

// titled is the title of a picture: the flag's, or else another one.
func (f *lookFlags) titled(other string) string {
	if slices.Contains(changed(f.flags), "title") {
		return f.title
	}
	return other
}

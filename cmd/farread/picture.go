package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/picture"
	"github.com/farread/farread/internal/render"
)

// pictureFlags say how numbers become colours.
type pictureFlags struct {
	colors mapFlag
	scale  rangeFlag
	robust bool
	flags  *pflag.FlagSet
}

func (f *pictureFlags) register(c *cobra.Command) {
	f.flags = newFlags()
	f.flags.Var(&f.colors, "colors", "colour map of a .png: viridis or gray")
	f.flags.Var(&f.scale, "range", "numbers of a .png that get the first and the last colour (default: the least and the greatest)")
	f.flags.BoolVar(&f.robust, "robust", false, "a .png's colours from the 2nd to the 98th percentile")
	c.Flags().AddFlagSet(f.flags)
	offer(f.flags, "colors", "viridis", "gray")
}

// check refuses flags that exclude each other.
func (f *pictureFlags) check() error {
	if f.robust && slices.Contains(changed(f.flags), "range") {
		return usagef("--range and --robust: only one of them")
	}
	return nil
}

// mapFlag is a flag whose value is a colour map.
type mapFlag struct{ m picture.Map }

func (f *mapFlag) String() string { return f.m.String() }
func (f *mapFlag) Type() string   { return "MAP" }
func (f *mapFlag) Set(text string) error {
	m, ok := picture.ParseMap(text)
	if !ok {
		return fmt.Errorf("want viridis or gray")
	}
	f.m = m
	return nil
}

// rangeFlag is a flag whose value is two numbers, LOW:HIGH.
type rangeFlag struct{ low, high float64 }

func (f *rangeFlag) String() string { return "" }
func (f *rangeFlag) Type() string   { return "LOW:HIGH" }
func (f *rangeFlag) Set(text string) error {
	low, high, ok := strings.Cut(text, ":")
	var err1, err2 error
	f.low, err1 = strconv.ParseFloat(low, 64)
	f.high, err2 = strconv.ParseFloat(high, 64)
	if !ok || err1 != nil || err2 != nil || !(f.low < f.high) || math.IsInf(f.high-f.low, 0) {
		return fmt.Errorf("want two numbers such as 0:255")
	}
	return nil
}

// boxes remarks that a PNG has no letters for some of its texts.
func (a *app) boxes(uri, format string, texts ...string) {
	if format != render.PNG {
		return
	}
	if out := picture.Lacks(texts...); out != "" {
		a.warn(uri, fmt.Sprintf("a .png has boxes for letters that its font lacks (%s); a .svg has them, in the font of who opens it", human.Printable(human.Shorten(out, 20))))
	}
}

// options returns the flags as the library takes them.
func (f *pictureFlags) options() picture.Options {
	return picture.Options{Map: f.colors.m, Robust: f.robust, Low: f.scale.low, High: f.scale.high}
}

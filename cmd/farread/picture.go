package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/internal/picture"
)

// pictureFlags say how numbers become colours.
type pictureFlags struct {
	colors mapFlag
	scale  rangeFlag
	robust bool
}

func registerPicture(c *cobra.Command, s *selector) {
	c.Flags().Var(&s.picture.colors, "colors", "colour map of a .png: viridis or gray")
	c.Flags().Var(&s.picture.scale, "range", "numbers of a .png that get the first and the last colour (default: the least and the greatest)")
	c.Flags().BoolVar(&s.picture.robust, "robust", false, "a .png's colours from the 2nd to the 98th percentile")
	_ = c.RegisterFlagCompletionFunc("colors", cobra.FixedCompletions([]string{"viridis", "gray"}, cobra.ShellCompDirectiveNoFileComp)) // fails for unknown flags only
}

// parsePicture notes which of the flags of pictures were given.
func (s *selector) parsePicture(cmd *cobra.Command) error {
	for _, name := range []string{"colors", "range", "robust"} {
		if cmd.Flags().Changed(name) {
			s.pictured = append(s.pictured, name)
		}
	}
	if s.picture.robust && slices.Contains(s.pictured, "range") {
		return usagef("--range and --robust: only one of them")
	}
	return nil
}

// mapFlag is a colour map.
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

// rangeFlag is two numbers, LOW:HIGH.
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

// options are the flags in the library's spelling.
func (f *pictureFlags) options() picture.Options {
	return picture.Options{Map: f.colors.m, Robust: f.robust, Low: f.scale.low, High: f.scale.high}
}

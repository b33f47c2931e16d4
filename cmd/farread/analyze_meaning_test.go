package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/farread/farread"
)

// TestAnalyzeMeaning: arrays that analyze writes keep the names of axes, coordinates of what
// remains, and the attributes that are true of it.
func TestAnalyzeMeaning(t *testing.T) {
	t.Parallel()
	at := meant(t)
	for _, c := range []struct {
		args []string
		want string // names, coordinates and their values, attributes
	}{
		{[]string{"--coarsen", "30,2", "--stat", "mean"}, `[time lat n] time=<f8 2025-01-15T12:00..2025-12-29 lat=<f4 85..-90 levels units`},
		{[]string{"--coarsen", "30,2", "--stat", "count"}, `[time lat n] time=<f8 2025-01-15T12:00..2025-12-29 lat=<f4 85..-90`},
		{[]string{"--over", "0", "--stats", "max"}, `[lat n] lat=<f4 90..-90 by -10 levels units`},
		{[]string{"--over", "0", "--every", "100", "--stats", "std"}, `[time lat n] time=<f8 2025-02-19T12:00..2025-11-29 lat=<f4 90..-90 by -10 levels units`},
		{[]string{"--over", "0,2", "--stats", "quantiles(0,0.25,0.5,1)"}, `[lat quantile] lat=<f4 90..-90 by -10 quantile=<f8 0..1 levels units`},
		{[]string{"--over", "0,1", "--stats", "hist(3,0:6)"}, `[n bin] bin=<f8 1..5 by 2`},
		{[]string{"--over", "0", "--stats", "argmax"}, `[lat n axis] lat=<f4 90..-90 by -10`},
		{[]string{"--over", "0", "--stats", "min,max"}, `[lat n] lat=<f4 90..-90 by -10`},
		{[]string{"time=2025-03-01:2025-03-03, 3", "--over", "0", "--every", "2", "--stats", "min"}, `[time n] time=<f8 2025-03-01T12:00..2025-03-03 by 36 hours levels units`},
		{[]string{"--coarsen", "30,2", "--stat", "mean", "--where", "v < 400"}, `[time lat n] time=<f8 2025-01-15T12:00..2025-12-29 lat=<f4 85..-90 levels units`},
	} {
		run(t, append([]string{"analyze", at("a.b2nd"), "-o", at("out.b2nd")}, c.args...)...)
		if got := meaningOf(t, at("out.b2nd")); got != c.want {
			t.Errorf("%v: %s, want %s", c.args, got, c.want)
		}
		if err := os.Remove(at("out.b2nd")); err != nil {
			t.Fatal(err)
		}
	}
	plain, _ := analyzed(t)
	run(t, "analyze", plain, "-o", at("plain.b2nd"), "--over", "0", "--stats", "mean")
	if got := meaningOf(t, at("plain.b2nd")); got != "[]" {
		t.Error(got)
	}
}

// meaningOf returns names, coordinates and attributes of an array, in short.
func meaningOf(t *testing.T, file string) string {
	t.Helper()
	var got struct {
		Dims   []string
		Coords []farread.Coordinate
		Attrs  map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(run(t, "info", file, "--json")), &got); err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprint(got.Dims)
	for _, c := range got.Coords {
		out += fmt.Sprintf(" %s=%s %s..%s", c.Dim, c.DType, c.First, c.Last)
		if c.By != "" {
			out += " by " + c.By
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got.Attrs)) {
		out += " " + name
	}
	return out
}

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestForceBeside: --force replaces the coordinate of the array that it replaces, and no other array that is called so.
func TestForceBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	const n = 10_000
	for name, scale := range map[string]float64{"a": 1, "t": 1, "u": 2} {
		writeNPY(t, in(name+".npy"), "<i8", []int64{n}, func(i int) float64 { return scale * float64(i*i) })
	}
	line := func(dst, dim, times string) []string {
		return []string{"pack", "--force", in("a.npy"), in(dst), "--dims", dim, "--coord", dim + "=" + in(times)}
	}
	run(t, line("a.b2nd", "time", "t.npy")...)
	run(t, line("b.b2nd", "time", "t.npy")...) // the same times
	refused(t, exitChanged, "exists with other items, and is not replaced as a coordinate", line("c.b2nd", "time", "u.npy")...)
	refused(t, exitChanged, "exists with other items, and is not replaced as a coordinate", line("c.b2nd", "a", "u.npy")...) // the array a.b2nd itself
	if got := run(t, "slice", in("a.b2nd"), "time=9"); got != "9\n" {
		t.Errorf("%q", got)
	}
	// Those that b.b2nd finds its items by stay, too.
	refused(t, exitChanged, "b.b2nd finds its items along time by time.b2nd, which has other ones", line("a.b2nd", "time", "u.npy")...)
	if err := os.Remove(in("b.b2nd")); err != nil {
		t.Fatal(err)
	}
	run(t, line("a.b2nd", "time", "u.npy")...)
	if got := run(t, "slice", in("a.b2nd"), "time=18"); got != "9\n" {
		t.Errorf("%q", got)
	}
}

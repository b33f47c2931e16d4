package main

import (
	"path/filepath"
	"testing"
)

// TestAnalyzeCoarsen: a level of a pyramid is the windows of the first axes, whatever is
// streamed; chunks are about as long along each axis.
func TestAnalyzeCoarsen(t *testing.T) {
	t.Parallel()
	plain, _ := analyzed(t)
	dir := filepath.Dir(plain)
	for _, name := range []string{"one.b2nd", "one.npy"} {
		run(t, "analyze", plain, "--coarsen", "4,4", "--stat", "mean", "-o", filepath.Join(dir, name))
	}
	run(t, "pack", filepath.Join(dir, "one.npy"), filepath.Join(dir, "back.b2nd"))
	for _, name := range []string{"one.b2nd", "back.b2nd"} {
		if got := run(t, "slice", filepath.Join(dir, name), "...", "--json"); got != "[[16.5,20.5,23.5],\n[46.5,50.5,53.5]]\n" {
			t.Errorf("%q", got)
		}
	}
	// The same through states that are held, and with an axis that is kept.
	if got := run(t, "analyze", plain, "--coarsen", "4,4", "--stat", "mean", "--json"); got != `{"mean":[[16.5,20.5,23.5],[46.5,50.5,53.5]]}`+"\n" {
		t.Errorf("%q", got)
	}
	run(t, "analyze", plain, ":, 3:5", "--coarsen", "3", "--stat", "max", "-o", filepath.Join(dir, "two.b2nd"), "--memory", "16MiB")
	if got := run(t, "slice", filepath.Join(dir, "two.b2nd"), "...", "--json"); got != "[[23,24],\n[53,54]]\n" {
		t.Errorf("%q", got)
	}
	for want, args := range map[string][]string{
		"--coarsen names the axes itself": {"--coarsen", "2", "--over", "1"},
		"windows of 0 items":              {"--coarsen", "0,2"},
		"axis 2 of 2":                     {"--coarsen", "2,2,2"},
	} {
		refused(t, exitUsage, want, append([]string{"analyze", plain, "--stat", "mean"}, args...)...)
	}
}

package main

import (
	"path/filepath"
	"testing"
)

// TestPackOnRefused: command lines that a state machine cannot do.
func TestPackOnRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "a.npy")
	npyFile(t, in, "<f4", []int64{10}, false, make([]byte, 40))
	on := []string{"--on", packsARN, "--work", "s3://b"}
	for want, args := range map[string][]string{
		"--part-size is for --on": {in, "s3://out/x.b2nd", "--part-size", "1MiB"},
		"--stop are for --on":     {in, "s3://out/x.b2nd", "--stop"},
		"want --work":             {in, "s3://out/x.b2nd", "--on", packsARN},
		"a file of this machine":  append([]string{in, filepath.Join(dir, "x.b2nd")}, on...),
		"not for --on":            append([]string{in, filepath.Join(dir, "x.b2nd"), "--append"}, on...),
		"a single gulp chunk":     append([]string{in, filepath.Join(dir, "x.gulp")}, on...),
	} {
		refused(t, exitUsage, want, append([]string{"pack"}, args...)...)
	}
}

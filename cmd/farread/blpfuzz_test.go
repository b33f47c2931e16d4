package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBlpMutations: on damaged files every command ends with one of three codes and
// one line, and repair makes good files of them.
func TestBlpMutations(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(blpDir + "/*.blp")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	r := rand.New(rand.NewPCG(5, 17))
	for range 100 {
		dir := t.TempDir()
		name := names[r.IntN(len(names))]
		p, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + r.IntN(4) {
			p = mutate(r, p)
		}
		bad, out := filepath.Join(dir, "bad.blp"), filepath.Join(dir, "out.blp")
		write(t, bad, p)
		for _, args := range [][]string{
			{"info", bad, "--scan"}, {"ls", bad, "--scan"}, {"get", bad, "-o", "-"}, {"get", bad, "--chunk", "-1", "-o", "-", "--no-verify"},
			{"explain", bad}, {"verify", bad}, {"verify", bad, "--repair", out}, {"unpack", bad, filepath.Join(dir, "u")}, {"unpack", bad, filepath.Join(dir, "u.npy")},
		} {
			got := runner{}.run(t, args...)
			switch got.code {
			case exitOK:
			case exitUsage, exitNotFound, exitCorrupt: // usage: the format may have been told by the bytes that were cut off
				if strings.Count(got.stderr, "\n") != 1 {
					t.Errorf("%s mutated, %v: %q", name, args, got.stderr)
				}
			default:
				t.Errorf("%s mutated, %v: exit %d: %s", name, args, got.code, got.stderr)
			}
		}
		if _, err := os.Stat(out); err == nil {
			run(t, "verify", out)
		}
	}
}

// mutate damages p as files get damaged: cut, flipped, overwritten.
func mutate(r *rand.Rand, p []byte) []byte {
	if len(p) == 0 {
		return p
	}
	switch r.IntN(4) {
	case 0:
		return p[:r.IntN(len(p)+1)]
	case 1:
		p[r.IntN(len(p))] ^= 1 << r.IntN(8)
	case 2:
		p[r.IntN(min(len(p), 120))] = byte(r.IntN(256)) // header, metadata, table
	case 3:
		copy(p[r.IntN(len(p)):], "\xff\xff\xff\x7f\x00\x00\x00\x00"[r.IntN(8):])
	}
	return p
}

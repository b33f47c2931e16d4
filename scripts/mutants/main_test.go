package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEdge: the whole way, on a package with a test that misses a few.
func TestEdge(t *testing.T) {
	t.Parallel()
	known := filepath.Join(t.TempDir(), "known")
	if err := os.WriteFile(known, []byte("scripts/mutants/testdata/edge/edge.go Clip #0: n > bound: >=\n\tthe same\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	n, err := run(t.Context(), &b, "./testdata/edge", options{files: regexp.MustCompile(""), tests: []string{"./testdata/edge"}, known: known, slack: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		if key, ok := strings.CutPrefix(line, "\tscripts/mutants/testdata/edge/edge.go "); ok {
			got = append(got, strings.TrimSpace(key))
		}
	}
	want := []string{
		"Clip #0: i < 2: never", "Clip #0: i < 2: <=", "Clip #0: i == n: never", "Clip #0: i == n: always", "Clip #0: continue: left out",
		"Even #0: n%2 == 0: true", "Even #0: n%2 == 0: false", "Even #0: n%2: left side alone",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s\n%s", d, b.String())
	}
	if n != len(want) || !strings.HasSuffix(b.String(), "8 survive, 1 change nothing\n") {
		t.Errorf("%d: %s", n, b.String())
	}
}

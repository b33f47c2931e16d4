package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIndexElsewhere: of a file on a server that takes nothing, -o gets the index, and there alone; put beside the
// file it is used. Without -o the error says so, before the file is read.
func TestIndexElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("x.raw"), noisy(1))
	packNoisy(t, at("x.raw"), at("x.b2nd"), "--index=false")
	uri := countingFolder(t, dir).URL + "/x.b2nd"
	r := runner{}.run(t, "index", uri)
	if r.code == 0 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "-o FILE takes the index instead") {
		t.Errorf("%+v", r)
	}
	out := filepath.Join(t.TempDir(), "made.fri")
	if text := run(t, "index", uri, "-o", out, "--ranges"); !strings.Contains(text, "to be put beside the file, as "+uri+".fri") {
		t.Error(text)
	}
	if x := frameIndexOf(t, uri); x.Bytes != 0 {
		t.Errorf("an index elsewhere is used: %+v", x)
	}
	if r := (runner{}).run(t, "index", uri, "-o", out); r.code != exitChanged {
		t.Errorf("over what is there: %+v", r)
	}
	p, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	write(t, at("x.b2nd.fri"), p)
	if x := frameIndexOf(t, uri); x.Bytes != int64(len(p)) || x.Inside || x.Unused != "" {
		t.Errorf("beside: %+v", x)
	}
	for _, bad := range [][]string{{"index", uri, "-o", "-"}, {"index", dir, "-o", out + "2"}, {"index", uri, "-o", dir + "/"}} {
		if r := (runner{}).run(t, bad...); r.code != exitUsage || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: %+v", bad, r)
		}
	}
}

// TestIndexKeepsRanges: an index that is made anew has the ranges that the old one had, stale or not, and a
// line says so, unless they are refused.
func TestIndexKeepsRanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src, uri := filepath.Join(dir, "x.raw"), filepath.Join(dir, "x.b2nd")
	ranges := func() bool { return strings.Contains(run(t, "info", uri), "\nrange ") }
	anew := func(seed uint64) {
		write(t, src, noisy(seed))
		packNoisy(t, src, uri, "--index=false")
	}
	anew(1)
	for _, c := range []struct {
		args            []string
		has, told, anew bool
	}{
		{args: nil},
		{args: []string{"--ranges"}, has: true},
		{args: []string{"--force"}, has: true, told: true},
		{args: nil, has: true, told: true, anew: true},
		{args: []string{"--ranges=false"}, anew: true},
		{args: nil, anew: true},
	} {
		if c.anew {
			anew(2)
		}
		r := runner{}.run(t, append([]string{"index", uri}, c.args...)...)
		if told := strings.Contains(r.stderr, "has ranges, so the new one gets them"); r.code != 0 || told != c.told || ranges() != c.has {
			t.Errorf("%+v: %+v, ranges %t", c, r, ranges())
		}
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackStream: an array that comes on standard input is the array of the same file; what is
// too short, too long or no array leaves nothing.
func TestPackStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	raw := strings.Repeat("0123456789abcdef", 1000)
	head := fmt.Sprintf("%-69s\n", "{'descr': '<u2', 'fortran_order': False, 'shape': (80, 100), }")
	npy := "\x93NUMPY\x01\x00\x46\x00" + head + raw
	write(t, filepath.Join(dir, "x.npy"), []byte(npy))
	run(t, "pack", filepath.Join(dir, "x.npy"), filepath.Join(dir, "want.b2nd"))
	want, err := os.ReadFile(filepath.Join(dir, "want.b2nd"))
	if err != nil {
		t.Fatal(err)
	}
	fields := []string{"--dtype", "<u2", "--shape", "80,100"}
	for name, x := range map[string]struct {
		stdin string
		more  []string
		code  int
		want  string
	}{
		"npy.b2nd":   {npy, nil, exitOK, ""},
		"raw.b2nd":   {raw, fields, exitOK, ""},
		"want.b2nd":  {raw, fields, exitChanged, "--force"},
		"short.b2nd": {raw[1:], fields, exitCorrupt, "15999 bytes of items, 16000 wanted"},
		"none.b2nd":  {"", fields, exitCorrupt, "truncated"},
		"long.b2nd":  {raw + "x", fields, exitCorrupt, "bytes behind"},
		"text.b2nd":  {raw, nil, exitCorrupt, "no .npy"},
		"cut.b2nd":   {npy[:20], nil, exitCorrupt, "header"},
		"x.blp":      {raw, nil, exitUsage, "becomes an array"},
		"npz.b2nd":   {raw, []string{"--member", "x"}, exitUsage, "--member"},
		"more.b2nd":  {raw, []string{"--append"}, exitUsage, "--append"},
	} {
		out := filepath.Join(dir, name)
		r := runner{stdin: x.stdin}.run(t, append([]string{"pack", "-", out}, x.more...)...)
		if r.code != x.code || !strings.Contains(r.stderr, x.want) || r.code != exitOK && strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d %s", name, r.code, r.stderr)
		}
		got, err := os.ReadFile(out)
		switch is := err == nil; {
		case is != (x.code == exitOK || name == "want.b2nd"):
			t.Errorf("%s: there: %v", name, is)
		case is && string(got) != string(want):
			t.Errorf("%s: %d other bytes than of a file, %d", name, len(got), len(want))
		}
	}
	if r := (runner{stdin: npy}).run(t, "pack", "-", filepath.Join(dir, "x.npy"), filepath.Join(dir, "two.b2nd")); r.code != exitUsage {
		t.Errorf("two SRC: exit %d %s", r.code, r.stderr)
	}
}

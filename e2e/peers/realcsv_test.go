//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// realTables packs the tables that a script lists, and has it compare what comes out again:
// the same columns, times and values as pandas reads. The copies of the small ones in
// functions/zoom are what the script makes.
func realTables(t *testing.T, bin, name, kept string, least int) []input {
	t.Helper()
	dir := t.TempDir()
	script, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	var files []input
	runIn(t.Context(), t, strings.NewReader(""), &files, script, "list", dir)
	if len(files) < least {
		t.Fatalf("%d files", len(files))
	}
	for i := range files {
		f := &files[i]
		src := filepath.Join(dir, f.File)
		if in := f.packed(t, bin, append([]string{src, src + ".zoom"}, f.Flags...)...); in == f.Refused {
			t.Errorf("%s: went in %t, %s", f.File, in, f.refused)
		} else if !in {
			continue
		}
		info := command(t, bin, "info", "--json", src+".zoom")
		if err := os.WriteFile(src+".json", info, 0o600); err != nil {
			t.Fatal(err)
		}
		var about struct{ Tracks []struct{ Track int } }
		if err := json.Unmarshal(info, &about); err != nil || len(about.Tracks) == 0 {
			t.Fatalf("%s: %d tracks, %v", f.File, len(about.Tracks), err)
		}
		for i := range about.Tracks {
			n := strconv.Itoa(i + 1)
			command(t, bin, "get", src+".zoom", "--track", n, "-o", src+"."+n+".csv")
		}
	}
	var wrong []string
	runIn(t.Context(), t, strings.NewReader(""), &wrong, script, "check", dir)
	for _, text := range wrong {
		t.Error(text)
	}

	copies := t.TempDir()
	var said string
	runIn(t.Context(), t, strings.NewReader(""), &said, script, "copy", copies)
	names, err := os.ReadDir(copies)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		got, err := os.ReadFile(filepath.Join("..", "..", "functions", "zoom", "testdata", kept, e.Name()))
		want, err2 := os.ReadFile(filepath.Join(copies, e.Name()))
		if err != nil || err2 != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the copy differs from what the script makes, %v %v", e.Name(), err, err2)
		}
	}
	return files
}

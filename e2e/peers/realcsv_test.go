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

// TestRealCSV: tables that other people wrote become the tracks that pandas reads in
// them: the same columns, times and values. The copies of the small ones in functions/zoom
// are what the packages have.
func TestRealCSV(t *testing.T) { realTables(t, "realcsv.py", "real", 45) }

// TestRealParquet is TestRealCSV for Parquet: files of pyarrow's own tests, and tables as
// pyarrow writes them with its codecs, encodings and types of times.
func TestRealParquet(t *testing.T) { realTables(t, "realparquet.py", "realparquet", 20) }

// realTables packs the tables that a script lists, and has it compare what comes out again.
func realTables(t *testing.T, name, kept string, least int) {
	t.Helper()
	dir, bin := t.TempDir(), program(t)
	script, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	var files []struct {
		File  string
		Flags []string
	}
	runIn(t.Context(), t, strings.NewReader(""), &files, script, "list", dir)
	if len(files) < least {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range files {
		src := filepath.Join(dir, f.File)
		command(t, append([]string{bin, "pack", "-q", src, src + ".zoom"}, f.Flags...)...)
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
}

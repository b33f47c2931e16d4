package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
)

// manyFrames writes a gulp chunk by a Writer alone, so that it has no index, and returns
// the path of its data.
func manyFrames(t *testing.T, frames int) string {
	t.Helper()
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	for i := range frames {
		if err := w.WriteFrame(fmt.Sprintf("c%03d", i%50), fmt.Appendf(nil, "frame %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteMeta(&meta); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.gulp")
	for path, p := range map[string][]byte{name: data.Bytes(), strings.TrimSuffix(name, ".gulp") + ".gmeta": meta.Bytes()} {
		if err := os.WriteFile(path, p, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// TestGulpIndex: index writes the index beside a chunk, whichever object names it; info
// and verify tell of it, and of one that is stale or damaged, which hurts no reader.
func TestGulpIndex(t *testing.T) {
	name := manyFrames(t, 5000)
	side := name + ".fri"
	state := func(command string) *farread.GulpIndex {
		t.Helper()
		var r struct {
			Beside *farread.GulpIndex `json:"index_beside"`
		}
		if err := json.Unmarshal([]byte(run(t, command, name, "--json")), &r); err != nil {
			t.Fatal(err)
		}
		return r.Beside
	}
	check := func(what string, there bool, unusable string) {
		t.Helper()
		for _, command := range []string{"info", "verify"} {
			x := state(command)
			if (x != nil) != there || x != nil && (unusable == "") != (x.Unusable == "") {
				t.Errorf("%s: %s says %+v", what, command, x)
			}
			if text := run(t, command, name); strings.Contains(text, "index beside") != there || !strings.Contains(text, unusable) {
				t.Errorf("%s: %s says %s", what, command, text)
			}
		}
		if got := run(t, "get", name, "--id", "c007", "--frames", "3", "-o", "-"); got != "frame 157" {
			t.Errorf("%s: frame %q", what, got)
		}
	}
	check("none", false, "")
	if got := run(t, "index", strings.TrimSuffix(name, ".gulp")+".gmeta"); !strings.Contains(got, "x.gulp.fri: ") {
		t.Error(got)
	}
	check("written", true, "")
	if got := run(t, "index", name); !strings.Contains(got, "up to date") {
		t.Error(got)
	}
	p, err := os.ReadFile(filepath.Clean(side))
	if err != nil {
		t.Fatal(err)
	}
	p[len(p)-80] ^= 1
	if err := os.WriteFile(side, p, 0o600); err != nil {
		t.Fatal(err)
	}
	check("damaged", true, "not used")
	if got := run(t, "index", name); !strings.Contains(got, "x.gulp.fri: ") {
		t.Error(got)
	}
	check("written anew", true, "")
	meta, err := os.ReadFile(filepath.Clean(strings.TrimSuffix(name, ".gulp") + ".gmeta"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strings.TrimSuffix(name, ".gulp")+".gmeta", append(meta, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	check("stale", true, "another version")
	if got := run(t, "index", name, "--json"); !strings.Contains(got, `"written":true`) {
		t.Error(got)
	}
	check("made for the new one", true, "")
}

// TestPackIndex: pack writes the index beside a chunk with many frames. A chunk of few
// frames in its place has none.
func TestPackIndex(t *testing.T) {
	dir := t.TempDir()
	jpeg := photo(t, 1)
	for i := range 4000 {
		path := filepath.Join(dir, "in", fmt.Sprintf("c%02d", i%20), fmt.Sprintf("%04d.jpg", i))
		if i < 20 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, jpeg, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "x.gulp")
	run(t, "pack", filepath.Join(dir, "in"), out)
	if got := run(t, "index", out); !strings.Contains(got, "up to date") {
		t.Error(got)
	}
	if got := run(t, "verify", out); !strings.Contains(got, "index beside") || strings.Contains(got, "not used") {
		t.Error(got)
	}
	few := filepath.Join(dir, "few", "c")
	if err := errors.Join(os.MkdirAll(few, 0o700), os.WriteFile(filepath.Join(few, "0.jpg"), jpeg, 0o600)); err != nil {
		t.Fatal(err)
	}
	run(t, "pack", filepath.Dir(few), out, "--force")
	if _, err := os.Stat(out + ".fri"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old index is still there: %v", err)
	}
}

package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
)

// TestLinks: links to folders inside are named, and of the others what is wrong with them; an
// error about a key tells that a link is its cause, and is none of these where nothing is there.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	b := open(t, filestore.Config{Dir: dir})
	put(t, b, "a/b/data", "data")
	put(t, b, "a/plain", "data")
	for _, l := range [][2]string{
		{"in", "b"}, {"up", ".."}, {"self", "."}, {"out", outside}, {"climbs", "../../x"}, {"dead", "nothing"}, {"loop", "loop"}, {"file", "plain"}, {"deadfile", "b/nothing"},
	} {
		if err := os.Symlink(l[1], filepath.Join(dir, "a", l[0])); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	odd := os.Mkdir(filepath.Join(dir, "a", "odd\xff"), 0o700) == nil // not every system has such names
	list := func(folder string) map[string]string {
		links, err := b.Links(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, l := range links {
			out[l.Name] = ""
			if l.Err != nil {
				out[l.Name] = l.Err.Error()
			}
		}
		return out
	}
	const out, dead, cycle = "a symbolic link that leads out of the folder", "a symbolic link to what is not there", "a symbolic link to a folder that it lies in"
	want := map[string]string{"in": "", "up": cycle, "self": cycle, "out": out, "climbs": out, "dead": dead, "deadfile": dead, "loop": "a symbolic link that leads to itself"}
	if odd {
		want["odd\xff"] = "a name that is not UTF-8: invalid request"
	}
	if d := cmp.Diff(want, list("a/")); d != "" {
		t.Error(d)
	}
	for _, folder := range []string{"", "a/b/", "none/", "a/plain/"} {
		if got := list(folder); len(got) > 0 {
			t.Errorf("%q: %v", folder, got)
		}
	}
	if _, err := b.Links(t.Context(), "a/out/"); !errors.Is(err, objstore.ErrInvalid) {
		t.Error(err)
	}
	for key, what := range map[string]string{
		"a/dead": dead, "a/dead/x/y": "a/dead is " + dead, "a/out": out, "a/out/x": "a/out is " + out, "a/loop/x": "a/loop is a symbolic link that leads to itself",
		"a/none": "", "none/x": "", "a/in/none": "", "a/in/none/x": "", "a/file/x": "", "a/in": "",
	} {
		_, err := read(t, b, key, objstore.GetOptions{})
		_, herr := b.Head(t.Context(), key)
		for _, err := range []error{err, herr} {
			if err == nil || errors.Is(err, filestore.ErrLink) != (what != "") || !strings.HasSuffix(err.Error(), what) || !errors.Is(err, objstore.ErrNotFound) && !errors.Is(err, objstore.ErrInvalid) {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
	if got, err := read(t, b, "a/in/data", objstore.GetOptions{}); err != nil || got != "data" {
		t.Error(got, err)
	}
}

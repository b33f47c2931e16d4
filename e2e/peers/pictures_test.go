//go:build peers

package peers

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore/memstore"
)

// TestPictures: trees of real images of all kinds, in each layout, are found to be what
// they are, and Pillow sees in the chunk what it saw in the files, labels included. The
// decoder that GulpIO has of its own takes JPEGs alone.
func TestPictures(t *testing.T) {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	type one struct {
		Meta   map[string]any `json:"meta"`
		Frames [][]any        `json:"frames"`
	}
	var want map[string]map[string]one
	run(t.Context(), t, &want, "pictures.py", "make", dir, strings.TrimSpace(string(root)))
	var chunks []string
	var trees []map[string]one
	mem := memstore.New(memstore.Config{})
	for layout, tree := range want {
		put(t, mem, layout+".tar", treeTar(t, filepath.Join(dir, layout)))
		for _, way := range []string{"folder", "tar"} {
			src := pack.Folder(os.DirFS(filepath.Join(dir, layout)), layout, pack.Options{})
			if way == "tar" {
				if src, err = pack.Open(t.Context(), mem, layout+".tar", pack.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			var data, meta bytes.Buffer
			w := gulp.NewWriter(&data, gulp.WriteOptions{})
			res, err := pack.Stream(t.Context(), src, w, pack.Options{})
			if err == nil {
				err = w.WriteMeta(&meta)
			}
			if err != nil {
				t.Fatalf("%s: %v", layout, err)
			}
			t.Logf("%-11s of a %s: %d images, %d of them no JPEG, in %d ids; found to be %s", layout, way, res.Frames, res.Others, res.IDs, res.Layout)
			if string(res.Layout) != layout || res.Unlabelled != 0 || res.Others == 0 {
				t.Errorf("%s: %+v", layout, res)
			}
			name := filepath.Join(dir, layout+"-"+way)
			for suffix, b := range map[string]*bytes.Buffer{gulp.DataSuffix: &data, gulp.MetaSuffix: &meta} {
				if err := os.WriteFile(name+suffix, b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			chunks, trees = append(chunks, name+gulp.DataSuffix), append(trees, tree)
		}
	}
	var got []struct {
		Items map[string]one            `json:"items"`
		Own   map[string]map[string]int `json:"own"`
	}
	run(t.Context(), t, &got, append([]string{"pictures.py", "read"}, chunks...)...)
	for i, g := range got {
		same(t, trees[i], g.Items)
		for kind, became := range g.Own {
			if kind != "image/jpeg" && became["decoded"] > 0 || kind == "image/jpeg" && became["decoded"] == 0 {
				t.Errorf("GulpIO's decoder and %s: %v", kind, became)
			}
		}
		if len(g.Own) != 5 {
			t.Errorf("kinds: %v", g.Own)
		}
	}
	t.Logf("GulpIO's own decoder: %v", got[0].Own)
}

// treeTar is a tar of a folder, in the order of sorted names.
func treeTar(t *testing.T, dir string) []byte {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, n := range names {
		p, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(dir, n) // both are absolute
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(rel), Size: int64(len(p)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

//go:build peers

package peers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// realPictures packs trees of images as people have them, and has a script compare labels and pixels of
// what comes out again with what Pillow sees in the files.
func realPictures(t *testing.T, bin string) []input {
	t.Helper()
	dir := t.TempDir()
	script, err := filepath.Abs("realpictures.py")
	if err != nil {
		t.Fatal(err)
	}
	var trees []input
	runIn(t.Context(), t, nil, &trees, script, "list", dir)
	if len(trees) < 8 {
		t.Fatalf("%d trees", len(trees))
	}
	for i := range trees {
		in := &trees[i]
		src := filepath.Join(dir, in.File)
		if !in.packed(t, bin, append([]string{src, src + ".gulp"}, in.Flags...)...) {
			t.Fatalf("%s: %s", in.File, in.refused)
		}
		list := command(t, bin, "ls", "--json", src+".gulp")
		if err := os.WriteFile(src+".ls.json", list, 0o600); err != nil {
			t.Fatal(err)
		}
		command(t, bin, "unpack", src+".gulp", src+".back")
		var want map[string]any
		if err := json.Unmarshal(loaded(t, src+".want.json"), &want); err != nil || len(want) == 0 {
			t.Fatalf("%s: %v", in.File, err)
		}
		var ids []string
		for id := range want {
			ids = append(ids, id)
		}
		command(t, bin, "get", src+".gulp", "--id", slices.Min(ids), "--frames", "0", "-o", src+".get")
	}
	var wrong []string
	runIn(t.Context(), t, nil, &wrong, script, "check", dir)
	for _, text := range wrong {
		t.Error(text)
	}
	return trees
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// imageOf is one of those of the pack job's fixtures.
func imageOf(tb testing.TB, name string) []byte {
	tb.Helper()
	p, err := os.ReadFile("../../functions/pack/testdata/images/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestPackLayouts: layouts that are found and named, what is said of them, and the names of
// the files that come out again.
func TestPackLayouts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	tree := map[string]string{"cats/tabby.png": "photo.png", "cats/ginger.webp": "photo.webp", "cats/black.gif": "frames.gif", "cats/white.avif": "photo.avif",
		"dogs/pug.jpg": "photo.jpg", "dogs/collie.jpg": "progressive.jpg", "dogs/terrier.webp": "frames.webp", "dogs/beagle.png": "rgb.png"}
	for name, of := range tree {
		write(t, at("tree/"+name), imageOf(t, of))
	}
	write(t, at("tree/labels.csv"), []byte("filename,score\npug.jpg,0.5\nelse.jpg,1\n"))
	got := run(t, "pack", at("tree"), at("tree.gulp"))
	for _, want := range []string{"8 frames of 8 ids, ", "; 6 images of another kind than JPEG", "; 1 of 2 labels without frames (the first: else.jpg)",
		"\n  layout imagefolder: a file is an id, its folder the label (found by names; --layout says otherwise)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not have %q", got, want)
		}
	}
	if text := run(t, "ls", at("tree.gulp"), "--json"); !strings.Contains(text, `{"label":"dogs","score":0.5}`) || !strings.Contains(text, `"media_type":"image/avif"`) {
		t.Error(text)
	}
	run(t, "unpack", at("tree.gulp"), at("back"))
	for name, of := range tree {
		if stem := strings.TrimSuffix(name, filepath.Ext(name)); string(testFile(t, at("back/"+stem+"/0000"+filepath.Ext(name)))) != string(imageOf(t, of)) {
			t.Errorf("%s: other bytes", name)
		}
	}
	run(t, "get", at("tree.gulp"), "--id", "cats/tabby", "--frames", "0", "-o", at("one.png"))
	if string(testFile(t, at("one.png"))) != string(imageOf(t, "photo.png")) {
		t.Error("one.png: other bytes")
	}
	if r := (runner{}).run(t, "get", at("tree.gulp"), "--id", "cats/tabby", "--frames", "0", "-o", at("two.webp")); r.code != exitUsage || !strings.Contains(r.stderr, "this one is a .png") {
		t.Errorf("%d, %s", r.code, r.stderr)
	}
	if _, err := os.Stat(at("two.webp")); err == nil {
		t.Error("two.webp is there")
	}
	// What was unpacked is what it was, as clips.
	if got := run(t, "pack", at("back"), at("again.gulp"), "--layout", "clips"); strings.Contains(got, "layout") || !strings.HasPrefix(got, "8 frames of 8 ids") {
		t.Error(got)
	}
	if a, b := contents(t, at("tree.gulp")), contents(t, at("again.gulp")); a["dogs/pug meta_data"] != b["dogs/pug meta_data"] || a["cats/black meta_data"] != b["cats/black meta_data"] {
		t.Errorf("%s, %s", a["cats/black meta_data"], b["cats/black meta_data"])
	}
	var args []string
	for name := range tree {
		args = append(args, at("tree/"+name))
	}
	slices.Sort(args)
	if got := run(t, slices.Concat([]string{"pack"}, args, []string{at("files.gulp"), "--json"})...); !strings.Contains(got, `"layout":"flat"`) && !strings.Contains(got, `"layout": "flat"`) {
		t.Error(got)
	}
	write(t, at("none/a.jpg"), imageOf(t, "photo.jpg"))
	write(t, at("none/labels.csv"), []byte("id,n\nx,1\ny,2\n"))
	if r := (runner{}).run(t, "pack", at("none"), at("none.gulp"), "--layout", "flat"); r.code != exitCorrupt || !strings.Contains(r.stderr, `labels: "labels.csv": it is for other images: none of its labels (2, the first about "x") fits one here, such as "a.jpg"`) {
		t.Errorf("exit %d %s", r.code, r.stderr)
	}
	if _, err := os.Stat(at("none.gulp")); err == nil {
		t.Error("none.gulp is there")
	}
	for want, args := range map[string][]string{
		"--layout rows: want one of clips, imagefolder, webdataset, flat": {at("none"), at("x.gulp"), "--layout", "rows"},
		"--layout does not go with bloscpack":                             {at("none"), at("x.blp"), "--layout", "flat"},
	} {
		if r := (runner{}).run(t, append([]string{"pack"}, args...)...); r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%d, %s; want %s", r.code, r.stderr, want)
		}
	}
}

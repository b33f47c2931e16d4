package pack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/pack"
)

// TestTreesWithClutter: what desktops, servers, editors and people leave beside images is
// passed over, everywhere.
func TestTreesWithClutter(t *testing.T) {
	t.Parallel()
	images := "cats/tabby.jpg\ncats/black.jpg\ncats/white.jpg\ncats/größe x.jpg\ndogs/pug.JPG\ndogs/collie.Png=photo.png\ndogs/beagle.jpg\ndogs/a b.jpg"
	clutter := `
		.DS_Store=x
		cats/.DS_Store=x
		cats/Thumbs.db=x
		dogs/ehthumbs.db=x
		desktop.ini=x
		__MACOSX/cats/._tabby.jpg=x
		cats/._tabby.jpg=x
		cats/.tabby.jpg.swp=x
		.ipynb_checkpoints/tabby-checkpoint.jpg=x
		dogs/.thumbnails/pug.jpg=x
		@eaDir/cats/tabby.jpg=x
		.git/config=x
		.cache/labels.csv=x
		.nomedia=x
		__meta__/info.json=x
		README.md=# pictures
		dogs/LICENSE=free`
	plain := everyWay(t, tree(t, images), "")
	for way, got := range everyWay(t, slices.Concat(tree(t, images), tree(t, clutter)), "") {
		if d := cmp.Diff(plain[way], got); d != "" {
			t.Errorf("%s: %s", way, d)
		}
		if len(got.IDs) != 8 || got.Meta["cats/größe x"] != `[{"label":"cats"}]` {
			t.Errorf("%s: %v", way, got.Meta)
		}
	}
}

// TestTreeOfImageNet: files that are called like their folders, with numbers that are no
// steps of one length, are no frames, where all names are known beforehand.
func TestTreeOfImageNet(t *testing.T) {
	t.Parallel()
	named := func(step func(k int) int) []file {
		var fs []file
		for _, class := range []string{"n01440764", "n01443537", "n02102040"} {
			n := 10026
			for k := range 6 {
				fs = append(fs, file{fmt.Sprintf("train/%s/%s_%d.JPEG", class, class, n), picture(t, k)})
				n += step(k)
			}
		}
		return fs
	}
	for name, c := range map[string]struct {
		step   func(k int) int
		layout func(way string) pack.Layout
	}{
		"scattered": {func(k int) int { return 1 + k*k*7 }, func(way string) pack.Layout {
			if way == "tar" {
				return pack.Clips // its first three files have to tell
			}
			return pack.ImageFolder
		}},
		"each tenth": {func(int) int { return 10 }, func(string) pack.Layout { return pack.Clips }},
		"some lost":  {func(k int) int { return 1 + k/4 }, func(string) pack.Layout { return pack.Clips }},
	} {
		for way, got := range everyWay(t, named(c.step), "") {
			want := map[pack.Layout]int{pack.Clips: 3, pack.ImageFolder: 18}[c.layout(way)]
			if len(got.IDs) != want {
				t.Errorf("%s, %s: %d ids, want %d", name, way, len(got.IDs), want)
			}
		}
	}
}

// TestTreeWithLinks: a link to a file of the folder is that file. Others are refused by name.
func TestTreeWithLinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ to, want string }{
		"b.jpg":        {"a.jpg", ""},
		"c/d.jpg":      {"../a.jpg", ""},
		"lost.jpg":     {"nowhere.jpg", `"lost.jpg": a link to nothing`},
		"up":           {"..", `"up": a link out of the folder: a copy by cp -rL`},
		"out.jpg":      {"../../outside.jpg", `"out.jpg": a link`},
		"more":         {"c", `"more": a link to a folder: a copy by cp -rL`},
		".DS_Store":    {"nowhere", ""},
		"loop.jpg":     {"loop.jpg", `"loop.jpg": a link`},
		"c/absolute":   {"/etc/hosts", `"c/absolute": a link out of the folder`},
		"c/räksmörgås": {"../größe x.png", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, p := range map[string][]byte{"a.jpg": picture(t, 1), "größe x.png": imageOf(t, "photo.png"), "c/e.jpg": picture(t, 2)} {
				at := filepath.Join(dir, filepath.FromSlash(file))
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, p, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(filepath.FromSlash(c.to), filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				t.Skip(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = root.Close() })
			var data bytes.Buffer
			w := gulp.NewWriter(&data, gulp.WriteOptions{})
			res, err := pack.Stream(t.Context(), pack.Folder(root.FS(), "up", pack.Options{}), w, pack.Options{Layout: pack.Flat})
			switch {
			case c.want != "":
				if !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v; want %s", err, c.want)
				}
			case err != nil:
				t.Error(err)
			case strings.HasPrefix(name, ".") && res.Frames != 3, !strings.HasPrefix(name, ".") && res.Frames != 4:
				t.Errorf("%d frames", res.Frames)
			}
		})
	}
}

// TestTreesRefused: what is told of files that are no images, and of archives that are not read.
func TestTreesRefused(t *testing.T) {
	t.Parallel()
	linked := func(kind byte) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: "b.jpg", Typeflag: kind, Linkname: "a.jpg"}), w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for want, p := range map[string][]byte{
		`"b.jpg" at 35: empty, not a JPEG`:                                zipOf(t, zip.Store, []file{{"b.jpg", nil}}),
		`no image; labels are in labels.csv or labels.json`:               zipOf(t, zip.Store, []file{{"a.jpg", picture(t, 1)}, {"train.csv", []byte("a,b\n")}}),
		`at 512: a link to "a.jpg": tar --dereference --hard-dereference`: linked(tar.TypeLink),
		`a link to "a.jpg": tar`:                                          linked(tar.TypeSymlink),
		`packed by bzip2: pack it as tar, tar.gz`:                         []byte("BZh91AY&SY"),
		`packed by xz: pack it as tar`:                                    []byte("\xFD7zXZ\x00\x00\x04"),
		`packed by RAR: `:                                                 []byte("Rar!\x1A\x07\x01\x00"),
	} {
		in, _ := stores()
		put(t, in, "up", p, nil)
		src, err := pack.Open(t.Context(), in, "up", pack.Options{})
		if err == nil {
			_, err = pack.Stream(t.Context(), src, gulp.NewWriter(io.Discard, gulp.WriteOptions{}), pack.Options{})
		}
		if !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(strings.ReplaceAll(err.Error(), " at 0", ""), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestTextsBeforeImages: a text tells a WebDataset even if the image of its name comes after
// images of other names.
func TestTextsBeforeImages(t *testing.T) {
	t.Parallel()
	fs := tree(t, "3.cls=\uFEFF7\n0.jpg\n1.jpg\n2.jpg\n0.cls=1\n3.jpg\n2.cls=2\n1.cls=4")
	for way, got := range everyWay(t, fs, "") {
		if len(got.IDs) != 4 || got.Meta["3"] != `[{"label":7}]` {
			t.Errorf("%s: %v", way, got.Meta)
		}
	}
}

// TestLabelsWithIDAndFile: ids that number the lines are fields, and the files say what they
// are about; ids that are ids here come first.
func TestLabelsWithIDAndFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ files, want string }{
		"numbers":    {"a.jpg\nb.jpg\nlabels.csv=id,filename,n\\n1,a.jpg,5\\n2,b.jpg,6", `[{"id":2,"n":6}]`},
		"upper case": {"a.jpg\nb.jpg\nlabels.csv=ID,Path,n\\n1,set/a.jpg,5\\n2,set/b.jpg,6", `[{"ID":2,"n":6}]`},
		"ids":        {"a.jpg\nb.jpg\nlabels.csv=id,filename,n\\na,x.jpg,5\\nb,y.jpg,6", `[{"filename":"y.jpg","n":6}]`},
		"some ids":   {"a.jpg\nb.jpg\nlabels.csv=id,file,n\\n1,a.jpg,5\\nb,a.jpg,6", `[{"file":"a.jpg","n":6}]`},
		"in folders": {"x/a.jpg\nx/b.jpg\nlabels.csv=id,path,n\\n1,x/a.jpg,5\\n2,x/b.jpg,6", `[{"id":2,"n":6}]`},
		"one of two": {"a.jpg\nb.jpg\nlabels.csv=id,path,n\\n1,c.jpg,5\\n2,a.jpg,6", `[{}]`},
	} {
		for way, got := range everyWay(t, tree(t, c.files), pack.Flat) {
			id := "b"
			if name == "in folders" {
				id = "x/b"
			}
			if got.Meta[id] != c.want {
				t.Errorf("%s, %s: %v, want %s", name, way, got.Meta, c.want)
			}
		}
	}
	in, _ := stores()
	put(t, in, "up.tar", tarOf(t, tree(t, "a.jpg\nlabels.csv=id,file\\n1,a.jpg\\n2,a.jpg")), nil)
	src, err := pack.Open(t.Context(), in, "up.tar", pack.Options{})
	if err == nil {
		_, err = pack.Stream(t.Context(), src, gulp.NewWriter(io.Discard, gulp.WriteOptions{}), pack.Options{Layout: pack.Flat})
	}
	if !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), `labels: file "a.jpg" is labelled twice`) {
		t.Error(err)
	}
}

// TestLabelsOfOthers: labels that fit no image here are an error that names their file; nothing is published.
func TestLabelsOfOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ files, want string }{
		{"x/a.jpg\nx/b.jpg\nlabels.csv=id,path,n\\n1,y/c.jpg,5", `labels: "labels.csv": it is for other images: none of its labels (1, the first about "y/c.jpg") fits one here, such as "a.jpg"`},
		{"x/a.jpg\nx/labels.json={\"q\":1,\"r\":2}", `labels: "x/labels.json": it is for other images: none of its labels (2, the first about "q")`},
	} {
		in, out := stores()
		err := run(t, in, out, put(t, in, "up.tar", tarOf(t, tree(t, c.files)), nil), pack.Options{})
		if !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		for o, err := range out.List(t.Context(), "") {
			t.Errorf("%s is there, %v", o.Key, err)
		}
	}
}

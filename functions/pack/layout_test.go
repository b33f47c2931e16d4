package pack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

// image returns an image of testdata/images.
func imageOf(tb testing.TB, name string) []byte {
	tb.Helper()
	p, err := os.ReadFile("testdata/images/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// tree are the files of a text: names with = and the content, or the name of an image.
func tree(tb testing.TB, text string) []file {
	tb.Helper()
	var fs []file
	for _, f := range strings.Split(strings.TrimSpace(text), "\n") {
		name, content, _ := strings.Cut(strings.TrimSpace(f), "=")
		p := []byte(strings.ReplaceAll(content, `\n`, "\n"))
		if _, err := os.Stat("testdata/images/" + content); err == nil && content != "" {
			p = imageOf(tb, content)
		} else if content == "" {
			p = picture(tb, len(fs))
		}
		fs = append(fs, file{name, p})
	}
	return fs
}

// everyWay packs files out of a tar, a zip, a folder of this machine and one of a bucket.
// It returns what each has become.
func everyWay(t *testing.T, fs []file, l pack.Layout) map[string]dataset {
	t.Helper()
	fsys := fstest.MapFS{}
	in, _ := stores()
	for _, f := range fs {
		fsys[f.name] = &fstest.MapFile{Data: f.data}
		put(t, in, "set/"+f.name, f.data, nil)
	}
	put(t, in, "up.tar", tarOf(t, fs), nil)
	put(t, in, "up.zip", zipOf(t, zip.Store, fs), nil)
	out := map[string]dataset{}
	for name, open := range map[string]func() (pack.Source, error){
		"tar":    func() (pack.Source, error) { return pack.Open(t.Context(), in, "up.tar", pack.Options{}) },
		"zip":    func() (pack.Source, error) { return pack.Open(t.Context(), in, "up.zip", pack.Options{}) },
		"folder": func() (pack.Source, error) { return pack.Folder(fsys, "up", pack.Options{}), nil },
		"prefix": func() (pack.Source, error) { return pack.Prefix(t.Context(), in, "set/", pack.Options{}) },
	} {
		src, err := open()
		if err != nil {
			t.Fatal(err)
		}
		out[name] = streamed(t, src, l)
	}
	return out
}

// streamed packs a source and reads the result.
func streamed(t *testing.T, src pack.Source, l pack.Layout) dataset {
	t.Helper()
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	_, err := pack.Stream(t.Context(), src, w, pack.Options{Layout: l})
	if err == nil {
		err = w.WriteMeta(&meta)
	}
	if err != nil {
		t.Fatalf("%s: %v", src.About().Format, err)
	}
	_, out := stores()
	at := put(t, out, "x.gulp", data.Bytes(), nil)
	put(t, out, "x.gmeta", meta.Bytes(), map[string]string{functions.MetaDataETag: at.ETag})
	d := read(t, out, "x")
	slices.Sort(d.IDs)
	return d
}

// TestLayoutsOfUploads: what each layout makes of a tree, found or named.
func TestLayoutsOfUploads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		layout pack.Layout
		files  string
		meta   map[string]string
		frames map[string]string // files of an id, where there are several
	}{
		"imagefolder": {"", `
			cats/tabby.jpg
			cats/ginger.png=photo.png
			cats/black.webp=photo.webp
			cats/white.jpg
			dogs/terrier.gif=frames.gif
			dogs/pug.avif=photo.avif
			dogs/collie.jpg
			dogs/beagle.jpg`, map[string]string{
			"cats/tabby": `[{"label":"cats"}]`, "cats/ginger": `[{"label":"cats","media_type":"image/png"}]`,
			"cats/black": `[{"label":"cats","media_type":"image/webp"}]`, "cats/white": `[{"label":"cats"}]`,
			"dogs/terrier": `[{"label":"dogs","media_type":"image/gif"}]`, "dogs/pug": `[{"label":"dogs","media_type":"image/avif"}]`,
			"dogs/collie": `[{"label":"dogs"}]`, "dogs/beagle": `[{"label":"dogs"}]`}, nil},
		"imagefolder by name": {pack.ImageFolder, `
			train/n01/n01_1.JPEG
			train/n01/n01_2.JPEG
			train/n02/n02_1.JPEG
			labels.csv=path,score,lot\ntrain/n01/n01_2.JPEG,0.50,007\nn02_1.JPEG,1e3,\nelse.jpg,,`, map[string]string{
			"train/n01/n01_1": `[{"label":"n01"}]`, "train/n01/n01_2": `[{"label":"n01","lot":"007","score":0.50}]`,
			"train/n02/n02_1": `[{"label":"n02","lot":"","score":1e3}]`}, nil},
		"two suffixes": {pack.Flat, `
			x/a.jpg
			x/a.png=rgb.png
			b.jpg
			labels.csv=file,n\nx/a.jpg,1\nx/a.png,2`, map[string]string{
			"x/a": `[{"n":1}]`, "x/a.png": `[{"media_type":"image/png","n":2}]`, "b": "[{}]"}, nil},
		"flat": {"", `
			sunset.jpg
			beach.jpg
			tower.jpg
			lake.jpg
			forest.jpg
			city.jpg
			road.jpg
			labels.csv=id;label;n\nbeach;sea;-3\nroad;way;4
			river.jpg`, map[string]string{"sunset": "[{}]", "beach": `[{"label":"sea","n":-3}]`, "tower": "[{}]", "lake": "[{}]", "forest": "[{}]", "city": "[{}]",
			"road": `[{"label":"way","n":4}]`, "river": "[{}]"}, nil},
		"webdataset": {"", `
			000.cls=7\n
			000.jpg
			000.json={"caption": "a cat", "width": 64, "label": "tabby"}
			000.seg.png=photo.png
			000.txt=a cat\n
			001.cls=dog
			001.jpg
			002.jpg
			003.txt=no image`, map[string]string{
			"000": `[{"caption":"a cat","cls":7,"label":"tabby","media_type":["image/jpeg","image/png"],"text":"a cat\n","width":64}]`,
			"001": `[{"label":"dog"}]`, "002": "[{}]"}, map[string]string{"000": "000.jpg 000.seg.png"}},
		"webdataset by name": {pack.WebDataset, `
			a/0.jpg
			a/1.jpg
			a/2.jpg
			a/0.json=[1, 2]
			a/2.index=5`, map[string]string{"a/0": `[{"json":[1,2]}]`, "a/1": "[{}]", "a/2": `[{"index":5}]`}, nil},
		"clips": {"", `
			walk/w1/f0.png=photo.png
			walk/w1/f10.jpg
			walk/w1/f2.jpg
			run/r1/1.webp=alpha.webp
			run/r1/2.webp=frames.webp`, map[string]string{
			"walk/w1": `[{"label":"walk","media_type":["image/png","image/jpeg","image/jpeg"]}]`, "run/r1": `[{"label":"run","media_type":"image/webp"}]`},
			map[string]string{"walk/w1": "walk/w1/f0.png walk/w1/f2.jpg walk/w1/f10.jpg", "run/r1": "run/r1/1.webp run/r1/2.webp"}},
		"clips by name": {pack.Clips, `
			p/front.jpg
			p/back.jpg
			p/a.jpg
			p/b.jpg
			p/c.jpg
			p/d.jpg
			p/e.jpg
			p/g.jpg`, map[string]string{"p": "[{}]"}, map[string]string{"p": "p/a.jpg p/b.jpg p/back.jpg p/c.jpg p/d.jpg p/e.jpg p/front.jpg p/g.jpg"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs := tree(t, c.files)
			data := map[string][]byte{}
			for _, f := range fs {
				data[f.name] = f.data
			}
			for way, got := range everyWay(t, fs, c.layout) {
				if d := cmp.Diff(c.meta, got.Meta); d != "" {
					t.Errorf("%s: %s", way, d)
				}
				for id, frames := range got.Frames {
					names := strings.Fields(c.frames[id])
					if len(names) == 0 {
						for _, f := range fs {
							if strings.TrimSuffix(f.name, path.Ext(f.name)) == id && path.Ext(f.name) != ".cls" && path.Ext(f.name) != ".json" && path.Ext(f.name) != ".index" || f.name == id {
								names = append(names, f.name)
							}
						}
						names = names[:min(len(names), 1)]
					}
					if f := slices.IndexFunc(fs, func(f file) bool { return f.name == id }); f >= 0 {
						names = []string{id}
					}
					var want [][]byte
					for _, n := range names {
						want = append(want, data[n])
					}
					if !cmp.Equal(want, frames) {
						t.Errorf("%s, %s: other bytes than %v", way, id, names)
					}
				}
			}
		})
	}
}

// TestLayoutErrors: what is told of uploads that do not fit.
func TestLayoutErrors(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		layout pack.Layout
		files  string
	}{
		`"0.npy" at 3072: a sample of the layout webdataset has images, .cls, .txt and .json, not .npy`: {"", "0.cls=1\n0.jpg\n0.npy=x"},
		`"0.JSON" at 3072: twice in the upload`:                                                         {pack.WebDataset, "0.jpg\n0.json={}\n0.JSON={}"},
		`"0.txt" at 2048: a text that is not UTF-8`:                                                     {"", "0.jpg\n0.txt=K\xe4fer"},
		`"0.json" at 2048: a text that is not UTF-8`:                                                    {"", "0.jpg\n0.json={\"a\":\"K\xe4fer\"}"},
		`sample "0": .json is no JSON`:                                                                  {"", "0.jpg\n0.json={"},
		`sample "0": the field "a" twice`:                                                               {"", "0.jpg\n0.json={\"a\":1}\n0.jsn={\"a\":1}"},
		`"a/0.cls" at 5120: no image, and the layout is clips; webdataset takes .cls`:                   {"", "a/0.jpg\na/1.jpg\na/2.jpg\na/0.cls=1"},
		`"a/x.tiff" at 2048: not a JPEG, PNG, WebP, AVIF or GIF`:                                        {"", "a/0.jpg\na/x.tiff=II*"},
		`"1.png" at 2048: not a JPEG, PNG`:                                                              {"", "0.jpg\n1.png=PNG"},
		`no image in it`:                                                                                {pack.WebDataset, "0.cls=1"},
		`"a.jpg" at 2048: twice in the upload`:                                                          {pack.Flat, "a.jpg\na.jpg"},
		`"a.png" at 3584: twice in the upload`:                                                          {pack.Flat, "a.jpg\na.png.jpg\na.png=photo.png"},
		`id "CON"`:                                                                                      {pack.Flat, "CON.jpg"},
	} {
		in, _ := stores()
		put(t, in, "up.tar", tarOf(t, tree(t, c.files)), nil)
		src, err := pack.Open(t.Context(), in, "up.tar", pack.Options{})
		if err == nil {
			_, err = pack.Stream(t.Context(), src, gulp.NewWriter(io.Discard, gulp.WriteOptions{}), pack.Options{Layout: c.layout})
		}
		if !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestLayoutOfRules: a rule names a layout; loose images wait for their folder.
func TestLayoutOfRules(t *testing.T) {
	t.Parallel()
	in, out := stores()
	rule := functions.Rule{Bucket: "uploads", Job: "pack", Format: "gulp", Layout: "imagefolder", Out: functions.Out{Bucket: "datasets"}}
	j, err := pack.New(pack.Options{})(rule, out)
	if err != nil {
		t.Fatal(err)
	}
	upload := func(key string, p []byte) ([]objstore.Info, error) {
		info := put(t, in, key, p, nil)
		return j.Run(context.Background(), in, functions.Upload{Bucket: "uploads", Key: key, ETag: info.ETag, Sequencer: "01", Size: info.Size})
	}
	for i := range 4 {
		for _, class := range []string{"cat", "dog"} {
			if _, err := upload(fmt.Sprintf("set/%s/%04d.png", class, i), imageOf(t, "photo.png")); !errors.Is(err, functions.ErrSkip) {
				t.Fatalf("a loose image: %v", err)
			}
		}
	}
	infos, err := upload("set/_SUCCESS", nil)
	if err != nil || len(infos) != 2 || infos[1].Meta["farread-layout"] == "" {
		t.Fatalf("%v, %v", infos, err)
	}
	if got := read(t, out, "set/frames"); len(got.IDs) != 8 || got.Meta["dog/0003"] != `[{"label":"dog","media_type":"image/png"}]` {
		t.Errorf("%v", got.Meta)
	}
	if l := infos[1].Meta["farread-layout"]; !strings.HasSuffix(l, " layout=imagefolder") {
		t.Error(l)
	}
	for _, bad := range []functions.Rule{{Layout: "rows", Format: "gulp"}, {Layout: "flat"}, {Layout: "flat", Format: "bloscpack"}} {
		if _, err := pack.New(pack.Options{})(bad, out); err == nil {
			t.Errorf("%+v", bad)
		}
	}
	if got := pack.Command(rule, functions.Upload{Bucket: "uploads", Key: "a.tar"}); !strings.HasSuffix(got, " --layout imagefolder") {
		t.Error(got)
	}
}

package pack_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

func TestToPair(t *testing.T) {
	t.Parallel()
	fs := clips(t)
	in, out := stores()
	put(t, in, "c.zip", zipOf(t, zip.Deflate, fs), nil)
	src, err := pack.Open(t.Context(), in, "c.zip", pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	to := pack.Target{Bucket: out}
	res, err := pack.ToPair(t.Context(), src, to, "x.gulp", "x.gmeta", pack.Options{})
	if err != nil || res.Frames != 12 {
		t.Fatal(res, err)
	}
	if !cmp.Equal(wantOf(fs), read(t, out, "x").Frames) {
		t.Error("other frames")
	}
	if _, err := pack.ToPair(t.Context(), src, to, "x.gulp", "x.gmeta", pack.Options{}); !errors.Is(err, objstore.ErrExists) {
		t.Errorf("over what is there: %v", err)
	}
	to.Replace = true
	if _, err := pack.ToPair(t.Context(), src, to, "x.gulp", "x.gmeta", pack.Options{}); err != nil {
		t.Error(err)
	}
}

func TestToDataset(t *testing.T) {
	t.Parallel()
	fs := append(clips(t), file{"labels.csv", []byte("id,label\nr1,quick\n")}) // labels come last
	in, out := stores()
	fsys := fstest.MapFS{}
	for _, f := range fs {
		fsys[f.name] = &fstest.MapFile{Data: f.data}
	}
	put(t, in, "c.tar", tarOf(t, fs), nil)
	put(t, in, "c.zip", zipOf(t, zip.Store, fs), nil)
	sources := map[string]pack.Source{"folder/": pack.Folder(fsys, "c", pack.Options{})}
	for _, key := range []string{"c.tar", "c.zip"} {
		src, err := pack.Open(t.Context(), in, key, pack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sources[key+"/"] = src
	}
	for prefix, src := range sources {
		res, pairs, err := pack.ToDataset(t.Context(), src, pack.Target{Bucket: out}, prefix, gulp.DatasetOptions{MaxBytes: 1}, pack.Options{})
		if err != nil || len(pairs) != 3 || res.Frames != 12 || res.Unordered != 0 || res.Unlabelled != 0 {
			t.Fatalf("%s: %+v, %v, %v", prefix, res, pairs, err)
		}
		got := map[string][][]byte{}
		meta := map[string]string{}
		for _, p := range pairs {
			c, data := openPair(t, out, prefix+p.Data, prefix+p.Meta)
			for it := range c.Items() {
				meta[it.ID] = string(it.MetaData)
				for i := range it.Frames {
					got[it.ID] = append(got[it.ID], frameOf(t, c, data, it.ID, i))
				}
			}
		}
		if !cmp.Equal(wantOf(fs[:12]), got) || meta["run/r1"] != `[{"label":"quick"}]` || meta["walk/w1"] != `[{"label":"walk"}]` {
			t.Errorf("%s: other frames or labels: %v", prefix, meta)
		}
	}
	fs = fs[:12]
	back := slices.Clone(fs)
	slices.Reverse(back)
	put(t, in, "back.zip", zipOf(t, zip.Store, back), nil)
	slices.SortStableFunc(fs, func(a, b file) int {
		return bytes.Compare([]byte(a.name[len(a.name)-6:]), []byte(b.name[len(b.name)-6:]))
	})
	put(t, in, "mixed.tar", tarOf(t, fs), nil)
	for _, key := range []string{"mixed.tar", "back.zip"} {
		src, err := pack.Open(t.Context(), in, key, pack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := pack.ToDataset(t.Context(), src, pack.Target{Bucket: out}, "m/", gulp.DatasetOptions{}, pack.Options{}); !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s: %v", key, err)
		}
	}
	for info, err := range out.List(t.Context(), "m/") {
		t.Errorf("%s was published, %v", info.Key, err)
	}
}

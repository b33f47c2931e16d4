package pack_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore/memstore"
)

// TestLabelsOfFiles: a line of labels is about an id, or about a file of one, whatever
// folders and suffixes it is written with.
func TestLabelsOfFiles(t *testing.T) {
	t.Parallel()
	jpg := clips(t)[0].data
	tree := []string{"cats/c1/0001.jpg", "cats/c1/0002.jpg", "dogs/d1/0001.jpg"}
	flat := []string{"img_1.jpg", "img_2.jpg", "x-7.jpeg"}
	for name, c := range map[string]struct {
		frames []string
		at     string // of the labels
		text   string
		want   map[string]string
	}{
		"id":       {tree, "labels.csv", "id,kind\ncats/c1,a\nd1,b\n", map[string]string{"cats/c1": `[{"kind":"a","label":"cats"}]`, "dogs/d1": `[{"kind":"b","label":"dogs"}]`}},
		"frames":   {tree, "labels.csv", "file,label\ncats/c1/0001.jpg,a\ncats/c1/0002.jpg,a\ndogs/d1/0001.jpg,b\n", map[string]string{"cats/c1": `[{"label":"a"}]`, "dogs/d1": `[{"label":"b"}]`}},
		"differ":   {tree, "labels.csv", "File,label\ncats/c1/0001.jpg,a\ncats/c1/0002.jpg,b\n", map[string]string{"cats/c1": `[{"file":"cats/c1/0001.jpg","label":"a"}, {"file":"cats/c1/0002.jpg","label":"b"}]`, "dogs/d1": `[{"label":"dogs"}]`}},
		"clips":    {tree, "labels.csv", "FILENAME,label\nc1.mp4,a\nd1.mp4,b\n", map[string]string{"cats/c1": `[{"label":"a"}]`, "dogs/d1": `[{"label":"b"}]`}},
		"ids":      {tree, "labels.csv", "path,label\ncats/c1,a\n./dogs/d1/,b\n", map[string]string{"cats/c1": `[{"label":"a"}]`, "dogs/d1": `[{"label":"b"}]`}},
		"suffix":   {tree, "labels.csv", "path,label\ncats/c1.avi,a\n", map[string]string{"cats/c1": `[{"label":"a"}]`, "dogs/d1": `[{"label":"dogs"}]`}},
		"absolute": {tree, "labels.csv", "path,label\n/data/set/cats/c1/0001.jpg,a\n", map[string]string{"cats/c1": `[{"label":"a"}]`, "dogs/d1": `[{"label":"dogs"}]`}},
		"windows":  {tree, "labels.csv", "path,label\ncats\\c1\\0001.jpg,a\n", map[string]string{"cats/c1": `[{"label":"a"}]`, "dogs/d1": `[{"label":"dogs"}]`}},
		"no names": {tree, "labels.csv", "id,,label,Label,,\ncats/c1,,a,b,x,\n", map[string]string{"cats/c1": `[{"":"x","Label":"b","label":"a"}]`, "dogs/d1": `[{"label":"dogs"}]`}},
		"inside":   {tree, "cats/labels.csv", "file,label\nc1/0001.jpg,a\n", map[string]string{"cats/c1": `[{"label":"a"}]`, "dogs/d1": `[{"label":"dogs"}]`}},
		"two ends": {append([]string{"birds/c1/1.jpg"}, tree...), "labels.csv", "file,label\nc1.mp4,a\nd1.mp4,b\n", map[string]string{"birds/c1": `[{"label":"birds"}]`, "cats/c1": `[{"label":"cats"}]`, "dogs/d1": `[{"label":"b"}]`}},
		"id first": {tree, "labels.csv", "file,id\na.jpg,c1\n", map[string]string{"cats/c1": `[{"file":"a.jpg","label":"cats"}]`, "dogs/d1": `[{"label":"dogs"}]`}},
		"flat":     {flat, "labels.csv", "file,label\nimg_1.jpg,a\nx-7.jpeg,b\n", map[string]string{"img": `[{"label":"a"}]`, "x": `[{"label":"b"}]`}},
		"alone":    {[]string{"photo.jpg", "other.jpg"}, "labels.csv", "file,label\nphoto.jpg,a\nother.jpg,b\n", map[string]string{"up": `[{"file":"photo.jpg","label":"a"}, {"file":"other.jpg","label":"b"}]`}},
		"quoted":   {tree, "labels.csv", "id,\"label\",\"score, in %\",\"a\nb\"\ncats/c1,\"a, b\",1.5,\"says \"\"x\"\"\"\nd1,c,2,\n", map[string]string{"cats/c1": `[{"a\nb":"says \"x\"","label":"a, b","score, in %":1.5}]`, "dogs/d1": `[{"a\nb":"","label":"c","score, in %":2}]`}},
		"quoted ;": {tree, "labels.csv", "\"kind, or so\";id;\"label\"\r\nx;c1;\"a; b\"\r\ny;d1;b\r\n", map[string]string{"cats/c1": `[{"kind, or so":"x","label":"a; b"}]`, "dogs/d1": `[{"kind, or so":"y","label":"b"}]`}},
		"columns":  {tree, "labels.csv", "file,label,x,y,seen\ncats/c1/0001.jpg,a,1,-2.5,true\ndogs/d1/0001.jpg,b,2,,false\n", map[string]string{"cats/c1": `[{"label":"a","seen":"true","x":1,"y":-2.5}]`, "dogs/d1": `[{"label":"b","seen":"false","x":2,"y":null}]`}},
		"gone":     {tree, "labels.csv", "file,label\ncats/c1/0001.jpg,a\ncats/c1/0007.jpg,b\nc1/0009.jpg,c\n", map[string]string{"cats/c1": `[{"label":"a"}]`, "dogs/d1": `[{"label":"dogs"}]`}},
		"json":     {tree, "labels.json", `[{"file":"cats/c1/0001.jpg","label":"a"},{"id":"d1","label":"b"}]`, map[string]string{"cats/c1": `[{"label":"a"}]`, "dogs/d1": `[{"id":"d1","label":"b"}]`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs := []file{{c.at, []byte(c.text)}}
			for _, n := range c.frames {
				fs = append(fs, file{n, jpg})
			}
			in, out := stores()
			if err := run(t, in, out, put(t, in, "up.tar", tarOf(t, fs), nil), pack.Options{}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, read(t, out, "up.tar").Meta); d != "" {
				t.Error(d)
			}
		})
	}
	for name, c := range map[string][2]string{
		"column":              {"name,label\na,b\n", `labels with the columns "name", "label": want one called id, file, filename or path`},
		"twice":               {"file,label\na.jpg,b\n./a.jpg,c\n", `file "./a.jpg" is labelled twice`},
		"two labels":          {"id,label,n,label\na,b,1,c\n", `labels with two columns called "label", 2 and 4`},
		"no lines":            {"id,label, label \n", `labels with two columns called "label", 2 and 3`},
		"two ids":             {"id,label,id\na,b,a\n", `labels with two columns called "id", 1 and 3`},
		"ids spelt otherwise": {"id,label,Id\na,b,c\n", `labels with two columns called "id", 1 and 3`},
		"no names":            {"id,,label,\na,x,b,y\n", `labels with two columns without a name`},
		"json, none":          {`[{"name":"x"}]`, "label 0: no id, file, filename or path says what it is about"},
	} {
		at := "labels.csv"
		if strings.HasPrefix(c[0], "[") {
			at = "labels.json"
		}
		in, out := stores()
		err := run(t, in, out, put(t, in, "up.tar", tarOf(t, []file{{"a/1.jpg", jpg}, {at, []byte(c[0])}}), nil), pack.Options{})
		if err == nil || !strings.Contains(err.Error(), c[1]) || !strings.Contains(err.Error(), formats.ErrCorrupt.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLabelsOfMissingFiles: in each layout lines about files that are not there are counted, and a file of labels that
// has no others is refused.
func TestLabelsOfMissingFiles(t *testing.T) {
	t.Parallel()
	jpg := clips(t)[0].data
	for _, layout := range []pack.Layout{pack.Clips, pack.ImageFolder, pack.Flat, pack.WebDataset} {
		for _, c := range []struct {
			name, text string
			unused     int64  // of two
			first      string // of them
		}{
			{"labels.csv", "file,label\nc1/1.jpg,a\nc1/7.jpg,b\n", 1, "c1/7.jpg"},
			{"labels.csv", "path,label\nc1/7.jpg,b\nc1\\2,a\n", 1, "c1/7.jpg"},
			{"labels.json", `[{"filename":"c1/1.jpg","label":"a"},{"filename":"c9/1.jpg","label":"b"}]`, 1, "c9/1.jpg"},
			{"labels.csv", "file,label\nc1/8.jpg,a\nc1/7.jpg,b\n", 2, "c1/8.jpg"},
		} {
			in := memstore.New(memstore.Config{})
			at := put(t, in, "up.tar", tarOf(t, []file{{c.name, []byte(c.text)}, {"c1/1.jpg", jpg}, {"c1/2.jpg", jpg}}), nil)
			src, err := pack.Open(t.Context(), in, at.Key, pack.Options{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := pack.Stream(t.Context(), src, gulp.NewWriter(io.Discard, gulp.WriteOptions{}), pack.Options{Layout: layout})
			if c.unused == 2 {
				if err == nil || !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), c.first) {
					t.Errorf("%s: %q: %v", layout, c.text, err)
				}
				continue
			}
			if err != nil || res.Unlabelled != c.unused || res.Labels != 2 || res.FirstUnlabelled != c.first {
				t.Errorf("%s: %q: %+v, %v", layout, c.text, res, err)
			}
		}
	}
}

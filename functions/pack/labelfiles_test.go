package pack_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/pack"
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

package analyze_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/rangeio"
)

// A folder is a dataset on disk whose data cannot be read.
type folder string

func (d folder) List(context.Context) ([]string, error) {
	list, err := os.ReadDir(string(d))
	names := make([]string, 0, len(list))
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, err
}

func (d folder) Open(_ context.Context, name string) (rangeio.Reader, error) {
	p, err := os.ReadFile(filepath.Join(string(d), name))
	var r io.ReaderAt = bytes.NewReader(p)
	if strings.HasSuffix(name, gulp.DataSuffix) {
		r = unreadable{}
	}
	return rangeio.FromReaderAt(r, int64(len(p))), err
}

// unreadable is a file that fails.
type unreadable struct{}

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errors.New("images are read") }

// TestGulp: counts and sizes of images, by what GulpIO wrote of them.
func TestGulp(t *testing.T) {
	t.Parallel()
	const set = folder("../formats/gulp/testdata/chunks/ingest_gulpio20")
	type entry struct {
		Frames [][3]int64 `json:"frame_info"`
		Meta   []struct {
			Label string
			Idx   int
		} `json:"meta_data"`
	}
	labels := []string{"jumping", "pouring é", "running"}
	want := map[string][3]int64{} // images, ids, bytes
	for k := range 3 {
		p, err := os.ReadFile(filepath.Join(string(set), fmt.Sprintf("meta_%d.gmeta", k)))
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]entry
		if err := json.Unmarshal(p, &all); err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			n := want[e.Meta[0].Label]
			n[1]++
			for _, f := range e.Frames {
				n[0], n[2] = n[0]+1, n[2]+f[2]-f[1]
			}
			want[e.Meta[0].Label] = n
		}
	}
	for jobs := 1; jobs < 3; jobs++ {
		d, err := gulp.OpenDataset(t.Context(), set, gulp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(stats, where, match string, group ...string) *analyze.Answers {
			t.Helper()
			q := itemsOptions(t, stats, where, group...)
			o := analyze.GulpOptions{Stats: q.Stats, Where: q.Where, Group: group}
			if match != "" {
				o.Match = regexp.MustCompile(match)
			}
			j, err := analyze.NewGulp(d, o)
			if err != nil {
				t.Fatal(err)
			}
			a, err := j.Run(t.Context(), analyze.Options{Jobs: jobs})
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		images, ids := ask("count,sum(.size)", "", "", "label"), ask("count", ".frame == 0", "", ".label")
		if len(images.Axes) != 1 || fmt.Sprint(images.Axes[0].Labels) != fmt.Sprint(labels) || images.Axes[0].Name != ".label" {
			t.Fatalf("%+v", images.Axes)
		}
		for i, label := range labels {
			n := want[label]
			line, idLine := fmt.Sprintf("%s %d %d", label, n[0], n[2]), fmt.Sprintf("%s %d", label, n[1])
			if got := told(images)[i]; got != line {
				t.Errorf("%q, want %q", got, line)
			}
			if got := told(ids)[i]; got != idLine {
				t.Errorf("%q, want %q", got, idLine)
			}
		}
		// The greatest image is the first one of some; ids are selected by name.
		text := fmt.Sprint(told(ask("count,max(.size),argmax(.size),min(.frames)", "", "^7028|^703062$", ".id")))
		if want := "[702803 5 2163 6 5 702840 4 1961 11 4 702877 1 1290 12 1 703062 5 1194 34 5]"; text != want {
			t.Errorf("%s, want %s", text, want)
		}
		if a := ask("count", ".idx == 2 and .size > 1700", ""); a.Results[0].Items[0] != 2 {
			t.Errorf("%v", a.Results)
		}
	}
	d, err := gulp.OpenDataset(t.Context(), set, gulp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := analyze.GulpOptions{Group: []string{"."}}
	if _, err := analyze.NewGulp(d, o); !errors.Is(err, analyze.ErrQuestion) {
		t.Errorf("%v", err)
	}
	o = analyze.GulpOptions{Stats: itemsOptions(t, "count", "").Stats}
	one, err := analyze.NewGulp(d, o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Where, err = predicate.ParseValues("size > 0"); err != nil {
		t.Fatal(err)
	}
	if two, err := analyze.NewGulp(d, o); err != nil || one.ID() == two.ID() {
		t.Errorf("the same plan for another question: %v", err)
	}
}

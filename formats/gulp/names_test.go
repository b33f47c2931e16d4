package gulp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/google/go-cmp/cmp"
)

func TestPairs(t *testing.T) {
	for name, want := range map[string][]gulp.Pair{
		"data_0.gulp":       {{"data_0.gulp", "meta_0.gmeta"}, {"data_0.gulp", "data_0.gmeta"}},
		"meta_12.gmeta":     {{"data_12.gulp", "meta_12.gmeta"}, {"meta_12.gulp", "meta_12.gmeta"}},
		"a/b/data7.gulp":    {{"a/b/data7.gulp", "a/b/meta7.gmeta"}, {"a/b/data7.gulp", "a/b/data7.gmeta"}},
		"data.tar.gulp":     {{"data.tar.gulp", "data.tar.gmeta"}, {"data.tar.gulp", "meta.tar.gmeta"}},
		"metadata.gmeta":    {{"metadata.gulp", "metadata.gmeta"}, {"datadata.gulp", "metadata.gmeta"}},
		"data/x.gulp":       {{"data/x.gulp", "data/x.gmeta"}},
		"x.y.gmeta":         {{"x.y.gulp", "x.y.gmeta"}},
		".gulp":             {{".gulp", ".gmeta"}},
		"data_0.gmeta":      {{"data_0.gulp", "data_0.gmeta"}},
		"x.jpg":             nil,
		"data_0.gulp/x.jpg": nil,
	} {
		if diff := cmp.Diff(want, gulp.Pairs(name)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestSafePath(t *testing.T) {
	for _, id := range []string{"702766", "vid/1", "a b", "…", "世界/x", "x.y", ".hidden", "10:30", "CONSOLE", "COM", "COM10", "-rf", strings.Repeat("a", 255)} {
		if got, err := gulp.SafePath(id); err != nil || got != id {
			t.Errorf("%q: %q, %v", id, got, err)
		}
	}
	for _, id := range []string{"", ".", "..", "../x", "a/../x", "a/..", "/etc/passwd", "//x", "a//b", "a/", "C:", "c:/x", `C:\x`, `a\b`, `..\x`,
		"a\x00b", "a\nb", "a/C:x", "NUL", "nul.txt", "a/con", "COM1", "lpt9.x", "COM²", "aux ", "x.", "x ", "\xff", strings.Repeat("a", 256), strings.Repeat("a/", 600) + "a"} {
		_, err := gulp.SafePath(id)
		var e *formats.Error
		if !errors.Is(err, formats.ErrCorrupt) || !errors.As(err, &e) || !strings.HasPrefix(e.Part, "id ") || len(e.Part) > 400 {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func FuzzSafePath(f *testing.F) {
	for _, s := range []string{"a", "../a", "a/./b", "C:a", "a\\b", "/x", "con", "a/b/c", "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		p, err := gulp.SafePath(id)
		if err != nil {
			return
		}
		root := "/out/folder"
		got := path.Join(root, p)
		if !strings.HasPrefix(got, root+"/") || got != root+"/"+p || !filepath.IsLocal(p) {
			t.Fatalf("%q becomes %q", id, got)
		}
	})
}

// TestSlice compares with Python's slice.indices.
func TestSlice(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want [3]int
	}{ // list(range(n))[text], from python3
		{":", 5, [3]int{0, 5, 1}}, {"::", 5, [3]int{0, 5, 1}}, {"1:", 5, [3]int{1, 5, 1}}, {":-1", 5, [3]int{0, 4, 1}},
		{"::2", 5, [3]int{0, 5, 2}}, {"::-1", 5, [3]int{4, -1, -1}}, {"3:0:-2", 5, [3]int{3, 0, -2}}, {"-2:", 5, [3]int{3, 5, 1}},
		{"9:99", 5, [3]int{5, 5, 1}}, {"-99:-98", 5, [3]int{0, 0, 1}}, {"99::-1", 5, [3]int{4, -1, -1}}, {"-99::-1", 5, [3]int{-1, -1, -1}},
		{":", 0, [3]int{0, 0, 1}}, {"::-1", 0, [3]int{-1, -1, -1}}, {" 1 : 3 ", 5, [3]int{1, 3, 1}},
		{"2", 5, [3]int{2, 3, 1}}, {"-1", 5, [3]int{4, 5, 1}},
		{fmt.Sprintf(":%d:%d", math.MaxInt, math.MaxInt), 5, [3]int{0, 5, math.MaxInt}},
		{fmt.Sprintf("::%d", math.MinInt), 5, [3]int{4, -1, math.MinInt}},
	} {
		s, err := gulp.ParseSlice(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		from, to, step, err := s.Resolve(c.n)
		if err != nil || c.want != [3]int{from, to, step} {
			t.Errorf("%q of %d: %d %d %d %v, want %v", c.text, c.n, from, to, step, err, c.want)
		}
	}
	for _, text := range []string{"", "x", "1:x", "1:2:3:4", "::0", "1.5", "1,2", "9223372036854775808"} {
		if _, err := gulp.ParseSlice(text); !errors.Is(err, gulp.ErrSlice) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"5", "-6"} {
		s, _ := gulp.ParseSlice(text)
		if _, _, _, err := s.Resolve(5); !errors.Is(err, gulp.ErrIndex) || !errors.Is(err, formats.ErrNoEntry) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPlainJSON(t *testing.T) {
	for in, want := range map[string]string{
		`[{"x": NaN}]`: `[{"x": null}]`,
		`[-Infinity, Infinity, "NaN", "a\"Infinity", 1]`: `["-inf", "inf", "NaN", "a\"Infinity", 1]`,
		`{"NaN": NaN}`: `{"NaN": null}`,
		`[1, 2]`:       `[1, 2]`,
	} {
		if got := string(gulp.PlainJSON([]byte(in))); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

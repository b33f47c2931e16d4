package all_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/all"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, head, want string }{
		{"x.gmeta", "", "gulp"},
		{"a/data_0.gulp", "\xff\xd8\xff", "gulp"},
		{"renamed.json", `{"a": {"frame_info": [[0, 2, 10]], "meta_data": [{}]}}`, "gulp"},
		{"renamed", "\xef\xbb\xbf \n{\"a\": {\"meta_data\": [], \"frame_info\": []}}", "gulp"},
		{"x.json", `{"frame": [1]}`, ""},
		{"x.json", `["frame_info"]`, ""},
		{"X.GULP", "", ""},
		{"gulp", "", ""},
		{"", "", ""},
		{"x.gulp", "\x9e\xa8b2frame\x00", "cframe"},
		{"a.b2nd", "", "b2nd"},
		{"a.b2f", "", "cframe"},
		{"a.chunk", "", "blosc"},
		{"a.blp", "", "bloscpack"},
		{"x", "blpk\x03\x01\x02\x04" + strings.Repeat("\x00", 24), "bloscpack"},
		{"x", "blpk\x03\xff\x02\x04" + strings.Repeat("\x00", 24), ""},
		{"a.zoom", "", "zoomcache"},
		{"x", "\xe5ZXhe4d\x00\x00\x02\x00\x00", "zoomcache"},
		{"x", "\xe5ZXp4ck\x00", ""},
	} {
		if got := all.Detect(tc.name, []byte(tc.head), int64(len(tc.head))); got != tc.want {
			t.Errorf("%q with %q: %q, want %q", tc.name, tc.head, got, tc.want)
		}
	}
}

// TestDetectFiles: real files, told by their bytes alone.
func TestDetectFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"array.b2nd": "b2nd", "frame.b2frame": "cframe", "chunk.blosc": "blosc", "chunk2.chunk": "blosc"} {
		p, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		size := int64(len(p))
		if got := all.Detect("", p, size); got != want {
			t.Errorf("%s: %q", name, got)
		}
		if want != "blosc" {
			continue
		}
		if got := all.Detect("", p, size+1); got != "" {
			t.Errorf("%s in an object of another size: %q", name, got)
		}
		binary.LittleEndian.PutUint32(p[4:], 1<<31)
		if got := all.Detect("", p, size); got != "" {
			t.Errorf("%s with an impossible length: %q", name, got)
		}
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"x.b2z": "zip of frames", "s3/x.b2d/": "folder of frames", "x.b2d": "folder of frames", "x.b2nd": "", "": ""} {
		if got := all.Store(name); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestTable: later formats are rows; each needs a name and a way to be found.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range all.Formats() {
		if f.Name == "" || seen[f.Name] || len(f.Suffixes) == 0 && f.Sniff == nil {
			t.Errorf("row %+v", f)
		}
		seen[f.Name] = true
		for _, s := range f.Suffixes {
			if got := all.ByName("some/name" + s); got != f.Name {
				t.Errorf("%s: %q", s, got)
			}
		}
		if f.Sniff != nil {
			f.Sniff(nil, 0) // an empty object must not crash it
		}
	}
}

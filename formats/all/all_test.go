package all_test

import (
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
	} {
		if got := all.Detect(tc.name, []byte(tc.head)); got != tc.want {
			t.Errorf("%q with %q: %q, want %q", tc.name, tc.head, got, tc.want)
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
			f.Sniff(nil) // an empty object must not crash it
		}
	}
}

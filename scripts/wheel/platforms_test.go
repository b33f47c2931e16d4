package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlatforms: the wheel of each system has the tag that pip asks for there, the same
// package, and the program where pip puts programs.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("../../python/farread/*.py")
	if err != nil || len(sources) < 10 {
		t.Fatal(sources, err)
	}
	for platform, tag := range map[string]string{
		"linux/amd64": "manylinux2014_x86_64.musllinux_1_1_x86_64", "linux/arm64": "manylinux2014_aarch64.musllinux_1_1_aarch64",
		"darwin/amd64": "macosx_12_0_x86_64", "darwin/arm64": "macosx_12_0_arm64", "windows/amd64": "win_amd64", "windows/arm64": "win_arm64",
	} {
		dir := t.TempDir()
		program := filepath.Join(dir, "program")
		if err := os.WriteFile(program, []byte(platform), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(io.Discard, "../../python", dir, "v0.1.0", platform, program); err != nil {
			t.Fatal(err)
		}
		p, err := os.ReadFile(filepath.Join(dir, "farread-0.1.0-py3-none-"+tag+".whl"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := zip.NewReader(bytes.NewReader(p), int64(len(p)))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"farread/py.typed"}
		for _, s := range sources {
			want = append(want, "farread/"+filepath.Base(s))
		}
		scripts := "farread-0.1.0.data/scripts/farread"
		if strings.HasPrefix(platform, "windows/") {
			scripts += ".exe"
		}
		want = append(want, scripts)
		for _, info := range []string{"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"} {
			want = append(want, "farread-0.1.0.dist-info/"+info)
		}
		var got []string
		for _, f := range z.File {
			got = append(got, f.Name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", platform, got, want)
		}
		about, err := z.Open("farread-0.1.0.dist-info/WHEEL")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(about)
		if err != nil {
			t.Fatal(err)
		}
		for one := range strings.SplitSeq(tag, ".") {
			if !strings.Contains(string(text), "\nTag: py3-none-"+one+"\n") {
				t.Errorf("%s: no tag %s in\n%s", platform, one, text)
			}
		}
	}
}

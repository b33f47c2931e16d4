package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWheel: the wheel of the package is the same whenever it is made, has a program that may
// be run, and says what it needs.
func TestWheel(t *testing.T) {
	t.Parallel()
	var made [][]byte
	for _, at := range []time.Time{time.Unix(1e9, 0), time.Unix(2e9, 0)} {
		dir := t.TempDir()
		program := filepath.Join(dir, "any-name")
		if err := os.WriteFile(program, []byte("not really a program\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(program, at, at); err != nil {
			t.Fatal(err)
		}
		if err := run(io.Discard, "../../python", dir, "v1.2.3-4-gabc", "linux/amd64", program); err != nil {
			t.Fatal(err)
		}
		p, err := os.ReadFile(filepath.Join(dir, "farread-1.2.3.post4+gabc-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.whl"))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, p)
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("the time of the program shows in the wheel")
	}
	z, err := zip.NewReader(bytes.NewReader(made[0]), int64(len(made[0])))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"farread-1.2.3.post4+gabc.data/scripts/farread":       "not really a program\n",
		"farread/_version.py":                                 `version = "1.2.3.post4+gabc"`,
		"farread/py.typed":                                    "",
		"farread-1.2.3.post4+gabc.dist-info/METADATA":         "\nRequires-Dist: numpy>=1.24\nProject-URL: Documentation, https://",
		"farread-1.2.3.post4+gabc.dist-info/WHEEL":            "\nTag: py3-none-musllinux_1_1_x86_64\n",
		"farread-1.2.3.post4+gabc.dist-info/entry_points.txt": "[xarray.backends]\nfarread = ",
		"farread-1.2.3.post4+gabc.dist-info/RECORD":           "farread/__init__.py,sha256=",
		"farread-1.2.3.post4+gabc.dist-info/licenses/LICENSE": "Apache License",
	} {
		f, err := z.Open(name)
		if err != nil {
			t.Error(err)
			continue
		}
		p, err := io.ReadAll(f)
		if err != nil || !strings.Contains(string(p), want) {
			t.Errorf("%s: %v %.200s", name, err, p)
		}
	}
	for _, f := range z.File {
		if is := f.Mode()&0o100 != 0; is != strings.Contains(f.Name, ".data/scripts/") {
			t.Errorf("%s: %v", f.Name, f.Mode())
		}
	}
}

// TestPlatforms: the wheel of each system has the tag by which pip finds it, its program under the
// name that the system starts, and a true list of what is in it.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	for platform, want := range map[string]struct{ tag, program string }{
		"linux/amd64":   {"manylinux2014_x86_64.musllinux_1_1_x86_64", "farread"},
		"linux/arm64":   {"manylinux2014_aarch64.musllinux_1_1_aarch64", "farread"},
		"darwin/amd64":  {"macosx_12_0_x86_64", "farread"},
		"darwin/arm64":  {"macosx_12_0_arm64", "farread"},
		"windows/amd64": {"win_amd64", "farread.exe"},
		"windows/arm64": {"win_arm64", "farread.exe"},
	} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := filepath.Join(dir, "any-name")
			if err := os.WriteFile(program, []byte(platform), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := run(io.Discard, "../../python", dir, "v1.2.3", platform, program); err != nil {
				t.Fatal(err)
			}
			files := unzipped(t, filepath.Join(dir, "farread-1.2.3-py3-none-"+want.tag+".whl"))
			if got := files["farread-1.2.3.data/scripts/"+want.program]; got != platform {
				t.Errorf("the program is %q", got)
			}
			about := files["farread-1.2.3.dist-info/WHEEL"]
			for tag := range strings.SplitSeq(want.tag, ".") {
				if !strings.Contains(about, "\nTag: py3-none-"+tag+"\n") {
					t.Errorf("no tag %s: %s", tag, about)
				}
			}
			// pip takes what is in the package for every system, so only the program may differ.
			list, err := filepath.Glob("../../python/farread/*.py")
			if err != nil || len(list) < 10 {
				t.Fatalf("%d sources, %v", len(list), err)
			}
			const others = 7 // py.typed, the program, and five files about the wheel
			if len(files) != len(list)+others {
				t.Errorf("%d files of %d sources: %q", len(files), len(list), slices.Sorted(maps.Keys(files)))
			}
			for _, name := range list {
				if files["farread/"+filepath.Base(name)] == "" {
					t.Errorf("no %s", name)
				}
			}
			checkRecord(t, files)
		})
	}
}

// unzipped are the texts of a wheel's files.
func unzipped(t *testing.T, name string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(p)
	}
	return files
}

// checkRecord holds the list of a wheel against its files, as installers do.
func checkRecord(t *testing.T, files map[string]string) {
	t.Helper()
	const record = "farread-1.2.3.dist-info/RECORD"
	listed := 0
	for line := range strings.Lines(files[record]) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ",")
		sum := sha256.Sum256([]byte(files[name]))
		want := fmt.Sprintf("sha256=%s,%d", base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
		if name == record {
			want = ","
		}
		if _, ok := files[name]; !ok || rest != want {
			t.Errorf("%s: listed as %q, want %q", name, rest, want)
		}
		listed++
	}
	if listed != len(files) {
		t.Errorf("%d of %d files are listed", listed, len(files))
	}
}

// TestNames: versions of git as Python orders them, and platforms that have wheels.
func TestNames(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"v0.1.0": "0.1.0", "v0.1.0-12-g0abc": "0.1.0.post12+g0abc", "v0.1.0-dirty": "0.1.0+dirty", "v0.1.0-gabc-dirty": "0.1.0+gabc.dirty", "v0.2.0-rc.1": "0.2.0rc1", "v0.2.0-beta2-3-gabc": "0.2.0b2.post3+gabc", "v0.1.0-1-gabc-dirty": "0.1.0.post1+gabc.dirty",
		"a99b4da6": "0.0.0.dev0+a99b4da6", "a99b4da6-dirty": "0.0.0.dev0+a99b4da6.dirty", "devel": "0.0.0.dev0+devel", "": "0.0.0.dev0",
	} {
		if got := pep440(from); got != want {
			t.Errorf("%q: %s, want %s", from, got, want)
		}
	}
	if _, err := platformTag("plan9/386"); err == nil {
		t.Error("a wheel for plan9/386")
	}
}

package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
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
		"farread-1.2.3.post4+gabc.dist-info/METADATA":         "\nRequires-Dist: numpy>=",
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

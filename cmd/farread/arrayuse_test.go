package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/internal/teststack"
)

// TestPackNonsense: an option that makes no sense is refused with words that say what
// is wanted, and nothing is made.
func TestPackNonsense(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "a.npy"), filepath.Join(dir, "new/sub/a.b2nd")
	write(t, src, []byte(run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", "-", "--format", "npy")))
	for flags, want := range map[string]string{
		"--level -2":                           "want 0 to 9",
		"--level 10":                           "want 0 to 9",
		"--level few":                          "want 0 to 9",
		"--order F":                            "--order with them",
		"--order X":                            "--order with them",
		"--dtype <i2 --shape 101,87 --order X": "want C or F",
		"--chunk-shape 40000,40000":            "chunks of (40000, 40000) are larger than 1.0 GiB",
		"--block-shape 40000,40000":            "chunks of (40000, 40000) are larger than 1.0 GiB",
	} {
		r := runner{}.run(t, append([]string{"pack", src, dst}, strings.Fields(flags)...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d %q, want %q", flags, r.code, r.stderr, want)
		}
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("%d files", len(got))
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("a folder was left")
	}
}

// TestSliceIsNamedOnce: an error names the slice as it was given, once.
func TestSliceIsNamedOnce(t *testing.T) {
	t.Parallel()
	name := bloscDir + "/nd2.b2nd"
	for slice, want := range map[string]string{
		"x":    `slice: slice "x": x: want a slice such as 0:10, 5, ::2, ..., -1 (see: farread slice --help)`,
		"-999": "slice " + name + " [-999]: index -999 for axis 0 of length 101: index out of bounds",
	} {
		if r := (runner{}).run(t, "slice", name, slice); r.code != exitUsage || r.stderr != want+"\n" {
			t.Errorf("exit %d %q", r.code, r.stderr)
		}
	}
}

// TestSliceAsJSON: --json is for programs, also if people would be shown a table.
func TestSliceAsJSON(t *testing.T) {
	t.Parallel()
	var rows [][]int
	if got := run(t, "slice", bloscDir+"/nd2.b2nd", "3:5, :4", "--json"); json.Unmarshal([]byte(got), &rows) != nil || len(rows) != 2 || len(rows[0]) != 4 {
		t.Errorf("%q", got)
	}
	want := run(t, "slice", bloscDir+"/nd2.b2nd", "3:5, :4", "-o", "-", "--format", "csv")
	if got := run(t, "slice", bloscDir+"/nd2.b2nd", "3:5, :4", "--json", "--format", "csv"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMembersByDType: --dtype gives members to items that have none, and --field
// then picks one.
func TestMembersByDType(t *testing.T) {
	t.Parallel()
	want := run(t, "slice", bloscDir+"/nd2.b2nd", "3:5, :4", "-o", "-", "--format", "csv", "--dtype", "<i2")
	if got := run(t, "slice", bloscDir+"/nd2.b2nd", "3:5, :4", "-o", "-", "--format", "csv", "--dtype", "[('a', '<i2')]", "--field", "a"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSparseOverHTTP: the folder of a sparse frame may be named with its slash or
// without, for all answers of a server about folders.
func TestSparseOverHTTP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, p := range files(t, bloscDir+"/sparse_dir.b2nddir") {
		write(t, filepath.Join(dir, "x.b2nd", name), []byte(p))
	}
	want := run(t, "get", bloscDir+"/sparse_dir.b2nddir", "-o", "-")
	pages := http.FileServer(http.Dir(dir))
	for name, h := range map[string]http.HandlerFunc{
		"pages": pages.ServeHTTP,
		"none": func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, ".chunk") && !strings.HasSuffix(r.URL.Path, ".b2frame") {
				http.NotFound(w, r)
				return
			}
			pages.ServeHTTP(w, r)
		},
	} {
		srv := httptest.NewServer(h)
		for _, slash := range []string{"", "/"} {
			if got := run(t, "get", srv.URL+"/x.b2nd"+slash, "-o", "-"); got != want {
				t.Errorf("%s %q: %d bytes", name, slash, len(got))
			}
		}
		if r := (runner{}).run(t, "info", srv.URL+"/y.b2nd"); r.code != exitNotFound {
			t.Errorf("%s: exit %d %q", name, r.code, r.stderr)
		}
		srv.Close()
	}
}

// TestPackNamesOutput: an error about DST names the place of DST.
func TestPackNamesOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := filepath.Join(dir, "a.npy")
	write(t, src, []byte(run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", "-", "--format", "npy")))
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	for _, name := range []string{"/x.b2nd", "/x.b2frame"} {
		r := runner{}.run(t, "pack", src, srv.URL+name)
		if r.code != exitCorrupt || !strings.Contains(r.stderr, "a.npy: "+srv.URL+name+": ") {
			t.Errorf("exit %d %q", r.code, r.stderr)
		}
	}
}

// TestPackMemberInS3: the only member of a .npz goes to DST, also if the name of a
// worker's output of that upload would begin like DST.
func TestPackMemberInS3(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"uploads", "arrays"}})
	src := run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", "-", "--format", "npy")
	var npz bytes.Buffer
	z := zip.NewWriter(&npz)
	if w, err := z.Create("x.npy"); err != nil {
		t.Fatal(err)
	} else if _, err := io.WriteString(w, src); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	upload(t, "s3://uploads/d/a.npz", npz.Bytes())
	upload(t, "s3://uploads/d/a.npy", []byte(src))
	for _, name := range []string{"a.npz", "a.npy"} {
		dst := "s3://arrays/d/" + name + ".b2nd"
		var got arrayReport
		if err := json.Unmarshal([]byte(run(t, "pack", "s3://uploads/d/"+name, dst, "--json")), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Outputs) != 1 || got.Outputs[0] != dst || got.Bytes != 101*87*2 {
			t.Errorf("%+v", got)
		}
		if back := run(t, "slice", dst, ":", "-o", "-", "--format", "npy"); back != src {
			t.Errorf("%s: %d bytes back", name, len(back))
		}
	}
}

// TestGapsBetweenMembers: items of C structs come back unchanged, with their padding,
// and so does the type with its gaps.
func TestGapsBetweenMembers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"gap":    "{'names': ['a', 'b'], 'formats': ['|u1', '<f8'], 'offsets': [0, 8], 'itemsize': 16}",
		"end":    "{'names': ['f1', 'b'], 'formats': ['<i4', '>i2'], 'offsets': [0, 4], 'itemsize': 8}",
		"nested": "[('x', {'names': ['a'], 'formats': ['<i2'], 'offsets': [2], 'itemsize': 6}), ('y', '<i4')]",
	} {
		d, err := dtype.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for order, h := range map[string]npy.Header{"C": {DType: d, Shape: []int64{3, 5}}, "F": {DType: d, Shape: []int64{3, 5}, Fortran: true}} {
			file, err := npy.AppendHeader(nil, h)
			if err != nil {
				t.Fatal(err)
			}
			head := len(file)
			for i := range 15 * d.ItemSize() {
				file = append(file, byte(i*7))
			}
			note, err := npy.AppendNote(nil, npy.Note{DType: d, Shape: h.Shape, Fortran: h.Fortran})
			if err != nil {
				t.Fatal(err)
			}
			name := name + order
			write(t, at(name+".npy"), file)
			write(t, at(name+".raw"), file[head:])
			write(t, at(name+".raw.json"), note)
			for _, src := range []string{name + ".npy", name + ".raw"} {
				run(t, "pack", at(src), at(src+".b2nd"))
				run(t, "unpack", at(src+".b2nd"), at("back."+src))
			}
			after := files(t, dir)
			for _, src := range []string{name + ".npy", name + ".raw", name + ".raw.json"} {
				if after[src] != after["back."+src] {
					t.Errorf("%s: %q came back as %q", src, after[src][:60], after["back."+src][:60])
				}
			}
		}
	}
}

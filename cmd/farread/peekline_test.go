package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/internal/teststack"
)

func tarOf(t *testing.T, names []string, content func(i int) []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i, name := range names {
		p := content(i)
		err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(p)), Mode: 0o600})
		if err == nil {
			_, err = w.Write(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t *testing.T, p []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t *testing.T, p []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(p, nil)
}

// countedNames are names from 0 on.
func countedNames(format string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf(format, i))
	}
	return names
}

// An inputOf is what people have, and what info has to say of it.
type inputOf struct {
	name   string
	format string // that info says; "": a folder
	out    string // suffix of what the line makes
	says   string // what the text has
}

// havings writes what people have into a folder, one of each kind that pack takes.
func havings(t *testing.T, dir string) []inputOf {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	png, webp := imageOf(t, "photo.png"), imageOf(t, "photo.webp")
	pngs := tarOf(t, countedNames("clip/%03d.png", 4), func(int) []byte { return png })
	csv := []byte("time,temp_C,site\n2025-01-01,1.5,roof\n2025-01-02,2.5,roof\n2025-01-03,3,roof\n")
	writeNPY(t, at("a.npy"), "<f4", []int64{30, 20}, func(i int) float64 { return float64(i) })
	array := read(t, at("a.npy"))
	var sample []string
	for i := range 5 {
		sample = append(sample, fmt.Sprintf("%06d.jpg", i), fmt.Sprintf("%06d.cls", i), fmt.Sprintf("%06d.json", i))
	}
	parts := func(i int) []byte { return [][]byte{photo(t, i), []byte("7"), []byte(`{"a":1}`)}[i%3] }
	var wide []byte // UTF-16
	for _, c := range append([]byte{}, csv...) {
		wide = append(wide, c, 0)
	}
	list := []inputOf{{"a.npy", "npy", ".b2nd", "shape   (30, 20)"}}
	for _, x := range []struct {
		p []byte
		inputOf
	}{
		{zipOf(t, 2, func(i int) string { return fmt.Sprintf("m%d.npy", i) }, func(int) []byte { return array }), inputOf{"two.npz", "npz", "/", "m1: (30, 20) <f4"}},
		{waveOf(1), inputOf{"day.wav", "wav", ".zoom", "8,000 Hz"}},
		{csv, inputOf{"log.csv", "csv", ".zoom", "time: the times, from 2025-01-01T00:00:00Z"}},
		{csv, inputOf{"a file's log.csv", "csv", ".zoom", "temp_C: a track of f64"}},
		{csv, inputOf{"--odd.csv", "csv", ".zoom", "site: passed over"}},
		{append([]byte{0xff, 0xfe}, wide...), inputOf{"wide.csv", "csv", ".zoom", "rows     3"}},
		{bytes.ReplaceAll(csv, []byte{','}, []byte{'\t'}), inputOf{"log.tsv", "csv", ".zoom", "temp_C: a track"}},
		{csv, inputOf{"table.txt", "csv", ".zoom", "temp_C: a track"}},
		{gzipped(t, csv), inputOf{"log.csv.gz", "csv.gz", ".zoom", "temp_C: a track"}},
		{zstandard(t, csv), inputOf{"log.csv.zst", "csv.zst", ".zoom", "temp_C: a track"}},
		{[]byte("a,b\nx,y\nu,v\n"), inputOf{"words.csv", "text", ".blp", "no series: column \"a\""}},
		{[]byte("one\ntwo\n"), inputOf{"w.txt", "text", ".blp", "lines   2"}},
		{[]byte("one\ntwo\n"), inputOf{"w.log", "text", ".blp", "lines   2"}},
		{[]byte("{\"a\":1}\n{\"a\":2}\n"), inputOf{"e.jsonl", "jsonl", ".blp", "lines   2"}},
		{[]byte("{\"a\":1}\n{\"a\":2}\n"), inputOf{"e.ndjson", "ndjson", ".blp", `{"a":1}`}},
		{gzipped(t, []byte("{\"a\":1}\n")), inputOf{"e.jsonl.gz", "jsonl.gz", ".blp", "lines   1"}},
		{gzipped(t, []byte{1, 2, 0, 3}), inputOf{"bytes.gz", "gz", ".blp", "items   chunks"}},
		{photo(t, 1), inputOf{"p.jpg", "jpeg", ".gulp", "pixels"}},
		{png, inputOf{"p.png", "png", ".gulp", "pixels"}},
		{imageOf(t, "photo.gif"), inputOf{"p.gif", "gif", ".gulp", "pixels"}},
		{webp, inputOf{"p.webp", "webp", ".gulp", "pixels"}},
		{imageOf(t, "lossless.webp"), inputOf{"l.webp", "webp", ".gulp", "pixels"}},
		{imageOf(t, "alpha.webp"), inputOf{"x.webp", "webp", ".gulp", "pixels"}},
		{imageOf(t, "photo.avif"), inputOf{"p.avif", "avif", ".gulp", "pixels"}},
		{pngs, inputOf{"pngs.tar", "tar", ".gulp", "layout  clips"}},
		{gzipped(t, pngs), inputOf{"pngs.tar.gz", "tar.gz", ".gulp", "images  4"}},
		{gzipped(t, pngs), inputOf{"pngs.tgz", "tar.gz", ".gulp", "images  4"}},
		{zstandard(t, pngs), inputOf{"pngs.tar.zst", "tar.zst", ".gulp", "images  4"}},
		{tarOf(t, countedNames(strings.Repeat("long/", 25)+"%03d.png", 4), func(int) []byte { return png }), inputOf{"deep.tar", "tar", ".gulp", "long/003.png"}},
		{tarOf(t, sample, parts), inputOf{"wds.tar", "tar", ".gulp", "layout  webdataset"}},
		{tarOf(t, []string{"a.png", "b.pdf"}, func(int) []byte { return png }), inputOf{"mixed.tar", "tar", ".blp", "b.pdf goes into no gulp"}},
		{tarOf(t, []string{"a.txt", "b.bin"}, func(int) []byte { return []byte("x") }), inputOf{"files.tar", "tar", ".blp", "files   2"}},
		{zipOf(t, 4, func(i int) string { return fmt.Sprintf("%03d.webp", i) }, func(int) []byte { return webp }), inputOf{"webps.zip", "zip", ".gulp", "images    4"}},
		{zipOf(t, 2, func(i int) string { return fmt.Sprintf("%03d.txt", i) }, func(int) []byte { return []byte("x") }), inputOf{"files.zip", "zip", ".blp", "files     2"}},
		{testFile(t, "../../functions/zoom/testdata/realparquet/iowa-berlin-us.parquet"), inputOf{"iowa.parquet", "parquet", ".zoom", "the times (time"}},
		{testFile(t, "../../functions/zoom/testdata/realparquet/stocks-words.parquet"), inputOf{"stocks.pq", "parquet", ".zoom", "the times (text"}},
		{testFile(t, "../../functions/zoom/testdata/real/arch.data.crude.crude.csv.gz"), inputOf{"crude.csv.gz", "csv.gz", ".zoom", "the times"}},
		{testFile(t, "../../functions/zoom/testdata/real/vega_datasets._data.us-employment.csv"), inputOf{"us.csv", "csv", ".zoom", "the times"}},
	} {
		write(t, at(x.name), x.p)
		list = append(list, x.inputOf)
	}
	all := zarrFixtures(t)
	for name, x := range map[string]struct{ of, out, says string }{
		"three.zarr": {"separator / v3", ".b2nd", "chunks of"}, "two.zarr": {"separator . v2", ".b2nd", "chunks of"},
		"g3.zarr": {"group v3", "/", "chunks of"}, "g2.zarr": {"group consolidated v2", "/", "chunks of"},
	} {
		all[x.of].writeTo(t, at(name))
		list = append(list, inputOf{name, "zarr", x.out, x.says})
		write(t, at(name+".zip"), zipped(t, all[x.of].Objects, ""))
		list = append(list, inputOf{name + ".zip", "zarr", x.out, x.says})
	}
	for i, name := range []string{"anna", "ben", "carl", "dora", "emil"} {
		write(t, at("classes/cats/"+name+".jpg"), photo(t, i))
		write(t, at("classes/dogs/"+name+"y.png"), png)
		write(t, at("clips/beach/f"+fmt.Sprint(i)+".webp"), webp)
	}
	for i, name := range []string{"a.txt", "b.md", "deep/c.json"} {
		write(t, at("notes/"+name), []byte{'0' + byte(i)})
	}
	list = append(list, inputOf{"notes", "", ".blp", "notes.blp"})
	return append(list, inputOf{"classes", "", ".gulp", "layout   imagefolder"}, inputOf{"clips/", "", ".gulp", "layout   clips"})
}

// inShell runs a line as it is typed, in a folder.
func inShell(t *testing.T, dir, line string, env ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-c", `farread() { "$FARREAD" "$@"; }; `+line)
	c.Dir = dir
	c.Env = append(os.Environ(), append(env, asProgram+"=1", "FARREAD="+os.Args[0])...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s", line, err, out)
	}
}

// lineOf is the line that info says packs what a URI names, and its format.
func lineOf(t *testing.T, uri string) (line, format string) {
	t.Helper()
	r := runner{}.run(t, "info", "--json", "--", uri)
	var in struct {
		Format *string
		Pack   string
	}
	if err := json.Unmarshal([]byte(r.stdout), &in); err != nil || r.code != 0 {
		t.Errorf("info %s: exit %d: %s", uri, r.code, r.stderr)
		return "", ""
	}
	if in.Format != nil {
		format = *in.Format
	}
	return in.Pack, format
}

// packsAsTold runs the line that info says, in an empty folder, and returns what it has made.
func packsAsTold(t *testing.T, uri string, x inputOf) {
	t.Helper()
	line, format := lineOf(t, uri)
	if line == "" || format != x.format {
		t.Errorf("%s: %q, format %q, want %q", uri, line, format, x.format)
		return
	}
	dir := t.TempDir()
	inShell(t, dir, line)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(e os.DirEntry) bool { return e.IsDir() && x.out == "/" || strings.HasSuffix(e.Name(), x.out) })
	if i < 0 {
		t.Errorf("%s: %s made %v, want %s", uri, line, list, x.out)
		return
	}
	out := filepath.Join(dir, list[i].Name())
	if r := (runner{}).run(t, "ls", "--", out); r.code != 0 || strings.Count(r.stdout, "\n") < 2 {
		t.Errorf("%s: ls: exit %d %s%s", line, r.code, r.stdout, r.stderr)
	}
	if r := (runner{}).run(t, "info", "--", out); r.code != 0 || strings.Contains(r.stdout, "when it is packed") {
		t.Errorf("%s: info: exit %d %s%s", line, r.code, r.stdout, r.stderr)
	}
}

// TestInfoPacks: of each kind of thing that people have info says what it is, and the line that it
// says packs it does so.
func TestInfoPacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, x := range havings(t, dir) {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			uri := filepath.Join(dir, x.name)
			if strings.HasSuffix(x.name, "/") {
				uri += "/"
			}
			packsAsTold(t, uri, x)
			if text := run(t, "info", "--", uri); !strings.Contains(text, x.says) {
				t.Errorf("%s does not have %q", text, x.says)
			}
			if text := run(t, "ls", "--", uri); strings.Count(text, "\n") < 2 {
				t.Errorf("ls says nothing: %s", text)
			}
		})
	}
}

// TestInfoPacksHere: a name that looks like a flag, as info says it in its folder.
func TestInfoPacksHere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "--odd.csv"), []byte("time,x\n1,2\n2,3\n"))
	inShell(t, dir, `eval "$(farread info -- --odd.csv | sed -n 's/^pack *//p')"`)
	if got := run(t, "info", filepath.Join(dir, "--odd.zoom")); !strings.Contains(got, "zoomcache") {
		t.Error(got)
	}
}

// TestInfoPacksFar: what lies on a plain HTTP server and in S3 is told, and packed as told.
func TestInfoPacksFar(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"hold"}})
	dir := t.TempDir()
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	far := []string{"a.npy", "two.npz", "log.csv.gz", "p.png", "pngs.tar.gz", "wds.tar", "iowa.parquet", "e.jsonl", "three.zarr", "two.zarr", "g2.zarr", "g3.zarr.zip", "classes"}
	for _, x := range havings(t, dir) {
		if !slices.Contains(far, x.name) {
			continue
		}
		if x.name != "classes" { // a plain server lists nothing
			packsAsTold(t, web.URL+"/"+x.name, x)
		}
		err := filepath.WalkDir(filepath.Join(dir, x.name), func(name string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(dir, name)
				upload(t, "s3://hold/d/"+filepath.ToSlash(rel), read(t, name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		packsAsTold(t, "s3://hold/d/"+x.name, x)
	}
}

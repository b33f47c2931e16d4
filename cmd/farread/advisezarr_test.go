package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// zipOfFolder is a zip of a folder, as ZipStore makes it.
func zipOfFolder(t *testing.T, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: filepath.ToSlash(rel)})
		if err != nil {
			return err
		}
		_, err = w.Write(read(t, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestAdviseZarr: of Zarr what its clients take is told, to the byte, wherever it lies, and the line that packs it.
func TestAdviseZarr(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	weather(t, in("w.npy"), []int64{40, 30, 35})
	writeNPY(t, in("time.npy"), "<i8", []int64{40}, squares(0))
	write(t, in("time.json"), []byte(`{"units":"days since 2025-01-01"}`))
	run(t, "pack", in("w.npy"), in("g/w.b2nd"), "--chunk-shape", "1,30,35", "--dims", "time,lat,lon", "--coord", "time="+in("time.npy"), "--attrs", "time="+in("time.json"))
	run(t, "unpack", in("g/w.b2nd"), in("plain.zarr"))
	run(t, "unpack", in("g/w.b2nd"), in("shards.zarr"), "--shard", "10,30,35")
	run(t, "unpack", in("g/"), in("group.zarr"))
	write(t, in("plain.zarr.zip"), zipOfFolder(t, in("plain.zarr")))
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	size := func(name string) int64 { return int64(len(read(t, in(name)))) }
	all := int64(0)
	list, err := filepath.Glob(in("plain.zarr/c/*/0/0"))
	if err != nil || len(list) != 40 {
		t.Fatal(err, len(list))
	}
	for _, name := range list {
		all += int64(len(read(t, name)))
	}
	doc, shardDoc := size("plain.zarr/zarr.json"), size("shards.zarr/zarr.json")
	const index = 10*16 + 4 // of a shard, with its checksum
	for uri, want := range map[string][2]adviceCost{
		in("plain.zarr"):               {{Requests: 41, Phases: 2, Bytes: doc + all}, {Requests: 2, Phases: 2, Bytes: doc + size("plain.zarr/c/7/0/0")}},
		srv.URL + "/plain.zarr/":       {{Requests: 41, Phases: 2, Bytes: doc + all}, {Requests: 2, Phases: 2, Bytes: doc + size("plain.zarr/c/7/0/0")}},
		srv.URL + "/shards.zarr":       {{Requests: 45, Phases: 3, Bytes: shardDoc + 4*index + all}, {Requests: 3, Phases: 3, Bytes: shardDoc + index + size("plain.zarr/c/7/0/0")}},
		in("group.zarr/w"):             {{Requests: 41, Phases: 2, Bytes: size("group.zarr/w/zarr.json") + all}, {Requests: 2, Phases: 2, Bytes: size("group.zarr/w/zarr.json") + size("plain.zarr/c/7/0/0")}},
		in("group.zarr") + " --member": {{Requests: 41, Phases: 2, Bytes: size("group.zarr/w/zarr.json") + all}, {Requests: 2, Phases: 2, Bytes: size("group.zarr/w/zarr.json") + size("plain.zarr/c/7/0/0")}},
	} {
		args := []string{uri, ":, 5, 5", "7"}
		if name, ok := strings.CutSuffix(uri, " --member"); ok {
			args = []string{name, ":, 5, 5", "time=2025-02-19", "--member", "w"}
		}
		a := adviceOf(t, args...)
		now := a.Shapes[0]
		for i, w := range want {
			if r := now.Reads[i].adviceCost; r.Requests != w.Requests || r.Phases != w.Phases || r.Bytes != w.Bytes || now.Estimated {
				t.Errorf("%s: %+v, want %+v", uri, r, w)
			}
		}
		if a.Stored != all || a.NBytes != 4*40*30*35 {
			t.Errorf("%s: %d bytes stored, want %d", uri, a.Stored, all)
		}
	}
	if a := adviceOf(t, in("plain.zarr.zip"), "7"); a.Stored != all || a.Shapes[0].Reads[0].Requests < 2 {
		t.Errorf("%+v", a)
	}
	for uri, want := range map[string]string{
		"https://host/a/x.zarr/sub/t": "farread pack https://host/a/x.zarr/sub/t t-cubes.b2nd --for cubes",
		"s3://b/a/x.zarr/":            "farread pack s3://b/a/x.zarr/ s3://b/a/x-cubes.b2nd --for cubes",
		"s3://b/x.zarr.zip":           "farread pack s3://b/x.zarr.zip s3://b/x-cubes.b2nd --for cubes",
		"file:///d/x.zarr/t":          "farread pack file:///d/x.zarr/t /d/t-cubes.b2nd --for cubes",
		"https://host/x.zarr.zip?a=1": "farread pack 'https://host/x.zarr.zip?a=1' x-cubes.b2nd --for cubes",
	} {
		if got := zarrPackLine(uri, "", "cubes"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	refused(t, exitUsage, "name one with --member", "advise", in("group.zarr"), "0")
	refused(t, exitUsage, "it has no coordinate in its group", "advise", in("group.zarr"), "lat=3", "--member", "w")
	refused(t, exitUsage, "--member is for a group of Zarr", "advise", in("g/w.b2nd"), "0", "--member", "w")
	refused(t, exitNotFound, "member nothing", "advise", in("group.zarr"), "0", "--member", "nothing")
	if err := os.Truncate(in("shards.zarr/c/0/0/0"), 3); err != nil {
		t.Fatal(err)
	}
	refused(t, exitCorrupt, `chunk "c/0/0/0"`, "advise", in("shards.zarr"), "0")
}

// TestAdviseZarrSampled: of an array of many chunks some are asked, and the rest is an estimate.
func TestAdviseZarrSampled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	weather(t, in("w.npy"), []int64{100, 20, 20})
	run(t, "pack", in("w.npy"), in("w.b2nd"), "--chunk-shape", "1,20,20")
	run(t, "unpack", in("w.b2nd"), in("w.zarr"))
	files := http.FileServer(http.Dir(dir))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") == "" {
			t.Errorf("%s without a range", r.URL)
		}
		files.ServeHTTP(w, r)
	}))
	defer srv.Close()
	got := run(t, "advise", srv.URL+"/w.zarr", ":, 3, 3")
	if !strings.Contains(got, "by the lengths of 64 chunks") || !strings.Contains(got, "(1, 20, 20)    none               ~101") {
		t.Error(got)
	}
	list, err := filepath.Glob(in("w.zarr/c/*/0/0"))
	if err != nil {
		t.Fatal(err)
	}
	all := int64(0)
	for _, name := range list {
		all += int64(len(read(t, name)))
	}
	if a := adviceOf(t, in("w.zarr"), ":, 3, 3"); float64(a.Stored) < 0.95*float64(all) || float64(a.Stored) > 1.05*float64(all) || !a.Shapes[0].Estimated {
		t.Errorf("%d bytes, want about %d", a.Stored, all)
	}
	// The line is the one to type, and makes what it says.
	if err := os.Mkdir(in("g"), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "cp", in("w.b2nd"), in("g/w.b2nd"))
	run(t, "unpack", in("g")+"/", in("group.zarr"))
	a := adviceOf(t, in("group.zarr"), ":, 3, 3", "--member", "w")
	want := "farread pack " + in("group.zarr") + " " + in("w-"+a.Better+".b2nd") + " --member w --for " + a.Better
	if a.Better == "" || a.Pack != want {
		t.Fatalf("%q, want %q", a.Pack, want)
	}
	run(t, strings.Fields(a.Pack)[1:]...)
	if b := adviceOf(t, in("w-"+a.Better+".b2nd"), ":, 3, 3"); b.Shapes[0].All.Requests > 6 || b.Better != "" {
		t.Errorf("%+v", b.Shapes[0])
	}
}

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/internal/teststack"
)

// A zarrFixture is a hierarchy that zarr-python wrote: see formats/zarr/testdata.
type zarrFixture struct {
	Name    string
	Objects map[string][]byte
	SHA256  string
	Arrays  map[string]string
}

func zarrFixtures(t *testing.T) map[string]zarrFixture {
	t.Helper()
	f, err := os.Open("../../formats/zarr/testdata/zarr.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]zarrFixture{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var x zarrFixture
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		out[x.Name] = x
	}
	return out
}

// writeTo writes the objects below a folder.
func (x zarrFixture) writeTo(t *testing.T, dir string) {
	t.Helper()
	for key, p := range x.Objects {
		file := filepath.Join(dir, filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, file, p)
	}
}

func itemsSum(t *testing.T, uri string) string {
	t.Helper()
	h := sha256.Sum256([]byte(run(t, "get", uri, "-o", "-")))
	return hex.EncodeToString(h[:])
}

// TestPackZarr: arrays and groups from a folder, a part of one, a plain HTTP server and a zip,
// each with the items of NumPy; what does not fit is refused and leaves nothing.
func TestPackZarr(t *testing.T) {
	t.Parallel()
	all, dir := zarrFixtures(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for file, name := range map[string]string{"a.zarr": "shards index start", "two.zarr": "blosc lz4 shuffle v2", "g.zarr": "group v2", "c.zarr": "group consolidated v3", "s.zarr": "refused variable text v3"} {
		all[name].writeTo(t, in(file))
	}
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	write(t, in("z.zarr.zip"), zipped(t, all["shards index end"].Objects, ""))
	write(t, in("f.zarr.zip"), zipped(t, all["group v3"].Objects, "g.zarr/"))
	for _, src := range []string{in("a.zarr"), in("a.zarr") + "/", srv.URL + "/a.zarr", srv.URL + "/a.zarr/", in("two.zarr"), srv.URL + "/two.zarr", in("z.zarr.zip"), srv.URL + "/z.zarr.zip"} {
		name := "shards index end"
		if strings.Contains(src, "two") {
			name = "blosc lz4 shuffle v2"
		}
		for _, flags := range [][]string{nil, {"--chunk-shape", "5,7", "--block-shape", "5,3"}} {
			run(t, append([]string{"pack", src, in("x.b2nd"), "--force"}, flags...)...)
			if itemsSum(t, in("x.b2nd")) != all[name].SHA256 {
				t.Errorf("%s %v: other items", src, flags)
			}
		}
	}
	for i, src := range []string{in("g.zarr"), in("c.zarr"), srv.URL + "/c.zarr", in("f.zarr.zip")} {
		out := in("out" + string(rune('0'+i)))
		run(t, "pack", src, out+"/")
		for p, want := range all["group v2"].Arrays {
			if itemsSum(t, out+"/"+p+".b2nd") != want {
				t.Errorf("%s, %s: other items", src, p)
			}
		}
	}
	run(t, "pack", in("g.zarr/sub/u"), in("u.b2nd"))
	run(t, "pack", in("g.zarr"), in("u2.b2nd"), "--member", "sub/u")
	if a, b := files(t, dir)["u.b2nd"], files(t, dir)["u2.b2nd"]; a != b || a == "" {
		t.Error("a part of a group is not its member")
	}
	for args, code := range map[string]int{
		in("g.zarr") + "|" + in("no.b2nd"):                         exitUsage,
		in("a.zarr") + "|" + in("no.b2nd") + "|--member|t":         exitUsage,
		in("a.zarr") + "|" + in("no.b2nd") + "|--dtype|<f4":        exitUsage,
		in("g.zarr") + "|" + in("no.b2nd") + "|--member|v":         exitNotFound,
		in("s.zarr") + "|" + in("no.b2nd"):                         exitCorrupt,
		in("none.zarr") + "|" + in("no.b2nd"):                      exitNotFound,
		in("a.zarr") + "|" + in("no.zoom"):                         exitUsage,
		in("a.zarr") + "|" + in("u.b2nd"):                          exitChanged,
		srv.URL + "/g.zarr" + "|" + in("no") + "/|--format|b2nd":   exitCorrupt,
		srv.URL + "/g.zarr?a=1|" + in("no") + "/|--format|b2nd":    exitUsage,
		in("a.zarr") + "|" + in("no.b2nd") + "|--chunk-shape|5,0":  exitUsage,
		in("z.zarr.zip") + "|" + in("no.b2nd") + "|--member|a/b/c": exitUsage,
	} {
		r := runner{}.run(t, append([]string{"pack"}, strings.Split(args, "|")...)...)
		if r.code != code || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, want %d: %s", args, r.code, code, r.stderr)
		}
	}
	if left, _ := filepath.Glob(in("no*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestZarrLies: of a chunk that is cut short the key is named, and there is no output.
func TestZarrLies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := zarrFixtures(t)["zstd crc32c v3"]
	x.Objects["c/1/1"] = x.Objects["c/1/1"][:20]
	x.writeTo(t, filepath.Join(dir, "x.zarr"))
	r := runner{}.run(t, "pack", filepath.Join(dir, "x.zarr"), filepath.Join(dir, "x.b2nd"))
	if r.code != exitCorrupt || !strings.Contains(r.stderr, `chunk "c/1/1"`) {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "x.b2nd")); err == nil {
		t.Error("an output is there")
	}
}

func zipped(t *testing.T, objects map[string][]byte, folder string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	n := 0
	for key, p := range objects {
		method := zip.Store
		if n++; n%2 == 0 {
			method = zip.Deflate
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: folder + key, Method: method})
		if err == nil {
			_, err = w.Write(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestUnpackZarr: what comes out goes in again as it was, in shards too; what is there stays
// unless --force says otherwise, and then nothing of it stays.
func TestUnpackZarr(t *testing.T) {
	t.Parallel()
	all, dir := zarrFixtures(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, name := range []string{"names", "shards bare", "fill <f4 v3", "nothing v3", "0-d v3", "type M8[25s] v3", "type >f4 v2", "type U3 v2", "no chunks v3"} {
		all[name].writeTo(t, in("x.zarr"))
		run(t, "pack", in("x.zarr"), in("x.b2nd"), "--force", "--quiet") // of absent chunks it is said
		run(t, "unpack", in("x.b2nd"), in("y.zarr"), "--force")
		run(t, "pack", in("y.zarr"), in("y.b2nd"), "--force", "--quiet")
		// Types of version 3 have no byte order.
		if itemsSum(t, in("y.b2nd")) != all[name].SHA256 && !strings.Contains(name, ">") {
			t.Errorf("%s: other items", name)
		}
		if name == "names" {
			if x, y := run(t, "info", in("x.b2nd"), "--json"), run(t, "info", in("y.b2nd"), "--json"); layers(t, x) != layers(t, y) {
				t.Errorf("%s is not %s", x, y)
			}
		}
		if err := os.RemoveAll(in("x.zarr")); err != nil {
			t.Fatal(err)
		}
	}
	all["names"].writeTo(t, in("x.zarr"))
	run(t, "pack", in("x.zarr"), in("x.b2nd"), "--force")
	run(t, "unpack", in("x.b2nd"), in("s.zarr"), "--shard", "6,8")
	if got := slices.Sorted(maps.Keys(files(t, in("s.zarr")))); strings.Join(got, " ") != "c/0/0 c/0/1 c/1/0 c/1/1 zarr.json" {
		t.Errorf("%v", got)
	}
	if err := os.Mkdir(in("empty.zarr"), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "unpack", in("x.b2nd"), in("empty.zarr"))
	if err := os.Mkdir(in("other.zarr"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, in("other.zarr/mine.txt"), []byte("mine"))
	write(t, in("file.zarr"), []byte("mine"))
	for args, code := range map[string]int{
		"s.zarr": exitChanged, "other.zarr": exitChanged, "other.zarr|--force": exitUsage, "file.zarr|--force": exitChanged,
		"new.zarr|--shard|5,8": exitUsage, "new.zarr|--shard|6": exitUsage, "new.npy|--shard|6,8": exitUsage, "new.nc": exitUsage, "new.h5": exitUsage,
	} {
		a := strings.Split(args, "|")
		r := runner{}.run(t, append([]string{"unpack", in("x.b2nd"), in(a[0])}, a[1:]...)...)
		if r.code != code {
			t.Errorf("%s: exit %d, want %d: %s", args, r.code, code, r.stderr)
		}
	}
	run(t, "unpack", in("x.b2nd"), in("s.zarr"), "--force")
	if got := files(t, in("s.zarr")); len(got) != 10 {
		t.Errorf("%v", slices.Sorted(maps.Keys(got)))
	}
	if left, _ := filepath.Glob(in(".farread*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func layers(t *testing.T, info string) string {
	t.Helper()
	var x struct {
		VLMetalayers map[string][]byte `json:"vlmetalayers"`
	}
	if err := json.Unmarshal([]byte(info), &x); err != nil || len(x.VLMetalayers["farread"]) == 0 {
		t.Fatal(info, err)
	}
	return string(x.VLMetalayers["farread"])
}

// TestZarrInS3: a prefix of a bucket goes in, to a bucket, in few phases.
func TestZarrInS3(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"hold", "arrays"}})
	all := zarrFixtures(t)
	for name, x := range map[string]zarrFixture{"a.zarr": all["shards index end"], "g.zarr": all["group v3"], "two.zarr": all["separator . v2"]} {
		for key, p := range x.Objects {
			upload(t, "s3://hold/d/"+name+"/"+key, p)
		}
	}
	for name, want := range map[string]struct {
		sum              string
		requests, phases int64
	}{
		"a.zarr": {all["shards index end"].SHA256, 19, 3}, "two.zarr": {all["separator . v2"].SHA256, 16, 3},
	} {
		st := stats(t, "pack", "s3://hold/d/"+name, "s3://arrays/"+name+".b2nd")
		if itemsSum(t, "s3://arrays/"+name+".b2nd") != want.sum {
			t.Errorf("%s: other items", name)
		}
		if st.Requests > want.requests || st.Phases > want.phases {
			t.Errorf("%s: %d requests in %d phases, at most %d in %d", name, st.Requests, st.Phases, want.requests, want.phases)
		}
	}
	run(t, "pack", "s3://hold/d/g.zarr", "s3://arrays/g/", "--format", "b2nd")
	for p, sum := range all["group v3"].Arrays {
		if itemsSum(t, "s3://arrays/g/"+p+".b2nd") != sum {
			t.Errorf("%s: other items", p)
		}
	}
	// What the group is takes its index: one request besides the listings of the folder.
	for _, args := range []string{"info", "ls"} {
		if st := stats(t, args, "s3://arrays/g/"); st.Requests > 6 || st.Phases > 3 { // three or four find out that it is a folder
			t.Errorf("%s: %+v", args, st)
		}
	}
	if text := run(t, "ls", "s3://arrays/g/"); strings.Count(text, "<") != len(all["group v3"].Arrays) {
		t.Error(text)
	}
}

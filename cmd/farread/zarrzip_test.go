package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/internal/teststack"
)

// TestZipOfZarr: a zip whose name does not tell that it holds Zarr is found by what is in it, at its top or in its only
// folder, by info, pack and advise, also in S3, by few requests; other zips are what they were.
func TestZipOfZarr(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"zips"}})
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	items := make([]byte, 8<<20)
	random := rand.NewChaCha8([32]byte{1})
	if _, err := random.Read(items); err != nil {
		t.Fatal(err)
	}
	array := map[string][]byte{"zarr.json": []byte(`{"zarr_format":3,"node_type":"array","shape":[8388608],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1048576]}},` +
		`"chunk_key_encoding":"default","fill_value":0,"codecs":["bytes"]}`)}
	for i := range 8 {
		array[fmt.Sprintf("c/%d", i)] = items[i<<20 : (i+1)<<20]
	}
	doc := []byte(`{"zarr_format":3,"node_type":"group"}`)
	group := map[string][]byte{"__MACOSX/zarr.json": nil, "data/g.zarr/zarr.json": doc, "data/g.zarr/sub/zarr.json": doc}
	for key, p := range array {
		group["data/g.zarr/sub/t/"+key] = p
	}
	write(t, in("c.zip"), zippedInOrder(t, array))
	write(t, in("d.ZIP"), zippedInOrder(t, group))
	for _, name := range []string{"c.zip", "d.ZIP"} {
		run(t, "cp", in(name), "s3://zips/"+name)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(items))
	for _, x := range []struct{ zip, out, flag, says, what string }{
		{"c.zip", "x.b2nd", "", "zarr in a zip", "|u1 (8388608,), chunks of (1048576,)"},
		{"d.ZIP", "x/", "--format=b2nd", "zarr in a zip", "sub/t |u1 (8388608,), chunks of (1048576,)"},
	} {
		for _, src := range []string{in(x.zip), "s3://zips/" + x.zip} {
			if text := run(t, "info", src); !strings.Contains(text, x.says) || !strings.Contains(text, x.what) {
				t.Errorf("%s: %s", src, text)
			}
			args := []string{"pack", src, in(x.out), "--force"}
			if x.flag != "" {
				args = append(args, x.flag)
			}
			r := runner{}.run(t, args...)
			if r.code != 0 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "is a zip of Zarr, a") {
				t.Errorf("%s: exit %d: %s", src, r.code, r.stderr)
			}
			out := in(x.out)
			if strings.HasSuffix(x.out, "/") {
				out = in("x/sub/t.b2nd")
			}
			if itemsSum(t, out) != sum {
				t.Errorf("%s: other items", src)
			}
		}
		// The directory once for what a zip has, and once for Zarr; a chunk is one request.
		if i := stats(t, "info", "s3://zips/"+x.zip); i.Requests > 4 || i.Bytes > 512<<10 || i.Phases > 3 {
			t.Errorf("info of %s: %d requests, %d bytes", x.zip, i.Requests, i.Bytes)
		} else {
			t.Logf("info of %s: %d requests, %d bytes, %d phases", x.zip, i.Requests, i.Bytes, i.Phases)
		}
		args := []string{"pack", "s3://zips/" + x.zip, in(x.out), "--force", "--quiet"}
		if x.flag != "" {
			args = append(args, x.flag)
		}
		// Of them one looks at what --force replaces.
		if p := stats(t, args...); p.Requests > 16 || p.Bytes > 9<<20 || p.Phases > 3 {
			t.Errorf("pack of %s: %d requests, %d bytes", x.zip, p.Requests, p.Bytes)
		} else {
			t.Logf("pack of %s: %d requests, %d bytes, %d phases", x.zip, p.Requests, p.Bytes, p.Phases)
		}
	}
	if a := adviceOf(t, "s3://zips/c.zip", "7"); a.Stored != 8<<20 || a.Shapes[0].Reads[0].Requests > 5 {
		t.Errorf("%+v", a)
	}

	// Zarr beside something else, and what is called like it only, is none.
	write(t, in("two.zip"), zippedInOrder(t, map[string][]byte{"a/zarr.json": array["zarr.json"], "b/zarr.json": array["zarr.json"]}))
	write(t, in("text.zip"), zippedInOrder(t, map[string][]byte{"a.txt": []byte("text")}))
	write(t, in("bad.zip"), zippedInOrder(t, map[string][]byte{"zarr.json": []byte(`{"zarr_format":3,"node_type":"array"}`)}))
	write(t, in("cut.zip"), zippedInOrder(t, array)[:1<<20])
	for name, says := range map[string]string{"two.zip": "npz: ", "text.zip": "npz: ", "bad.zip": "zarr: zarr.json: ", "cut.zip": "zip: "} {
		r := runner{}.run(t, "pack", in(name), in("no.b2nd"))
		if r.code != exitCorrupt || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, says) {
			t.Errorf("%s: exit %d: %s", name, r.code, r.stderr)
		}
	}
	if text := run(t, "info", in("text.zip")); !strings.Contains(text, "a.txt") {
		t.Error(text)
	}
	if _, err := os.Stat(in("no.b2nd")); err == nil {
		t.Error("there is an output")
	}
}

// zippedInOrder is a zip of files in the order of their names, stored as they are.
func zippedInOrder(t *testing.T, objects map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: key})
		if err == nil {
			_, err = w.Write(objects[key])
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

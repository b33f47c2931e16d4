package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/internal/teststack"
)

// TestForceKeeps: with --force an output that was made of something else stays until its
// successor is complete, also at the key that a worker would use.
func TestForceKeeps(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	lines := strings.Repeat("{\"a\":1}\n", 50_000)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(lines)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a.npy")
	npyFile(t, name, "<i4", []int64{100_000}, false, make([]byte, 400_000))
	array, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, suffix string
		good, late   []byte // late fails when some of it was read
	}{
		{"a.tar", ".gulp", photosTar(t), photosTar(t)[:len(photosTar(t))/2]},
		{"a.npy", ".b2nd", array, array[:len(array)/2]},
		{"a.jsonl.gz", ".blp", packed.Bytes(), packed.Bytes()[:packed.Len()/2]},
		{"a.csv", ".zoom", []byte("time,v\n0,1\n1,2\n"), []byte("time,v\n0,1\n1,2\n2,\"")},
	} {
		first := filepath.Join(t.TempDir(), c.name)
		write(t, first, c.good)
		upload(t, "s3://uploads/"+c.name, c.late)
		for _, dst := range []string{"s3://datasets/" + c.name + c.suffix, "s3://datasets/other" + c.suffix} {
			run(t, "pack", first, dst)
			if r := (runner{}).run(t, "pack", "s3://uploads/"+c.name, dst, "--force"); r.code == 0 {
				t.Fatalf("%s: packed in spite of all: %s", dst, r.stdout)
			}
			run(t, "verify", dst)
		}
		upload(t, "s3://uploads/"+c.name, c.good)
		for _, dst := range []string{"s3://datasets/" + c.name + c.suffix, "s3://datasets/other" + c.suffix} {
			if r := (runner{}).run(t, "pack", "s3://uploads/"+c.name, dst); r.code != exitChanged {
				t.Errorf("%s without --force: %d %s", dst, r.code, r.stderr)
			}
			run(t, "pack", "s3://uploads/"+c.name, dst, "--force")
			run(t, "verify", dst)
		}
		if got := run(t, "pack", "s3://uploads/"+c.name, "s3://datasets/"+c.name+c.suffix); !strings.HasPrefix(got, "unchanged") {
			t.Errorf("%s again: %s", c.name, got)
		}
	}
}

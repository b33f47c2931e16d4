package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestZarrLinks: arrays and groups behind links in a store are packed like others; a link that is
// dead, leads out of the store, or to a group that it lies in, is named, and never the fill value.
func TestZarrLinks(t *testing.T) {
	t.Parallel()
	all, dir := zarrFixtures(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	link := func(to, name string) {
		if err := os.Symlink(filepath.FromSlash(to), in(name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	array := all["shards index end"]
	write(t, in("g.zarr/zarr.json"), []byte(`{"zarr_format":3,"node_type":"group"}`))
	write(t, in("g.zarr/sub/zarr.json"), []byte(`{"zarr_format":3,"node_type":"group"}`))
	array.writeTo(t, in("g.zarr/sub/t"))
	array.writeTo(t, in("outside"))
	link("sub/t", "g.zarr/linked")
	link("sub", "g.zarr/group")
	link("..", "g.zarr/sub/cycle")
	link("../outside", "g.zarr/out")
	link("nothing", "g.zarr/dead")
	r := runner{}.run(t, "pack", in("g.zarr"), in("o/"), "--format", "b2nd")
	if r.code != 0 {
		t.Fatal(r.stderr)
	}
	for _, name := range []string{"linked", "group/t", "sub/t"} {
		if itemsSum(t, in("o/"+name+".b2nd")) != array.SHA256 {
			t.Errorf("%s: other items", name)
		}
	}
	info := run(t, "info", in("g.zarr"))
	for _, what := range []string{
		"out is left out: zarr: a symbolic link that leads out of the folder", "dead is left out: zarr: a symbolic link to what is not there",
		"sub/cycle is left out: zarr: a symbolic link to a folder that it lies in", "group/cycle is left out: zarr: a symbolic link to a folder that it lies in",
	} {
		if !strings.Contains(r.stderr, what) || !strings.Contains(info, what) {
			t.Errorf("no %q in %s%s", what, r.stderr, info)
		}
	}
	if n := strings.Count(r.stderr, "\n"); n != 4 {
		t.Errorf("%d lines: %s", n, r.stderr)
	}
	run(t, "pack", in("g.zarr/out"), in("out.b2nd")) // named, it is followed

	fails := func(what, src string, args ...string) {
		t.Helper()
		r := runner{}.run(t, append([]string{"pack", src, in("no.b2nd")}, args...)...)
		if r.code == 0 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, what) {
			t.Errorf("%s: exit %d: %s", src, r.code, r.stderr)
		}
		if _, err := os.Stat(in("no.b2nd")); err == nil {
			t.Errorf("%s: there is an output", src)
		}
	}
	fails("out: zarr: a symbolic link that leads out", in("g.zarr"), "--member", "out")
	fails("dead is a symbolic link to what is not there", in("g.zarr/dead"))
	array.writeTo(t, in("f.zarr"))
	if err := os.Remove(in("f.zarr/c/0/0")); err != nil {
		t.Fatal(err)
	}
	write(t, in("f.zarr/c/0/0/0"), nil) // an axis more than the metadata say
	fails(`chunk "c/0/0": `, in("f.zarr"))
	for _, to := range []string{"nothing", in("kept")} { // a dead chunk, and one that is outside
		array.writeTo(t, in("d.zarr"))
		if err := os.Rename(in("d.zarr/c/0/0"), in("kept")); err != nil {
			t.Fatal(err)
		}
		link(to, "d.zarr/c/0/0")
		fails(`chunk "c/0/0": `, in("d.zarr"))
		if err := os.RemoveAll(in("d.zarr")); err != nil {
			t.Fatal(err)
		}
	}
}

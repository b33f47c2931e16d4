package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// zarrV2 writes a group as xarray leaves it in version 2: each array one chunk of int64 along time, and the times themselves.
func zarrV2(t *testing.T, dir string, n int, time func(i int) float64, names ...string) {
	t.Helper()
	write := func(name string, text any) {
		p, err := json.Marshal(text)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), p)
	}
	for _, name := range append([]string{""}, names...) {
		write(filepath.Join(filepath.Dir(name), ".zgroup"), map[string]any{"zarr_format": 2})
	}
	for _, name := range append(names, "time") {
		write(name+"/.zarray", map[string]any{"zarr_format": 2, "shape": []int{n}, "chunks": []int{n}, "dtype": "<i8", "order": "C", "compressor": nil, "filters": nil, "fill_value": nil})
		write(name+"/.zattrs", map[string]any{"_ARRAY_DIMENSIONS": []string{"time"}})
		npy := filepath.Join(t.TempDir(), "x.npy")
		writeNPY(t, npy, "<i8", []int64{int64(n)}, time)
		p := read(t, npy)
		if err := os.WriteFile(filepath.Join(dir, name, "0"), p[len(p)-8*n:], 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForceGroupKeeps: --force of a group leaves the coordinates of arrays that are not of the group as they are; one that has
// more of the same is welcome.
func TestForceGroupKeeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	const n = 9000 // times 8 bytes: more than the layer takes
	later := func(i int) float64 { return squares(0)(i) + float64(i%2) }
	zarrV2(t, in("g.zarr"), n, squares(0), "a", "sub/b")
	zarrV2(t, in("g2.zarr"), n, later, "a")
	zarrV2(t, in("long.zarr"), n+500, squares(0), "a")
	zarrV2(t, in("short.zarr"), n-1, squares(0), "a")
	run(t, "pack", in("g.zarr"), in("v3/"), "--format", "b2nd")
	run(t, "unpack", in("v3/"), in("v3.zarr")) // version 3 of it

	for _, src := range []string{"g.zarr", "v3.zarr"} {
		set := strings.TrimSuffix(src, ".zarr") + "-set"
		run(t, "pack", in(src), in(set+"/"), "--format", "b2nd")
		npy, when := days(t, dir, "w", n, squares(0))
		run(t, "pack", npy, in(set+"/w.b2nd"), "--dims", "time,x", "--coord", "time="+when)
		item := func(array string, i int) string {
			return run(t, "slice", in(set+"/"+array+".b2nd"), fmt.Sprintf("time=%d", int(squares(0)(i))))
		}
		was := item("w", 77)
		before := files(t, in(set))
		for _, more := range []string{"g2.zarr", "short.zarr"} {
			refused(t, exitChanged, set+"/w.b2nd finds its items along time by time.b2nd, which has other ones: --force does not replace that", "pack", "--force", in(more), in(set+"/"), "--format", "b2nd")
			if !maps.Equal(files(t, in(set)), before) {
				t.Fatal("a refused group has changed the folder")
			}
		}
		// The times of w alone, or of a alone.
		_, other := days(t, dir, "other", n, later)
		for _, name := range []string{"a", "w"} {
			args := []string{"pack", "--force", npy, in(set + "/" + name + ".b2nd"), "--dims", "time,x", "--coord", "time=" + other}
			refused(t, exitChanged, "finds its items along time by time.b2nd", args...)
		}
		if !maps.Equal(files(t, in(set)), before) {
			t.Fatal("a refused array has changed the folder")
		}
		run(t, "pack", "--force", in(src), in(set+"/"), "--format", "b2nd") // the same times
		run(t, "pack", "--force", in("long.zarr"), in(set+"/"), "--format", "b2nd")
		if item("w", 77) != was || item("a", n+499) != fmt.Sprintf("%d\n", int(squares(0)(n+499))) {
			t.Errorf("%q %q", item("w", 77), item("a", n+499))
		}
		// If nobody else names them, they go.
		if err := os.Remove(in(set + "/w.b2nd")); err != nil {
			t.Fatal(err)
		}
		run(t, "pack", "--force", in("g2.zarr"), in(set+"/"), "--format", "b2nd")
		if got := run(t, "slice", in(set+"/a.b2nd"), "time=10"); got != "10\n" { // 3 * 3 + 1
			t.Errorf("%q", got)
		}
	}
	for _, set := range []string{"g-set", "v3-set"} {
		if names := slices.Sorted(maps.Keys(files(t, in(set)))); !slices.Equal(names, []string{"a.b2nd", "farread.group.json", "sub/b.b2nd", "time.b2nd"}) {
			t.Errorf("%v", names)
		}
	}
}

// TestForceMembersKeep: the same for the members of a .npz, and a hint that --force does not keep is not given.
func TestForceMembersKeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	const n = 9000
	npy, when := days(t, dir, "w", n, squares(0))
	_, other := days(t, dir, "other", n, squares(1))
	run(t, "pack", npy, in("set/w.b2nd"), "--dims", "time,x", "--coord", "time="+when)
	for name, time := range map[string]string{"same.npz": when, "other.npz": other} {
		write(t, in(name), zipped(t, map[string][]byte{"v.npy": read(t, npy), "time.npy": read(t, time)}, ""))
	}
	run(t, "pack", "--force", in("same.npz"), in("set/"), "--format", "b2nd")
	refused(t, exitChanged, "finds its items along time", "pack", "--force", in("other.npz"), in("set/"), "--format", "b2nd")
	r := runner{}.run(t, "pack", npy, in("set/x.b2nd"), "--dims", "time,x", "--coord", "time="+other)
	if r.code != exitChanged || strings.Contains(r.stderr, "--force") || !strings.Contains(r.stderr, "is not replaced as a coordinate: pack into another folder") {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
}

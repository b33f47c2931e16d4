package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats/groupindex"
)

// a groupFile is the zarr.json of a group.
type groupFile struct {
	Attributes   map[string]json.RawMessage
	Consolidated struct {
		Metadata map[string]struct {
			Node  string   `json:"node_type"`
			Shape []int64  `json:"shape"`
			Dims  []string `json:"dimension_names"`
			Attrs map[string]json.RawMessage
			Grid  struct {
				Configuration struct {
					Shape []int64 `json:"chunk_shape"`
				}
			} `json:"chunk_grid"`
		}
	} `json:"consolidated_metadata"`
}

func readGroup(t *testing.T, dir string) (g groupFile) {
	t.Helper()
	p, err := os.ReadFile(filepath.Join(dir, "zarr.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(p, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestUnpackGroup: a group that was packed comes out as a group again, with the same items under the
// same paths, and its attributes; several arrays become one group, with the coordinates of their layers as arrays.
func TestUnpackGroup(t *testing.T) {
	t.Parallel()
	all, dir := zarrFixtures(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	all["group v2"].writeTo(t, in("g.zarr"))
	run(t, "pack", in("g.zarr"), in("g/"), "--format", "b2nd")
	run(t, "unpack", in("g/"), in("h.zarr"))
	run(t, "pack", in("h.zarr"), in("h/"), "--format", "b2nd")
	got := readGroup(t, in("h.zarr"))
	for p, want := range all["group v2"].Arrays {
		if itemsSum(t, in("h/"+p+".b2nd")) != want {
			t.Errorf("%s: other items", p)
		}
		if got.Consolidated.Metadata[p].Node != "array" || len(got.Consolidated.Metadata[p].Dims) != len(got.Consolidated.Metadata[p].Shape) {
			t.Errorf("%s: %+v", p, got.Consolidated.Metadata[p])
		}
	}
	if got.Consolidated.Metadata["sub"].Node != "group" {
		t.Errorf("%v", slices.Sorted(maps.Keys(got.Consolidated.Metadata)))
	}

	write(t, in("t.raw"), make([]byte, 4*12*5))
	write(t, in("time.raw"), ramp(12))
	run(t, "pack", in("time.raw"), in("time.b2nd"), "--dtype", "<i8", "--shape", "12")
	run(t, "unpack", in("time.b2nd"), in("time.npy"))
	meta := []string{"--dtype", "<f4", "--shape", "12,5", "--chunk-shape", "4,5", "--block-shape", "2,5", "--dims", "time,x", "--coord", "time=" + in("time.npy")}
	run(t, append([]string{"pack", in("t.raw"), in("a/t.b2nd")}, meta...)...)
	run(t, append([]string{"pack", in("t.raw"), in("b/u.b2nd")}, meta...)...)
	run(t, "unpack", in("a/t.b2nd"), in("b/u.b2nd"), in("both.zarr"), "--shard", "7,5")
	got = readGroup(t, in("both.zarr"))
	if names := slices.Sorted(maps.Keys(got.Consolidated.Metadata)); !slices.Equal(names, []string{"t", "time", "u"}) {
		t.Fatal(names)
	}
	if u := got.Consolidated.Metadata["u"]; !slices.Equal(u.Grid.Configuration.Shape, []int64{8, 5}) || !slices.Equal(u.Dims, []string{"time", "x"}) {
		t.Errorf("%+v", u)
	}
	run(t, "pack", in("both.zarr/time"), in("back.b2nd"))
	if itemsSum(t, in("back.b2nd")) != itemsSum(t, in("time.b2nd")) {
		t.Error("other coordinates")
	}
	run(t, "unpack", in("a/t.b2nd"), in("one.zarr"), "--group")
	if n := len(readGroup(t, in("one.zarr")).Consolidated.Metadata); n != 2 {
		t.Errorf("%d arrays", n)
	}
	run(t, append([]string{"pack", in("t.raw"), in("c/t.b2nd")}, "--dtype", "<f4", "--shape", "10,6", "--dims", "time,x")...)
	write(t, in("text.txt"), []byte("text\n"))
	run(t, "pack", in("text.txt"), in("text.blp"))
	for args, code := range map[string]int{
		"a/t.b2nd|c/t.b2nd|no.zarr":                      exitUsage, // one name
		"b/u.b2nd|c/t.b2nd|no.zarr":                      exitUsage, // other lengths of time
		"a/t.b2nd|b/u.b2nd|no.npy":                       exitUsage,
		"a/t.b2nd|b/u.b2nd|both.zarr":                    exitChanged,
		"a/t.b2nd|b/u.b2nd|no.zarr|--shard|1,2,3":        exitUsage,
		"a/t.b2nd|text.blp|no.zarr":                      exitCorrupt,
		"a/t.b2nd|none.b2nd|no.zarr":                     exitNotFound,
		"a/t.b2nd|b/u.b2nd|no.zarr|--group|--shard|0,10": exitUsage,
	} {
		var list []string
		for a := range strings.SplitSeq(args, "|") {
			if strings.Contains(a, ".") {
				a = in(a)
			}
			list = append(list, a)
		}
		if r := (runner{}).run(t, append([]string{"unpack"}, list...)...); r.code != code || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, want %d: %s", args, r.code, code, r.stderr)
		}
	}
	if left, _ := filepath.Glob(in("no*.zarr")); len(left) > 1 {
		t.Errorf("left %v", left)
	}
}

// ramp are n int64.
func ramp(n int) []byte {
	p := make([]byte, 8*n)
	for i := range n {
		p[8*i] = byte(3 * i)
	}
	return p
}

// TestGroupIndexOf: pack writes the index of a group last, info and ls tell what it says, and index makes it anew
// when an array has been replaced; until then it is not used of that, which is said.
func TestGroupIndexOf(t *testing.T) {
	t.Parallel()
	all, dir := zarrFixtures(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	all["group v3"].writeTo(t, in("g.zarr"))
	run(t, "pack", in("g.zarr"), in("g/"), "--format", "b2nd")
	var info struct {
		Arrays []zarrArrayInfo
		Stale  []string
		Attrs  map[string]json.RawMessage
	}
	read := func() string {
		r := runner{}.run(t, "info", in("g/"), "--json")
		info.Arrays, info.Stale = nil, nil
		if err := json.Unmarshal([]byte(r.stdout), &info); err != nil || r.code != 0 {
			t.Fatal(err, r.stderr)
		}
		return r.stderr
	}
	if text := read(); text != "" || len(info.Arrays) != len(all["group v3"].Arrays) || len(info.Stale) > 0 {
		t.Fatalf("%s %+v", text, info)
	}
	if r := (runner{}).run(t, "index", in("g/")); !strings.Contains(r.stdout, "up to date") {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	name := info.Arrays[0].Name
	write(t, in("t.raw"), make([]byte, 40))
	run(t, "pack", in("t.raw"), in("g/"+name), "--dtype", "<f4", "--shape", "10", "--force")
	text := read()
	if !strings.Contains(text, "not used of 1 array") || !strings.Contains(text, name) || !slices.Equal(info.Stale, []string{name}) || len(info.Arrays) != len(all["group v3"].Arrays)-1 {
		t.Errorf("%s %+v", text, info)
	}
	run(t, "index", in("g/"))
	if text := read(); text != "" || info.Arrays[0].DType != "<f4" || len(info.Stale) > 0 {
		t.Errorf("%s %+v", text, info)
	}
	write(t, in("g/"+groupindex.Name), []byte("{"))
	if text := read(); !strings.Contains(text, "not used: ") || len(info.Arrays) > 0 {
		t.Errorf("%s %+v", text, info)
	}
	run(t, "index", in("g/"))
	if text := read(); text != "" {
		t.Error(text)
	}
}

// TestGroupIndexAttrs: index gives a group attributes, which the next index keeps.
func TestGroupIndexAttrs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	write(t, in("x.raw"), make([]byte, 40))
	write(t, in("about.json"), []byte(`{"title":"a group"}`))
	write(t, in("list.json"), []byte(`[1]`))
	run(t, "pack", in("x.raw"), in("g/x.b2nd"), "--dtype", "<f4", "--shape", "10")
	for _, flags := range [][]string{{"--attrs", in("about.json")}, {"--force"}} {
		run(t, append([]string{"index", in("g/")}, flags...)...)
		if got := run(t, "info", in("g/"), "--json"); !strings.Contains(got, `"title":"a group"`) {
			t.Errorf("%q: %s", flags, got)
		}
	}
	for file, uri := range map[string]string{"about.json": "g/x.b2nd", "list.json": "g/", "none.json": "g/"} {
		if r := (runner{}).run(t, "index", in(uri), "--attrs", in(file)); r.code == 0 || !strings.Contains(r.stderr, "attr") && !strings.Contains(r.stderr, file) {
			t.Errorf("%s: %d %s", file, r.code, r.stderr)
		}
	}
}

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestZarrAbsent: how many chunks are not there is told once, for an array, a group, a shard and an append, and by --json;
// of a store that is whole nothing is said.
func TestZarrAbsent(t *testing.T) {
	t.Parallel()
	all, dir := zarrFixtures(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	all["shards index end"].writeTo(t, in("whole.zarr"))
	all["shards with missing inner chunks"].writeTo(t, in("inner.zarr"))
	all["no chunks v3"].writeTo(t, in("none.zarr"))
	g := all["group v3"]
	delete(g.Objects, "t/c/1/2")
	delete(g.Objects, "sub/u/c/0/0")
	delete(g.Objects, "sub/u/c/0/1")
	g.writeTo(t, in("g.zarr"))
	told := func(args ...string) (out, remark string) {
		r := runner{}.run(t, args...)
		if r.code != 0 {
			t.Fatalf("%q: exit %d %s", args, r.code, r.stderr)
		}
		return r.stdout, strings.ReplaceAll(r.stderr, dir+string(filepath.Separator), "")
	}
	const are = " are not there, and their items are the fill value"
	for _, c := range []struct {
		args           []string
		source, absent int64
		want           string
	}{
		{[]string{"pack", in("whole.zarr"), in("a.b2nd")}, 25, 0, ""},
		{[]string{"pack", in("none.zarr"), in("n.b2nd")}, 9, 9, "none.zarr: 9 of 9 chunks" + are + "\n"},
		{[]string{"pack", in("none.zarr"), in("n2.b2nd"), "--chunk-shape", "2,2"}, 9, 9, "none.zarr: 9 of 9 chunks" + are + "\n"},
		{[]string{"pack", in("none.zarr"), in("n3.b2nd"), "--quiet"}, 9, 9, ""},
		{[]string{"pack", in("g.zarr"), in("g/"), "--format", "b2nd"}, 18, 3, "g.zarr: 3 of 18 chunks" + are + ": sub/u 2 of 9, t 1 of 9\n"},
		{[]string{"pack", in("g.zarr"), in("u.b2nd"), "--member", "sub/u"}, 9, 2, "g.zarr: 2 of 9 chunks" + are + ": sub/u 2 of 9\n"},
		{[]string{"pack", "--append", in("none.zarr"), in("n.b2nd")}, 9, 9, "none.zarr: 9 of 9 chunks" + are + "\n"},
	} {
		out, remark := told(append(c.args, "--json")...)
		var x struct {
			Source *int64 `json:"source_chunks"`
			Absent *int64 `json:"absent_chunks"`
		}
		if err := json.Unmarshal([]byte(out), &x); err != nil || x.Source == nil || x.Absent == nil || *x.Source != c.source || *x.Absent != c.absent || remark != c.want {
			t.Errorf("%q: %s %q, want %d of %d, %q; %v", c.args[1:], out, remark, c.absent, c.source, c.want, err)
		}
	}
	if _, remark := told("pack", in("inner.zarr"), in("i.b2nd")); strings.Count(remark, "\n") != 1 || !strings.HasPrefix(remark, "inner.zarr: ") || !strings.HasSuffix(remark, are+"\n") {
		t.Error(remark)
	}
	writeNPY(t, in("a.npy"), "<i8", []int64{3}, func(i int) float64 { return float64(i) })
	if out := run(t, "pack", in("a.npy"), in("npy.b2nd"), "--json"); strings.Contains(out, "chunks") {
		t.Errorf("what is no Zarr: %s", out)
	}
}

// TestZarrKeeps: names of axes that are odd, twice or not there, whole numbers beyond 64 bits, items with members and raw bytes
// go in and come out again; what is not kept as it is, is told.
func TestZarrKeeps(t *testing.T) {
	t.Parallel()
	all, dir := zarrFixtures(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	long := all["names v2"]
	long.Objects = maps.Clone(long.Objects)
	long.Objects[".zattrs"] = []byte(`{"_ARRAY_DIMENSIONS":["time","x"],"n":1180591620717411303424,"m":[{"k":-9223372036854775809}],"u":18446744073709551615}`)
	for name, c := range map[string]struct {
		x            zarrFixture
		remark, dims string
	}{
		"odd":     {all["names odd"], `axis 2 has no name and becomes "dim_2"`, "a=b, c|p/q|dim_2|wind speed"},
		"null":    {all["a name missing"], `axis 1 has no name and becomes "dim_1"`, "time|dim_1"},
		"twice":   {all["names twice v2"], `axis 1 is called "x", as another one is, and becomes "x_1"`, "x|x_1"},
		"long":    {long, "whole numbers beyond 64 bits become floats: m: -9223372036854775809, n: 1180591620717411303424", "time|x"},
		"members": {all["members v2"], "", ""},
		"filled":  {all["members fill v2"], "2 of 9 chunks are not there", ""},
		"three":   {all["members v3"], "", ""},
		"raw":     {all["raw v2"], "", ""},
	} {
		src, out, back := in(name+".zarr"), in(name+".b2nd"), in(name+".back.zarr")
		c.x.writeTo(t, src)
		r := runner{}.run(t, "pack", src, out)
		if r.code != 0 || c.remark == "" && r.stderr != "" || !strings.Contains(r.stderr, c.remark) && name != "filled" {
			t.Fatalf("%s: exit %d %s", name, r.code, r.stderr)
		}
		if itemsSum(t, out) != c.x.SHA256 {
			t.Errorf("%s: other items", name)
		}
		run(t, "unpack", out, back)
		again := in(name + ".again.b2nd")
		run(t, "pack", back, again, "--quiet")
		if itemsSum(t, again) != c.x.SHA256 {
			t.Errorf("%s: other items at the end", name)
		}
		for _, file := range []string{out, again} {
			var info struct {
				Dims  []string
				DType string
			}
			if err := json.Unmarshal([]byte(run(t, "info", file, "--json")), &info); err != nil || strings.Join(info.Dims, "|") != c.dims {
				t.Errorf("%s: %+v %v", file, info, err)
			}
		}
		if strings.HasPrefix(name, "m") || name == "raw" || name == "three" {
			refused(t, exitCorrupt, "of which zarr-python reads no shards", "unpack", out, in("no.zarr"), "--shard", "3,4")
		}
	}
	// In a group the others get their shards.
	remark := runner{}.run(t, "unpack", in("raw.b2nd"), in("null.b2nd"), in("both.zarr"), "--shard", "6,8")
	if remark.code != 0 || !strings.Contains(remark.stderr, "raw.b2nd: is written without shards: zarr-python reads none of |V4") {
		t.Errorf("exit %d %s", remark.code, remark.stderr)
	}
	for name, want := range map[string]bool{"raw": false, "null": true} {
		if p, err := os.ReadFile(filepath.Join(in("both.zarr"), name, "zarr.json")); err != nil || strings.Contains(string(p), "sharding_indexed") != want {
			t.Errorf("%s: %s %v", name, p, err)
		}
	}
}

// TestZarrQuotedName: an axis whose name has what separates names and labels is selected by its name in quotes.
func TestZarrQuotedName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	doc := func(shape, name string) []byte {
		return []byte(`{"zarr_format":3,"node_type":"array","shape":` + shape + `,"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":` + shape + `}},` +
			`"chunk_key_encoding":"default","fill_value":0,"codecs":["bytes"],"dimension_names":` + name + `}`)
	}
	g := zarrFixture{Objects: map[string][]byte{
		"zarr.json":   []byte(`{"zarr_format":3,"node_type":"group","attributes":{}}`),
		"t/zarr.json": doc("[3]", `["a=b, c"]`), "t/c/0": {5, 6, 7},
		"a=b, c/zarr.json": doc("[3]", `["a=b, c"]`), "a=b, c/c/0": {10, 20, 30},
		"u/zarr.json": doc("[3]", `[".."]`), "u/c/0": {1, 2, 3}, // no coordinate, wherever it leads
	}}
	g.writeTo(t, in("g.zarr"))
	run(t, "pack", in("g.zarr"), in("g")+"/", "--format", "b2nd")
	if got := run(t, "slice", in("g/t.b2nd"), `'a=b, c'=20:30`, "--format", "json"); strings.TrimSpace(got) != "[6,7]" {
		t.Error(got)
	}
	if got := run(t, "advise", in("g.zarr"), `"a=b, c"=20`, "--member", "t", "--json"); !strings.Contains(got, "returned") {
		t.Error(got)
	}
	refused(t, exitUsage, "dimensions are 'a=b, c'", "slice", in("g/t.b2nd"), "a=20")
	if got := slices.Sorted(maps.Keys(files(t, in("g")))); !slices.Equal(got, []string{"a=b, c.b2nd", "farread.group.json", "t.b2nd", "u.b2nd"}) {
		t.Errorf("%q", got)
	}
}

package bloscpack_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
)

// TestContents: what metadata tell of the source of items. Lists longer than the file
// can have items take no memory.
func TestContents(t *testing.T) {
	long := strings.Repeat(`,""`, 100_000)
	for meta, want := range map[string]bloscpack.Contents{
		`{"container":"files","names":["a","b","c"],"sizes":[1,2,3]}`: {Kind: bloscpack.KindFiles, Names: []string{"a", "b", "c"}, Sizes: []int64{1, 2, 3}},
		`{"container":"records","prefix":"u32le"}`:                    {Kind: bloscpack.KindRecords, Prefix: "u32le"},
		`{"container":"files","names":[""` + long + `]}`:              {Kind: bloscpack.KindFiles, Names: make([]string, 4)},
		`{"container":"files","names":7}`:                             {Kind: bloscpack.KindFiles},
		`{"container":["files"]}`:                                     {},
		`["files"]`:                                                   {},
	} {
		f := open(t, write(t, bloscpack.WriteOptions{Variable: true, Metadata: json.RawMessage(meta)}, records(3)), bloscpack.Options{})
		got := f.Contents()
		if d := cmp.Diff(want, got); d != "" || cap(got.Names) > 100 {
			t.Errorf("%.60s (-want +got):\n%s", meta, d)
		}
		if named := len(want.Names) == 3; named != (f.Names() != nil) {
			t.Errorf("%.60s: names %q", meta, f.Names())
		}
	}
}

// TestRepair: the whole chunks become a file of the same kind.
func TestRepair(t *testing.T) {
	items := records(12)
	names := make([]string, len(items))
	for i := range names {
		names[i] = fmt.Sprintf("%02d", i)
	}
	meta := map[string]any{"container": "files", "names": names, "shape": []int{len(items)}, "other": "kept"}
	for _, o := range []bloscpack.WriteOptions{{Variable: true, Metadata: meta}, {Variable: true}, {ChunkSize: 100, Metadata: map[string]any{"a": 1}}} {
		file := write(t, o, items)
		f := open(t, file, bloscpack.Options{})
		want, err := collect(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		const lost = 5
		e, err := f.Entry(t.Context(), lost)
		if err != nil {
			t.Fatal(err)
		}
		bad := bytes.Clone(file)
		bad[e.Off+e.CBytes] ^= 1 // its checksum
		for _, p := range [][]byte{file, bad} {
			var out output
			var last, total int64
			r, err := open(t, p, bloscpack.Options{}).Repair(t.Context(), &out, func(done, all int64) {
				if done <= last {
					t.Errorf("progress: %d after %d", done, last)
				}
				last, total = done, all
			})
			if err != nil || r.Aborted || last > total || last == 0 {
				t.Fatalf("%+v, %v, progress %d of %d", r, err, last, total)
			}
			is := slices.Clone(want)
			if r.Lost > 0 {
				is = slices.Delete(is, lost, lost+1)
			}
			g := open(t, out.b, bloscpack.Options{})
			got, err := collect(t.Context(), g)
			if err != nil || !bytes.Equal(bytes.Join(got, nil), bytes.Join(is, nil)) || (r.Stop == nil) != (r.Lost == 0) || r.Chunks != int64(len(is)) {
				t.Errorf("%d chunks, want %d: %+v, %v", len(got), len(is), r, err)
			}
			if o.Variable && o.Metadata != nil {
				have := slices.Clone(names)
				if r.Lost > 0 {
					have = slices.Delete(have, lost, lost+1)
				}
				if d := cmp.Diff(have, g.Names()); d != "" || !bytes.Contains(g.Metadata(), []byte(`"kept"`)) {
					t.Errorf("%s (-want +got):\n%s", g.Metadata(), d)
				}
			}
		}
	}
}

// TestRepairOfWhatMoved: names and shapes that fit the saved chunks by chance alone are
// not taken for theirs.
func TestRepairOfWhatMoved(t *testing.T) {
	for name, c := range map[string]struct {
		o    bloscpack.WriteOptions
		lost int64
	}{
		"an item without a name": {bloscpack.WriteOptions{Variable: true,
			Metadata: json.RawMessage(`{"container":"files","names":["a","b","c","d","e"]}`)}, 2},
		"an append that did not end": {bloscpack.WriteOptions{Version: 3, ChunkSize: 100, MaxAppend: bloscpack.NoAppend,
			Metadata: json.RawMessage(`{"container":"numpy","dtype":"'|u1'","shape":[980],"order":"C"}`)}, 1},
	} {
		items := records(6)
		if !c.o.Variable {
			items = records(4)
		}
		file := write(t, c.o, items)
		e, err := open(t, file, bloscpack.Options{}).Entry(t.Context(), c.lost)
		if err != nil {
			t.Fatal(err)
		}
		file[e.Off+e.CBytes] ^= 1 // its checksum
		if !c.o.Variable {
			binary.LittleEndian.PutUint64(file[16:], math.MaxUint64) // the number of chunks is not known
		}
		var out output
		r, err := open(t, file, bloscpack.Options{}).Repair(t.Context(), &out, nil)
		if err != nil || r.Lost == 0 {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		g := open(t, out.b, bloscpack.Options{})
		if _, is, err := g.Array(); is || err != nil || g.Names() != nil || !bytes.Contains(g.Metadata(), []byte(`"salvaged"`)) {
			t.Errorf("%s: %s, names %q, an array: %t, %v", name, g.Metadata(), g.Names(), is, err)
		}
	}
}

// TestRepairNothing: a file without a whole chunk is an error, and nothing is left.
func TestRepairNothing(t *testing.T) {
	file := write(t, bloscpack.WriteOptions{Variable: true}, records(3)[2:])
	f := open(t, file, bloscpack.Options{})
	e, err := f.Entry(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	file[e.Off+e.CBytes] ^= 1
	var out output
	if _, err := open(t, file, bloscpack.Options{}).Repair(t.Context(), &out, nil); !errors.Is(err, formats.ErrCorrupt) || len(out.b) > 0 {
		t.Errorf("%d bytes, %v", len(out.b), err)
	}
}

package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBlpRepair: the whole chunks are saved in a file of the same kind.
func TestBlpRepair(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var items []string
	for i := range 50 {
		items = append(items, strings.Repeat(fmt.Sprintf("item %d,", i), 1+i%7))
	}
	names, err := json.Marshal(numbered(50))
	if err != nil {
		t.Fatal(err)
	}
	meta := fmt.Sprintf(`{"container":"files","dtype":"bytes","shape":[50],"names":%s,"sizes":%s}`, names, sizesOf(items))
	name := makeBlp(t, filepath.Join(dir, "x.blp"), meta, items...)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rows := lines[chunkLine](t, run(t, "ls", name, "--json"))
	damage := func(i int) []byte {
		p := []byte(string(whole))
		p[*rows[i].Offset+17] ^= 1
		return p
	}
	unfinished := []byte(string(whole))
	table := *rows[0].Offset - 8*50
	for i := range 8 * int64(50) {
		unfinished[table+i] = 0xff
	}
	for _, tc := range []struct {
		what string
		data []byte
		lost []int
		code int // of verify
	}{
		{"nothing wrong", whole, nil, exitOK},
		{"a damaged item", damage(17), []int{17}, exitCorrupt},
		{"the first damaged", damage(0), []int{0}, exitCorrupt},
		{"cut short", whole[:*rows[48].Offset+5], []int{48, 49}, exitCorrupt},
		{"aborted", unfinished, nil, exitCorrupt},
		{"bytes put between", []byte(string(whole[:*rows[45].Offset+3]) + "and more" + string(whole[*rows[45].Offset+3:])), []int{45, 46, 47, 48, 49}, exitCorrupt},
	} {
		bad, out := filepath.Join(dir, "bad.blp"), filepath.Join(t.TempDir(), "out.blp")
		write(t, bad, tc.data)
		if r := (runner{}).run(t, "verify", bad); r.code != tc.code {
			t.Errorf("%s: verify: exit %d, want %d: %s", tc.what, r.code, tc.code, r.stderr)
		}
		if text := run(t, "verify", bad, "--repair", out); !strings.Contains(text, fmt.Sprintf("saved %d items", 50-len(tc.lost))) {
			t.Errorf("%s: %q", tc.what, text)
		}
		run(t, "verify", out)
		var rep repaired
		if err := json.Unmarshal([]byte(run(t, "verify", bad, "--repair", out, "--force", "--json")), &rep); err != nil {
			t.Fatal(err)
		}
		if rep.Saved != int64(50-len(tc.lost)) || rep.Lost == nil || *rep.Lost != int64(len(tc.lost)) || (rep.Wrong == "") != (tc.code == exitOK) || rep.Output != out {
			t.Errorf("%s: %+v", tc.what, rep)
		}
		want := map[string]string{}
		for i, p := range items {
			want[fmt.Sprintf("%02d", i)] = p
		}
		for _, i := range tc.lost {
			delete(want, fmt.Sprintf("%02d", i))
		}
		dst := filepath.Join(t.TempDir(), "files")
		run(t, "unpack", out, dst)
		if d := cmp.Diff(want, files(t, dst)); d != "" {
			t.Errorf("%s (-want +got):\n%.500s", tc.what, d)
		}
		if r := (runner{}).run(t, "verify", bad, "--repair", out); r.code != exitChanged {
			t.Errorf("%s: over a file that is there: exit %d: %s", tc.what, r.code, r.stderr)
		}
	}
}

// TestBlpRepairNames: a file keeps its name only if the name is surely its own.
func TestBlpRepairNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var items []string
	for i := range 20 {
		items = append(items, strings.Repeat(fmt.Sprintf("file %d,", i), 1+i%3))
	}
	text, err := json.Marshal(numbered(20))
	if err != nil {
		t.Fatal(err)
	}
	name := makeBlp(t, filepath.Join(dir, "x.blp"), fmt.Sprintf(`{"container":"files","names":%s}`, text), items...)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rows := lines[chunkLine](t, run(t, "ls", name, "--json"))
	uncounted := func(p []byte) []byte {
		p = []byte(string(p))
		binary.LittleEndian.PutUint64(p[16:], ^uint64(0))
		return p
	}
	untold := uncounted(whole) // the table does not tell where the chunks lie either
	for i := *rows[0].Offset - 8*20; i < *rows[0].Offset; i++ {
		untold[i] = 0xff
	}
	damaged := func(p []byte) []byte {
		p = []byte(string(p))
		copy(p[*rows[9].Offset:], "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
		return p
	}
	for _, tc := range []struct {
		what  string
		data  []byte
		lost  []int
		names bool
	}{
		{"cut short, and not counted", uncounted(whole)[:*rows[17].Offset+5], []int{17, 18, 19}, true},
		{"not counted", uncounted(whole), nil, true},
		{"one damaged, of those that the table tells of", damaged(whole), []int{9}, true},
		{"one damaged, of those that nothing tells of", damaged(untold), []int{9}, false},
	} {
		bad, out, dst := filepath.Join(dir, "bad.blp"), filepath.Join(t.TempDir(), "out.blp"), filepath.Join(t.TempDir(), "files")
		write(t, bad, tc.data)
		run(t, "verify", bad, "--repair", out)
		run(t, "unpack", out, dst)
		want := map[string]string{}
		for i, p := range items {
			switch {
			case slices.Contains(tc.lost, i):
			case tc.names:
				want[fmt.Sprintf("%02d", i)] = p
			default:
				want[strconv.Itoa(len(want))] = p
			}
		}
		if d := cmp.Diff(want, files(t, dst)); d != "" {
			t.Errorf("%s (-want +got):\n%.500s", tc.what, d)
		}
	}
}

func numbered(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%02d", i))
	}
	return out
}

func sizesOf(items []string) string {
	sizes := make([]int, len(items))
	for i, p := range items {
		sizes[i] = len(p)
	}
	text, _ := json.Marshal(sizes) // numbers
	return string(text)
}

// TestBlpRepairFixtures: repair makes a good file of a file in any state, or says why
// not and leaves nothing.
func TestBlpRepairFixtures(t *testing.T) {
	t.Parallel()
	for _, x := range append(blpFixtures(t, "bloscpack"), blpFixtures(t, "malformed")...) {
		dir := t.TempDir()
		uri, out := blpDir+"/"+x.File, filepath.Join(dir, "out.blp")
		r := runner{}.run(t, "verify", uri, "--repair", out)
		if r.code == 0 {
			run(t, "verify", out)
		}
		switch {
		case r.code != 0 && (r.code != exitCorrupt || x.Kind != "malformed" || len(files(t, dir)) != 0):
			t.Errorf("%s: exit %d: %s", x.File, r.code, r.stderr)
		case x.Kind == "malformed" || !x.complete():
		case run(t, "get", uri, "-o", "-") != run(t, "get", out, "-o", "-"):
			t.Errorf("%s: other bytes", x.File)
		case x.NpySHA256 != "" && sumOf(run(t, "get", out, "-o", "-")) != x.SHA256:
			t.Errorf("%s: no array any more", x.File)
		}
		var a, b blpFixture
		if r.code != 0 || !x.complete() || x.Kind == "malformed" {
			continue
		}
		for name, v := range map[string]*blpFixture{uri: &a, out: &b} {
			if err := json.Unmarshal([]byte(run(t, "info", name, "--json")), v); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%s: info (-damaged +repaired):\n%s", x.File, d)
		}
	}
}

// TestBlpRepairArray: an array without all of its chunks is no array any more, and its
// old metadata stay readable.
func TestBlpRepairArray(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := os.ReadFile(blpDir + "/nd_i4_2d.blp")
	if err != nil {
		t.Fatal(err)
	}
	bad, out := filepath.Join(dir, "bad.blp"), filepath.Join(dir, "out.blp")
	write(t, bad, p[:len(p)-40])
	run(t, "verify", bad, "--repair", out)
	run(t, "verify", out)
	check := func(nbytes int64) {
		var got struct {
			Metadata struct {
				Salvaged struct{ Container string }
			}
			NBytes int64
			Shape  []int64
		}
		if err := json.Unmarshal([]byte(run(t, "info", out, "--json")), &got); err != nil {
			t.Fatal(err)
		}
		if got.Shape != nil || got.Metadata.Salvaged.Container != "numpy" || got.NBytes != nbytes {
			t.Errorf("%+v", got)
		}
	}
	check(5 * 4096)
	p[16]++ // one chunk more than there are, and than the array has
	write(t, bad, p)
	run(t, "verify", bad, "--repair", out, "--force")
	run(t, "verify", out)
	check(24000)
	before := files(t, dir)
	for _, tc := range []struct {
		code int
		args string
		say  string
	}{
		{2, "verify|" + bad + "|--force", "--force goes with --repair"},
		{2, "verify|" + bad + "|--repair|" + dir + "/", "is a folder"},
		{2, "verify|" + bloscDir + "/nd2.b2nd|--repair|" + dir + "/n", "--repair is for Bloscpack files"},
		{7, "verify|" + blpDir + "/bad_nchunks_-7.blp|--repair|" + dir + "/n", "-7 chunks"},
	} {
		r := runner{}.run(t, strings.Split(tc.args, "|")...)
		if r.code != tc.code || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, tc.say) {
			t.Errorf("%s: exit %d: %s", tc.args, r.code, r.stderr)
		}
	}
	if d := cmp.Diff(before, files(t, dir)); d != "" {
		t.Errorf("left (-before +after):\n%s", d)
	}
}

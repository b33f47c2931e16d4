package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/objstore"
)

// makeBlp writes a Bloscpack file of items with some metadata, "" for none.
func makeBlp(t *testing.T, name, metadata string, items ...string) string {
	t.Helper()
	o := bloscpack.WriteOptions{Variable: true, Encode: blosc.EncodeOptions{TypeSize: 1}}
	if metadata != "" {
		o.Metadata = json.RawMessage(metadata)
	}
	return writeBlp(t, name, o, func(w *bloscpack.Writer) error {
		for _, p := range items {
			if err := w.WriteItem([]byte(p)); err != nil {
				return err
			}
		}
		return nil
	})
}

func writeBlp(t *testing.T, name string, o bloscpack.WriteOptions, fill func(w *bloscpack.Writer) error) string {
	t.Helper()
	b, key, err := farread.New(farread.Config{NoHedge: true}).Bucket(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.Create(t.Context(), key, objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	w, err := bloscpack.NewWriter(out, o)
	if err == nil {
		err = fill(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		_, err = out.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestBlpUnpack: each kind of container becomes its source again.
func TestBlpUnpack(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("7 bytes", 100_000)
	for i, tc := range []struct {
		metadata string
		items    []string
		dst      string
		want     map[string]string // below dst; "" if dst is a file
	}{
		{`{"container":"lines","final_newline":true}`, []string{"a", "", "b\r", long}, "x.log", map[string]string{"": "a\n\nb\r\n" + long + "\n"}},
		{`{"container":"lines","final_newline":false}`, []string{"a", "b"}, "x", map[string]string{"": "a\nb"}},
		{`{"container":"lines","final_newline":false}`, nil, "x", map[string]string{"": ""}},
		{`{"container":"jsonl","final_newline":true,"x":1}`, []string{"{}"}, "x.jsonl", map[string]string{"": "{}\n"}},
		{`{"container":"records","prefix":"u32le"}`, []string{"ab", ""}, "x", map[string]string{"": "\x02\x00\x00\x00ab\x00\x00\x00\x00"}},
		{`{"container":"records","prefix":"u32be"}`, []string{"ab"}, "x", map[string]string{"": "\x00\x00\x00\x02ab"}},
		{`{"container":"records","prefix":"u64le"}`, []string{"ab"}, "x", map[string]string{"": "\x02\x00\x00\x00\x00\x00\x00\x00ab"}},
		{`{"container":"records","prefix":"u64be"}`, []string{"ab"}, "x", map[string]string{"": "\x00\x00\x00\x00\x00\x00\x00\x02ab"}},
		{`{"container":"records","prefix":"varint"}`, []string{"ab", strings.Repeat("z", 300)}, "x", map[string]string{"": "\x02ab\xac\x02" + strings.Repeat("z", 300)}},
		{`{"container":"files","names":["a.txt","sub/b","c"]}`, []string{"1", "", long}, "x", map[string]string{"a.txt": "1", "sub/b": "", "c": long}},
		{`{"container":"cars"}`, []string{"1", "2\n"}, "x", map[string]string{"0": "1", "1": "2\n"}},
		{`[1]`, []string{"1", "2"}, "x.txt", map[string]string{"": "1\n2\n"}},
		{"", []string{"1", "2"}, "x.jsonl", map[string]string{"": "1\n2\n"}},
		{"", nil, "x", map[string]string{}},
	} {
		dir := t.TempDir()
		name, dst := makeBlp(t, filepath.Join(dir, "x.blp"), tc.metadata, tc.items...), filepath.Join(dir, "to-"+tc.dst)
		run(t, "unpack", name, dst)
		got := map[string]string{}
		if info, err := os.Stat(dst); err == nil && info.IsDir() {
			got = files(t, dst)
		} else if p, err := os.ReadFile(dst); err == nil {
			got[""] = string(p)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%d: %s (-want +got):\n%.1000s", i, tc.metadata, d)
		}
		if r := (runner{}).run(t, "unpack", name, dst); r.code != exitChanged && len(tc.want) > 0 {
			t.Errorf("%d: once more: exit %d: %s", i, r.code, r.stderr)
		}
		run(t, "unpack", name, dst, "--force")
	}
}

// TestBlpFilesByName: files in a container are listed and read by their names.
func TestBlpFilesByName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := makeBlp(t, filepath.Join(dir, "x.blp"), `{"container":"files","names":["a","\u001b[2J","c/d"]}`, "1", "22", "333")
	for id, want := range map[string]string{"a": "1", "\x1b[2J": "22", "c/d": "333"} {
		if got := run(t, "get", name, "--id", id, "-o", "-"); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
	rows := lines[chunkLine](t, run(t, "ls", name, "--json"))
	if len(rows) != 3 || *rows[2].Name != "c/d" || *rows[2].NBytes != 3 {
		t.Errorf("%+v", rows)
	}
	if table := run(t, "ls", name); strings.Contains(table, "\x1b") || !strings.Contains(table, "NAME") || !strings.Contains(table, "c/d") {
		t.Errorf("table:\n%q", table)
	}
	if table := run(t, "info", name); strings.Contains(table, "\x1b") || !strings.Contains(table, "3, files") {
		t.Errorf("table:\n%q", table)
	}
	far := served(t, dir) + "/x.blp" // whole in the first request
	if again := lines[chunkLine](t, run(t, "ls", far, "--json")); !reflect.DeepEqual(rows, again) {
		t.Errorf("from afar: %+v", again)
	}
	if s := stats(t, "ls", far); s.Requests != 1 {
		t.Errorf("from afar: %+v", s)
	}
	if r := (runner{}).run(t, "get", name, "--id", "b", "-o", "-"); r.code != exitNotFound || !strings.Contains(r.stderr, `"b"`) {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// TestBlpHostile: names and items that contradict the metadata; none of them is
// written.
func TestBlpHostile(t *testing.T) {
	t.Parallel()
	for i, tc := range []struct {
		metadata string
		items    []string
		say      string
	}{
		{`{"container":"files","names":["a","../b"]}`, []string{"1", "2"}, `item 1: file "../b"`},
		{`{"container":"files","names":["/etc/passwd"]}`, []string{"1"}, "absolute"},
		{`{"container":"files","names":["a\u0000"]}`, []string{"1"}, "item 0"},
		{`{"container":"files","names":["C:\\x"]}`, []string{"1"}, "item 0"},
		{`{"container":"files","names":["c:x"]}`, []string{"1"}, "drive letter"},
		{`{"container":"files","names":[""]}`, []string{"1"}, "empty"},
		{`{"container":"files","names":["."]}`, []string{"1"}, "item 0"},
		{`{"container":"files","names":["a/./b"]}`, []string{"1"}, "item 0"},
		{`{"container":"files","names":["a//b"]}`, []string{"1"}, "item 0"},
		{`{"container":"files","names":["a/"]}`, []string{"1"}, "empty"},
		{`{"container":"files","names":["a\nb"]}`, []string{"1"}, "control character"},
		{`{"container":"files","names":["a/..\\b"]}`, []string{"1"}, "backslash"},
		{`{"container":"files","names":["` + strings.Repeat("n", 256) + `"]}`, []string{"1"}, "too long"},
		{`{"container":"files","names":["a","a"]}`, []string{"1", "2"}, "two files want the name a"},
		{`{"container":"files","names":["a","a/b"]}`, []string{"1", "2"}, "two files want the name a"},
		{`{"container":"files","names":["a"]}`, []string{"1", "2"}, "1 name of 2 files"},
		{`{"container":"files"}`, []string{"1"}, "0 names of 1 file"},
		{`{"container":"files","names":["a"` + strings.Repeat(`,""`, 99_999) + `]}`, []string{"1"}, "more names of 1 file"},
		{`{"container":"files","names":["a",1]}`, []string{"1", "2"}, "0 names of 2 files"},
		{`{"container":"lines"}`, []string{"1", "2\n3"}, "item 1: several lines in one item"},
		{`{"container":"records","prefix":"u16"}`, []string{"1"}, `the prefix "u16"`},
		{`{"container":"records"}`, []string{"1"}, `the prefix ""`},
	} {
		dir := t.TempDir()
		name := makeBlp(t, filepath.Join(dir, "x.blp"), tc.metadata, tc.items...)
		before := files(t, dir)
		r := runner{}.run(t, "unpack", name, filepath.Join(dir, "to"))
		if r.code != exitCorrupt || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, tc.say) {
			t.Errorf("%d: exit %d, want %q: %s", i, r.code, tc.say, r.stderr)
		}
		if d := cmp.Diff(before, files(t, dir)); d != "" {
			t.Errorf("%d: left (-before +after):\n%s", i, d)
		}
		if r := (runner{}).run(t, "get", name, "-o", "-"); r.code != 0 || r.stdout != strings.Join(tc.items, "") {
			t.Errorf("%d: get: exit %d: %q", i, r.code, r.stdout)
		}
	}
}

// TestBlpNames: files keep their names, also names for which another system has no
// room.
func TestBlpNames(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it has no such names")
	}
	dir := t.TempDir()
	want := map[string]string{"src/aux.c": "1", "con": "2", "ends in a dot.": "3", "and a space ": "4", "a:b": "5", "..a": "6", "~": "7", "-": "8"}
	for name, p := range want {
		name = filepath.Join(dir, "from", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, name, []byte(p))
	}
	delete(want, "a:b") // on Windows, the one who packs it sees a drive
	blp, to := filepath.Join(dir, "x.blp"), filepath.Join(dir, "to")
	if r := (runner{}).run(t, "pack", filepath.Join(dir, "from"), blp); r.code != exitCorrupt || !strings.Contains(r.stderr, "drive letter") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	if err := os.Remove(filepath.Join(dir, "from", "a:b")); err != nil {
		t.Fatal(err)
	}
	run(t, "pack", filepath.Join(dir, "from"), blp)
	run(t, "unpack", blp, to)
	if d := cmp.Diff(want, files(t, to)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if r := (runner{}).run(t, "unpack", blp, "-"); r.code != exitUsage || !strings.Contains(r.stderr, "folder") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	if _, err := os.Lstat("-"); err == nil {
		t.Error("a folder called -")
	}
}

// wideBlp writes a file of n items, of which only some were written, into a sparse
// file: item i is its number.
func wideBlp(t *testing.T, dir string, n int64, items ...int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "wide.blp"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := bloscpack.Header{Version: 4, Checksum: bloscpack.CRC32, TypeSize: 1, ChunkSize: -1, LastChunk: -1, Chunks: n, Offsets: true, Variable: true}.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(off int64, p []byte) {
		if _, err := f.WriteAt(p, off); err != nil {
			t.Fatal(err)
		}
	}
	put(0, h)
	at := bloscpack.HeaderLen + 8*n + 128<<10 // a gap, so that the table is alone
	for _, i := range items {
		chunk, err := blosc.AppendEncoded(nil, fmt.Appendf(nil, "item %d", i), blosc.EncodeOptions{Blosc1: true, TypeSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		put(bloscpack.HeaderLen+8*i, binary.LittleEndian.AppendUint64(nil, uint64(at)))
		put(at, bloscpack.CRC32.AppendSum(chunk, chunk))
		at += int64(len(chunk)) + 4
		if i+1 < n {
			put(bloscpack.HeaderLen+8*(i+1), binary.LittleEndian.AppendUint64(nil, uint64(at)))
		}
	}
}

// TestBlpItemFromAfar: an item of ten million takes two phases, whatever its number.
func TestBlpItemFromAfar(t *testing.T) {
	t.Parallel()
	const n = 10_000_000
	dir := t.TempDir()
	wideBlp(t, dir, n, 0, 7, 8189, 1_234_567, 9_000_000, n-1)
	uri, out := served(t, dir)+"/wide.blp", filepath.Join(dir, "out")
	for _, tc := range []struct{ i, requests int64 }{{0, 2}, {7, 2}, {8189, 3}, {1_234_567, 3}, {9_000_000, 3}, {n - 1, 3}} {
		for _, policy := range policies() {
			item := []string{uri, "--item", fmt.Sprint(tc.i), "--policy", policy}
			s := stats(t, append([]string{"get", "-o", out}, item...)...)
			if p, err := os.ReadFile(out); err != nil || string(p) != fmt.Sprintf("item %d", tc.i) {
				t.Errorf("item %d: %q, %v", tc.i, p, err)
			}
			most := int64(96 << 10)
			if policy == "lean" {
				most = 64 << 10
			}
			if s.Phases != 2 || s.Requests != tc.requests || s.Bytes > most {
				t.Errorf("item %d, %s: %+v", tc.i, policy, s)
			}
			explained(t, item...)
		}
	}
	if s := stats(t, "get", uri, "--chunks", "9_000_000:9_000_001", "-o", out); s.Phases != 2 || s.Requests != 3 {
		t.Errorf("a range: %+v", s)
	}
	if s := stats(t, "get", uri, "--item", "-1", "-o", out); s.Phases != 3 { // counted from the end: the number of items has to be read first
		t.Errorf("the last: %+v", s)
	}
}

// TestBlpLeft: a file that a killed writer left is reported as aborted, once it has a
// name by which it can be read.
func TestBlpLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "x.blp")
	b, key, err := farread.New(farread.Config{NoHedge: true}).Bucket(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.Create(t.Context(), key, objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	w, err := bloscpack.NewWriter(out, bloscpack.WriteOptions{Variable: true, Encode: blosc.EncodeOptions{TypeSize: 1}})
	if err != nil {
		t.Fatal(err)
	}
	item := func(i int64) []byte {
		p := make([]byte, 64<<10)
		_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(p) // never fails
		return p
	}
	for i := range int64(200) {
		if err := w.WriteItem(item(i)); err != nil {
			t.Fatal(err)
		}
	}
	w.Abort() // its process ends here, and the file stays
	left, err := filepath.Glob(filepath.Join(dir, ".farread-*"))
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	if r := (runner{}).run(t, "info", left[0]); r.code != exitUsage || !strings.Contains(r.stderr, "another name") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	p, err := os.ReadFile(left[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, p)
	if r := (runner{}).run(t, "verify", name); r.code != exitCorrupt || !strings.Contains(r.stderr, "aborted") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	var rep repaired
	if err := json.Unmarshal([]byte(run(t, "verify", name, "--repair", name+".ok", "--json")), &rep); err != nil || rep.Saved < 1 || rep.Lost != nil || strings.Contains(rep.Wrong, "repair") {
		t.Errorf("%+v, %v", rep, err)
	}
	if got := run(t, "get", name+".ok", "--item", "-1", "-o", "-"); got != string(item(rep.Saved-1)) {
		t.Errorf("the last item: %d bytes", len(got))
	}
}

// TestBlpExplain: the plan has the requests of get.
func TestBlpExplain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var items []string
	for i := range 3000 {
		items = append(items, strings.Repeat(fmt.Sprintf("%d,", i*i), i%97))
	}
	makeBlp(t, filepath.Join(dir, "items.blp"), "", items...)
	srv := served(t, dir)
	for _, tc := range [][]string{{}, {"--item", "1500"}, {"--chunks", "100:2000"}, {"--chunks", "5:5"}, {"--item", "2999"}} {
		for _, policy := range policies() {
			explained(t, append([]string{srv + "/items.blp", "--policy", policy}, tc...)...)
		}
	}
	if s := stats(t, "explain", srv+"/items.blp"); s.Requests != 1 {
		t.Errorf("explain read payload: %+v", s)
	}
}

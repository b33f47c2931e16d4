package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const blpDir = "testdata/bloscpack"

// A blpFixture is a Bloscpack file with its content. It was written by the reference
// tool, or for the proposal by an independent writer.
type blpFixture struct {
	File      string   `json:"file"`
	Kind      string   `json:"kind"`
	Version   int      `json:"version"`
	Checksum  string   `json:"checksum"`
	TypeSize  int      `json:"typesize"`
	ChunkSize int64    `json:"chunk_size"`
	LastChunk int64    `json:"last_chunk"`
	NChunks   int64    `json:"nchunks"`
	Offsets   bool     `json:"offsets"`
	Variable  bool     `json:"variable_length"`
	Aborted   bool     `json:"aborted"`
	Metadata  any      `json:"metadata"`
	NBytes    *int64   `json:"nbytes"`
	Shape     []int64  `json:"shape"`
	DType     string   `json:"dtype"`
	SHA256    string   `json:"sha256"`
	NpySHA256 string   `json:"npy_sha256"` // of the file that numpy.save makes of the array
	Lengths   []int64  `json:"lengths"`    // of chunks or items, -1: never written
	Items     []string `json:"items"`      // SHA-256 of each
	Rule      string   `json:"rule"`       // of malformed files
}

func blpFixtures(t *testing.T, kind string) (out []blpFixture) {
	t.Helper()
	f, err := os.Open(filepath.Join(blpDir, "MANIFEST"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var x blpFixture
		if err := json.Unmarshal(s.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		if x.Kind == kind {
			out = append(out, x)
		}
	}
	return out
}

// served serves a folder's files over HTTP.
func served(t *testing.T, dir string) string {
	t.Helper()
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestBlpFiles: every command on files of other writers, on this machine and over
// HTTP.
func TestBlpFiles(t *testing.T) {
	t.Parallel()
	srv := served(t, blpDir)
	for _, x := range blpFixtures(t, "bloscpack") {
		for _, base := range []string{blpDir, srv} {
			t.Run(x.File+" "+strings.SplitN(base, ":", 2)[0], func(t *testing.T) {
				t.Parallel()
				x.checkInfo(t, base+"/"+x.File)
				x.checkLs(t, base+"/"+x.File)
				x.checkGet(t, base+"/"+x.File)
			})
		}
	}
}

func (x blpFixture) complete() bool { return !slices.Contains(x.Lengths, -1) }

func (x blpFixture) checkInfo(t *testing.T, uri string) {
	t.Helper()
	text := run(t, "info", uri, "--json")
	var got blpFixture
	var more struct {
		Format, URI string
		Size        int64
	}
	for _, v := range []any{&got, &more} {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			t.Fatal(err)
		}
	}
	want := blpFixture{Version: x.Version, Checksum: x.Checksum, TypeSize: x.TypeSize, ChunkSize: x.ChunkSize, LastChunk: x.LastChunk,
		NChunks: x.NChunks, Offsets: x.Offsets, Variable: x.Variable, Aborted: x.Aborted, Metadata: x.Metadata, Shape: x.Shape, DType: strings.ReplaceAll(x.DType, "|S", "S")}
	if !x.Variable {
		want.NBytes = x.NBytes
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("info (-want +got):\n%s", d)
	}
	file, err := os.Stat(filepath.Join(blpDir, x.File))
	if err != nil || more.Format != "bloscpack" || more.URI != uri || more.Size != file.Size() {
		t.Errorf("%+v, %v", more, err)
	}
	if !strings.Contains(text, `"metadata":`) || !strings.Contains(text, `"nbytes":`) {
		t.Errorf("a field is missing: %s", text)
	}
	if x.complete() {
		if err := json.Unmarshal([]byte(run(t, "info", uri, "--json", "--scan")), &got); err != nil || got.NBytes == nil || *got.NBytes != *x.NBytes {
			t.Errorf("info --scan: %v bytes, want %d (%v)", got.NBytes, *x.NBytes, err)
		}
	}
	if text := run(t, "info", uri); !strings.Contains(text, fmt.Sprintf("bloscpack, version %d", x.Version)) || strings.Contains(text, "aborted") != x.Aborted {
		t.Errorf("info: %s", text)
	}
}

func (x blpFixture) checkLs(t *testing.T, uri string) {
	t.Helper()
	if x.Aborted {
		return
	}
	rows := lines[chunkLine](t, run(t, "ls", uri, "--json", "--scan"))
	if len(rows) != len(x.Lengths) {
		t.Fatalf("ls: %d chunks, want %d", len(rows), len(x.Lengths))
	}
	for i, r := range rows {
		switch {
		case x.Lengths[i] < 0:
			if r.Offset != nil || r.CBytes != nil || r.NBytes != nil {
				t.Errorf("ls: chunk %d was never written: %+v", i, r)
			}
		case r.Chunk != i || r.Offset == nil || r.CBytes == nil || *r.CBytes < 16 || r.NBytes == nil || int64(*r.NBytes) != x.Lengths[i] || r.Special != nil:
			t.Errorf("ls: chunk %d: %+v", i, r)
		}
	}
	if text := run(t, "ls", uri); strings.Count(text, "\n") != len(rows)+1 {
		t.Errorf("ls:\n%s", text)
	}
	if !strings.HasPrefix(uri, "http") {
		return
	}
	for i, r := range lines[chunkLine](t, run(t, "ls", uri, "--json")) {
		if x.Offsets && (r.Offset == nil) != (x.Lengths[i] < 0) {
			t.Errorf("ls without --scan: chunk %d: %+v", i, r)
		}
	}
}

func (x blpFixture) checkGet(t *testing.T, uri string) {
	t.Helper()
	selector := "--chunk"
	if x.Variable {
		selector = "--item"
	}
	var joined strings.Builder
	for i, n := range x.Lengths {
		number := fmt.Sprint(i)
		if i%2 == 1 {
			number = fmt.Sprint(i - len(x.Lengths)) // counted from the end
		}
		if n < 0 {
			code := exitNotFound
			if x.Aborted {
				code = exitCorrupt
			}
			if r := (runner{}).run(t, "get", uri, selector, number, "-o", "-"); r.code != code || r.stdout != "" {
				t.Errorf("%s %d, which was never written: exit %d: %s", selector, i, r.code, r.stderr)
			}
			continue
		}
		p := run(t, "get", uri, selector, number, "-o", "-")
		joined.WriteString(p)
		if int64(len(p)) != n || x.Items != nil && sumOf(p) != x.Items[i] {
			t.Errorf("%s %d: %d other bytes, want %d", selector, i, len(p), n)
		}
	}
	whole := runner{}.run(t, "get", uri, "-o", "-")
	if !x.complete() {
		if whole.code != exitNotFound && whole.code != exitCorrupt {
			t.Errorf("get: exit %d", whole.code)
		}
		return
	}
	if whole.code != 0 || whole.stdout != joined.String() || x.SHA256 != "" && sumOf(whole.stdout) != x.SHA256 {
		t.Errorf("get: exit %d, %d bytes, want %d", whole.code, len(whole.stdout), *x.NBytes)
	}
	if len(x.Lengths) > 2 {
		if got := run(t, "get", uri, "--chunks", "1:-1", "-o", "-"); int64(len(got)) != *x.NBytes-x.Lengths[0]-x.Lengths[len(x.Lengths)-1] || !strings.Contains(whole.stdout, got) {
			t.Errorf("chunks 1:-1: %d bytes", len(got))
		}
	}
	if got := run(t, "verify", uri); !strings.HasPrefix(got, "ok: ") {
		t.Errorf("verify: %q", got)
	}
}

// TestBlpArrays: arrays come out as the files of numpy.save, and as items with a note.
func TestBlpArrays(t *testing.T) {
	t.Parallel()
	n := 0
	for _, x := range blpFixtures(t, "bloscpack") {
		if x.NpySHA256 == "" {
			continue
		}
		n++
		dir := t.TempDir()
		uri, out, raw := blpDir+"/"+x.File, filepath.Join(dir, "x.npy"), filepath.Join(dir, "x.raw")
		for _, args := range [][]string{{"get", uri, "-o", out}, {"unpack", uri, out, "--force"}} {
			run(t, args...)
			if p, err := os.ReadFile(out); err != nil || sumOf(string(p)) != x.NpySHA256 {
				t.Errorf("%v: other bytes than numpy's, %d of them, %v", args, len(p), err)
			}
		}
		run(t, "unpack", uri, raw)
		back := filepath.Join(dir, "back.b2nd")
		if p, err := os.ReadFile(raw); err != nil || sumOf(string(p)) != x.SHA256 {
			t.Errorf("%s: items: %d other bytes, %v", x.File, len(p), err)
		}
		if len(x.Shape) > 0 {
			run(t, "pack", raw, back) // by the note
			run(t, "unpack", back, out, "--force")
			if p, err := os.ReadFile(out); err != nil || sumOf(string(p)) != x.NpySHA256 {
				t.Errorf("%s: by its note: other bytes than numpy's, %d of them, %v", x.File, len(p), err)
			}
		}
		if got := run(t, "get", uri, "--chunk", "0", "-o", "-"); int64(len(got)) != x.Lengths[0] {
			t.Errorf("%s: chunk 0 has %d bytes", x.File, len(got))
		}
	}
	if n < 5 {
		t.Errorf("%d arrays are too few to prove anything", n)
	}
}

// TestBlpMalformed: errors name place and reason, or else the bytes are right.
func TestBlpMalformed(t *testing.T) {
	t.Parallel()
	for _, x := range blpFixtures(t, "malformed") {
		uri := blpDir + "/" + x.File
		for _, args := range [][]string{{"verify", uri}, {"get", uri, "-o", "-"}} {
			r := runner{}.run(t, args...)
			switch {
			case r.code != 0 && (r.code != exitCorrupt || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "bloscpack")):
				t.Errorf("farread %v: exit %d: %q", args, r.code, r.stderr)
			case r.code == 0 && x.Rule == "error":
				t.Errorf("farread %v: no error", args)
			case r.code == 0 && args[0] == "get" && x.Rule == "same_or_error":
				var n int64
				for _, l := range x.Lengths {
					n += l
				}
				if int64(len(r.stdout)) != n {
					t.Errorf("farread %v: %d bytes, want %d", args, len(r.stdout), n)
				}
			}
		}
	}
}

// TestBlpInside: a file inside another one, whose name tells nothing.
func TestBlpInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := os.ReadFile(blpDir + "/vl_codec_mixed.blp")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "outer.bin")
	write(t, name, append([]byte(strings.Repeat("x", 77777)), p...))
	plain := blpDir + "/vl_codec_mixed.blp"
	for _, args := range [][]string{{"get", "--item", "7", "-o", "-"}, {"get", "-o", "-"}, {"verify"}} {
		want := run(t, slices.Insert(slices.Clone(args), 1, plain)...)
		if got := run(t, append(slices.Insert(slices.Clone(args), 1, name), "--offset", "77777")...); got != want {
			t.Errorf("%v: %d bytes, want %d", args, len(got), len(want))
		}
	}
	in := lines[chunkLine](t, run(t, "ls", name, "--offset", "77777", "--json"))
	for i, r := range lines[chunkLine](t, run(t, "ls", plain, "--json")) {
		if *in[i].Offset != *r.Offset+77777 {
			t.Errorf("ls: chunk %d at %d", i, *in[i].Offset)
		}
	}
	if r := (runner{}).run(t, "info", name); r.code == 0 {
		t.Error("without --offset it is found")
	}
}

// TestBlpErrors: exit codes and one line, and no output is left.
func TestBlpErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	vl, fixed, array := blpDir+"/vl_sum_sha1.blp", blpDir+"/cs_md5_off0.blp", blpDir+"/nd_i4_2d.blp"
	before := files(t, dir)
	for _, tc := range []struct {
		code int
		args string
		say  string
	}{
		{2, "get|" + fixed + "|--item|0|-o|" + out, "select them with --chunk"},
		{2, "get|" + vl + "|--id|a|-o|" + out, "only containers of files have names"},
		{2, "get|" + vl + "|--item|0|--chunk|0|-o|" + out, "only one of them"},
		{2, "get|" + vl + "|--item|x|-o|" + out, "item"},
		{2, "get|" + vl + "|--id|a|--frames|0|-o|" + out, "does not go with a bloscpack"},
		{2, "get|" + fixed + "|--field|a|-o|" + out, "--field does not go with a bloscpack: select with --item"},
		{2, "get|" + fixed + "|--chunks|::2|-o|" + out, "want A:B"},
		{2, "get|" + bloscDir + "/nd2.b2nd|--item|0|-o|" + out, "--item does not go with a b2nd"},
		{2, "slice|" + fixed + "|0|-o|" + out + ".raw", "is for arrays"},
		{2, "unpack|" + vl + "|s3://b/x", "local files"},
		{3, "get|" + vl + "|--item|5|-o|" + out, "item 5 of 5: no such entry"},
		{3, "get|" + vl + "|--item|-6|-o|" + out, "item -6 of 5: no such entry"},
		{3, "get|" + fixed + "|--chunk|99999999|-o|" + out, "no such entry"},
		{3, "get|" + blpDir + "/vl_missing_one.blp|--item|2|-o|" + out, "item 2"},
		{3, "get|" + blpDir + "/vl_missing_one.blp|-o|" + out, "item 2"},
		{3, "verify|" + blpDir + "/vl_missing_one.blp", "never written, 1 in all of 4"},
		{3, "unpack|" + blpDir + "/vl_missing_one.blp|" + out, "item 2"},
		{3, "get|" + blpDir + "/none.blp|-o|" + out, "not found"},
		{5, "unpack|" + vl + "|" + blpDir, "--force"},
		{7, "verify|" + blpDir + "/vl_aborted.blp", "aborted"},
		{7, "unpack|" + blpDir + "/vl_aborted.blp|" + out, "aborted"},
		{7, "get|" + blpDir + "/vl_aborted.blp|-o|" + out, "verify --repair"},
		{7, "get|" + blpDir + "/bad_chunk_flip.blp|-o|" + out, "chunk"},
		{7, "verify|" + blpDir + "/bad_digest_flip.blp", "chunk"},
		{7, "slice|" + array + "|0|-o|" + out + ".raw", "slices of arrays in Bloscpack files"},
	} {
		args := strings.Split(tc.args, "|")
		r := runner{}.run(t, args...)
		if r.code != tc.code || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, tc.say) || r.stdout != "" {
			t.Errorf("farread %q: exit %d, want %d and %q: %q", args, r.code, tc.code, tc.say, r.stderr)
		}
	}
	if d := cmp.Diff(before, files(t, dir)); d != "" {
		t.Errorf("left (-before +after):\n%s", d)
	}
}

// TestBlpNoVerify: only --no-verify reads past a wrong checksum.
func TestBlpNoVerify(t *testing.T) {
	t.Parallel()
	uri, dst := blpDir+"/bad_digest_flip.blp", filepath.Join(t.TempDir(), "x")
	if r := (runner{}).run(t, "get", uri, "-o", "-"); r.code != exitCorrupt {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	p := run(t, "get", uri, "--no-verify", "-o", "-")
	run(t, "unpack", uri, dst, "--no-verify")
	if q, err := os.ReadFile(dst); err != nil || string(q) != p || len(p) != 2000 {
		t.Errorf("%d bytes, %d unpacked, %v", len(p), len(q), err)
	}
}

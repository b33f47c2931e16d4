package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/npy"
)

const bloscDir = "testdata/blosc"

// A fixture is a file that a reference library wrote, with its content; see
// testdata/blosc/MANIFEST.
type fixture struct {
	File         string            `json:"file"`
	Kind         string            `json:"kind"`
	SHA256       string            `json:"sha256"`
	NBytes       int64             `json:"nbytes"`
	NChunks      int               `json:"nchunks"`
	TypeSize     int               `json:"typesize"`
	Metalayers   map[string]string `json:"metalayers"`
	VLMetalayers map[string]string `json:"vlmetalayers"`
	Shape        []int64           `json:"shape"`
	DType        string            `json:"dtype"`
	Special      []string          `json:"special"`
	Offset       int64             `json:"frame_offset"`
	Slices       []struct {
		Slice  [][2]int64 `json:"slice"`
		SHA256 string     `json:"sha256"`
	} `json:"slices"`
}

func fixtures(t *testing.T) (out []fixture) {
	t.Helper()
	f, err := os.Open(filepath.Join(bloscDir, "MANIFEST"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var x fixture
		if err := json.Unmarshal(s.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

func (x fixture) offset() []string {
	if x.Offset == 0 {
		return nil
	}
	return []string{"--offset", fmt.Sprint(x.Offset)}
}

func sumOf(p string) string {
	h := sha256.Sum256([]byte(p))
	return hex.EncodeToString(h[:])
}

// web serves testdata/blosc; folders are not listed.
func web(t *testing.T) string {
	t.Helper()
	files := http.FileServer(http.Dir(bloscDir))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, err := os.Stat(filepath.Join(bloscDir, filepath.FromSlash(r.URL.Path))); err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestBloscFiles: info, ls, get, slice and verify of files by the reference
// libraries, on this machine and over HTTP.
func TestBloscFiles(t *testing.T) {
	t.Parallel()
	srv := web(t)
	for _, x := range fixtures(t) {
		for _, base := range []string{bloscDir, srv} {
			t.Run(x.File+" "+strings.SplitN(base, ":", 2)[0], func(t *testing.T) {
				t.Parallel()
				x.check(t, base+"/"+x.File)
			})
		}
	}
}

func (x fixture) check(t *testing.T, uri string) {
	t.Helper()
	with := func(args ...string) []string { return append(args, x.offset()...) }
	if got := run(t, with("get", uri, "-o", "-")...); sumOf(got) != x.SHA256 {
		t.Errorf("get: other bytes, %d of them", len(got))
	}
	if got := run(t, with("verify", uri)...); !strings.HasPrefix(got, "ok: ") {
		t.Errorf("verify: %q", got)
	}
	x.checkInfo(t, run(t, with("info", uri, "--json")...))
	if text := run(t, with("info", uri)...); !strings.Contains(text, x.File) {
		t.Errorf("info: %s", text)
	}
	rows := lines[chunkLine](t, run(t, with("ls", uri, "--json", "--scan")...))
	if x.NChunks > 0 && len(rows) != x.NChunks {
		t.Errorf("ls: %d chunks, want %d", len(rows), x.NChunks)
	}
	for i, want := range x.Special {
		got := "none"
		if rows[i].Special != nil {
			got = *rows[i].Special
		}
		if got != want || rows[i].Chunk != i {
			t.Errorf("ls: chunk %d is %s, want %s", rows[i].Chunk, got, want)
		}
	}
	for _, s := range x.Slices {
		parts := make([]string, len(s.Slice))
		for i, p := range s.Slice {
			parts[i] = fmt.Sprintf("%d:%d", p[0], p[1])
		}
		text := strings.Join(parts, ", ")
		if got := run(t, with("slice", uri, text, "-o", "-", "--format", "raw")...); sumOf(got) != s.SHA256 {
			t.Errorf("slice [%s]: other bytes, %d of them", text, len(got))
		}
	}
}

func (x fixture) checkInfo(t *testing.T, text string) {
	t.Helper()
	var got fixture
	var more struct {
		Format string
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &more); err != nil {
		t.Fatal(err)
	}
	want := x
	want.File, want.Kind, want.SHA256, want.Special, want.Offset, want.Slices = "", "", "", nil, 0, nil
	got.Special = nil // of a chunk
	if strings.HasPrefix(x.Kind, "blosc") {
		got.NChunks = 0
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("info (-want +got):\n%s", d)
	}
	if more.Format != strings.TrimRight(x.Kind, "12") && more.Format != x.Kind {
		t.Errorf("format %q of a %s", more.Format, x.Kind)
	}
}

// TestChunkSelectors: parts of a frame are parts of its payload, also if chunks vary
// in size.
func TestChunkSelectors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"metalayers.b2frame", "varchunks-lz4-3.0.0.b2frame", "vlblocks-lz4-fixed-3.0.0.b2frame", "sparse_plain.b2dir", "nd2.b2nd"} {
		uri := bloscDir + "/" + name
		var joined strings.Builder
		n := len(lines[chunkLine](t, run(t, "ls", uri, "--json")))
		for i := range n {
			joined.WriteString(run(t, "get", uri, "--chunk", fmt.Sprint(i), "-o", "-"))
		}
		if got := run(t, "get", uri, "--chunks", ":", "-o", "-"); got != joined.String() {
			t.Errorf("%s: all chunks at once are other bytes", name)
		}
		last := run(t, "get", uri, "--chunk", "-1", "-o", "-")
		if got := run(t, "get", uri, "--chunks", fmt.Sprintf("%d:%d", n-2, n+7), "-o", "-"); !strings.HasSuffix(got, last) || !strings.HasSuffix(joined.String(), got) || len(got) <= len(last) {
			t.Errorf("%s: %d bytes of the last two chunks", name, len(got))
		}
		if got := run(t, "get", uri, "--chunks", "3:3", "-o", "-"); got != "" {
			t.Errorf("%s: %d bytes of no chunk", name, len(got))
		}
	}
}

// TestSliceForms: each form of a slice, byte by byte.
func TestSliceForms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.raw"), []byte{0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0, 11, 0})
	a := filepath.Join(dir, "a.b2nd")
	run(t, "pack", filepath.Join(dir, "a.raw"), a, "--dtype", "<i2", "--shape", "2,2,3")
	for _, tc := range []struct{ slice, format, want string }{
		{":", "json", "[[[0,1,2],\n[3,4,5]],\n[[6,7,8],\n[9,10,11]]]\n"},
		{"0, 1", "json", "[3,4,5]\n"},
		{"1, 1, 1", "json", "10\n"},
		{"0:0", "json", "[]\n"},
		{"..., 3:", "json", "[[[],[]],[[],[]]]\n"},
		{"-1, ...", "csv", "6,7,8\n9,10,11\n"},
		{"..., ::-2", "csv", "2,0\n5,3\n8,6\n11,9\n"},
		{":, 0, 0", "csv", "0\n6\n"},
		{"1, 0, 2", "csv", "8\n"},
		{"-1, -1, -1", "text", "11\n"},
		{":, 1:", "text", "[0, :, :]\n3  4  5\n\n[1, :, :]\n9  10  11\n"},
		{"0", "text", "0  1  2\n3  4  5\n"},
		{"5:", "text", "nothing selected: shape (0, 2, 3)\n"},
		{"1, ::-1", "raw", "\x09\x00\x0a\x00\x0b\x00\x06\x00\x07\x00\x08\x00"},
	} {
		args := []string{"slice", a, tc.slice, "-o", "-"}
		if tc.format != "text" {
			args = append(args, "--format", tc.format)
		}
		if got := run(t, args...); got != tc.want {
			t.Errorf("[%s] as %s: %q, want %q", tc.slice, tc.format, got, tc.want)
		}
	}
	for suffix, magic := range map[string]string{"npy": "\x93NUMPY", "png": "\x89PNG", "json": "[[0,1", "csv": "0,1,2", "raw": "\x00\x00\x01"} {
		out := filepath.Join(dir, "out."+suffix)
		run(t, "slice", a, "0", "-o", out)
		if p, err := os.ReadFile(out); err != nil || !strings.HasPrefix(string(p), magic) {
			t.Errorf("%s: %.20q, %v", suffix, p, err)
		}
	}
	h, n, err := npy.ParseHeader(strings.NewReader(run(t, "slice", a, ":, 0", "-o", "-", "--format", "npy")))
	if err != nil || fmt.Sprint(h.Shape, h.DType, h.Fortran, n) != "[2 3] <i2 false 128" {
		t.Errorf("npy: %v %v", h, err)
	}
	if got := run(t, "slice", a, "0, 0", "--dtype", "|S2"); got != "\"\"  \"\\x01\"  \"\\x02\"\n" && !strings.Contains(got, `\x01`) {
		t.Errorf("as text: %q", got)
	}
}

// TestFields: members of structured items, and an array of them as a table.
func TestFields(t *testing.T) {
	t.Parallel()
	uri := bloscDir + "/dtype_struct.b2nd"
	whole := run(t, "get", uri, "-o", "-")
	var ids strings.Builder
	for i := 0; i < len(whole); i += 23 {
		ids.WriteString(whole[i : i+4])
	}
	if got := run(t, "get", uri, "--field", "id", "-o", "-"); got != ids.String() {
		t.Error("field id: other bytes")
	}
	h, _, err := npy.ParseHeader(strings.NewReader(run(t, "slice", uri, "0", "--field", "xy", "-o", "-", "--format", "npy")))
	if err != nil || fmt.Sprint(h.Shape, h.DType) != "[21 2] <f8" {
		t.Errorf("field xy: %v %v", h, err)
	}
	if got := run(t, "slice", uri, "0, 0", "-o", "-", "--format", "csv"); !strings.HasPrefix(got, "id,xy[0],xy[1],tag\n") || strings.Count(got, "\n") != 2 {
		t.Errorf("csv: %q", got)
	}
	if got := run(t, "slice", uri, "0, :2"); !strings.HasPrefix(strings.TrimSpace(got), "id ") || strings.Count(got, "\n") != 3 {
		t.Errorf("text: %q", got)
	}
}

// TestBloscErrors: exit codes and one line, and no output is left.
func TestBloscErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	cut := filepath.Join(dir, "cut.b2frame")
	whole, err := os.ReadFile(bloscDir + "/metalayers.b2frame")
	if err != nil {
		t.Fatal(err)
	}
	write(t, cut, whole[:len(whole)-7])
	bad := bytes.Clone(whole)
	copy(bad[len(bad)/3:], strings.Repeat("\xff", 200))
	write(t, filepath.Join(dir, "bad.b2frame"), bad)
	npyFile := filepath.Join(dir, "a.npy")
	write(t, npyFile, []byte(run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", "-", "--format", "npy")))
	before := files(t, dir)
	nd, frame := bloscDir+"/nd2.b2nd", bloscDir+"/metalayers.b2frame"
	for _, tc := range []struct {
		code int
		args string
		say  string
	}{
		{2, "slice|" + nd + "|101|-o|" + out + ".raw", "index out of bounds"},
		{2, "slice|" + nd + "|0,0,0|-o|" + out + ".raw", "[0,0,0]"},
		{2, "slice|" + nd + "|1:x|-o|" + out + ".raw", "want a slice such as"},
		{2, "slice|" + nd + "|0|-o|" + out + ".jpg", "want a name that ends in"},
		{2, "slice|" + nd + "|:|-o|" + dir + "|--format|raw", "is a folder"},
		{2, "slice|" + nd + "|:|--dtype|<f8", "sizes differ: unsupported feature"},
		{2, "slice|" + nd, "missing SLICE"},
		{2, "get|" + nd + "|--id|a|-o|" + out, "--id does not go with a b2nd: select chunks"},
		{2, "get|" + frame + "|--chunks|1:2:2|-o|" + out, "want A:B"},
		{2, "get|" + frame + "|--chunk|x|-o|" + out, "chunk"},
		{2, "get|" + nd + "|--offset|99999999|-o|" + out, "the object has"},
		{2, "unpack|" + nd + "|s3://b/x", "local files"},
		{3, "get|" + frame + "|--chunk|5|-o|" + out, "chunk 5 of 5: no such entry"},
		{3, "slice|" + nd + "|0|--field|x|-o|" + out + ".raw", "no such entry"},
		{3, "get|" + bloscDir + "/none.b2nd|-o|" + out, "not found"},
		{3, "get|" + bloscDir + "/none.b2dir/|-o|" + out, "not found"},
		{5, "unpack|" + nd + "|" + cut, "--force"},
		{7, "slice|" + frame + "|0:3|-o|" + out + ".raw", "no array"},
		{7, "info|" + bloscDir + "/dict.b2z", "a store of python-blosc2"},
		{7, "info|" + cut, "corrupt data"},
		{7, "verify|" + filepath.Join(dir, "bad.b2frame"), "cframe"},
		{7, "get|" + filepath.Join(dir, "bad.b2frame") + "|-o|" + out, "cframe"},
		{2, "pack|" + npyFile + "|" + out + ".b2nd|--chunk-shape|5", "--chunk-shape has 1 length, the array 2"},
		{2, "pack|" + npyFile + "|" + out + ".b2nd|--chunk-shape|5,5|--block-shape|6,5", "blocks of (6, 5) are larger than chunks"},
		{2, "pack|" + npyFile + "|" + out + ".b2nd|--dtype|<f4", "--dtype and --shape go together"},
		{2, "get|" + frame + "|--chunk|1|--chunks|1:2|-o|" + out, "only one of them"},
		{2, "pack|" + npyFile + "|" + npyFile + "|" + out + ".b2nd", "an array is made of one"},
		{3, "pack|" + npyFile + "|" + out + ".b2nd|--member|x", "member x"},
		{7, "pack|" + frame + "|" + out + ".b2nd", "neither .npy nor .npz"},
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

// TestNegativeArguments: a slice may begin with a minus, and values of flags stay
// unchanged.
func TestNegativeArguments(t *testing.T) {
	t.Parallel()
	root := newRoot(&app{})
	for _, tc := range []struct{ in, want string }{
		{"slice|u|-1, ...|-o|x.npy", "slice|u| -1, ...|-o|x.npy"},
		{"slice|u|--stats|-1", "slice|u|--stats| -1"},
		{"slice|-o|-1|u|-2:", "slice|-o|-1|u| -2:"},
		{"explain|u|-1|--chunk|-1", "explain|u| -1|--chunk|-1"},
		{"explain|u|--chunk=-1|-1", "explain|u|--chunk=-1| -1"},
		{"get|u|--chunk|-1", "get|u|--chunk|-1"},
		{"slice|u|-q|-1", "slice|u|-q| -1"},
	} {
		if got := strings.Join(negative(root, strings.Split(tc.in, "|")), "|"); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.in, got, tc.want)
		}
	}
}

// TestExplainManyChunks: the plan is what slice and get take of an array whose offsets the
// index has in pages, also where chunks come along with the pages.
func TestExplainManyChunks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := make([]byte, 3<<20)
	for i := range p {
		if k := i / 256; i%256 < k*k%31*8 { // so that lengths differ
			p[i] = byte(uint32(i) * 2654435761 >> 13)
		}
	}
	write(t, filepath.Join(dir, "p.raw"), p)
	run(t, "pack", filepath.Join(dir, "p.raw"), filepath.Join(dir, "p.b2nd"), "--dtype", "|u1", "--shape", "12288,256", "--chunk-shape", "1,256", "--block-shape", "1,256", "--index")
	array := served(t, dir) + "/p.b2nd"
	for _, policy := range []string{"fast", "lean"} {
		for _, slice := range []string{"5000, 7", "3000:3010"} {
			explainedAs(t, []string{"slice", "--format", "raw"}, array, slice, "--policy", policy)
		}
	}
	explained(t, array, "--chunk", "6000")
}

// TestExplainFrames: the plan has the requests of get and slice, if no block's place
// has to be guessed.
func TestExplainFrames(t *testing.T) {
	t.Parallel()
	srv := web(t)
	dir := t.TempDir()
	p := make([]byte, 3<<20)
	for i := range p {
		p[i] = byte(i * i >> 3)
	}
	write(t, filepath.Join(dir, "p.raw"), p)
	frame, array := filepath.Join(dir, "p.b2frame"), filepath.Join(dir, "p.b2nd")
	run(t, "pack", filepath.Join(dir, "p.raw"), frame, "--chunk", "256KiB", "--level", "0")
	run(t, "pack", filepath.Join(dir, "p.raw"), array, "--dtype", "|u1", "--shape", "3,1024,1024", "--chunk-shape", "1,256,1024", "--block-shape", "1,64,1024", "--level", "0")
	for _, policy := range []string{"fast", "few", "lean"} {
		for _, tc := range [][]string{
			{frame}, {frame, "--max-memory", "16MiB"}, {array, "--max-memory", "16MiB"}, // in pieces
			{frame, "--chunk", "3"}, {frame, "--chunks", "2:5"}, {array},
			{srv + "/metalayers.b2frame"}, {srv + "/nd2.b2nd"}, {srv + "/embedded_at_128.bin", "--offset", "128"}, {bloscDir + "/b2.chunk"},
		} {
			explained(t, append([]string{"--policy", policy}, tc...)...)
		}
	}
	var got plan
	if err := json.Unmarshal([]byte(run(t, "explain", array, "1, 5, 7", "--policy", "lean", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if last := got.Requests[len(got.Requests)-1]; got.Phases != 2 || last.Estimated || !strings.Contains(last.Why, "chunk 4") {
		t.Errorf("%+v", got)
	}
	s := stats(t, "slice", array, "1, 5, 7", "--policy", "lean", "-o", filepath.Join(dir, "x.raw"))
	if s.Phases != 2 || s.Bytes > 100<<10 { // pack wrote an index
		t.Errorf("a point: %+v", s)
	}
}

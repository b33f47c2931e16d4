//go:build peers

package peers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// program builds the command once for a test.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "farread")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../cmd/farread").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// command runs a program and returns what it prints.
func command(t *testing.T, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%.2000s", args, err, stderr.Bytes(), out)
	}
	return out
}

func loaded(t *testing.T, path string) []byte {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wideArrays are the first of packedArrays, whose items have above 255 bytes: their
// writer refuses them, their reader does not.
const wideArrays = 3

// packedArrays are types and shapes of each kind.
var packedArrays = []struct {
	dtype string
	shape []int
	order string
}{
	{"'<U100'", []int{9}, "C"}, {"[('a', '|S300'), ('b', '<i4')]", []int{2, 3}, "F"}, {"[('a', '<f8', (200, 30))]", []int{5}, "C"},
	{"'|b1'", []int{17}, "C"}, {"'|u1'", []int{3, 5}, "C"}, {"'<i2'", []int{7, 1, 2}, "C"}, {"'>i4'", []int{4, 5}, "C"},
	{"'<f4'", []int{100, 3000}, "C"}, {"'<f8'", []int{6, 7}, "F"}, {"'>f8'", []int{3, 4, 5}, "F"}, {"'<f8'", []int{9}, "F"},
	{"'<f8'", []int{}, "C"}, {"'<M8[ns]'", []int{12}, "C"}, {"'>M8[D]'", []int{2, 3}, "C"}, {"'<m8[us]'", []int{}, "C"},
	{"'<c8'", []int{5}, "C"}, {"'<c16'", []int{5, 2}, "F"}, {"'|S7'", []int{11}, "C"}, {"'<U5'", []int{11}, "C"}, {"'>U3'", []int{2, 2}, "C"},
	{"[('a', '<i4'), ('b', '<f8')]", []int{50}, "C"}, {"[('x', '|u1'), ('y', '>i2', (2,)), ('z', '|S3')]", []int{3, 3}, "F"},
	{"[('in', [('p', '<f4'), ('q', '<i8')]), ('t', '<M8[s]')]", []int{4}, "C"}, {"'<f2'", []int{33}, "C"}, {"'|V6'", []int{4}, "C"},
	{"'<i8'", []int{0}, "C"}, {"'<i8'", []int{3, 0, 2}, "C"}, {"'<i4'", []int{2, 1}, "F"}, {"'<u8'", []int{400, 500}, "F"},
}

// TestBloscpackArrays: a .npy of NumPy's that we pack comes out of bloscpack's
// arrays bit by bit the same, and one that bloscpack has packed out of ours.
func TestBloscpackArrays(t *testing.T) {
	dir, bin := t.TempDir(), program(t)
	at := func(i int, suffix string) string { return filepath.Join(dir, fmt.Sprint(i)+suffix) }
	var save, write, read []pyJob
	for i, a := range packedArrays {
		save = append(save, pyJob{"kind": "npy", "path": at(i, ".npy"), "dtype": a.dtype, "shape": a.shape, "order": a.order})
		if i >= wideArrays {
			write = append(write, pyJob{"kind": "array", "src": at(i, ".npy"), "path": at(i, ".theirs.blp"), "file": pyJob{"chunk_size": 240_000}})
		}
		read = append(read, pyJob{"kind": "array", "path": at(i, ".blp"), "npy": at(i, ".back.npy")})
	}
	pyWrite(t, save)
	for i := range packedArrays {
		command(t, bin, "pack", at(i, ".npy"), at(i, ".blp"))
		command(t, bin, "unpack", at(i, ".blp"), at(i, ".ours.npy"))
	}
	pyWrite(t, write)
	for i, got := range pyRead(t, read) {
		a := packedArrays[i]
		if got.Error != "" {
			t.Errorf("%+v: %s", a, got.Error)
			continue
		}
		want := loaded(t, at(i, ".npy"))
		suffixes := []string{".back.npy", ".ours.npy"}
		if i >= wideArrays {
			suffixes = append(suffixes, ".theirs.npy", ".got.npy")
			command(t, bin, "unpack", at(i, ".theirs.blp"), at(i, ".theirs.npy"))
			command(t, bin, "get", at(i, ".theirs.blp"), "-o", at(i, ".got.npy"))
		}
		for _, suffix := range suffixes {
			if !bytes.Equal(loaded(t, at(i, suffix)), want) {
				t.Errorf("%+v: %s differs", a, suffix)
			}
		}
		if got.DType != a.dtype {
			t.Errorf("%+v: bloscpack sees the type %s", a, got.DType)
		}
	}
}

// TestBloscpackCommands: bloscpack's own command line unpacks what `farread
// pack` makes, and the reverse; lines are read by the independent reader.
func TestBloscpackCommands(t *testing.T) {
	dir, bin, py := t.TempDir(), program(t), python(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	r := seeded(7)
	raw := saved(t, at("x.bin"), r.items("sine", 400_000, 8))
	command(t, bin, "pack", raw, at("ours.blp"))
	command(t, py, "old_bloscpack.py", "decompress", at("ours.blp"), at("ours.bin"))
	command(t, py, "old_bloscpack.py", "compress", "-k", "sha256", "-c", "lz4", raw, at("theirs.blp"))
	command(t, bin, "verify", at("theirs.blp"))
	command(t, bin, "unpack", at("theirs.blp"), at("theirs.bin"))
	for _, name := range []string{"ours.bin", "theirs.bin"} {
		if !bytes.Equal(loaded(t, at(name)), loaded(t, raw)) {
			t.Errorf("%s differs", name)
		}
	}
	lines := []string{`{"a":1}`, ``, `{"b":"häßlich"}`, "carriage\r", strings.Repeat("long ", 10_000), `last`}
	text := saved(t, at("x.jsonl"), []byte(strings.Join(lines, "\n")+"\n"))
	command(t, bin, "pack", text, at("x.blp"))
	got := pyRead(t, []pyJob{{"kind": "variable", "path": at("x.blp")}})[0]
	var want []pyItem
	for _, l := range lines {
		want = append(want, pyItem{Length: len(l), SHA256: sum([]byte(l))})
	}
	same(t, want, got.Items)
	if got.Error != "" {
		t.Error(got.Error)
	}
	command(t, bin, "unpack", at("x.blp"), at("back.jsonl"))
	if !bytes.Equal(loaded(t, at("back.jsonl")), loaded(t, text)) {
		t.Error("the lines differ")
	}
}

// TestBloscpackContainers: the files of an archive and records that follow their
// lengths are items in the independent reader's eyes, and unpack is the reverse;
// what its own command writes we unpack.
func TestBloscpackContainers(t *testing.T) {
	dir, bin, py := t.TempDir(), program(t), python(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	r := seeded(8)
	items := r.manyItems(4, 1)
	var want []pyItem
	var records []byte
	if err := os.Mkdir(at("in"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := []string{py, "vlblp.py", "write", "--checksum", "sha224", "--cname", "lz4,zstd,zlib", at("theirs.blp")}
	names := []any{}
	for i, p := range items {
		want = append(want, pyItem{Length: len(p), SHA256: sum(p)})
		records = append(binary.BigEndian.AppendUint32(records, uint32(len(p))), p...)
		name := fmt.Sprintf("%03d häßlich", i)
		names = append(names, name)
		write = append(write, saved(t, filepath.Join(at("in"), name), p))
	}
	command(t, write...)
	command(t, bin, "pack", at("in"), at("files.blp"))
	command(t, bin, "pack", "--records", "u32be", "--checksum", "sha512", "--codec", "zstd-3", saved(t, at("records.bin"), records), at("records.blp"))
	command(t, bin, "unpack", at("files.blp"), at("out"))
	command(t, bin, "unpack", at("theirs.blp"), at("numbered"))
	command(t, bin, "unpack", at("records.blp"), at("records.out"))
	for i, p := range items {
		for _, path := range []string{filepath.Join(at("out"), names[i].(string)), filepath.Join(at("numbered"), fmt.Sprint(i))} {
			if !bytes.Equal(loaded(t, path), p) {
				t.Errorf("%s differs", path)
			}
		}
	}
	if !bytes.Equal(loaded(t, at("records.out")), records) {
		t.Error("the records differ")
	}
	got := pyRead(t, []pyJob{{"kind": "variable", "path": at("files.blp")}, {"kind": "variable", "path": at("records.blp")}})
	for _, g := range got {
		same(t, want, g.Items)
		if g.Error != "" || g.Slack != 0 {
			t.Errorf("%d bytes of no chunk, error %q", g.Slack, g.Error)
		}
	}
	if m, ok := got[0].Metadata.(map[string]any); !ok || !cmp.Equal(m["names"], any(names)) {
		t.Errorf("names in the metadata: %v", got[0].Metadata)
	}
}

// TestBloscpackRepaired: what is saved of files that were cut short, theirs and
// ours, is read by both reference readers.
func TestBloscpackRepaired(t *testing.T) {
	dir, bin := t.TempDir(), program(t)
	const chunk = 10_000
	data := seeded(9).items("sine", 20*chunk/8, 8)
	src := saved(t, filepath.Join(dir, "src"), data)
	var cuts []string
	var saves, jobs []pyJob
	for i, kind := range []string{"theirs", "theirs without offsets", "ours", "lines"} {
		path := filepath.Join(dir, fmt.Sprintf("%d.blp", i))
		job := pyJob{"kind": "fixed"}
		switch kind {
		case "theirs", "theirs without offsets":
			saves = append(saves, pyJob{"kind": "pack", "src": src, "path": path, "file": pyJob{"chunk_size": chunk, "offsets": kind == "theirs"}})
		case "ours":
			command(t, bin, "pack", "--chunk", fmt.Sprint(chunk), src, path)
		case "lines":
			text := bytes.Repeat([]byte("each line is longer than the one before it\n"), 500)
			command(t, bin, "pack", saved(t, src+".txt", text), path)
			job["kind"] = "variable"
		}
		job["path"] = filepath.Join(dir, fmt.Sprintf("%d.saved.blp", i))
		cuts, jobs = append(cuts, path), append(jobs, job)
	}
	pyWrite(t, saves)
	for i, path := range cuts {
		p := loaded(t, path)
		command(t, bin, "verify", "--repair", jobs[i]["path"].(string), saved(t, path+".cut", p[:len(p)*3/5]))
	}
	for i, got := range pyRead(t, jobs) {
		if got.Error != "" {
			t.Errorf("%s: %s", cuts[i], got.Error)
		}
		if jobs[i]["kind"] == "variable" {
			if n := len(got.Items); n < 200 || n >= 500 || got.Items[n-1].Length != 42 {
				t.Errorf("%d lines were saved", n)
			}
			continue
		}
		n := chunk * len(got.Chunks)
		if len(got.Chunks) < 10 || n >= len(data) || got.SHA256 != sum(data[:n]) {
			t.Errorf("%s: chunks of %v were saved, or other bytes", cuts[i], got.Chunks)
		}
	}
}

// TestSharedBloscpackReader: the checker that the project shares with others reads
// a file of ours, where it is at hand.
func TestSharedBloscpackReader(t *testing.T) {
	root := os.Getenv("FARREAD_SHARED")
	if root == "" {
		root = "../../../shared"
	}
	script := filepath.Join(root, "fixtures", "tools", "check_bloscpack.py")
	if _, err := os.Stat(script); err != nil {
		t.Skipf("%s is not here", script)
	}
	dir := t.TempDir()
	for i, c := range checksums {
		r := seeded(uint64(80_000 + i))
		m := r.pack(t, dir, i, c, bloscCodecs[i%len(bloscCodecs)])
		m.write(t, r)
		var got struct{ Failed []string }
		run(t.Context(), t, &got, script, m.path, "--expect-sha256", sum(m.data))
		if len(got.Failed) > 0 {
			t.Errorf("%s: %v", m.name, got.Failed)
		}
	}
}

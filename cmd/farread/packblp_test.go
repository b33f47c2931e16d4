package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/internal/teststack"
)

// logLines are n records as services write them.
func logLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":%d,\"path\":\"/items/%d\",\"status\":%d}\n", i, i*i%977, 200+i%3)
	}
	return b.String()
}

// blpInputs are files in a folder, with the --records that each needs.
func blpInputs(t *testing.T, dir string) map[string]string {
	t.Helper()
	var sized, short []byte
	for i := range 50 {
		p := fmt.Appendf(nil, "message %d", i*i)
		sized = append(binary.BigEndian.AppendUint64(sized, uint64(len(p))), p...)
		short = append(binary.AppendUvarint(short, uint64(len(p))), p...)
	}
	for name, p := range map[string]string{
		"a.jsonl": logLines(3000), "b.txt": "no\nend", "c.csv": "", "d.bin": strings.Repeat("\x00\x01\x02", 700_001), "e.json": "{}\n",
		"f.rec": string(sized), "g.rec": string(short), "h.npy": run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", "-", "--format", "npy"),
	} {
		write(t, filepath.Join(dir, name), []byte(p))
	}
	return map[string]string{"a.jsonl": "", "b.txt": "", "c.csv": "", "d.bin": "", "e.json": "", "f.rec": "u64be", "g.rec": "varint", "h.npy": ""}
}

// TestBlpThereAndBack: unpack gives back byte by byte what pack made a .blp of.
func TestBlpThereAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := map[string]itemsReport{
		"a.jsonl": {Records: "jsonl", Items: 3000}, "b.txt": {Records: "lines", Items: 2}, "c.csv": {Records: "lines"}, "d.bin": {Records: "chunks", Items: 3},
		"e.json": {Records: "chunks", Items: 1}, "f.rec": {Records: "u64be", Items: 50}, "g.rec": {Records: "varint", Items: 50}, "h.npy": {Records: "numpy", Items: 1},
	}
	for name, how := range blpInputs(t, dir) {
		src, dst, back := filepath.Join(dir, name), filepath.Join(dir, name+".blp"), filepath.Join(dir, "back-"+name)
		args := []string{"pack", src, dst, "--json"}
		if how != "" {
			args = append(args, "--records", how)
		}
		var got itemsReport
		if err := json.Unmarshal([]byte(run(t, args...)), &got); err != nil {
			t.Fatal(err)
		}
		if got.Records != want[name].Records || got.Items != want[name].Items || got.Stored == 0 || !cmp.Equal(got.Outputs, []string{dst}) {
			t.Errorf("%s: %+v", name, got)
		}
		run(t, "verify", dst)
		run(t, "unpack", dst, back)
		there, err := os.ReadFile(src)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(back); err != nil || string(again) != string(there) {
			t.Errorf("%s: %d bytes back of %d, %v", name, len(again), len(there), err)
		}
	}
}

// TestBlpOfFiles: an archive, a folder and a number of files are files.
func TestBlpOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blpInputs(t, filepath.Join(dir, "in"))
	write(t, filepath.Join(dir, "in", "sub", "x"), []byte("deep"))
	write(t, filepath.Join(dir, "photos.tar"), photosTar(t))
	all := files(t, filepath.Join(dir, "in"))
	at := func(name string) string { return filepath.Join(dir, name) }
	below := map[string]string{"b.txt": all["b.txt"]}
	for name, p := range all {
		below["in/"+name] = p
	}
	for name, c := range map[string]struct {
		args []string
		want map[string]string
	}{
		"folder":  {[]string{at("in")}, all},
		"several": {[]string{at("in/a.jsonl"), at("in/c.csv"), at("photos.tar")}, map[string]string{"a.jsonl": all["a.jsonl"], "c.csv": "", "photos.tar": string(photosTar(t))}},
		"mixed":   {[]string{at("in/"), at("in/b.txt")}, below},
		"one":     {[]string{at("in/a.jsonl"), "--records", "files"}, map[string]string{"a.jsonl": all["a.jsonl"]}},
	} {
		dst := at(name + ".blp")
		args := append([]string{"pack", c.args[0]}, c.args[1:]...)
		args = append(args, dst)
		if strings.HasPrefix(c.args[len(c.args)-1], "fi") {
			args = []string{"pack", c.args[0], dst, "--records", "files"}
		}
		if got := run(t, args...); !strings.HasPrefix(got, fmt.Sprintf("%d file", len(c.want))) || !strings.HasSuffix(got, "  "+dst+"\n") {
			t.Errorf("%s: %q", name, got)
		}
		run(t, "unpack", dst, at("back-"+name))
		if d := cmp.Diff(c.want, files(t, at("back-"+name))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	run(t, "pack", at("photos.tar"), at("photos.blp")) // the suffix decides, not the content
	run(t, "unpack", at("photos.blp"), at("photos"))
	if got := files(t, at("photos")); len(got) < 15 {
		t.Errorf("%d files", len(got))
	}
	// Into the folder that is packed: each time the same.
	run(t, "pack", at("in"), at("in/all.blp"))
	run(t, "pack", at("in"), at("in/all.blp"), "--force")
	run(t, "unpack", at("in/all.blp"), at("again"))
	if d := cmp.Diff(all, files(t, at("again"))); d != "" {
		t.Error(d)
	}
}

// TestBlpFlags: the file has the properties that the flags ask for.
func TestBlpFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blpInputs(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	for i, c := range []struct {
		flags string
		want  []string
	}{
		{"", []string{`"checksum":"adler32"`, `"chunk_size":1048576`, `"nchunks":3`, `"typesize":1`}},
		{"--checksum sha256 --chunk 700000 --codec lz4hc-9 --typesize 4", []string{`"checksum":"sha256"`, `"chunk_size":700000`, `"nchunks":4`, `"typesize":4`}},
		{"--checksum none --records lines --codec blosclz --level 3", []string{`"checksum":"none"`, `"nchunks":1`, `"container":"lines"`}},
		{"--format bloscpack --filter bitshuffle --typesize 3", []string{`"chunk_size":1048575`, `"typesize":3`}},
	} {
		dst := at(fmt.Sprintf("%d.blp", i))
		run(t, append([]string{"pack", at("d.bin"), dst}, strings.Fields(c.flags)...)...)
		info := strings.ReplaceAll(run(t, "info", dst, "--json"), " ", "")
		for _, w := range c.want {
			if !strings.Contains(info, w) {
				t.Errorf("%s: no %s in %s", c.flags, w, info)
			}
		}
		run(t, "unpack", dst, at("back"), "--force")
		if d := files(t, dir); d["back"] != d["d.bin"] {
			t.Errorf("%s: other bytes", c.flags)
		}
	}
}

// TestBlpRefuses: exit codes, and no new file after a refusal.
func TestBlpRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blpInputs(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("cut.tar"), photosTar(t)[:4000])
	write(t, at("p/a.jsonl"), []byte("1"))
	run(t, "pack", at("b.txt"), at("there.blp"))
	before := files(t, dir)
	out := at("new/out.blp")
	for _, c := range []struct {
		code int
		args []string
		say  string
	}{
		{5, []string{at("b.txt"), at("there.blp")}, "exists (--force replaces it)"},
		{3, []string{at("absent.txt"), out}, "absent.txt"},
		{7, []string{at("cut.tar"), out}, "cut.tar: "},
		{7, []string{at("f.rec"), out, "--records", "u32le"}, "record 1 at 4"},
		{7, []string{at("h.npy"), at("b.txt"), at("p/a.jsonl"), at("a.jsonl"), out}, "twice"},
		{2, []string{at("b.txt"), out, "--records", "words"}, "not one of"},
		{2, []string{at("b.txt"), at("a.jsonl"), out, "--records", "lines"}, "each would be an item"},
		{2, []string{at("p"), out, "--records", "jsonl"}, "SRC is a folder"},
		{2, []string{at("b.txt"), out, "--checksum", "crc64"}, "--checksum"},
		{2, []string{at("b.txt"), out, "--typesize", "256"}, "want 1 to 255"},
		{2, []string{at("b.txt"), out, "--chunk", "2GiB"}, "1 GiB at most"},
		{2, []string{at("b.txt"), out, "--codec", "lzma"}, "--codec"},
		{2, []string{at("b.txt"), out, "--filter", "shuffle,bitshuffle"}, "takes shuffle, bitshuffle or none"},
		{2, []string{at("b.txt"), out, "--filter", "delta"}, "takes shuffle, bitshuffle or none"},
		{2, []string{at("b.txt"), out, "--chunk", "4KiB"}, "lines are items of their own length"},
		{2, []string{at("b.txt"), out, "--dtype", "<i4"}, "--dtype does not go with bloscpack"},
		{2, []string{at("b.txt"), at("x.gulp"), "--records", "lines"}, "--records does not go with gulp"},
		{2, []string{at("b.txt"), at("x") + "/", "--format", "bloscpack"}, "is a folder"},
	} {
		r := runner{}.run(t, append([]string{"pack"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.say) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: exit %d %q, want %d %q", c.args, r.code, r.stderr, c.code, c.say)
		}
	}
	if d := cmp.Diff(before, files(t, dir)); d != "" {
		t.Error(d)
	}
	if _, err := os.Stat(at("new")); err == nil {
		t.Error("a folder was left")
	}
}

// TestInterruptItems: an interrupted command that waits for bytes leaves nothing.
func TestInterruptItems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.jsonl"), []byte(logLines(20_000)))
	write(t, filepath.Join(dir, "x.bin"), make([]byte, 1<<20))
	for _, args := range []string{"pack|SRV/x.jsonl|OUT/new/sub/a.blp", "pack|SRV/x.bin|OUT/b.blp", "pack|SRV/x.jsonl|SRV/x.bin|OUT/c.blp"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			cutShort(t, dir, os.Interrupt, func(srv string) []string {
				return strings.Split(strings.NewReplacer("SRV", srv, "OUT", work).Replace(args), "|")
			})
			if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// TestBlpInS3 takes records through a real S3 server: packed there, by the job of a
// worker if that would write the same object.
func TestBlpInS3(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"uploads", "logs"}})
	text := logLines(30_000)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), []byte(text))
	upload(t, "s3://uploads/d/a.jsonl", []byte(text))
	upload(t, "s3://uploads/run/part-0.csv", []byte("a\n"))
	upload(t, "s3://uploads/run/part-1.csv", []byte("b\n"))
	upload(t, "s3://uploads/run/_SUCCESS", nil)
	run(t, "pack", filepath.Join(dir, "a.jsonl"), "s3://logs/mine.blp")
	for _, dst := range []string{"s3://logs/made/d/a.jsonl.blp", "s3://logs/other.blp", "s3://logs/mine.blp"} {
		if dst != "s3://logs/mine.blp" {
			if got := run(t, "pack", "s3://uploads/d/a.jsonl", dst); !strings.HasPrefix(got, "30,000 lines, ") || !strings.HasSuffix(got, "  "+dst+"\n") {
				t.Errorf("%q", got)
			}
		}
		if got := run(t, "get", dst, "--item", "29999", "-o", "-"); got+"\n" != text[strings.LastIndex(text[:len(text)-1], "\n")+1:] {
			t.Errorf("%s: %q", dst, got)
		}
	}
	if got := run(t, "pack", "s3://uploads/d/a.jsonl", "s3://logs/made/d/a.jsonl.blp"); !strings.HasPrefix(got, "unchanged") {
		t.Errorf("again: %q", got)
	}
	if got := run(t, "pack", "s3://uploads/d/a.jsonl", "s3://logs/made/d/a.jsonl.blp", "--codec", "zstd"); !strings.HasPrefix(got, "30,000 lines") {
		t.Errorf("with another codec: %q", got)
	}
	if r := (runner{}).run(t, "pack", "s3://uploads/d/a.jsonl", "s3://logs/other.blp"); r.code != exitChanged {
		t.Errorf("taken: exit %d %q", r.code, r.stderr)
	}
	for _, dst := range []string{"s3://logs/made/run/frames.blp", "s3://logs/run.blp"} {
		run(t, "pack", "s3://uploads/run/", dst)
		run(t, "unpack", dst, filepath.Join(dir, filepath.Base(dst)))
		if d := cmp.Diff(map[string]string{"part-0.csv": "a\n", "part-1.csv": "b\n"}, files(t, filepath.Join(dir, filepath.Base(dst)))); d != "" {
			t.Error(d)
		}
	}
	if got := run(t, "pack", "s3://uploads/run", "s3://logs/made/run/frames.blp"); !strings.HasPrefix(got, "unchanged") {
		t.Errorf("folder again: %q", got)
	}
}

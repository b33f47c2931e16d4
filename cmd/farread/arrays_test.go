package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/teststack"
)

// TestThereAndBackArrays: unpack gives back what pack took, byte by byte, and shapes
// are those that were asked for.
func TestThereAndBackArrays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	src := run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", "-", "--format", "npy")
	write(t, at("a.npy"), []byte(src))
	for i, flags := range [][]string{
		nil, {"--codec", "lz4"}, {"--codec", "lz4hc-9", "--filter", "bitshuffle"}, {"--codec", "zlib", "--level", "2", "--filter", "none"},
		{"--codec", "blosclz", "--filter", "delta,shuffle", "-q"}, {"--level", "0"}, {"--chunk-shape", "10,87", "--block-shape", "5,29"}, {"--chunk-shape", "50,40"}, {"--block-shape", "7,3"},
		{"--filter", "shuffle,bytedelta"}, {"--max-memory", "16MiB"},
	} {
		packed := at(fmt.Sprintf("%d.b2nd", i))
		run(t, append([]string{"pack", at("a.npy"), packed}, flags...)...)
		run(t, "verify", packed)
		back := at(fmt.Sprintf("%d.npy", i))
		run(t, "unpack", packed, back)
		if p, err := os.ReadFile(back); err != nil || string(p) != src {
			t.Errorf("%q: %d bytes, %v", flags, len(p), err)
		}
	}
	var got arrayInfo
	if err := json.Unmarshal([]byte(run(t, "info", at("6.b2nd"), "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(arrayInfo{Shape: []int64{101, 87}, ChunkShape: []int{10, 87}, BlockShape: []int{5, 29}, DType: "<i2", ItemType: "<i2", Statistics: got.Statistics}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// Raw bytes and their note, and those back again.
	run(t, "unpack", at("0.b2nd"), at("r.raw"))
	run(t, "pack", at("r.raw"), at("r.b2nd"))
	run(t, "unpack", at("r.b2nd"), at("r2.raw"))
	after := files(t, dir)
	if after["r.raw"] != src[len(src)-101*87*2:] || after["r.raw"] != after["r2.raw"] || after["r.raw.json"] != after["r2.raw.json"] {
		t.Error("raw and note differ")
	}
	if _, err := npy.ParseNote([]byte(after["r.raw.json"])); err != nil {
		t.Error(err)
	}
	// Any bytes.
	for i, flags := range [][]string{nil, {"--typesize", "7", "--chunk", "1000"}, {"--codec", "lz4", "--chunk", "64KiB"}} {
		packed, back := at(fmt.Sprintf("%d.b2frame", i)), at(fmt.Sprintf("%d.back", i))
		run(t, append([]string{"pack", at("a.npy"), packed}, flags...)...)
		run(t, "verify", packed)
		run(t, "unpack", packed, back)
		if p, err := os.ReadFile(back); err != nil || string(p) != src {
			t.Errorf("frame %q: %d bytes, %v", flags, len(p), err)
		}
	}
	write(t, at("empty"), nil)
	run(t, "pack", at("empty"), at("e.b2frame"))
	if got := run(t, "get", at("e.b2frame"), "-o", "-"); got != "" {
		t.Errorf("%q of nothing", got)
	}
	if r := (runner{}).run(t, "pack", at("a.npy"), at("0.b2nd")); r.code != exitChanged {
		t.Errorf("a second time: exit %d %q", r.code, r.stderr)
	}
	run(t, "pack", at("a.npy"), at("0.b2nd"), "--force")
	run(t, "unpack", at("0.b2nd"), at("0.npy"), "--force")
}

// TestHelpersOfShapes: texts of flags and tables.
func TestHelpersOfShapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"10,20": "[10 20]", "(3,)": "[3]", " 4 , 5 ": "[4 5]", "()": "[]", "0": "[0]", "1,x": "error", "-1": "error", "1,,2": "error"} {
		var s shapeFlag
		got := "error"
		if err := s.Set(text); err == nil {
			got = fmt.Sprint([]int64(s))
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for want, shape := range map[string][]int{"()": {}, "(3,)": {3}, "(2, 3)": {2, 3}} {
		if got := human.Shape(shape); got != want {
			t.Errorf("%v: %s", shape, got)
		}
	}
	if _, err := b2nd.ParseSlice("-1, ..."); err != nil {
		t.Error(err)
	}
	if got := layerMap(nil); len(got) != 0 {
		t.Error(got)
	}
	b, err := json.Marshal(map[string][]byte{"x": {0xc4}})
	if want := `{"x":"` + base64.StdEncoding.EncodeToString([]byte{0xc4}) + `"}`; err != nil || string(b) != want {
		t.Errorf("%s", b)
	}
}

// TestInterruptArrays: an interrupted command that waits for an array leaves nothing
// behind.
func TestInterruptArrays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := make([]byte, 4<<20)
	for i := range p {
		p[i] = byte(i * i >> 5)
	}
	write(t, filepath.Join(dir, "x.raw"), p)
	write(t, filepath.Join(dir, "x.raw.json"), []byte(`{"dtype": "<i4", "shape": [1024, 1024]}`))
	run(t, "pack", filepath.Join(dir, "x.raw"), filepath.Join(dir, "x.b2nd"), "--level", "0", "--chunk-shape", "64,1024")
	for _, args := range []string{
		"get|SRV/x.b2nd|-o|OUT/a.npy", "slice|SRV/x.b2nd|:, 5|-o|OUT/b.csv", "unpack|SRV/x.b2nd|OUT/c.raw",
		"pack|SRV/x.raw|OUT/new/sub/d.b2nd", "pack|SRV/x.raw|OUT/e.b2frame",
	} {
		t.Run(strings.SplitN(args, "|", 2)[0], func(t *testing.T) {
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

// TestArraysInS3 takes an array through a real S3 server. It is packed there, by the
// job of a worker if that would write the same object, and read by slices.
func TestArraysInS3(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"uploads", "arrays"}})
	dir := t.TempDir()
	src := run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", "-", "--format", "npy")
	upload(t, "s3://uploads/d/a.npy", []byte(src))
	write(t, filepath.Join(dir, "a.npy"), []byte(src))
	run(t, "pack", filepath.Join(dir, "a.npy"), "s3://arrays/mine.b2nd", "--chunk-shape", "20,20", "--block-shape", "10,10")
	for _, dst := range []string{"s3://arrays/made/d/a.npy.b2nd", "s3://arrays/other.b2nd"} {
		if got := run(t, "pack", "s3://uploads/d/a.npy", dst); !strings.HasSuffix(got, "  "+dst+"\n") {
			t.Errorf("%q", got)
		}
	}
	if got := run(t, "pack", "s3://uploads/d/a.npy", "s3://arrays/made/d/a.npy.b2nd"); !strings.HasPrefix(got, "unchanged") {
		t.Errorf("again: %q", got)
	}
	if r := (runner{}).run(t, "pack", "s3://uploads/d/a.npy", "s3://arrays/other.b2nd"); r.code != exitChanged {
		t.Errorf("taken: exit %d %q", r.code, r.stderr)
	}
	want := run(t, "slice", bloscDir+"/nd2.b2nd", "3:9, ::-4", "-o", "-", "--format", "raw")
	for _, uri := range []string{"s3://arrays/mine.b2nd", "s3://arrays/other.b2nd", "s3://arrays/made/d/a.npy.b2nd"} {
		if got := run(t, "slice", uri, "3:9, ::-4", "-o", "-", "--format", "raw"); got != want {
			t.Errorf("%s: %d other bytes", uri, len(got))
		}
		run(t, "verify", uri)
		run(t, "unpack", uri, filepath.Join(dir, "back.npy"), "--force")
		if p, err := os.ReadFile(filepath.Join(dir, "back.npy")); err != nil || string(p) != src {
			t.Errorf("%s: %d bytes back, %v", uri, len(p), err)
		}
		explained(t, uri)
	}
	// A sparse frame is a prefix, named with its slash or without.
	for name, p := range files(t, bloscDir+"/sparse_dir.b2nddir") {
		upload(t, "s3://arrays/set.b2nddir/"+name, []byte(p))
		upload(t, "s3://arrays/set/"+name, []byte(p))
	}
	whole := run(t, "get", bloscDir+"/sparse_dir.b2nddir", "-o", "-")
	for _, uri := range []string{"s3://arrays/set.b2nddir", "s3://arrays/set.b2nddir/", "s3://arrays/set/", "s3://arrays/set", "s3://arrays/set/chunks.b2frame"} {
		if got := run(t, "get", uri, "-o", "-"); got != whole {
			t.Errorf("%s: %d bytes", uri, len(got))
		}
	}
	if st := stats(t, "slice", "s3://arrays/set.b2nddir/", "0, 0", "-o", filepath.Join(dir, "p.raw")); st.Phases > 2 || st.Requests > 3 {
		t.Errorf("a point of a sparse array: %+v", st)
	}
	if st := stats(t, "slice", "s3://arrays/other.b2nd", "0, 0", "-o", filepath.Join(dir, "p.raw")); st.Phases > 2 || st.Requests > 3 {
		t.Errorf("a point: %+v", st)
	}
}

// TestFortranOrder: an array in Fortran order has the same items, and comes back with
// the same bytes.
func TestFortranOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	shape := []int64{30, 170, 230} // 2.2 MiB: several windows of the least memory
	d, err := dtype.Parse("<i2")
	if err != nil {
		t.Fatal(err)
	}
	file, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape, Fortran: true})
	if err != nil {
		t.Fatal(err)
	}
	head := len(file)
	var want []byte
	for i := range shape[0] { // item (i, j, k) holds a hash of its place
		for j := range shape[1] {
			for k := range shape[2] {
				want = binary.LittleEndian.AppendUint16(want, uint16(i*7919+j*104729+k*31))
			}
		}
	}
	for k := range shape[2] {
		for j := range shape[1] {
			for i := range shape[0] {
				file = binary.LittleEndian.AppendUint16(file, uint16(i*7919+j*104729+k*31))
			}
		}
	}
	write(t, at("f.npy"), file)
	write(t, at("f.raw"), file[head:])
	write(t, at("f.raw.json"), []byte(`{"dtype":"<i2","shape":[30,170,230],"order":"F"}`+"\n"))
	for src, flags := range map[string][]string{"f.npy": nil, "f.raw": {"--chunk-shape", "7,170,40"}} {
		run(t, append([]string{"pack", at(src), at(src + ".b2nd"), "--max-memory", "16MiB"}, flags...)...)
		if got := run(t, "get", at(src+".b2nd"), "-o", "-"); got != string(want) {
			t.Errorf("%s: another array", src)
		}
		back := at("back." + src)
		run(t, "unpack", at(src+".b2nd"), back, "--max-memory", "16MiB")
		after := files(t, dir)
		if after["back."+src] != after[src] || after["back."+src+".json"] != after[src+".json"] {
			t.Errorf("%s: other bytes back, note %q", src, after["back."+src+".json"])
		}
	}
}

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// zipOf is a zip of stored files.
func zipOf(t *testing.T, n int, name func(i int) string, content func(i int) []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range n {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name(i), Method: zip.Store})
		if err == nil {
			_, err = w.Write(content(i))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func waveOf(seconds int) []byte {
	data := make([]byte, seconds*8000*4)
	p := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00")
	p = binary.LittleEndian.AppendUint32(p, 8000)
	p = binary.LittleEndian.AppendUint32(p, 32000)
	p = append(p, 4, 0, 16, 0)
	p = binary.LittleEndian.AppendUint32(append(p, "data"...), uint32(len(data)))
	p = append(p, data...)
	binary.LittleEndian.PutUint32(p[4:], uint32(len(p)-8))
	return p
}

// TestPeek: what people have is described by few requests, with the line that packs it.
func TestPeek(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeNPY(t, at("a.npy"), "<f4", []int64{300, 200}, func(i int) float64 { return float64(i) })
	a := read(t, at("a.npy"))
	write(t, at("a.npz"), zipOf(t, 3, func(i int) string { return fmt.Sprintf("m%d.npy", i) }, func(int) []byte { return a }))
	write(t, at("many.zip"), zipOf(t, 3000, func(i int) string { return fmt.Sprintf("d/%d.txt", i) }, func(i int) []byte { return make([]byte, i) }))
	write(t, at("photos.zip"), zipOf(t, 3, func(i int) string { return fmt.Sprintf("p%d.jpg", i) }, func(i int) []byte { return photo(t, i) }))
	write(t, at("day.wav"), waveOf(4))
	write(t, at("x.csv"), []byte("date;temp;site\n"+strings.Repeat("2025-01-01;1.5;roof\n", 10000)))
	write(t, at("text.tsv"), []byte("a\tb\nx\ty\n"))
	var m, pic bytes.Buffer
	w := tar.NewWriter(&m)
	for i := range 2 {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("f%d.jpg", i), Size: 100_000, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, at("x.tar"), m.Bytes())
	if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	write(t, at("p.png"), pic.Bytes())
	write(t, at("q.jpg"), photo(t, 1))
	write(t, at("t.parquet"), testFile(t, "../../functions/zoom/testdata/realparquet/iowa-utc-ms.parquet"))
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	for name, c := range map[string]struct {
		requests, phases int64
		want             []string
	}{
		"a.npy":      {1, 1, []string{"shape   (300, 200)", "dtype   <f4", "farread pack URI a.b2nd"}},
		"a.npz":      {5, 4, []string{"arrays   3", "m1: (300, 200) <f4, 234 KiB", "farread pack URI a/ --format b2nd"}},
		"many.zip":   {3, 2, []string{"files     3,000", "unpacked  4.3 MiB", "and 2,988 more: farread ls", "farread pack URI many.zip.blp"}},
		"photos.zip": {2, 1, []string{"files     3", "farread pack URI photos.zip.gulp"}},
		"day.wav":    {1, 1, []string{"channels  2", "rate      8,000 Hz", "samples   32,000 of pcm-i16", "length    4s", "farread pack URI day.zoom"}},
		"x.csv":      {1, 1, []string{"columns  3", "rows     about 9,99", "temp: a track of f64", "site: passed over", "by the first 64 KiB; pack reads all", "farread pack URI x.zoom"}},
		"text.tsv":   {1, 1, []string{"lines   2", "farread pack URI text.tsv.blp"}},
		"x.tar":      {1, 1, []string{"1 file in the first 64 KiB", "f0.jpg, 98 KiB", "farread pack URI x.tar.gulp"}},
		"p.png":      {1, 1, []string{"format  png", "40 x 30"}},
		"q.jpg":      {1, 1, []string{"format  jpeg", "farread pack URI q.gulp"}},
		"t.parquet":  {2, 1, []string{"rows     51", "farread pack URI t.zoom", "times begin again 2 times, first in row 18, as in tables of several series below each other: rows are put in the order of their times"}},
	} {
		uri := web.URL + "/" + name
		r := runner{}.run(t, "info", uri, "--stats")
		var s struct{ Requests, Phases int64 }
		if err := json.Unmarshal([]byte(r.stderr), &s); err != nil || r.code != 0 {
			t.Errorf("%s: exit %d: %s", name, r.code, r.stderr)
			continue
		}
		if s.Requests != c.requests || s.Phases != c.phases {
			t.Errorf("%s: %d requests in %d phases, want %d in %d", name, s.Requests, s.Phases, c.requests, c.phases)
		}
		for _, want := range c.want {
			if want = strings.ReplaceAll(want, "URI", uri); !strings.Contains(r.stdout, want) {
				t.Errorf("%s has no %q:\n%s", name, want, r.stdout)
			}
		}
	}
	if got := run(t, "ls", at("many.zip"), "--json"); strings.Count(got, "\n") != 3000 || !strings.Contains(got, `{"name":"d/2999.txt","size":2999}`) {
		t.Errorf("%.200s", got)
	}
	if got := run(t, "ls", at("x.csv")); !strings.Contains(got, "temp") {
		t.Error(got)
	}
	write(t, at("e.jsonl"), []byte("{\"a\":1}\n{\"a\":2}\n"))
	for name, want := range map[string]string{"a.npy": `"what":"(300, 200) <f4"`, "p.png": `"what":"40 x 30 pixels"`, "e.jsonl": `{"name":"e.jsonl","size":16,"what":"2 lines"}`, "text.tsv": `"what":"2 lines"`} {
		if got := run(t, "ls", at(name), "--json"); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	var info struct {
		Format, Pack string
		Contents     struct {
			About   map[string]string
			Entries []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(run(t, "info", at("a.npz"), "--json")), &info); err != nil || info.Format != "npz" || len(info.Contents.Entries) != 3 || info.Pack == "" {
		t.Errorf("%+v, %v", info, err)
	}
	// What is something else under such a name stays what it is, or an error.
	run(t, "pack", at("a.npy"), at("a.b2nd"))
	write(t, at("wrong.wav"), read(t, at("a.b2nd")))
	if got := run(t, "info", at("wrong.wav")); !strings.Contains(got, "b2nd") {
		t.Error(got)
	}
	for _, name := range []string{"cut.npy", "cut.zip", "cut.wav", "cut.tar", "cut.png", "cut.parquet", "cut.csv", "cut.npz"} {
		for _, p := range [][]byte{{}, {0}, a[:20], []byte("PK\x05\x06" + strings.Repeat("\xff", 18)), []byte("PAR1PAR1"), bytes.Repeat([]byte{0xff}, 600)} {
			write(t, at(name), p)
			if r := (runner{}).run(t, "info", at(name)); r.code == 0 || strings.Contains(r.stderr, "panic") || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("%s of %q: exit %d: %s%s", name, p, r.code, r.stdout, r.stderr)
			}
		}
	}
}

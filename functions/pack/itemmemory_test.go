package pack_test

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/objstore"
)

// logPiece are lines as services write them, about n bytes.
func logPiece(n int) []byte {
	p := make([]byte, 0, n+200)
	for i := 0; len(p) < n; i++ {
		p = fmt.Appendf(p, "{\"ts\":%d,\"user\":\"u%05d\",\"path\":\"/items/%d\",\"status\":%d,\"ms\":%d.%02d}\n",
			1_700_000_000+i, i*7919%50_000, i*104_729%100_000, 200+i%5, i%300, i%100)
	}
	return p
}

// vastText repeats a piece until there are n bytes.
func vastText(key string, piece []byte, n int64) *vast {
	v := &vast{key: key}
	for v.size < n {
		v.add(piece)
	}
	return v
}

// vastRecords are records of one size behind their lengths.
func vastRecords(size int, n int64) *vast {
	v := &vast{key: "vast.rec"}
	head, p := binary.LittleEndian.AppendUint32(nil, uint32(size)), noise(size, 1)
	for v.size < n {
		v.add(head)
		v.add(p)
	}
	return v
}

// vastFiles is a tar of n small files with names of about 50 bytes.
func vastFiles(tb testing.TB, n int) *vast {
	tb.Helper()
	v := &vast{key: "vast.tar"}
	data := make([]byte, 512)
	copy(data, "some text\n")
	for i := range n {
		var b bytes.Buffer
		if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Name: fmt.Sprintf("data/part-%04d/of-this-folder/file-%07d.txt", i/1000, i), Mode: 0o644, Size: 10}); err != nil {
			tb.Fatal(err)
		}
		v.add(b.Bytes())
		v.add(data)
	}
	v.add(make([]byte, 10<<10))
	return v
}

// TestItemMemory packs half a gigabyte of everything and watches the heap, as TestMemory
// does. Each byte is read once, in requests of 8 MiB.
func TestItemMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("packs gigabytes")
	}
	size, files := int64(512<<20), 300_000
	racetest.Skip(t, racetest.Measures)
	lines := logPiece(1 << 20)
	for _, c := range []struct {
		name    string
		v       func() *vast // made when it is wanted: the bound is on top of what is there before
		records pack.Records
	}{
		{"short lines", func() *vast { return vastText("vast.jsonl", lines, size) }, ""},
		{"lines of 31 MiB", func() *vast { return vastText("vast.txt", append(bytes.Repeat([]byte("a"), 31<<20), '\n'), size) }, ""},
		{"gzip of lines", func() *vast { return vastText("vast.jsonl.gz", gz(t, lines), size/8) }, ""},
		{"zstd of lines", func() *vast { return vastText("vast.jsonl.zst", zst(t, lines), size/16) }, ""},
		{"records of 31 MiB", func() *vast { return vastRecords(31<<20, size) }, pack.U32LE},
		{"records of 100 bytes", func() *vast { return vastRecords(100, size/8) }, pack.U32LE},
		{"other bytes", func() *vast { return vastText("vast.bin", noise(1<<20, 2), size) }, ""},
		{"many files", func() *vast { return vastFiles(t, files) }, ""},
		{"files of 31 MiB", func() *vast { return vastTar(t, int(size/(31<<20)), 31<<20) }, pack.Files},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := c.v()
			out := &sink{infos: map[string]objstore.Info{}}
			m, next := heaptest.Start(), int64(0)
			out.watch = func() {
				if n := out.wrote.Load(); n >= next || m.Looks() < 64 {
					m.Look()
					next = n + 8<<20
				}
			}
			r := functions.Rule{Records: string(c.records)}
			if c.records != "" {
				r.Format = "bloscpack"
			}
			j, err := pack.New(pack.Options{})(r, out)
			if err != nil {
				t.Fatal(err)
			}
			infos, err := j.Run(t.Context(), v, functions.Upload{Bucket: "b", Key: v.key, ETag: `"vast"`, Sequencer: "1", Size: v.size})
			if err != nil || len(infos) != 1 {
				t.Fatal(infos, err)
			}
			m.Look()
			t.Logf("%d MiB to %d, %d requests, %d looks: %d MiB live, a heap of %d", v.size>>20, out.wrote.Load()>>20, v.gets.Load(), m.Looks(), m.Live()>>20, m.Heap()>>20)
			if m.Heap() > 200<<20 {
				t.Errorf("%d MiB of heap", m.Heap()>>20)
			}
			if most := v.size/(8<<20) + 5; v.gets.Load() > most {
				t.Errorf("%d requests for %d bytes, over %d", v.gets.Load(), v.size, most)
			}
		})
	}
}

// BenchmarkItems is the job without a network: lines of 110 bytes, and others.
func BenchmarkItems(b *testing.B) {
	lines := logPiece(4 << 20)
	for name, v := range map[string]*vast{"lines": vastText("x.jsonl", lines, 128<<20), "bytes": vastText("x.bin", lines, 128<<20), "records": vastRecords(1000, 64<<20)} {
		b.Run("kind="+name, func(b *testing.B) {
			b.SetBytes(v.size)
			b.ReportAllocs()
			for b.Loop() {
				j := &pack.Job{Out: &sink{infos: map[string]objstore.Info{}}}
				if name == "records" {
					j.Format, j.Records = "bloscpack", pack.U32LE
				}
				if _, err := j.Run(b.Context(), v, functions.Upload{Bucket: "b", Key: v.key, ETag: `"vast"`, Sequencer: "1", Size: v.size}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

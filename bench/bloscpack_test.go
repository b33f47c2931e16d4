package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

func BenchmarkBloscpackDecode(b *testing.B) {
	x := newBench(b)
	p := orNil(b, x.bloscpack)
	for _, c := range packings() {
		s := seriesOf(c.series)
		data := s.bytes(2 << 20)
		var out parts
		w, err := bloscpack.NewWriter(&out, bloscpack.WriteOptions{Encode: c.options(c.level, s.typesize)})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		path := filepath.Join(b.TempDir(), "x.blp")
		if err := os.WriteFile(path, out.bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
		name := "codec=" + c.codec + "-" + strconv.Itoa(c.level) + "/filter=" + c.filter + "/data=" + key(c.series) + "/side="
		loop(b, name+"farread", "MB", float64(len(data))/1e6, unpackFile(path, data, 1))
		if p != nil {
			var w work
			loop(b, name+"bloscpack", "MB", float64(len(data))/1e6, p.side(&w, "unpack", path, strconv.Itoa(len(data)), "1"))
		}
	}
}

func BenchmarkBloscpackLines(b *testing.B) {
	x := newBench(b)
	p := orNil(b, x.bloscpack)
	for _, long := range []bool{false, true} {
		text := eventLines(10_000, long)
		bk := memstore.New(memstore.Config{})
		if _, err := objstore.Put(b.Context(), bk, "events.jsonl", bytes.NewReader(text), objstore.PutOptions{}); err != nil {
			b.Fatal(err)
		}
		var out parts
		name := "long=" + strconv.FormatBool(long) + "/side="
		loop(b, name+"farread", "MB", float64(len(text))/1e6, packLines(bk, &out, nil))
		if p == nil {
			continue
		}
		raw := filepath.Join(b.TempDir(), "x.jsonl")
		if err := os.WriteFile(raw, text, 0o600); err != nil {
			b.Fatal(err)
		}
		var w work
		loop(b, name+"python", "MB", float64(len(text))/1e6, p.side(&w, "lines", raw, filepath.Join(b.TempDir(), "x.blp"), "lz4", "5"))
	}
}

// BenchmarkBloscpackItem reads an item by its number with connections of its own.
func BenchmarkBloscpackItem(b *testing.B) {
	x := newBench(b)
	if err := x.s3server(context.WithoutCancel(b.Context())); err != nil {
		b.Fatal(err)
	}
	b.Setenv("AWS_ACCESS_KEY_ID", x.stack.AccessKey)
	b.Setenv("AWS_SECRET_ACCESS_KEY", x.stack.SecretKey)
	const n = 20_000
	if err := x.uploadItems(b.Context(), "items.blp", n); err != nil {
		b.Fatal(err)
	}
	via, err := x.before(context.WithoutCancel(b.Context()), rtt30())
	if err != nil {
		b.Fatal(err)
	}
	defer via.close()
	for b.Loop() {
		c, err := x.coldItem(b.Context(), via, "items.blp", n-10, 1, rangeio.Fast())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(c.stats.Phases), "phases")
		b.ReportMetric(float64(c.requests), "requests")
	}
}

// TestParts: what a writer does to it comes out, a longer beginning too.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var out parts
	for range 3 { // its memory is used again
		out.reset()
		want := make([]byte, 2*partBytes+partBytes/3)
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(3<<20))
			if _, err := out.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		head := bytes.Repeat([]byte("head "), 1000)
		if err := out.Rehead(32, bytes.Clone(head)); err != nil {
			t.Fatal(err)
		}
		want = append(head, want[32:]...)
		at := len(head) - 3
		copy(want[at:], "across both")
		if err := out.Patch(int64(at), []byte("across both")); err != nil {
			t.Fatal(err)
		}
		if sha256.Sum256(want) != sha256.Sum256(out.bytes()) {
			t.Fatal("other bytes")
		}
	}
}

// TestPeak: a process has held more than nothing.
func TestPeak(t *testing.T) {
	var out bytes.Buffer
	if err := printPeak(t.Context(), &out, []string{"true"}); err != nil {
		t.Skip(err)
	}
	if n, err := strconv.ParseInt(string(bytes.TrimSpace(out.Bytes())), 10, 64); err != nil || n < 1<<16 {
		t.Errorf("%q", out.String())
	}
}

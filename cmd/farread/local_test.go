package main

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/farread/farread/rangeio"
)

// localArray is an array of 12 MB in a folder: 300 × 100 × 100 of four bytes, which do
// not compress.
func localArray(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	p := make([]byte, 300*100*100*4)
	for i := range p {
		p[i] = byte(rand.Uint32())
	}
	raw, name := filepath.Join(dir, "a.raw"), filepath.Join(dir, "a.b2nd")
	write(t, raw, p)
	run(t, "pack", raw, name, "--dtype", "<i4", "--shape", "300,100,100", "--chunk-shape", "10,100,100", "--block-shape", "1,20,100", "-q")
	return name
}

// TestLocalReads: the command reads a file as a file, whether or not it keeps a trace,
// and keeps one for explain alone.
func TestLocalReads(t *testing.T) {
	t.Parallel()
	name := localArray(t)
	for _, tracing := range []bool{false, true} {
		a := &app{tracing: tracing}
		a.flags.policy, a.flags.maxMemory = "fast", 1<<30
		if err := a.setup(); err != nil {
			t.Fatal(err)
		}
		ob, err := a.client.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if !rangeio.Local(ob) {
			t.Errorf("tracing %t: %s is not read as a local file", tracing, name)
		}
		spans := make([]rangeio.Span, 300)
		for i := range spans {
			spans[i] = rangeio.Span{Off: 100_000 + int64(i)*35_000, P: make([]byte, 500)}
		}
		if err := ob.ReadRanges(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
		s := a.counter.Stats()
		want := [2]int64{}
		if tracing {
			want = [2]int64{s.Requests, s.Bytes}
		}
		got := [2]int64{int64(len(a.trace.rows)), 0}
		for _, r := range a.trace.rows {
			got[1] += r.Len
		}
		if got != want || s.Requests < 2 {
			t.Errorf("tracing %t: %v in the trace, want %v", tracing, got, want)
		}
	}
}

// TestLocalExplained: of a local file, explain says what is then counted: when it is read
// in many windows, by small spans, or by spans with gaps that share a request.
func TestLocalExplained(t *testing.T) {
	t.Parallel()
	name := localArray(t)
	for _, policy := range []string{"fast", "few", "lean"} {
		for _, memory := range []string{"16MiB", "1GiB"} {
			flags := []string{"--policy", policy, "--max-memory", memory}
			explained(t, append([]string{name}, flags...)...)
			explained(t, append([]string{name, "--chunk", "-1"}, flags...)...)
			for _, slice := range []string{":", ":, 0, 0", "3:200:7, 5, ::2", "::-1, 50:, 1"} {
				explainedAs(t, []string{"slice", "--format", "raw"}, append([]string{name, slice}, flags...)...)
			}
		}
	}
}

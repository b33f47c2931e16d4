package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/teststack"
)

// noisyBytes returns bytes that no codec makes shorter.
func noisyBytes(n int, seed uint64) []byte {
	p := make([]byte, n)
	for i := range p {
		seed = seed*6364136223846793005 + 1442695040888963407
		p[i] = byte(seed >> 33)
	}
	return p
}

// A grownKind is a format that grows. part is what is packed first (of 0) or appended; joined is what
// unpack gives in the end.
type grownKind struct {
	name, suffix, unpacked string
	flags                  []string // of the first pack
	part                   func(i, size int) []byte
	joined                 func(parts [][]byte) string
	src                    string
	reads                  int64 // most requests that read, of an append to an object of 12 MiB
}

func cat(parts [][]byte) string {
	var b strings.Builder
	for _, p := range parts {
		b.Write(p)
	}
	return b.String()
}

// lines returns CSV lines of part i; a part begins where the one before ends.
func grownKinds() []grownKind {
	csv := func(i, size int) []byte {
		var b strings.Builder
		b.WriteString("time,level,flow\n")
		from, n := 0, size/34
		if i > 0 {
			from = 10_000_000 * i
		}
		for k := range n {
			fmt.Fprintf(&b, "%d,%d.5,%d\n", from+k, k*7919%1000, k*104729%9973)
		}
		return []byte(b.String())
	}
	return []grownKind{
		{name: "zoom", reads: 13, suffix: ".zoom", unpacked: ".csv", src: ".csv", part: csv, flags: []string{"--times", "s"}, joined: func(parts [][]byte) string {
			var b strings.Builder
			for i, p := range parts {
				_, rows, _ := strings.Cut(string(p), "\n")
				if i == 0 {
					rows = string(p)
				}
				b.WriteString(rows)
			}
			return b.String()
		}},
		{name: "frame", reads: 10, suffix: ".b2frame", unpacked: ".bin", src: ".bin", flags: []string{"--chunk", "1MiB", "--level", "1"}, joined: cat,
			part: func(i, size int) []byte { return noisyBytes(size, uint64(i)) }},
		{name: "items", reads: 7, suffix: ".blp", unpacked: ".txt", src: ".txt", flags: []string{"--level", "0"}, joined: cat,
			part: func(i, size int) []byte {
				var b strings.Builder
				for k := 0; b.Len() < size; k++ {
					fmt.Fprintf(&b, "line %d of part %d%s\n", k, i, strings.Repeat("x", k*31%900))
				}
				return []byte(b.String())
			}},
	}
}

// unpacked returns what unpack makes of a file.
func (k grownKind) whole(t *testing.T, uri string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out"+k.unpacked)
	if k.name == "zoom" {
		var b strings.Builder
		a, c := run(t, "get", uri, "--track", "1", "-o", "-"), run(t, "get", uri, "--track", "2", "-o", "-")
		fmt.Fprint(&b, a, c)
		return b.String()
	}
	run(t, "unpack", uri, out)
	p, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(p)
}

// want returns what whole gives for the parts packed at once.
func (k grownKind) want(t *testing.T, parts [][]byte) string {
	t.Helper()
	if k.name != "zoom" {
		return k.joined(parts)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "all.csv"), []byte(k.joined(parts)))
	run(t, append([]string{"pack", filepath.Join(dir, "all.csv"), filepath.Join(dir, "all.zoom")}, k.flags...)...)
	return k.whole(t, filepath.Join(dir, "all.zoom"))
}

// TestAppendKinds: files of all kinds that were packed in parts are what was packed at once.
func TestAppendKinds(t *testing.T) {
	t.Parallel()
	for _, k := range grownKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			dst, src := filepath.Join(dir, "x"+k.suffix), filepath.Join(dir, "part"+k.src)
			var parts [][]byte
			for i, size := range []int{1 << 20, 100, 70_000, 1 << 20, 5000} {
				parts = append(parts, k.part(i, max(racetest.Share(size, 4), 100)))
				write(t, src, parts[i])
				if i == 0 {
					run(t, append([]string{"pack", src, dst}, k.flags...)...)
					continue
				}
				run(t, "pack", "--append", src, dst)
				run(t, "verify", dst)
			}
			if got, want := k.whole(t, dst), k.want(t, parts); got != want {
				t.Errorf("%d other bytes, want %d", len(got), len(want))
			}
		})
	}
}

// TestAppendToldWhole: if a series has to be read whole, explain and pack say why, in a line.
func TestAppendToldWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	k := grownKinds()[0]
	write(t, at("0.csv"), k.part(0, 1<<20))
	write(t, at("1.csv"), k.part(1, 4000))
	run(t, append([]string{"pack", at("0.csv"), at("x.zoom")}, k.flags...)...)
	p := read(t, at("x.zoom"))
	write(t, at("x.zoom"), p[:binary.BigEndian.Uint64(p[len(p)-40:])]) // cut where the plain file ends
	for _, verb := range []string{"explain", "pack"} {
		if r := (runner{}).run(t, verb, "--append", at("1.csv"), at("x.zoom")); r.code != 0 || !strings.Contains(r.stderr, "all of it was read, once: it has no index inside") {
			t.Errorf("%s: exit %d %q", verb, r.code, r.stderr)
		}
	}
	write(t, at("2.csv"), k.part(2, 4000))
	if r := (runner{}).run(t, "pack", "--append", at("2.csv"), at("x.zoom")); r.code != 0 || r.stderr != "" {
		t.Errorf("the next one: exit %d %q", r.code, r.stderr)
	}
	run(t, "verify", at("x.zoom"))
}

// TestAppendKindsInS3: S3 copies what is there, and of appends side by side none is lost: each
// is there whole, or was refused.
func TestAppendKindsInS3(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"grown"}})
	for k, v := range cloudEnv(s) {
		t.Setenv(k, v)
	}
	for _, k := range grownKinds() {
		t.Run(k.name, func(t *testing.T) {
			dir, uri := t.TempDir(), "s3://grown/x"+k.suffix
			src := filepath.Join(dir, "part"+k.src)
			base := k.part(0, racetest.Share(12<<20, 2))
			write(t, src, base)
			run(t, append([]string{"pack", src, uri}, k.flags...)...)
			one := k.part(1, 4000)
			write(t, src, one)
			var plan appendPlan
			if err := json.Unmarshal([]byte(run(t, "explain", "--append", src, uri, "--json")), &plan); err != nil {
				t.Fatal(err)
			}
			did := runner{}.run(t, "pack", "--append", src, uri, "--json", "--stats")
			var rep appendReport
			var cost struct{ Requests, Bytes int64 }
			if err := errors.Join(json.Unmarshal([]byte(did.stdout), &rep), json.Unmarshal([]byte(did.stderr), &cost)); err != nil {
				t.Fatalf("%v: %s%s", err, did.stdout, did.stderr)
			}
			if asJSON(t, plan.appendReport) != asJSON(t, rep) || plan.Reads+plan.Writes != cost.Requests || cost.Bytes-plan.Read < 0 || cost.Bytes-plan.Read > 4096 { // answers to writes are some hundred bytes
				t.Errorf("explained: %d and %d requests, %d bytes, %+v; done: %+v, %+v", plan.Reads, plan.Writes, plan.Read, plan.appendReport, cost, rep)
			}
			if most := int64(7 << 20); !racetest.On && (plan.Reads > k.reads || plan.Read > most || rep.Whole != "") { // 5 MiB that are sent again, the last chunk, the books
				t.Errorf("%d reads of %d bytes: %+v", plan.Reads, plan.Read, plan.Requests)
			}
			t.Logf("%d reads of %d bytes, %d writes", plan.Reads, plan.Read, plan.Writes)
			if !racetest.On && rep.Copied < 5<<20 || rep.Sent+rep.Copied != rep.Stored {
				t.Errorf("%+v", rep)
			}
			t.Logf("%+v", rep)
			parts := [][]byte{base, one}
			n := racetest.Share(4, 2)
			codes := make([]int, n)
			more := make([][]byte, n)
			var wg sync.WaitGroup
			for i := range codes {
				more[i] = k.part(2, 4000) // the same for all, since nobody knows their order
				at := filepath.Join(dir, fmt.Sprintf("more%d%s", i, k.src))
				write(t, at, more[i])
				wg.Go(func() {
					r := runner{}.run(t, "pack", "--append", at, uri)
					// A series refuses the same times once more.
					if codes[i] = r.code; r.code != 0 && r.code != exitChanged && !strings.Contains(r.stderr, "times go back") {
						t.Errorf("exit %d %q", r.code, r.stderr)
					}
				})
			}
			wg.Wait()
			for i, code := range codes {
				if code == 0 {
					parts = append(parts, more[i])
				}
			}
			if len(parts) == 2 {
				t.Error("no append was made")
			}
			if got, want := k.whole(t, uri), k.want(t, parts); got != want {
				t.Errorf("%d other bytes, want %d", len(got), len(want))
			}
			run(t, "verify", uri)
		})
	}
}

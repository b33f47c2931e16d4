package main

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/internal/teststack"
)

// noisy is the items of an array of 48 x 256 x 256 that compress by a quarter.
func noisy(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	p := make([]byte, 48*256*256*2)
	for i := range p {
		if p[i] = byte(r.Uint32()); i%2 == 1 {
			p[i] &= 0xf
		}
	}
	return p
}

func packNoisy(t *testing.T, src, dst string, flags ...string) {
	t.Helper()
	run(t, append([]string{"pack", src, dst, "--force", "--dtype", "<u2", "--shape", "48,256,256", "--chunk-shape", "1,256,256",
		"--block-shape", "1,64,64"}, flags...)...)
}

// frameIndexOf is what info and verify say of the index of a frame.
func frameIndexOf(t *testing.T, uri string) farread.FrameIndex {
	t.Helper()
	var got [2]struct {
		Index        farread.FrameIndex
		VLMetalayers json.RawMessage
	}
	for i, command := range []string{"info", "verify"} {
		if err := json.Unmarshal([]byte(run(t, command, uri, "--json")), &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got[0].Index != got[1].Index || strings.Contains(string(got[0].VLMetalayers), "index") {
		t.Errorf("info says %+v, verify %+v; %s", got[0].Index, got[1].Index, got[0].VLMetalayers)
	}
	return got[0].Index
}

// TestFrameIndexInS3: an array that pack makes has an index inside, or none by a flag; then
// index writes one beside it. Either saves the requests for block starts, explain says so,
// and the index of another version is not used.
func TestFrameIndexInS3(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"arrays"}})
	src := filepath.Join(t.TempDir(), "x.raw")
	write(t, src, noisy(1))
	const inside, plain, chunks = "s3://arrays/inside.b2nd", "s3://arrays/plain.b2nd", 48
	packNoisy(t, src, inside)
	packNoisy(t, src, plain, "--index=false")
	column := func(uri string) []string { return []string{"slice", uri, ":, 100, 100", "-o", "-", "--format", "csv"} }
	want := run(t, column(plain)...)
	if s := stats(t, column(plain)...); s.Requests < 2*chunks {
		t.Errorf("without an index: %+v", s)
	}
	if x := frameIndexOf(t, plain); x != (farread.FrameIndex{}) {
		t.Errorf("without an index: %+v", x)
	}
	if x := frameIndexOf(t, inside); x.Bytes < 500 || !x.Inside || x.Unused != "" {
		t.Errorf("inside: %+v", x)
	}
	if text := run(t, "info", inside) + run(t, "verify", inside); !strings.Contains(text, "inside, ") || !strings.Contains(text, "agrees") {
		t.Errorf("info and verify say %s", text)
	}
	if r := indexed(t, inside); r.New || r.Index != "" || r.Size < 500 {
		t.Errorf("of one that has it inside: %+v", r)
	}
	r := indexed(t, plain)
	if !r.New || r.Index != plain+".fri" || r.Size < 500 {
		t.Errorf("%+v", r)
	}
	if again := indexed(t, plain); again.New || again.Size != r.Size {
		t.Errorf("again: %+v", again)
	}
	for uri, most := range map[string]int64{inside: chunks + 2, plain: chunks + 3} {
		if got := run(t, column(uri)...); got != want {
			t.Errorf("%s: other items", uri)
		}
		s := stats(t, column(uri)...)
		if s.Requests > most {
			t.Errorf("%s: %+v", uri, s)
		}
		var p plan
		if err := json.Unmarshal([]byte(run(t, "explain", uri, ":, 100, 100", "--json")), &p); err != nil {
			t.Fatal(err)
		}
		if int64(len(p.Requests)) != s.Requests || p.Phases != s.Phases {
			t.Errorf("%s: %d requests and %d phases planned, %+v", uri, len(p.Requests), p.Phases, s)
		}
	}
	write(t, src, noisy(9))
	packNoisy(t, src, plain, "--index=false")
	if x := frameIndexOf(t, plain); x.Bytes != 0 || !strings.Contains(x.Unused, "another version") {
		t.Errorf("of another version: %+v", x)
	}
	packNoisy(t, src, inside)
	if a, b := run(t, column(plain)...), run(t, column(inside)...); a != b || a == want {
		t.Error("stale items")
	}
	if r := (runner{}).run(t, "index", "s3://arrays/"); r.code != exitOK { // the index of a group
		t.Errorf("of a folder: %d, %s", r.code, r.stderr)
	}
}

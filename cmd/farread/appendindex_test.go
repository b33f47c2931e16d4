package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
)

// moreNoisy appends one chunk to an array of packNoisy.
func moreNoisy(more, dst string, flags ...string) []string {
	return append([]string{"pack", more, dst, "--append", "--dtype", "<u2", "--shape", "1,256,256"}, flags...)
}

// TestAppendIndexBeside: an append takes the index that lies beside an array, a frame or a series into the
// file, with the ranges that it has, and removes it; if there is no new one, a line says what to do.
func TestAppendIndexBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var buf bytes.Buffer
	at := func(name string) string { return filepath.Join(dir, name) }
	there := func(name string) bool {
		_, err := os.Stat(at(name))
		return !errors.Is(err, os.ErrNotExist)
	}
	write(t, at("x.raw"), noisy(1))
	write(t, at("more.raw"), noisy(2)[:256*256*2])
	const says = "its index, which lay beside it, lies inside now"

	for _, flags := range [][]string{nil, {"--ranges"}} {
		packNoisy(t, at("x.raw"), at("x.b2nd"), "--index=false")
		run(t, append([]string{"index", at("x.b2nd")}, flags...)...)
		if out := run(t, moreNoisy(at("more.raw"), at("x.b2nd"))...); !strings.Contains(out, says) || there("x.b2nd.fri") {
			t.Errorf("%q: %s", flags, out)
		}
		if x := frameIndexOf(t, at("x.b2nd")); !x.Inside || x.Bytes == 0 {
			t.Errorf("%q: %+v", flags, x)
		}
		if text := run(t, "info", at("x.b2nd")); strings.Contains(text, "\nrange ") != (flags != nil) {
			t.Errorf("%q: %s", flags, text)
		}
	}

	packNoisy(t, at("x.raw"), at("none.b2nd"), "--index=false")
	run(t, "index", at("none.b2nd"))
	r := runner{}.run(t, moreNoisy(at("more.raw"), at("none.b2nd"), "--index=false")...)
	if r.code != 0 || strings.Contains(r.stdout, says) || !strings.Contains(r.stderr, "none.b2nd.fri: is about what was there before") ||
		strings.Count(r.stderr, "\n") != 1 || !there("none.b2nd.fri") {
		t.Errorf("%+v", r)
	}
	if x := frameIndexOf(t, at("none.b2nd")); x.Bytes != 0 || !strings.Contains(x.Unused, "another version") {
		t.Errorf("%+v", x)
	}
	write(t, at("none.b2nd.fri"), []byte("no index"))
	r = runner{}.run(t, moreNoisy(at("more.raw"), at("none.b2nd"))...) // one that is of no use
	if r.code != 0 || !strings.Contains(r.stderr, "farread index makes it anew") || !there("none.b2nd.fri") {
		t.Errorf("%+v", r)
	}

	run(t, "pack", at("x.raw"), at("x.b2frame"), "--chunk", "64KiB", "--index=false")
	run(t, "index", at("x.b2frame"))
	if out := run(t, "pack", at("more.raw"), at("x.b2frame"), "--append"); !strings.Contains(out, says) || there("x.b2frame.fri") {
		t.Error(out)
	}
	run(t, "verify", at("x.b2frame"))

	npyFile(t, at("x.npy"), "<i2", []int64{30_000}, false, noisy(3)[:60_000])
	bare, err := zoomcache.NewWriter(&buf, zoomcache.WriteOptions{Tracks: []zoomcache.Track{
		{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: zoomcache.Rate{Num: 1, Den: 1}, Name: "column 1"}}})
	if err == nil {
		err = errors.Join(zoomcache.WriteSamples(bare.Track(1), make([]int16, 100_000)), bare.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, at("x.zoom"), buf.Bytes())
	run(t, "index", at("x.zoom"))
	if out := run(t, "pack", at("x.npy"), at("x.zoom"), "--append", "-q"); !strings.Contains(out, says) || there("x.zoom.fri") {
		t.Error(out)
	}
	run(t, "verify", at("x.zoom"))
}

// appendIndexBeside: what explain says of such an append to a bucket is what it costs, and the chunks that stay are
// not read for the index.
func appendIndexBeside(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	src, more := filepath.Join(dir, "x.raw"), filepath.Join(dir, "more.raw")
	write(t, src, noisy(1))
	write(t, more, noisy(2)[:256*256*2])
	const uri = "s3://arrays/x.b2nd"
	packNoisy(t, src, uri, "--index=false")
	run(t, "index", uri, "--ranges")
	var plan appendPlan
	if err := json.Unmarshal([]byte(run(t, "explain", "--append", more, uri, "--dtype", "<u2", "--shape", "1,256,256", "--json")), &plan); err != nil {
		t.Fatal(err)
	}
	did := runner{}.run(t, moreNoisy(more, uri, "--json", "--stats")...)
	var rep appendReport
	var cost struct{ Requests int64 }
	if err := errors.Join(json.Unmarshal([]byte(did.stdout), &rep), json.Unmarshal([]byte(did.stderr), &cost)); err != nil {
		t.Fatalf("%v: %s%s", err, did.stdout, did.stderr)
	}
	if asJSON(t, plan.appendReport) != asJSON(t, rep) || plan.Reads+plan.Writes != cost.Requests || rep.Index != indexInside {
		t.Errorf("explained: %+v; done: %+v in %d requests", plan, rep, cost.Requests)
	}
	if last := plan.Requests[len(plan.Requests)-1]; last.Object != uri+".fri" || plan.Reads > 12 {
		t.Errorf("%d reads; %+v", plan.Reads, plan.Requests)
	}
	if s := stats(t, "slice", uri, "...", "--where", "v > 4095", "--format", "csv", "-o", "-"); s.Requests > 3 {
		t.Errorf("a search that finds nothing: %+v", s)
	}
	run(t, "verify", uri)
}

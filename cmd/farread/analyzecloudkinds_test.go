package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/teststack"
)

// TestAnalyzeKindsOn: a state machine answers about all kinds, to the byte as this machine
// does. A part that fails once is tried again, one that fails for ever is told, and another
// run makes only that.
func TestAnalyzeKindsOn(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"data", "work"}})
	plain, _ := analyzed(t)
	run(t, "cp", plain, "s3://data/x.b2nd", "-q")
	series, _ := recorded(t)
	run(t, "cp", series, "s3://data/x.zoom", "-q")
	run(t, "cp", linesFile(t), "s3://data/x.blp", "-q")
	run(t, "cp", "-r", "../../formats/gulp/testdata/chunks/ingest_gulpio20", "s3://data/set/", "-q")
	var once, broken atomic.Bool
	s := stateMachine(t, func(e *parts.Event) error {
		switch {
		case e.Make != nil && broken.Load() && e.Make.From == 0:
			return errors.New("no luck")
		case e.Make != nil && once.CompareAndSwap(true, false):
			return errors.New("a bad day")
		}
		return nil
	})
	dir := t.TempDir()
	for _, q := range [][]string{
		{"s3://data/x.zoom", "--stats", "mean,std,argmax,quantiles(0.5)", "--every", "10m", "--part-size", "80KB", "--batch-size", "1"},
		{"s3://data/x.blp", "--stats", "count,sum(.bytes),argmin(.ms)", "--group", ".path", "--where", ".status >= 200", "--part-size", "1B", "--batch-size", "1"},
		{"s3://data/set/", "--stats", "count,argmax(.size),sum(.size)", "--group", "label", "--match", "7", "--batch-size", "1"},
	} {
		ask := append([]string{"analyze", "-q"}, q[:len(q)-2]...)
		on := append([]string{"analyze", "-q"}, append(q, "--on", machineARN, "--work", "s3://work/jobs")...)
		broken.Store(true)
		r := runner{}.run(t, on...)
		if r.code != exitUnavailable || !strings.Contains(r.stderr, "parts failed: part 0: no luck") || r.stdout != "" {
			t.Errorf("%q: exit %d %s%s", q[0], r.code, r.stdout, r.stderr)
		}
		broken.Store(false)
		once.Store(true)
		before := len(s.Calls())
		for _, form := range []string{"json", "csv"} {
			got, want := runner{}.run(t, append(on, "--format", form)...), runner{}.run(t, append(ask, "--format", form)...)
			if got.code != 0 || got.stdout != want.stdout || got.stderr != want.stderr {
				t.Errorf("%q: exit %d %s%s, want %s", q[0], got.code, got.stdout, got.stderr, want.stdout)
			}
		}
		if n := strings.Count(strings.Join(s.Calls()[before:], " "), "StartExecution"); n != 1 {
			t.Errorf("%q: %d runs, want 1", q[0], n)
		}
	}
	// What the index answers needs no machine.
	before := len(s.Calls())
	if got := run(t, "analyze", "s3://data/x.zoom", "--stats", "max", "--json", "--on", machineARN, "--work", "s3://work"); got != `{"max":99}`+"\n" || len(s.Calls()) != before {
		t.Error(got, s.Calls())
	}
	// One stat as an array is streamed.
	for _, q := range [][]string{{"--coarsen", "2,2", "--stat", "mean"}, {"--over", "1", "--stat", "argmax"}} {
		for _, form := range []string{"npy", "b2nd"} {
			here, there := filepath.Join(dir, "here."+form), filepath.Join(dir, "there."+form)
			ask := append([]string{"analyze", "s3://data/x.b2nd", "--part-size", "40"}, q...)
			run(t, append(ask, "-o", here, "-q")...)
			r := runner{}.run(t, append(ask, "-o", there, "--on", machineARN, "--work", "s3://work/jobs")...)
			if told := strings.Contains(r.stderr, " to read: about "); r.code != 0 || told != (form == "npy") { // b2nd takes the same parts
				t.Errorf("%q: exit %d %s", q, r.code, r.stderr)
			}
			want, err := os.ReadFile(here)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(there); err != nil || string(got) != string(want) {
				t.Errorf("%q: %d bytes, %v, want the %d of here", q, len(got), err, len(want))
			}
		}
	}
}

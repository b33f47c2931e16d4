package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/cmd/farread/internal/backfill"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
)

func TestParseSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"": "0001-01-01T00:00:00Z", "2026-11-02": "2026-11-02T00:00:00Z", "2026-11-02T10:00:00+02:00": "2026-11-02T08:00:00Z",
		"36h": "2026-11-20T00:00:00Z", "7d": "2026-11-14T12:00:00Z", "0d": "2026-11-21T12:00:00Z",
	} {
		got, err := parseSince(text, now)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-3h", "-1d", "d", "7", "1.5d", "2026-13-01"} {
		var usage *usageError
		if got, err := parseSince(text, now); !errors.As(err, &usage) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// stackEnv is cloudHere, without which short tests do.
func stackEnv(t *testing.T, o teststack.Options) *teststack.Stack {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	return cloudHere(t, o)
}

// cloudHere starts a local cloud for command lines of this process.
func cloudHere(t *testing.T, o teststack.Options) *teststack.Stack {
	t.Helper()
	s := teststack.Run(t, o)
	for k, v := range cloudEnv(s) {
		t.Setenv(k, v)
	}
	return s
}

const fillRules = `[{"bucket":"uploads","prefix":"clips/","suffix":".tar","job":"pack","out":{"bucket":"datasets","prefix":"made/"}},
	{"bucket":"uploads","prefix":"clips/","suffix":".wav","job":"zoom","out":{"bucket":"datasets","prefix":"made/"}},
	{"bucket":"uploads","prefix":"bad/","job":"pack","format":"gulp","out":{"bucket":"datasets","prefix":"made/"}}]`

// fillReport is the last line of a command's output.
func fillReport(t *testing.T, r result) backfill.Report {
	t.Helper()
	all := strings.Split(strings.TrimSpace(r.stdout), "\n")
	var rep backfill.Report
	if err := json.Unmarshal([]byte(all[len(all)-1]), &rep); err != nil {
		t.Fatalf("exit %d: %v: %q %q", r.code, err, r.stdout, r.stderr)
	}
	return rep
}

// mostToSkip is the cost of an object that is packed already: a HEAD of it, its first
// bytes, and a HEAD of each object of its output.
const mostToSkip = 4

// TestBackfill: objects that are there already are packed as their events would pack
// them, once. A dry run tells the same and writes nothing.
func TestBackfill(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"uploads", "datasets"}, Versioning: true})
	rules := filepath.Join(t.TempDir(), "rules.json")
	write(t, rules, []byte(fillRules))
	for i := range 7 {
		upload(t, fmt.Sprintf("s3://uploads/clips/a b+%%%d.tar", i), append(photosTar(t), make([]byte, 512*i)...))
	}
	upload(t, "s3://uploads/clips/tide ü.wav", tideWAV(3000))
	upload(t, "s3://uploads/clips/notes.txt", []byte("none"))
	upload(t, "s3://uploads/clips/folder/", nil)
	upload(t, "s3://uploads/other/x.tar", photosTar(t))
	fill := func(args ...string) result {
		return runner{}.run(t, append([]string{"backfill", "s3://uploads/clips/", "--rules", rules, "--json"}, args...)...)
	}
	want := backfill.Report{Prefix: "s3://uploads/clips/", DryRun: true, Complete: true, Listed: 10, Done: 8, Skipped: 2, Unmatched: 2, Failures: []backfill.Failure{}}
	r := fill("--dry-run")
	if d := cmp.Diff(want, fillReport(t, r)); d != "" || r.code != 0 {
		t.Errorf("dry run: exit %d %s %s", r.code, r.stderr, d)
	}
	if !strings.Contains(r.stdout, `{"key":"clips/tide ü.wav","job":"zoom","output":"s3://datasets/made/clips/tide ü.wav.zoom"}`) || strings.Count(r.stdout, "\n") != 9 {
		t.Errorf("dry run: %s", r.stdout)
	}
	if r := (runner{}).run(t, "ls", "s3://datasets/"); r.code != exitNotFound {
		t.Errorf("a dry run wrote %s", r.stdout)
	}
	want.DryRun = false
	if r = fill("--jobs", "3"); r.code != 0 || !cmp.Equal(want, fillReport(t, r)) {
		t.Errorf("exit %d %s: %s", r.code, r.stderr, cmp.Diff(want, fillReport(t, r)))
	}
	run(t, "verify", "s3://datasets/made/clips/a b+%6.tar.gulp")
	run(t, "verify", "s3://datasets/made/clips/tide ü.wav.zoom")
	want.Done, want.Unchanged, want.Skipped = 0, 8, 10
	if r = fill(); !cmp.Equal(want, fillReport(t, r)) {
		t.Errorf("again: exit %d %s: %s", r.code, r.stderr, cmp.Diff(want, fillReport(t, r)))
	}
	// One object is replaced; the others are older than that.
	upload(t, "s3://uploads/clips/a b+%3.tar", photosTar(t))
	want.Done, want.Unchanged, want.Skipped = 1, 7, 9
	if r = fill("--since", "1d"); !cmp.Equal(want, fillReport(t, r)) {
		t.Errorf("replaced: exit %d %s: %s", r.code, r.stderr, cmp.Diff(want, fillReport(t, r)))
	}
	want.Done, want.Unchanged, want.Older, want.Skipped = 0, 0, 8, 10
	if r = fill("--since", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)); !cmp.Equal(want, fillReport(t, r)) {
		t.Errorf("since later: exit %d %s: %s", r.code, r.stderr, cmp.Diff(want, fillReport(t, r)))
	}
	if st := stats(t, "backfill", "s3://uploads/clips/", "--rules", rules); st.Requests > 1+8*mostToSkip {
		t.Errorf("%d requests to skip 8 objects", st.Requests)
	}
	if text := run(t, "backfill", "s3://uploads/clips/", "--rules", rules); text != "10 objects, 0 packed, 8 unchanged, 2 without a rule\n" {
		t.Errorf("%q", text)
	}
}

// TestBackfillFailures: a broken object is reported once, and the others are packed.
func TestBackfillFailures(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	rules := filepath.Join(t.TempDir(), "rules.json")
	write(t, rules, []byte(fillRules))
	upload(t, "s3://uploads/bad/1.tar", photosTar(t)[:700])
	upload(t, "s3://uploads/bad/2.tar", photosTar(t))
	for _, dry := range []bool{true, false} {
		args := []string{"backfill", "s3://uploads/bad/", "--rules", rules, "--json"}
		if dry {
			args = append(args, "--dry-run")
		}
		r := runner{}.run(t, args...)
		rep := fillReport(t, r)
		listing := runner{}.run(t, "ls", "s3://datasets/", "--objects").stdout
		if dry { // a dry run does not read to the end
			if r.code != 0 || rep.Done != 2 || listing != "" {
				t.Errorf("dry run: exit %d %s %+v %s", r.code, r.stderr, rep, listing)
			}
			continue
		}
		if r.code != exitCorrupt || rep.Done != 1 || rep.Failed != 1 || !rep.Complete || len(rep.Failures) != 1 || rep.Failures[0].Key != "bad/1.tar" || rep.Failures[0].Retry {
			t.Errorf("exit %d %s %+v", r.code, r.stderr, rep)
		}
		if !strings.Contains(listing, "errors/bad/1.tar.json") || !strings.Contains(listing, "made/bad/2.tar.gulp") {
			t.Error(listing)
		}
	}
	write(t, rules, []byte(strings.ReplaceAll(fillRules, `"datasets"`, `"no-such-bucket"`)))
	r := runner{}.run(t, "backfill", "s3://uploads/bad/", "--rules", rules, "--json")
	if rep := fillReport(t, r); r.code != exitUnavailable || rep.Retry != 2 || !rep.Complete || !rep.Failures[0].Retry || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("no output bucket: exit %d %s %+v", r.code, r.stderr, rep)
	}
	for name, args := range map[string][]string{
		"folder": {t.TempDir()}, "no rule": {"s3://elsewhere/"}, "no rule for the prefix": {"s3://uploads/other/"}, "jobs": {"s3://uploads/bad/", "--jobs", "0"},
		"since": {"s3://uploads/bad/", "--since", "soon"}, "checkpoint of a dry run": {"s3://uploads/bad/", "--dry-run", "--checkpoint", filepath.Join(t.TempDir(), "c")},
	} {
		if r := (runner{}).run(t, append([]string{"backfill", "--rules", rules}, args...)...); r.code != exitUsage || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d %q", name, r.code, r.stderr)
		}
	}
}

// TestBackfillResume: a backfill that is killed or interrupted again and again, at any
// request, gets to its end, and lists no key a second time.
func TestBackfillResume(t *testing.T) {
	s := stackEnv(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	dir := t.TempDir()
	rules, mark := filepath.Join(dir, "rules.json"), filepath.Join(dir, "mark.json")
	write(t, rules, []byte(fillRules))
	const n = 60
	p := photosTar(t)
	for i := range n {
		upload(t, fmt.Sprintf("s3://uploads/clips/%02d.tar", i), p)
	}
	to, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var last result
	runs := 0
	var afters []string
	for round := 0; ; round++ {
		g := &gate{to: to, left: 90 + 7*round}
		cmd := exec.Command(os.Args[0], "backfill", "s3://uploads/clips/", "--rules", rules, "--checkpoint", mark, "--jobs", "3", "--json")
		started := make(chan struct{})
		g.pull = func() {
			<-started
			if round%2 == 0 {
				_ = cmd.Process.Signal(os.Interrupt)
			} else {
				_ = cmd.Process.Kill()
			}
		}
		srv := httptest.NewServer(g)
		cmd.Env = append(os.Environ(), asProgram+"=1", "AWS_ENDPOINT_URL="+srv.URL)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		close(started)
		err := cmd.Wait()
		srv.Close()
		last = result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
		runs++
		afters = append(afters, g.after...)
		if err == nil {
			break
		}
		if round > 60 {
			t.Fatalf("no end: %+v", last)
		}
		if round%2 == 0 && (last.code != exitInterrupted || strings.Count(last.stderr, "\n") != 1) {
			t.Fatalf("interrupted: exit %d %q", last.code, last.stderr)
		}
		if round%2 == 0 {
			if rep := fillReport(t, last); rep.Complete || rep.Failed+rep.Retry > 0 {
				t.Fatalf("interrupted: %+v", rep)
			}
		}
	}
	rep := fillReport(t, last)
	if runs < 3 || !rep.Complete || rep.Retry+rep.Failed > 0 {
		t.Errorf("%d runs: %+v", runs, rep)
	}
	for i := range n {
		run(t, "info", fmt.Sprintf("s3://datasets/made/clips/%02d.tar.gulp", i))
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the checkpoint is still there: %v", err)
	}
	if !slices.ContainsFunc(afters, func(a string) bool { return a > "clips/30" }) || !slices.IsSorted(afters) {
		t.Errorf("listings began behind %q", afters)
	}
	// The checkpoint of another run is refused.
	write(t, mark, []byte(`{"version":1,"run":"x","after":"","again":[],"report":{}}`))
	for _, text := range []string{"", "null", `{"version":2}`, `{"version":1,"run":"x"}`, `{"version":1,"more":1}`} {
		write(t, mark, []byte(text))
		if r := (runner{}).run(t, "backfill", "s3://uploads/clips/", "--rules", rules, "--checkpoint", mark); r.code != exitUsage {
			t.Errorf("checkpoint %q: exit %d %q", text, r.code, r.stderr)
		}
	}
}

// A gate passes requests on and calls pull at one of them. It remembers the keys after
// which listings began.
type gate struct {
	to    *url.URL
	mu    sync.Mutex
	left  int
	pull  func()
	after []string
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	if q := r.URL.Query(); q.Has("list-type") {
		g.after = append(g.after, q.Get("start-after"))
	}
	g.left--
	now := g.left == 0
	g.mu.Unlock()
	if now {
		g.pull()
	}
	(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = g.to.Scheme, g.to.Host
		r.Out.Host = r.In.Host // the signature covers the host
	}}).ServeHTTP(w, r)
}

// TestBackfillOutage: if a store fails, the run ends early, and the next run tries the
// failed objects again.
func TestBackfillOutage(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	dir := t.TempDir()
	rules, mark := filepath.Join(dir, "rules.json"), filepath.Join(dir, "mark.json")
	write(t, rules, []byte(fillRules))
	p := photosTar(t)
	for i := range 5 {
		upload(t, fmt.Sprintf("s3://uploads/clips/%02d.tar", i), p)
	}
	a := &app{env: func(string) string { return "" }, stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	a.flags.maxMemory = 1 << 30
	if err := a.setup(); err != nil {
		t.Fatal(err)
	}
	broken := map[string]bool{"clips/01.tar": true, "clips/04.tar": true}
	for round := range 2 {
		o := backfill.Options{Name: "uploads", Prefix: "clips/", Jobs: 2, Mark: mark}
		rules, err := a.rules(rules)
		if err != nil {
			t.Fatal(err)
		}
		if o.Bucket, err = a.bucket(t.Context(), "uploads"); err != nil {
			t.Fatal(err)
		}
		if o.Handler, err = a.handler(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
		o.Handler.Buckets = func(name string) (objstore.Bucket, error) {
			b, err := a.bucket(t.Context(), name)
			return flaky{b, broken}, err
		}
		f, err := backfill.New(o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []backfill.Report{{Listed: 5, Done: 3, Retry: 2}, {Listed: 5, Done: 5}}[round]
		if got.Done != want.Done || got.Retry != want.Retry || got.Listed != want.Listed {
			t.Errorf("run %d: %+v", round, got)
		}
		if _, err := os.Stat(mark); (err == nil) != (round == 0) {
			t.Errorf("run %d: checkpoint: %v", round, err)
		}
		clear(broken)
	}
}

// A flaky bucket does not answer for some keys.
type flaky struct {
	objstore.Bucket
	keys map[string]bool
}

func (f flaky) Head(ctx context.Context, key string) (objstore.Info, error) {
	if f.keys[key] {
		return objstore.Info{}, &objstore.Error{Op: "head", Bucket: f.Name(), Key: key, Status: 503, Err: objstore.ErrThrottled}
	}
	return f.Bucket.Head(ctx, key)
}

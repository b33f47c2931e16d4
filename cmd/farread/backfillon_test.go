package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/cmd/farread/internal/backfill"
	"github.com/farread/farread/cmd/farread/internal/worker"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

const fillMachine = "arn:aws:states:us-east-1:123456789012:stateMachine:demo-backfill"

// filling is Step Functions with the machine of backfills, whose definition runs in e2e/aws:
// it gives the functions each object of the list, and writes the answers beside it.
type filling struct {
	t    *testing.T
	h    *functions.Handler
	open func(name string) objstore.Bucket

	mu     sync.Mutex
	ran    map[string]bool
	starts []string        // names of executions
	lose   map[string]bool // batches whose child fails
	broken bool            // functions cannot be called
	hold   bool            // executions run for ever, and do nothing
}

func (s *filling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in struct{ Name, Input, ExecutionArn string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		s.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	switch strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AWSStepFunctions.") {
	case "StartExecution":
		if s.ran[in.Name] {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"ExecutionAlreadyExists","message":"no"}`)
			return
		}
		if s.starts = append(s.starts, in.Name); !s.hold {
			s.ran[in.Name] = true
			s.run(r.Context(), in.Name, in.Input)
		}
		fmt.Fprintf(w, `{"executionArn":"arn:aws:states:us-east-1:123456789012:execution:demo-backfill:%s","startDate":%d}`, in.Name, time.Now().Unix())
	case "DescribeExecution":
		status := "RUNNING"
		if s.ran[in.ExecutionArn[strings.LastIndexByte(in.ExecutionArn, ':')+1:]] {
			status = "SUCCEEDED"
		}
		fmt.Fprintf(w, `{"status":%q}`, status)
	default:
		fmt.Fprint(w, `{"stopDate":1}`)
	}
}

func (s *filling) run(ctx context.Context, name, input string) {
	var in struct{ Bucket, List, Results string }
	var batches []struct {
		Name, Job, Bucket string
		Keys              []string
	}
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		s.t.Error(err)
	}
	body, _, err := s.open(in.Bucket).Get(ctx, in.List, objstore.GetOptions{})
	if err != nil {
		s.t.Error(err)
		return
	}
	defer body.Close()
	list, err := io.ReadAll(body)
	if err == nil {
		err = json.Unmarshal(list, &batches)
	}
	if err != nil {
		s.t.Error(err)
	}
	for _, b := range batches {
		if s.lose[b.Name] {
			continue
		}
		answers := []json.RawMessage{}
		for _, key := range b.Keys {
			event, _ := json.Marshal(map[string]any{"bucket": b.Bucket, "key": key, "retries": 0})
			r, err := s.h.Handle(ctx, event)
			answer := r.Answer()
			if err == nil && s.broken {
				err = objstore.ErrUnavailable
			}
			if err != nil {
				answer, _ = json.Marshal(map[string]string{"outcome": "again", "error": "Temporary", "cause": `{"errorMessage":"` + err.Error() + `"}`})
			}
			answers = append(answers, answer)
		}
		text, _ := json.Marshal(answers)
		if b.Name == "000000" { // as the SDK of Step Functions writes a text
			text, _ = json.Marshal(string(text))
		}
		if _, err := objstore.Put(ctx, s.open(in.Bucket), in.Results+name+"/"+b.Name+".json", bytes.NewReader(text), objstore.PutOptions{}); err != nil {
			s.t.Error(err)
		}
	}
}

// fillingHere is a local cloud with state machines.
func fillingHere(t *testing.T) *filling {
	t.Helper()
	c := stackEnv(t, teststack.Options{Buckets: []string{"uploads", "datasets", "work"}})
	s := &filling{t: t, ran: map[string]bool{}, open: func(name string) objstore.Bucket {
		b, err := s3store.New(context.Background(), s3store.Config{Bucket: name, Endpoint: c.Endpoint, Region: c.Region, AccessKey: c.AccessKey, SecretKey: c.SecretKey})
		if err != nil {
			t.Error(err)
		}
		return b
	}}
	rules, err := functions.ParseRules([]byte(fillRules))
	if err != nil {
		t.Fatal(err)
	}
	if s.h, err = worker.New(worker.Options{Rules: rules, Buckets: func(name string) (objstore.Bucket, error) { return s.open(name), nil }}); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	t.Setenv("AWS_ENDPOINT_URL_SFN", srv.URL)
	return s
}

// TestBackfillOn: a state machine and the functions make of a prefix what a run here makes,
// and the report is the same. The same command again is another run, in which nothing is
// packed; while a run goes on, it is followed.
func TestBackfillOn(t *testing.T) {
	s := fillingHere(t)
	rules := filepath.Join(t.TempDir(), "rules.json")
	write(t, rules, []byte(fillRules))
	const n = 23
	p := photosTar(t)
	for i := range n {
		upload(t, fmt.Sprintf("s3://uploads/clips/a b+%%<%02d>.tar", i), p)
	}
	upload(t, "s3://uploads/clips/tide ü.wav", tideWAV(3000))
	upload(t, "s3://uploads/clips/notes.txt", []byte("none"))
	upload(t, "s3://uploads/bad/1.tar", p[:700])
	fill := func(args ...string) (result, backfill.Report) {
		r := runner{}.run(t, append([]string{"backfill", "s3://uploads/", "--rules", rules, "--json", "--on", fillMachine, "--work", "s3://work/some/jobs"}, args...)...)
		return r, fillReport(t, r)
	}
	want := backfill.Report{Prefix: "s3://uploads/", Complete: true, Listed: n + 3, Done: n + 1, Skipped: 1, Unmatched: 1, Failed: 1}
	r, got := fill()
	if len(got.Failures) != 1 || got.Failures[0].Key != "bad/1.tar" || got.Failures[0].Retry || r.code != exitCorrupt {
		t.Errorf("exit %d %s %+v", r.code, r.stderr, got.Failures)
	}
	want.Failures = got.Failures
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	run(t, "verify", "s3://datasets/made/clips/a b+%<07>.tar.gulp")
	// A batch is lost: its objects have failed for now.
	s.lose = map[string]bool{"000001": true}
	want.Done, want.Unchanged, want.Skipped, want.Retry, want.Complete = 0, n+1-10, n+2-10, 10, false
	r, got = fill()
	if len(got.Failures) != 2 || !got.Failures[1].Retry || got.Failures[1].Error != "the run has no result of its batch" || r.code != exitUnavailable {
		t.Errorf("exit %d %s %+v", r.code, r.stderr, got.Failures)
	}
	want.Failures = got.Failures
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	name, _, _ := strings.Cut(s.starts[0], "/")
	if d := cmp.Diff([]string{name, name + "-2"}, s.starts); d != "" || !strings.HasPrefix(name, "backfill-") {
		t.Error(d)
	}
	if _, got = fill("--since", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)); got.Older != n+2 || got.Listed != n+3 || !got.Complete || len(s.starts) != 2 {
		t.Errorf("nothing to do: %+v, %q", got, s.starts)
	}
}

// TestBackfillOnFails: what ends a run, and what is refused before it.
func TestBackfillOnFails(t *testing.T) {
	s := fillingHere(t)
	rules := filepath.Join(t.TempDir(), "rules.json")
	write(t, rules, []byte(fillRules))
	for i := range 101 {
		upload(t, fmt.Sprintf("s3://uploads/bad/%03d.txt", i), []byte("none"))
	}
	s.broken = true
	args := []string{"backfill", "s3://uploads/", "--rules", rules, "--json", "--on", fillMachine, "--work", "s3://work"}
	r := runner{}.run(t, args...)
	if got := fillReport(t, r); r.code != exitUnavailable || !strings.Contains(r.stderr, "too many objects in a row failed: service unavailable") || got.Retry < 100 || got.Complete {
		t.Errorf("exit %d %s %+v", r.code, r.stderr, got)
	}
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"no work":          {[]string{"--on", fillMachine}, exitUsage},
		"work alone":       {[]string{"--work", "s3://work"}, exitUsage},
		"work in a folder": {[]string{"--on", fillMachine, "--work", t.TempDir()}, exitUsage},
		"no machine":       {[]string{"--on", "demo-backfill", "--work", "s3://work"}, exitUsage},
		"dry run":          {[]string{"--on", fillMachine, "--work", "s3://work", "--dry-run"}, exitUsage},
		"jobs":             {[]string{"--on", fillMachine, "--work", "s3://work", "--jobs", "3"}, exitUsage},
		"no work bucket":   {[]string{"--on", fillMachine, "--work", "s3://no-such-bucket/x"}, exitNotFound},
	} {
		r := runner{}.run(t, append([]string{"backfill", "s3://uploads/", "--rules", rules}, c.args...)...)
		if r.code != c.code || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d %q", name, r.code, r.stderr)
		}
	}
}

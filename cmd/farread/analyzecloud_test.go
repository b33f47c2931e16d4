package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/functions/bootstrap"
	wired "github.com/farread/farread/functions/bootstrap/analysis"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/machinetest"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
)

// stateMachine serves the state machine of an analysis. bad may fail events.
func stateMachine(t *testing.T, bad func(e *parts.Event) error) *machinetest.Server {
	t.Helper()
	return machineOf(t, wired.Function(bootstrap.CallConfig{Memory: 1 << 30, NoHedge: true}, slog.New(slog.DiscardHandler)), bad)
}

// machineOf serves the state machine of the module, whose function runs in this process.
func machineOf(t *testing.T, f *parts.Function, bad func(e *parts.Event) error) *machinetest.Server {
	t.Helper()
	text, err := os.ReadFile("../../terraform/modules/pipeline/analysis.asl.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := machinetest.Parse(string(text), map[string]string{"function_arn": "fn", "max_concurrency": "8"})
	if err != nil {
		t.Fatal(err)
	}
	m.Jobs = 2
	m.Read = func(bucket, key string) ([]byte, error) {
		b, err := f.Buckets(bucket)
		if err != nil {
			return nil, err
		}
		r, _, err := b.Get(context.Background(), key, objstore.GetOptions{})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	m.Invoke = func(_ string, payload []byte) (answer []byte, fail *machinetest.Error) {
		var e parts.Event
		err := json.Unmarshal(payload, &e)
		if err == nil && bad != nil {
			err = bad(&e)
		}
		if err == nil {
			answer, err = f.Handle(context.Background(), payload)
		}
		switch {
		case err == nil:
			return answer, nil
		case parts.Permanent(err):
			return nil, &machinetest.Error{Name: "Permanent", Cause: err.Error()}
		}
		return nil, &machinetest.Error{Name: "Temporary", Cause: err.Error()}
	}
	s := &machinetest.Server{Machine: m}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	t.Setenv("AWS_ENDPOINT_URL_SFN", srv.URL)
	return s
}

const machineARN = "arn:aws:states:us-east-1:123456789012:stateMachine:analysis"

// TestAnalyzeOn runs what needs a store.
func TestAnalyzeOn(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"data", "work"}})
	plain, _ := analyzed(t)
	run(t, "cp", plain, "s3://data/x.b2nd", "-q")
	t.Run("answers", analyzeOn)
	t.Run("interrupt", analyzeOnInterrupt)
}

// analyzeOn: a state machine gives the answer of this machine, once; what fails is told
// with its parts and reasons, and another run makes only what is missing.
func analyzeOn(t *testing.T) {
	var broken atomic.Int64
	broken.Store(-1)
	s := stateMachine(t, func(e *parts.Event) error {
		if e.Make != nil && int64(e.Make.From) == broken.Load() {
			return errors.New("no luck")
		}
		return nil
	})
	ask := []string{"analyze", "s3://data/x.b2nd", "--part-size", "40", "--stats", "mean,std,argmax,hist(3,0:60),quantiles(0.5)"}
	on := append(ask, "--on", machineARN, "--work", "s3://work/jobs", "--batch-size", "80")
	for n, form := range [][]string{{"--json"}, {"-o", "-", "--format", "csv"}, nil} {
		if got, want := run(t, append(on, form...)...), run(t, append(ask, form...)...); got != want {
			t.Errorf("%v: %s, want %s", form, got, want)
		}
		if calls := s.Calls(); strings.Count(strings.Join(calls, " "), "StartExecution") != 1 {
			t.Fatalf("after %d: %v", n, calls)
		}
	}
	broken.Store(0)
	on = append(on, "--over", "1") // another plan
	r := runner{}.run(t, on...)
	if want := "2 of 3 parts failed: parts 0-1: no luck\n"; r.code != exitUnavailable || !strings.HasSuffix(r.stderr, want) || r.stdout != "" {
		t.Errorf("exit %d %s%s, want %s", r.code, r.stdout, r.stderr, want)
	}
	broken.Store(-1)
	r = runner{}.run(t, on...)
	if want := run(t, append(ask, "--over", "1")...); r.code != 0 || r.stdout != want || !strings.HasPrefix(r.stderr, "2 parts in 1 call, 144 B to read: about ") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%+v, want %s", r, want)
	}
	// What would be done is told, and nothing is started.
	before := len(s.Calls())
	var p analysisPlan
	if err := json.Unmarshal([]byte(run(t, append(on, "--where", "v > 5", "--explain", "--json")...)), &p); err != nil || p.Cloud == nil {
		t.Fatalf("%v %+v", err, p)
	}
	if b := p.Cloud; p.Parts != 3 || b.Invocations != 2+1 || b.Transitions != 3+2*2 || b.Puts != 4 || b.Lists != 3 || b.Workers != 2 || len(s.Calls()) != before {
		t.Errorf("%+v", b)
	}
	// What the index answers needs no machine.
	if got := run(t, "analyze", "s3://data/x.b2nd", "--stats", "count", "--json", "--on", machineARN, "--work", "s3://work"); got != `{"count":60}`+"\n" || len(s.Calls()) != before {
		t.Error(got, s.Calls())
	}
}

// analyzeOnInterrupt: an interrupt leaves the run, the same command follows it, and
// --stop ends it.
func analyzeOnInterrupt(t *testing.T) {
	s := stateMachine(t, nil)
	s.Hold = make(chan struct{})
	ask := []string{"analyze", "s3://data/x.b2nd", "--stats", "mean"}
	on := append(ask, "--on", machineARN, "--work", "s3://work/jobs/")
	interrupted := func(describes int) {
		t.Helper()
		n := describes + strings.Count(strings.Join(s.Calls(), " "), "DescribeExecution")
		var errs strings.Builder
		a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs, env: func(string) string { return "" }, patient: true}
		interrupts, done := make(chan os.Signal, 1), make(chan struct{})
		go func() {
			s.Await("DescribeExecution", n, done)
			interrupts <- os.Interrupt
		}()
		code := a.main(on, interrupts, time.Minute)
		close(done)
		if code != exitInterrupted || !strings.Contains(errs.String(), "the run goes on: ") {
			t.Errorf("exit %d %s", code, errs.String())
		}
	}
	interrupted(1)
	interrupted(2) // one to find it, one to follow it
	run(t, append(on, "--stop")...)
	refused(t, exitNotFound, "no run of this plan goes on", append(on, "--stop")...)
	kinds := map[string]int{}
	for _, c := range s.Calls() {
		kind, _, _ := strings.Cut(c, " ")
		kinds[kind]++
	}
	if kinds["StartExecution"] != 1 || kinds["StopExecution"] != 1 {
		t.Errorf("%v", kinds)
	}
	close(s.Hold)
	if got, want := run(t, append(on, "-q")...), run(t, ask...); got != want { // the stopped run may have made the part, or not
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAnalyzeOnRefused: command lines that make no sense.
func TestAnalyzeOnRefused(t *testing.T) {
	t.Parallel()
	plain, _ := analyzed(t)
	for want, args := range map[string][]string{
		"--stop are for --on":       {"--work", "s3://b"},
		"want the ARN":              {"--on", "machine", "--work", "s3://b"},
		"want --work":               {"--on", machineARN},
		"want --work s3":            {"--on", machineARN, "--work", "/tmp"},
		"--jobs is for a run on":    {"--on", machineARN, "--work", "s3://b", "--jobs", "3"},
		"--checkpoint is for a run": {"--on", machineARN, "--work", "s3://b", "--checkpoint", filepath.Join(t.TempDir(), "x")},
		"a file of this machine":    {"--on", machineARN, "--work", "s3://b"},
		"is read only here; want":   {"--on", machineARN, "--work", "s3://b", "--explain"},
	} {
		refused(t, exitUsage, want, append([]string{"analyze", plain, "--stats", "sum"}, args...)...)
	}
}

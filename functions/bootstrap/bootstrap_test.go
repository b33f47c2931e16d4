package bootstrap_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/objstore"
)

const rules = `[{"bucket":"uploads","job":"pack","format":"gulp","out":{"bucket":"datasets"}}]`

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rules.json"), []byte(rules+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  map[string]string
		dir  string
		want string // of the error; "": none
	}{
		"in the environment": {map[string]string{bootstrap.EnvRules: " " + rules}, "/nowhere", ""},
		"path":               {map[string]string{bootstrap.EnvRules: filepath.Join(dir, "rules.json")}, "/nowhere", ""},
		"file":               {map[string]string{bootstrap.EnvRulesFile: filepath.Join(dir, "rules.json")}, "/nowhere", ""},
		"beside":             {map[string]string{bootstrap.EnvMaxMemory: "300", bootstrap.EnvLog: "debug"}, dir, ""},
		"none":               {nil, "/nowhere", bootstrap.EnvRules},
		"empty list":         {map[string]string{bootstrap.EnvRules: "[]"}, dir, "empty"},
		"unknown field":      {map[string]string{bootstrap.EnvRules: `[{"buckets":"x"}]`}, dir, "buckets"},
		"memory":             {map[string]string{bootstrap.EnvMaxMemory: "lots"}, dir, bootstrap.EnvMaxMemory},
		"metrics":            {map[string]string{bootstrap.EnvMetrics: "loud"}, dir, bootstrap.EnvMetrics},
		"hedge":              {map[string]string{bootstrap.EnvHedge: "no"}, dir, bootstrap.EnvHedge},
		"log":                {map[string]string{bootstrap.EnvLog: "loud"}, dir, bootstrap.EnvLog},
	} {
		got, err := bootstrap.Load(func(k string) string { return c.env[k] }, c.dir)
		switch {
		case c.want == "" && (err != nil || len(got.Rules) != 1):
			t.Errorf("%s: %+v, %v", name, got, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHandlerChecks(t *testing.T) {
	t.Parallel()
	c, err := bootstrap.Load(func(k string) string { return map[string]string{bootstrap.EnvRules: rules}[k] }, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bootstrap.Handler(c, slog.New(slog.DiscardHandler), nil); err == nil || !strings.Contains(err.Error(), "pack") {
		t.Errorf("a rule for a job that is not there: %v", err)
	}
	job := func(functions.Rule, objstore.Bucket) (functions.Job, error) { return nil, nil }
	if _, err := bootstrap.Handler(c, slog.New(slog.DiscardHandler), map[string]functions.JobMaker{"pack": job}); err != nil {
		t.Error(err)
	}
}

// TestOwnJob: a function may have jobs that farread lacks.
func TestOwnJob(t *testing.T) {
	t.Parallel()
	env := func(k string) string {
		return map[string]string{bootstrap.EnvRules: `[{"bucket": "incoming", "job": "upper", "out": {"bucket": "outgoing"}}]`}[k]
	}
	if _, err := bootstrap.Load(env, ""); err == nil || !strings.Contains(err.Error(), `"upper"`) {
		t.Errorf("a job that nobody has: %v", err)
	}
	c, err := bootstrap.Load(env, "", "upper", "pack")
	if err != nil {
		t.Fatal(err)
	}
	job := func(functions.Rule, objstore.Bucket) (functions.Job, error) { return nil, nil }
	if _, err := bootstrap.Handler(c, slog.New(slog.DiscardHandler), map[string]functions.JobMaker{"upper": job, "pack": job}); err != nil {
		t.Error(err)
	}
}

// build makes the real function as it is deployed.
func build(tb testing.TB) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), "bootstrap")
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w", "-o", bin, "github.com/farread/farread/cmd/fn-pack")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// runtimeAPI is the part of Lambda's Runtime API that a function talks to:
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
type runtimeAPI struct {
	next   chan struct{} // one for each request of the function for work
	events chan string
	answer chan string // "response" or "error", and the body
}

func (a *runtimeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch what := filepath.Base(r.URL.Path); what {
	case "next":
		a.next <- struct{}{}
		select {
		case e := <-a.events:
			h := w.Header()
			h.Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
			h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10))
			h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:fn-pack")
			io.WriteString(w, e)
		case <-r.Context().Done():
		}
	case "response", "error":
		b, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		a.answer <- what + " " + string(b)
	default:
		http.NotFound(w, r)
	}
}

// process is a function that runs. stdout is complete after end.
type process struct {
	*exec.Cmd

	stdout bytes.Buffer
	gone   chan struct{}
}

func (p *process) end() {
	_ = p.Process.Kill()
	<-p.gone
}

// start runs the function against a Runtime API of its own and waits for its
// first request for work.
func start(tb testing.TB, bin string, env ...string) (*runtimeAPI, *process, time.Duration) {
	tb.Helper()
	a := &runtimeAPI{next: make(chan struct{}, 100), events: make(chan string), answer: make(chan string, 1)}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	srv := &http.Server{Handler: a}
	go func() { _ = srv.Serve(ln) }()
	var log bytes.Buffer
	p := &process{Cmd: exec.Command(bin), gone: make(chan struct{})}
	p.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + ln.Addr().String(), "AWS_REGION=us-east-1", "AWS_LAMBDA_FUNCTION_NAME=fn-pack", bootstrap.EnvRules + "=" + rules}, env...)
	p.Stderr, p.Stdout = &log, &p.stdout
	begun := time.Now()
	if err := p.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait(); close(p.gone) }()
	tb.Cleanup(func() {
		p.end()
		srv.Close()
	})
	select {
	case <-a.next:
	case err := <-ended:
		tb.Fatalf("%v\n%s", err, log.String())
	}
	return a, p, time.Since(begun)
}

// TestFunction runs the real binary: the answers that need no store, and the
// metrics that go with them. Size, memory and time are in functions/soak.
func TestFunction(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the function")
	}
	bin := build(t)
	a, p, _ := start(t, bin)
	const sqs = `{"Records":[{"messageId":%q,"eventSource":"aws:sqs","body":%q}]}`
	for _, c := range [][2]string{
		{`{"Event":"s3:TestEvent"}`, "response null"},
		{fmt.Sprintf(sqs, "m1", `{"Event":"s3:TestEvent"}`), `response {"batchItemFailures":[]}`},
		{fmt.Sprintf(sqs, "m2", `poison`), `response {"batchItemFailures":[{"itemIdentifier":"m2"}]}`},
	} {
		a.events <- c[0]
		if got := <-a.answer; got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
	a.events <- "{}"
	if got := <-a.answer; !strings.HasPrefix(got, "error ") {
		t.Errorf("an unknown event: %s", got)
	}
	p.end()
	var ignored, retried float64
	lines := linesOf(t, p.stdout.Bytes())
	for _, l := range lines {
		if !slices.Equal(l.dimensions, []string{"function=fn-pack"}) || l.request != "8476a536-e9f4-11e8-9739-2dfe598c3fcd" {
			t.Errorf("%+v", l)
		}
		ignored += l.values["Ignored"][0]
		retried += l.values["Retried"][0]
	}
	if len(lines) != 4 || ignored != 2 || retried != 2 {
		t.Errorf("%d lines, %v ignored, %v retried: %s", len(lines), ignored, retried, p.stdout.String())
	}
	a, p, _ = start(t, bin, bootstrap.EnvMetrics+"=off")
	a.events <- `{"Event":"s3:TestEvent"}`
	<-a.answer
	p.end()
	if p.stdout.Len() > 0 {
		t.Errorf("metrics that are off: %s", p.stdout.String())
	}
}

package bootstrap_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	if _, err := bootstrap.Handler(c, io.Discard, nil); err == nil || !strings.Contains(err.Error(), "pack") {
		t.Errorf("a rule for a job that is not there: %v", err)
	}
	job := func(functions.Rule, objstore.Bucket) (functions.Job, error) { return nil, nil }
	if _, err := bootstrap.Handler(c, io.Discard, map[string]functions.JobMaker{"pack": job}); err != nil {
		t.Error(err)
	}
}

// build makes the real function as it is deployed.
func build(tb testing.TB) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), "bootstrap")
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", bin, "github.com/farread/farread/cmd/fn-pack")
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

// start runs the function against a Runtime API of its own and waits for its
// first request for work.
func start(tb testing.TB, bin string) (*runtimeAPI, *exec.Cmd, time.Duration) {
	tb.Helper()
	a := &runtimeAPI{next: make(chan struct{}, 100), events: make(chan string), answer: make(chan string, 1)}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	srv := &http.Server{Handler: a}
	go func() { _ = srv.Serve(ln) }()
	var log bytes.Buffer
	cmd := exec.Command(bin)
	cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + ln.Addr().String(), "AWS_REGION=us-east-1", "AWS_LAMBDA_FUNCTION_NAME=fn-pack", bootstrap.EnvRules + "=" + rules}
	cmd.Stderr = &log
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		srv.Close()
	})
	select {
	case <-a.next:
	case err := <-gone:
		tb.Fatalf("%v\n%s", err, log.String())
	}
	return a, cmd, time.Since(begun)
}

// TestFunction runs the real binary: its size, its memory when idle, and the
// answers that need no store.
func TestFunction(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the function")
	}
	bin := build(t)
	info, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 14_000_000 {
		t.Errorf("binary of %d bytes, over 14 MB", info.Size())
	}
	a, cmd, took := start(t, bin)
	rss := resident(t, cmd.Process.Pid)
	t.Logf("exec to first next %v, %d KiB resident, %d bytes", took, rss>>10, info.Size())
	if rss > 20<<20 {
		t.Errorf("%d bytes resident when idle, over 20 MiB", rss)
	}
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
}

func resident(tb testing.TB, pid int) int64 {
	tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Skip("no /proc here")
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return n << 10
		}
	}
	tb.Fatal("no VmRSS")
	return 0
}

// BenchmarkColdStart is exec to the first request for work.
func BenchmarkColdStart(b *testing.B) {
	bin := build(b)
	for b.Loop() {
		_, cmd, _ := start(b, bin)
		_ = cmd.Process.Kill()
	}
}

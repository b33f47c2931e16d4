package soak_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/soak"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// full says that the tests run on the scale of docs/reliability.md.
func full() bool { return os.Getenv("FARREAD_SOAK") != "" }

// scale is small, or large with `make soak`.
func scale(small, large int) int {
	if full() {
		return large
	}
	return small
}

// apart lets a test run by itself if its figures count, and else beside others.
func apart(t *testing.T) {
	t.Helper()
	if !full() {
		t.Parallel()
	}
}

// figure writes down the result of a test, for the table of docs/reliability.md: a
// line of JSON in the file that FARREAD_SOAK names. If the goal is missed without a
// fault of the program (a slow machine), that is written down, and the test does not
// fail.
func figure(t *testing.T, id, what, got, goal string, hit bool) {
	t.Helper()
	t.Logf("%s: %s: %s (goal: %s; hit: %t)", id, what, got, goal, hit)
	if !full() {
		return
	}
	b, err := json.Marshal(soak.Figure{ID: id, What: what, Got: got, Goal: goal, Hit: hit && !t.Failed(), Test: t.Name(), Date: time.Now().UTC().Format(time.DateOnly)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(os.Getenv("FARREAD_SOAK"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(b, '\n')); err != nil {
		t.Fatal(err)
	}
}

// TestMain removes the folder that built has made.
func TestMain(m *testing.M) {
	code := m.Run()
	if dir := builtIn.Load(); dir != nil {
		os.RemoveAll(*dir)
	}
	os.Exit(code)
}

var builtIn atomic.Pointer[string]

// built is a folder with the functions for this machine, made once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "farread-soak-")
	if err != nil {
		return "", err
	}
	builtIn.Store(&dir)
	return dir, buildFor(dir, runtime.GOARCH)
})

// buildFor builds the functions as `make zip` does.
func buildFor(dir, arch string) error {
	for _, name := range []string{"fn-pack", "fn-zoom"} {
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w",
			"-o", filepath.Join(dir, name, "bootstrap"), "github.com/farread/farread/cmd/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	return nil
}

// options of a cloud.
type options struct {
	seed        uint64
	tries       int
	retryDelay  time.Duration
	concurrency int
	shape       string // of events; "": sqs
	codec       string // of Bloscpack
	wrap        string // shell commands to run before the function starts
	args        []string
}

// A cloud is the local cloud with the real functions, which see its S3 server
// through the proxy. in and out see it directly.
type cloud struct {
	*teststack.Stack
	proxy   *proxy
	in, out *s3store.Bucket
	bins    string

	mu   sync.Mutex
	runs map[string][]run // by key
	any  *sync.Cond
	over bool
}

// run is the result of one upload in one invocation.
type run struct {
	failed, dead bool
	err          string
	ms           float64
}

const (
	uploads  = "uploads"
	datasets = "datasets"
	joined   = "joined/days.b2nd" // what uploads below join/ become
)

func start(t *testing.T, o options) *cloud {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the local cloud and builds the functions")
	}
	bins, err := built()
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{proxy: newProxy(t, o.seed), bins: bins, runs: map[string][]run{}}
	c.any = sync.NewCond(&c.mu)
	if o.wrap != "" {
		bins = wrapped(t, bins, o.wrap)
	}
	rulesFile := filepath.Join(t.TempDir(), "rules.json")
	doc, err := json.Marshal(rules(o.shape, o.codec))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rulesFile, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--rules", rulesFile, "--functions", bins, "--env", "AWS_ENDPOINT_URL=" + c.proxy.URL, "--batch-window", "20ms",
		"--tries", strconv.Itoa(max(o.tries, 1)), "--retry-delay", max(o.retryDelay, time.Millisecond).String(), "--concurrency", strconv.Itoa(max(o.concurrency, 1))}
	c.Stack = teststack.Run(t, teststack.Options{Args: append(args, o.args...)})
	c.proxy.to(c.Endpoint)
	c.in, c.out = c.bucket(t, uploads), c.bucket(t, datasets)
	go c.follow()
	return c
}

// wrapped is a folder of scripts in place of the functions. They run lines and then
// become the function.
func wrapped(t *testing.T, bins, lines string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"fn-pack", "fn-zoom"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "#!/bin/sh\nset -e\n" + lines + "\nexec " + filepath.Join(bins, name, "bootstrap") + "\n"
		if err := os.WriteFile(filepath.Join(dir, name, "bootstrap"), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func rules(shape, codec string) functions.Rules {
	if shape == "" {
		shape = "sqs"
	}
	out := functions.Out{Bucket: datasets}
	return functions.Rules{
		{Bucket: uploads, Prefix: "gulp/", Job: "pack", Format: "gulp", Out: out, Shape: shape},
		{Bucket: uploads, Prefix: "b2nd/", Job: "pack", Format: "b2nd", Out: out, Shape: shape},
		{Bucket: uploads, Prefix: "join/", Job: "pack", Format: "b2nd", Append: true, To: joined, Out: out, Shape: shape},
		{Bucket: uploads, Prefix: "items/", Job: "pack", Format: "bloscpack", Codec: codec, Out: out, Shape: shape},
		{Bucket: uploads, Prefix: "zoom/", Job: "zoom", Out: out, Shape: shape},
	}
}

func (c *cloud) bucket(t *testing.T, name string) *s3store.Bucket {
	t.Helper()
	b, err := s3store.New(t.Context(), s3store.Config{Bucket: name, Endpoint: c.Endpoint, Region: c.Region, AccessKey: c.AccessKey, SecretKey: c.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// follow keeps what the cloud reports about invocations.
func (c *cloud) follow() {
	for i := range c.Invocations {
		c.mu.Lock()
		for _, r := range i.Records {
			c.runs[r.Key] = append(c.runs[r.Key], run{r.Failed, r.Dead, i.Error, i.MS})
		}
		c.any.Broadcast()
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.any.Broadcast()
}

var errOver = errors.New("the cloud has ended")

// wait is the n-th run of key, from 1.
func (c *cloud) wait(key string, n int) (run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.runs[key]) < n {
		if c.over {
			return run{}, errOver
		}
		c.any.Wait()
	}
	return c.runs[key][n-1], nil
}

// after is closed when the n-th run of key is over, or the cloud is.
func (c *cloud) after(key string, n int) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.wait(key, n) // the caller asks again
	}()
	return done
}

// settled is the last run of key: the one that acknowledged it, or made a dead
// letter of it.
func (c *cloud) settled(key string) (last run, runs int, err error) {
	for n := 1; ; n++ {
		r, err := c.wait(key, n)
		if err != nil || !r.failed || r.dead {
			return r, n, err
		}
	}
}

// put uploads directly, past the proxy.
func (c *cloud) put(t *testing.T, key string, data []byte) objstore.Info {
	t.Helper()
	info, err := objstore.Put(t.Context(), c.in, key, bytes.NewReader(data), objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// redrive delivers the dead letters again.
func (c *cloud) redrive(t *testing.T) int {
	t.Helper()
	var out struct{ Redriven int }
	c.ask(t, http.MethodPost, "/_localcloud/redrive", &out)
	return out.Redriven
}

// status counts events since the start.
func (c *cloud) status(t *testing.T) (s struct {
	Pending, Delivered, Ignored, Dead, Invocations int64
	Letters                                        int `json:"dead_letters"`
}) {
	t.Helper()
	c.ask(t, http.MethodGet, "/_localcloud/status", &s)
	return s
}

func (c *cloud) ask(t *testing.T, method, path string, out any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.Endpoint+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", path, err, b)
	}
}

// pids are the running processes of a function of this cloud.
func (c *cloud) pids(name string) []int {
	var out []int
	exes, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range exes {
		exe, err := os.Readlink(link)
		if err != nil || exe != filepath.Join(c.bins, name, "bootstrap") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(link), "environ"))
		if err == nil && bytes.Contains(env, []byte("AWS_ENDPOINT_URL="+c.proxy.URL+"\x00")) {
			out = append(out, pid)
		}
	}
	return out
}

// kill sends SIGKILL to every process of a function of this cloud. It returns false if
// there was none.
func (c *cloud) kill(name string) bool {
	killed := false
	for _, pid := range c.pids(name) {
		killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
	}
	return killed
}

// peak is the most memory that a process has used, in bytes.
func peak(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("no VmHWM")
}

// keys are the keys in a bucket below a prefix.
func keys(ctx context.Context, t *testing.T, b objstore.Bucket, prefix string) []string {
	t.Helper()
	var out []string
	for i, err := range b.List(ctx, prefix) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, i.Key)
	}
	return out
}

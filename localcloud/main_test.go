package main

import (
	"bufio"
	"bytes"
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
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/farread/farread/localcloud/delivery"
	"github.com/farread/farread/localcloud/internal/testfn"
)

// The test binary is also the program and its functions: tests start it as a process
// of its own, because a process can hold only one S3 server.
func TestMain(m *testing.M) {
	testfn.Main()
	if os.Getenv("LOCALCLOUD_TEST_MAIN") == "1" {
		main()
	}
	os.Exit(m.Run())
}

// patience bounds every wait. Nothing takes so long unless it hangs, however busy the
// machine is.
const patience = 3 * time.Minute

// rules send uploads/ to the function as S3 events, queue/ as SQS messages, and
// folders named for the other shapes as these.
const rulesJSON = `[
	{"bucket":"uploads","prefix":"sns-sqs/","job":"pack","shape":"sns-sqs","out":{"bucket":"datasets"}},
	{"bucket":"uploads","prefix":"eventbridge/","job":"pack","shape":"eventbridge","out":{"bucket":"datasets"}},
	{"bucket":"uploads","prefix":"eventbridge-sqs/","job":"pack","shape":"eventbridge-sqs","out":{"bucket":"datasets"}},
	{"bucket":"uploads","prefix":"queue/","job":"pack","shape":"sqs","out":{"bucket":"datasets"}},
	{"bucket":"uploads","job":"pack","suffix":".bin","out":{"bucket":"datasets"}}]`

// process is a running localcloud.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	ready ready
	s3    *s3.Client
	stdin io.WriteCloser
	lines chan delivery.Invocation
	ended chan struct{}
	logs  *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command is localcloud with the test's function and rules.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(rulesJSON), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"--rules", rules, "--function", "fn-pack=" + self(t), "--env", testfn.Env, "--env", "OUT=datasets",
		"--env", "TEST_DIR=" + t.TempDir(), "--retry-delay", "10ms", "--batch-window", "300ms"}, args...)
	cmd := exec.Command(self(t), args...)
	cmd.Env = append(os.Environ(), "LOCALCLOUD_TEST_MAIN=1", "TMPDIR="+t.TempDir())
	return cmd
}

// start starts localcloud and waits until it is ready.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: command(t, args...), lines: make(chan delivery.Invocation, 1000), ended: make(chan struct{}), logs: &syncBuffer{}}
	p.cmd.Stderr = p.logs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.ended
		if t.Failed() {
			t.Logf("log of localcloud:\n%s", p.logs)
		}
	})
	first := make(chan error, 1)
	go func() {
		defer close(p.ended)
		in := bufio.NewReader(out)
		line, err := in.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &p.ready)
		}
		first <- err
		for d := json.NewDecoder(in); err == nil; {
			var i delivery.Invocation
			if err = d.Decode(&i); err == nil {
				p.lines <- i
			}
		}
		close(p.lines)
		_ = p.cmd.Wait()
	}()
	if err := <-first; err != nil {
		t.Fatalf("no ready line: %v", err)
	}
	p.s3 = client(p.ready)
	return p
}

func client(r ready) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &r.Endpoint, Region: r.Region, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(r.AccessKey, r.SecretKey, ""),
	})
}

// signal sends a signal to a process that may have ended.
func (p *process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) put(bucket, key, body string) {
	p.t.Helper()
	if err := p.tryPut(bucket, key, body); err != nil {
		p.t.Fatalf("put %q: %v", key, err)
	}
}

func (p *process) tryPut(bucket, key, body string) error {
	_, err := p.s3.PutObject(p.t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(body)})
	return err
}

func (p *process) get(bucket, key string) string {
	p.t.Helper()
	o, err := p.s3.GetObject(p.t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		p.t.Fatalf("get %q: %v", key, err)
	}
	defer o.Body.Close()
	b, err := io.ReadAll(o.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// next is the next reported invocation.
func (p *process) next() delivery.Invocation {
	p.t.Helper()
	select {
	case i, ok := <-p.lines:
		if !ok {
			p.t.Fatal("localcloud has ended")
		}
		return i
	case <-time.After(patience):
		p.t.Fatal("no invocation")
	}
	panic("not reached")
}

// status asks for the state until f is content with it.
func (p *process) status(f func(delivery.Status) bool) delivery.Status {
	p.t.Helper()
	for end := time.Now().Add(patience); ; {
		var s delivery.Status
		p.control(http.MethodGet, "/_localcloud/status", &s)
		if f(s) {
			return s
		}
		if time.Now().After(end) {
			p.t.Fatalf("status stays at %+v", s)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func idle(s delivery.Status) bool { return s.Pending == 0 }

func (p *process) control(method, path string, v any) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.ready.Endpoint+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s %s: %d, %v", method, path, resp.StatusCode, err)
	}
}

// wait waits for the end of localcloud and returns its exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(8 * time.Second): // less than the S3 server's own grace of ten
		p.t.Fatal("localcloud does not end")
	}
	return -1
}

// waitGone waits until a process is no more.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); syscall.Kill(pid, 0) == nil; {
		// A child whose parent was killed may stay a zombie if nothing reaps orphans.
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); bytes.Contains(b, []byte(") Z ")) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d is still there", pid)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// children are the processes that localcloud runs.
func (p *process) children() []int {
	p.t.Helper()
	if runtime.GOOS != "linux" {
		p.t.Skip("needs /proc")
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	var pids []int
	for _, f := range tasks {
		b, _ := os.ReadFile(f)
		for _, s := range strings.Fields(string(b)) {
			n, err := strconv.Atoi(s)
			if err != nil {
				p.t.Fatal(err)
			}
			pids = append(pids, n)
		}
	}
	return pids
}

// busy puts an object whose function sleeps and waits for the function's log line.
func (p *process) busy() []int {
	p.t.Helper()
	p.put("uploads", "sleep.bin", "x")
	for end := time.Now().Add(patience); !strings.Contains(p.logs.String(), "key sleep.bin"); {
		if time.Now().After(end) {
			p.t.Fatal("the function does not start")
		}
		<-time.After(10 * time.Millisecond)
	}
	c := p.children()
	if len(c) == 0 {
		p.t.Fatal("no child to end")
	}
	return c
}

func TestEndLeavesNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*process)
		code int
	}{
		{"SIGTERM", func(p *process) { p.signal(syscall.SIGTERM) }, 0},
		{"SIGINT", func(p *process) { p.signal(syscall.SIGINT) }, 0},
		{"standard input ends", func(p *process) { _ = p.stdin.Close() }, 0},
		{"SIGKILL", func(p *process) { p.signal(syscall.SIGKILL) }, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "--exit-with-stdin")
			pids := p.busy()
			// A PUT that never ends must not hold up the end.
			body, w := io.Pipe()
			defer w.Close()
			signed, err := s3.NewPresignClient(p.s3).PresignPutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("uploads"), Key: aws.String("slow")})
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, signed.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = 100
			go func() {
				if resp, err := http.DefaultClient.Do(req); err == nil {
					_ = resp.Body.Close()
				}
			}()
			if _, err := w.Write([]byte("begun")); err != nil {
				t.Fatal(err)
			}
			tt.end(p)
			if code := p.wait(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, pid := range pids {
				waitGone(t, pid)
			}
			if _, err := os.Stat(p.ready.Dir); tt.code == 0 && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the temporary folder is still there: %v", err)
			}
		})
	}
}

func TestStartErrors(t *testing.T) {
	running := start(t, "--dir", filepath.Join(t.TempDir(), "data"))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"port taken", []string{"--addr", strings.TrimPrefix(running.ready.Endpoint, "http://")}, 1, "address already in use"},
		{"folder in use", []string{"--dir", running.ready.Dir}, 1, "is in use by another localcloud"},
		{"folder that cannot be", []string{"--dir", filepath.Join(file, "data")}, 1, file},
		{"no binary", []string{"--function", "fn-pack=/nowhere/bootstrap"}, 1, "function fn-pack: no binary at /nowhere/bootstrap"},
		{"not loopback", []string{"--addr", "0.0.0.0:0"}, 1, "not an address of loopback"},
		{"no rules file", []string{"--rules", "/nowhere.json"}, 2, "/nowhere.json"},
		{"bad rules", []string{"--rules", file}, 2, "rules:"},
		{"bad bucket", []string{"--bucket", "a/../b"}, 2, "bucket"},
		{"unknown flag", []string{"--nonsense"}, 2, "nonsense"},
		{"redrive of nothing", []string{"--redrive"}, 2, "--redrive needs --dir"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := command(t, tt.args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != tt.code {
				t.Errorf("ended with %v, want exit code %d", err, tt.code)
			}
			text := stderr.String()
			if !strings.HasPrefix(text, "localcloud: ") || !strings.Contains(text, tt.want) || strings.Count(text, "\n") != 1 || stdout.Len() > 0 {
				t.Errorf("want one line with %q, got %q; stdout %q", tt.want, text, stdout.String())
			}
		})
	}
}

// apiError is code and status of an S3 error.
func apiError(err error) (code string, status int, message string) {
	var e smithy.APIError
	if errors.As(err, &e) {
		code, message = e.ErrorCode(), e.ErrorMessage()
	}
	var h interface{ HTTPStatusCode() int }
	if errors.As(err, &h) {
		status = h.HTTPStatusCode()
	}
	return code, status, message
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"--help"}, nil, io.Discard, &out); code != 0 || !strings.Contains(out.String(), "--rules rules.json") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}

// A parent that does not read its pipe must not keep localcloud from ending.
func TestUnreadOutput(t *testing.T) {
	t.Parallel()
	cmd := command(t, "--tries", "1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, ended: make(chan struct{}), logs: &syncBuffer{}}
	if err := json.NewDecoder(stdout).Decode(&p.ready); err != nil {
		t.Fatal(err)
	}
	p.s3 = client(p.ready)
	// Each line names its key; together they are more than a pipe holds.
	for i := range 100 {
		p.put("uploads", fmt.Sprintf("%s/%s/%s/%d.bin", strings.Repeat("a", 250), strings.Repeat("b", 250), strings.Repeat("c", 250), i), "x")
	}
	for last := int64(-1); ; {
		var s delivery.Status
		p.control(http.MethodGet, "/_localcloud/status", &s)
		if s.Invocations == last { // all workers hang in their reports
			break
		}
		last = s.Invocations
		<-time.After(100 * time.Millisecond)
	}
	p.signal(syscall.SIGTERM)
	go func() { _ = cmd.Wait(); close(p.ended) }()
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A parent that closes its end of the pipe is as good as gone.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, ended: make(chan struct{})}
	if err := json.NewDecoder(stdout).Decode(&p.ready); err != nil {
		t.Fatal(err)
	}
	_ = stdout.Close()
	client(p.ready).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("uploads"), Key: aws.String("a.bin"), Body: strings.NewReader("x")}) //nolint:errcheck // it may have ended already
	go func() { _ = cmd.Wait(); close(p.ended) }()
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(p.ready.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

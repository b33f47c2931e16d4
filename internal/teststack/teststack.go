// Package teststack starts the project's local cloud for tests: a real S3
// server on loopback, with functions if rules ask for them, as a child process.
// It needs nothing but Go.
package teststack

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// binaryEnv names a localcloud that is built already.
const binaryEnv = "FARREAD_LOCALCLOUD"

// Options say what to start. The zero value is an S3 server without buckets.
type Options struct {
	Buckets    []string // made at the start
	Versioning bool     // buckets keep versions
	Dir        string   // where it keeps its data; "": a temporary folder, removed by Stop
	Args       []string // more flags of localcloud: --rules, --functions …
}

// A Stack is a running local cloud.
type Stack struct {
	Endpoint  string   `json:"endpoint"`
	AccessKey string   `json:"access_key"`
	SecretKey string   `json:"secret_key"`
	Region    string   `json:"region"`
	Buckets   []string `json:"buckets"`

	// Lines are what localcloud prints after its first line, one JSON object
	// for each finished invocation. The channel is closed at its end; lines
	// that nobody takes are dropped once 4096 wait.
	Lines <-chan string

	cmd     *exec.Cmd
	stdin   io.Closer
	log     *tail
	ended   chan struct{}
	tempDir string
	once    sync.Once
	err     error
}

// Run starts a stack that ends with the test.
func Run(tb testing.TB, o Options) *Stack {
	tb.Helper()
	s, err := Start(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			tb.Logf("localcloud's log ends:\n%s", s.Log())
		}
	})
	return s
}

// Start starts a stack, for TestMain. It returns when the stack answers. Call
// Stop; should this process die first, the stack ends with it.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	bin, err := binary(ctx)
	if err != nil {
		return nil, err
	}
	s := &Stack{log: &tail{}, ended: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if o.Dir == "" {
		if s.tempDir, err = os.MkdirTemp("", "farread-stack-"); err != nil {
			return nil, err
		}
		o.Dir = s.tempDir
	}
	args := []string{"--dir", o.Dir, "--addr", "127.0.0.1:0", "--exit-with-stdin"}
	for _, b := range o.Buckets {
		args = append(args, "--bucket", b)
	}
	if o.Versioning {
		args = append(args, "--versioning")
	}
	// The child outlives the context of the start.
	s.cmd = exec.Command(bin, append(args, o.Args...)...) // Stop ends it
	s.cmd.Stderr = s.log
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("localcloud: %w", err)
	}
	s.stdin = in
	return s, s.ready(ctx, out)
}

// ready waits for the first line and passes on the others.
func (s *Stack) ready(ctx context.Context, out io.Reader) error {
	first := make(chan error, 1)
	lines := make(chan string, 4096)
	s.Lines = lines
	go func() {
		defer close(s.ended)
		defer close(lines)
		r := bufio.NewScanner(out)
		r.Buffer(nil, 4<<20)
		if !r.Scan() {
			first <- errors.New("localcloud ended before it was ready")
		} else {
			first <- json.Unmarshal(r.Bytes(), s)
		}
		for r.Scan() {
			select {
			case lines <- r.Text():
			default:
			}
		}
		io.Copy(io.Discard, out) //nolint:errcheck // only so that the child never blocks
	}()
	select {
	case err := <-first:
		if err != nil {
			return fmt.Errorf("%w\n%s", err, s.Log())
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("localcloud is not ready: %w\n%s", ctx.Err(), s.Log())
	}
}

// Log is the end of what the stack wrote to its standard error.
func (s *Stack) Log() string { return s.log.String() }

// Stop ends the stack and removes its temporary folder. It may be called again.
func (s *Stack) Stop() error {
	s.once.Do(func() {
		if s.stdin != nil {
			s.err = s.end()
		}
		if s.tempDir != "" {
			s.err = errors.Join(s.err, os.RemoveAll(s.tempDir))
		}
	})
	return s.err
}

// grace is how long the stack may take to end by itself; the server in it waits
// up to 10 s for uploads that hang.
const grace = 2 * time.Second

func (s *Stack) end() error {
	s.stdin.Close()
	s.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // likewise
	var killed atomic.Bool
	t := time.AfterFunc(grace, func() { killed.Store(true); s.cmd.Process.Kill() }) //nolint:errcheck // likewise
	<-s.ended
	err := s.cmd.Wait()
	t.Stop()
	if killed.Load() {
		return nil // as announced
	}
	if err != nil {
		return fmt.Errorf("localcloud: %w\n%s", err, s.Log())
	}
	return nil
}

// tail keeps the last 64 KiB that were written.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - 64<<10; n > 0 {
		t.b = bytes.Clone(t.b[n:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// binary is the path of a localcloud that is up to date with the checkout.
// The first build takes about a minute, later ones a moment.
func binary(ctx context.Context) (string, error) {
	if p := os.Getenv(binaryEnv); p != "" {
		return p, nil
	}
	src, err := source()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	// One folder for each checkout, so that two do not overwrite each other's.
	dir := filepath.Join(cache, "farread", "teststack", strings.Trim(strings.Map(plain, src), "_"))
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "localcloud")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	unlock, err := lock(filepath.Join(dir, "lock")) // test binaries of several packages run side by side
	if err != nil {
		return "", err
	}
	defer unlock()
	// Without the checkout's state in it, or a file that a test leaves while others
	// run would make the binary another one and have it replaced under them.
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", bin, ".")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build localcloud: %w\n%s", err, text)
	}
	return bin, nil
}

func plain(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}

// source is the folder localcloud of the checkout that the test runs in.
func source() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		src := filepath.Join(dir, "localcloud")
		if _, err := os.Stat(filepath.Join(src, "go.mod")); err == nil {
			return src, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no localcloud/go.mod above the test: set %s to its binary", binaryEnv)
		}
		dir = up
	}
}

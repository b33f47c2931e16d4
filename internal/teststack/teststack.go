// Package teststack starts the project's local cloud for tests: a real S3
// server on loopback, with functions if rules ask for them, as a child process.
// It needs nothing but Go.
//
// It is a leaf: it builds and runs localcloud as a program, so tests of every layer, from
// the drivers up, may use it. It lies in internal/ because the modules bench and terraform
// see it there and nobody else does.
package teststack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/internal/stack"
)

// binaryEnv names a localcloud that is built already.
const binaryEnv = "FARREAD_LOCALCLOUD"

// Options are the parts to start. The zero value means an S3 server without
// buckets.
type Options struct {
	Buckets    []string // names of buckets that are made at the start
	Versioning bool     // buckets keep versions
	Dir        string   // folder of the data; "": a temporary folder, which Stop removes
	Args       []string // more flags of localcloud: --rules, --functions …
}

// A Stack is a running local cloud.
type Stack struct {
	*stack.Process

	tempDir string
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
	s := &Stack{}
	if o.Dir == "" {
		if s.tempDir, err = os.MkdirTemp("", "farread-stack-"); err != nil {
			return nil, err
		}
		o.Dir = s.tempDir
	}
	args := []string{"--dir", o.Dir, "--addr", "127.0.0.1:0"}
	for _, b := range o.Buckets {
		args = append(args, "--bucket", b)
	}
	if o.Versioning {
		args = append(args, "--versioning")
	}
	// The child outlives the context of the start.
	if s.Process, err = stack.Start(ctx, bin, append(args, o.Args...)...); err != nil {
		return nil, errors.Join(err, s.clean())
	}
	return s, nil
}

// grace is how long the stack may take to end by itself; the server in it waits
// up to 10 s for uploads that hang.
const grace = 2 * time.Second

// Stop ends the stack and removes its temporary folder. It may be called again.
func (s *Stack) Stop() error { return errors.Join(s.Process.Stop(grace), s.clean()) }

func (s *Stack) clean() error {
	if s.tempDir == "" {
		return nil
	}
	return os.RemoveAll(s.tempDir)
}

// up is the localcloud that this process has built: to ask Go again takes half a second of
// each test that starts one.
var up struct {
	sync.Mutex

	bin string
}

// binary is the path of a localcloud that is up to date with the checkout.
// The first build takes about a minute, that of another process a moment.
func binary(ctx context.Context) (string, error) {
	if p := os.Getenv(binaryEnv); p != "" {
		return p, nil
	}
	up.Lock()
	defer up.Unlock()
	if up.bin != "" {
		return up.bin, ctx.Err()
	}
	var err error
	up.bin, err = build(ctx)
	return up.bin, err
}

func build(ctx context.Context) (string, error) {
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
	// Without the checkout's state. If the state were part of the binary, a file that
	// one test leaves would make another binary, which would replace this one while
	// other tests run it.
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", bin, ".")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOWORK=off")
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
	root := stack.Checkout(".")
	if root == "" {
		return "", fmt.Errorf("no localcloud/go.mod above the test: set %s to its binary", binaryEnv)
	}
	return filepath.Join(root, "localcloud"), nil
}

package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/farread/farread/localcloud/internal/testfn"
	"github.com/farread/farread/localcloud/lambda"
)

func TestMain(m *testing.M) {
	testfn.Main()
	goleak.VerifyTestMain(m)
}

func config(t *testing.T) lambda.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return lambda.Config{Name: "fn-test", Path: self, Env: []string{testfn.Env}}
}

func pool(t *testing.T, cfg lambda.Config) *lambda.Pool {
	t.Helper()
	p, err := lambda.NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func do(what string) []byte { return []byte(`{"do":"` + what + `"}`) }

func answer(t *testing.T, r lambda.Result, err error) testfn.Answer {
	t.Helper()
	var a testfn.Answer
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.Body, &a); err != nil {
		t.Fatalf("%s: %v", r.Body, err)
	}
	return a
}

// alive reports whether a process is there and not a zombie.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestWarm(t *testing.T) {
	cfg := config(t)
	cfg.Memory = 300 << 20
	p := pool(t, cfg)
	t.Setenv("AWS_PROFILE", "of the user")
	r1, err := p.Invoke(t.Context(), do("env"))
	a1 := answer(t, r1, err)
	r2, err := p.Invoke(t.Context(), do("env"))
	a2 := answer(t, r2, err)
	if !r1.Cold || r2.Cold || a1.PID != a2.PID {
		t.Errorf("cold %v then %v, pid %d then %d: the second run is not in the first's process", r1.Cold, r2.Cold, a1.PID, a2.PID)
	}
	if r1.RequestID == r2.RequestID || len(r1.RequestID) != 36 {
		t.Errorf("request ids %q and %q", r1.RequestID, r2.RequestID)
	}
	if a1.Memory != "300" {
		t.Errorf("AWS_LAMBDA_FUNCTION_MEMORY_SIZE = %q", a1.Memory)
	}
	if v, ok := a1.Env["AWS_PROFILE"]; ok {
		t.Errorf("the function got the user's AWS_PROFILE %q", v)
	}
	p.Close()
	if alive(a1.PID) {
		t.Error("the process outlived the pool")
	}
	if _, err := p.Invoke(t.Context(), do("env")); !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name, do string
		cfg      func(*lambda.Config)
		want     error
		text     string
	}{
		{"function error", "poison", nil, lambda.ErrFunction, "errorString: poison"},
		{"panic", "panic", nil, lambda.ErrFunction, "on purpose"},
		{"too large an answer", "large", nil, lambda.ErrFunction, "ResponseSizeTooLarge"},
		{"exit", "exit", nil, lambda.ErrExit, "exit status 4"},
		{"deadline", "sleep", func(c *lambda.Config) { c.Timeout = 300 * time.Millisecond }, lambda.ErrTimeout, "300ms"},
		{"memory", "hog", func(c *lambda.Config) { c.Memory = 256 << 20 }, lambda.ErrMemory, "of 256 MiB"},
		{"exit before the first event", "env", func(c *lambda.Config) { c.Env = append(c.Env, "TEST_INIT=exit") }, lambda.ErrInit, "exit status 3"},
		{"silent start", "env", func(c *lambda.Config) {
			c.Env = append(c.Env, "TEST_INIT=hang")
			c.InitTimeout = 300 * time.Millisecond
		}, lambda.ErrInit, "300ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(t)
			if tt.cfg != nil {
				tt.cfg(&cfg)
			}
			p := pool(t, cfg)
			_, err := p.Invoke(t.Context(), do(tt.do))
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("got %v, want %v with %q", err, tt.want, tt.text)
			}
			if errors.Is(tt.want, lambda.ErrInit) {
				return
			}
			r, err := p.Invoke(t.Context(), do("env"))
			for try := 0; try < 20 && errors.Is(tt.want, lambda.ErrTimeout) && errors.Is(err, lambda.ErrTimeout); try++ {
				r, err = p.Invoke(t.Context(), do("env")) // the limit is short, and the machine may be busy
			}
			answer(t, r, err) // the next one runs, in a new process if need be
		})
	}
}

func TestKilledWhileIdle(t *testing.T) {
	p := pool(t, config(t))
	r, err := p.Invoke(t.Context(), do("env"))
	a := answer(t, r, err)
	if err := syscall.Kill(a.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Until the pool has seen the end, an event may still go to the dead process: that
	// is ErrExit, and another try. This test is about the time after.
	p.AwaitEnd()
	r, err = p.Invoke(t.Context(), do("env"))
	if b := answer(t, r, err); b.PID == a.PID {
		t.Error("a killed process answered")
	}
}

func TestConcurrency(t *testing.T) {
	cfg := config(t)
	cfg.Concurrency = 2
	p := pool(t, cfg)
	var mu sync.Mutex
	pids := map[int]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r, err := p.Invoke(t.Context(), do("nap"))
			a := answer(t, r, err)
			mu.Lock()
			defer mu.Unlock()
			pids[a.PID] = true
		})
	}
	wg.Wait()
	if len(pids) != 2 {
		t.Errorf("%d processes worked, want 2", len(pids))
	}
}

func TestCancel(t *testing.T) {
	p := pool(t, config(t))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := p.Invoke(ctx, do("sleep")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestDeadlineIsTold(t *testing.T) {
	cfg := config(t)
	cfg.Timeout = 40 * time.Second
	p := pool(t, cfg)
	r, err := p.Invoke(t.Context(), do("deadline"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := time.ParseDuration(strings.Trim(string(r.Body), `"`))
	if err != nil || d <= 0 || d > 40*time.Second {
		t.Errorf("the function has %s left (%v)", r.Body, err)
	}
}

func TestLogLines(t *testing.T) {
	pr, pw := io.Pipe()
	cfg := config(t)
	cfg.Log = slog.New(slog.NewJSONHandler(pw, nil))
	p := pool(t, cfg)
	lines := make(chan map[string]any, 10)
	go func() {
		defer close(lines)
		for d := json.NewDecoder(pr); ; {
			var l map[string]any
			if d.Decode(&l) != nil {
				return
			}
			delete(l, "time")
			lines <- l
		}
	}()
	r, err := p.Invoke(t.Context(), do("log"))
	answer(t, r, err)
	p.Close()
	_ = pw.Close()
	for _, msg := range []string{"one line", "half and half"} {
		want := map[string]any{"level": "INFO", "msg": msg, "function": "fn-test", "request_id": r.RequestID}
		if diff := cmp.Diff(want, <-lines); diff != "" {
			t.Error(diff)
		}
	}
}

func TestBinary(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no binary at",
		plain:                      "not an executable file",
		dir:                        "not an executable file",
	} {
		if _, err := lambda.NewPool(lambda.Config{Name: "fn-x", Path: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, bytes.Repeat([]byte("no program "), 10), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := pool(t, lambda.Config{Name: "fn-x", Path: bad}).Invoke(t.Context(), nil); !errors.Is(err, lambda.ErrInit) {
		t.Errorf("no program: %v", err)
	}
}

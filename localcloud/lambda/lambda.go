// Package lambda runs real Lambda binaries on this machine: it speaks the Lambda
// Runtime API to child processes, one invocation at a time each, keeps them warm,
// and ends those that pass their deadline or, on Linux, their memory.
package lambda

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Errors of an invocation. All of them may be retried.
var (
	// ErrFunction is an error that the function itself reported.
	ErrFunction = errors.New("function error")
	// ErrInit is a function that ended, failed or stayed silent before its
	// first invocation.
	ErrInit = errors.New("init error")
	// ErrTimeout is an invocation that passed its deadline.
	ErrTimeout = errors.New("task timed out")
	// ErrMemory is a process that passed its memory limit.
	ErrMemory = errors.New("memory limit passed")
	// ErrExit is a process that ended during an invocation.
	ErrExit = errors.New("runtime exited")
)

// Config is the configuration of a function. Name and Path must be set; other
// fields have defaults.
type Config struct {
	Name string
	Path string   // the bootstrap binary, absolute
	Env  []string // K=V, in place of or besides those that Lambda itself sets; nothing of this process's own is passed on

	Timeout     time.Duration // time limit of an invocation; default 60 s
	InitTimeout time.Duration // from start to the first request for work; default 10 s, as in Lambda
	Memory      int64         // bytes of resident memory, looked at on Linux alone; default 512 MiB
	Concurrency int           // processes at a time; default 4
	Region      string        // default us-east-1
	Log         *slog.Logger  // logs the output of the function; nil: dropped
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	if c.InitTimeout == 0 {
		c.InitTimeout = 10 * time.Second
	}
	if c.Memory == 0 {
		c.Memory = 512 << 20
	}
	if c.Concurrency == 0 {
		c.Concurrency = 4
	}
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// check returns an error if the configuration is invalid.
func (c Config) check() error {
	fi, err := os.Stat(c.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("function %s: no binary at %s", c.Name, c.Path)
	case err != nil:
		return fmt.Errorf("function %s: %w", c.Name, err)
	case !fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("function %s: %s is not an executable file", c.Name, c.Path)
	case !filepath.IsAbs(c.Path):
		return fmt.Errorf("function %s: path %s is not absolute", c.Name, c.Path)
	case c.Timeout < 0 || c.InitTimeout < 0 || c.Memory < 0 || c.Concurrency < 0:
		return fmt.Errorf("function %s: a limit is negative", c.Name)
	}
	return nil
}

// environ is the environment of a process. It has nothing of this process's own, so
// that a profile or credentials of the user cannot change the result.
func (c Config) environ(api, stream string) []string {
	return append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + api,
		"AWS_LAMBDA_FUNCTION_NAME=" + c.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		fmt.Sprintf("AWS_LAMBDA_FUNCTION_MEMORY_SIZE=%d", max(c.Memory>>20, 1)),
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + c.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME=" + stream,
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_EXECUTION_ENV=AWS_Lambda_provided.al2023",
		"AWS_REGION=" + c.Region, "AWS_DEFAULT_REGION=" + c.Region,
		"AWS_EC2_METADATA_DISABLED=true",
		"LAMBDA_TASK_ROOT=" + filepath.Dir(c.Path),
		"_HANDLER=bootstrap", "LANG=en_US.UTF-8", "TZ=:UTC",
		"PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=" + os.TempDir(),
	}, c.Env...)
}

// A Result is a finished invocation.
type Result struct {
	RequestID string
	Body      []byte        // the function's answer; with ErrFunction, its error document; the caller's
	Cold      bool          // the process was started for it
	Took      time.Duration // duration, without the wait for a free process
}

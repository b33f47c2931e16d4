// Package bootstrap turns the environment of a function into a handler and runs
// it. Its constants are the one table of environment names; terraform uses the same.
//
// Nothing is connected before the first event: the S3 client of a bucket is
// made when the bucket is first used, so that a cold start costs only the
// program itself.
package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// Names of the environment. Credentials, region and endpoint are the SDK's own
// (AWS_REGION, AWS_ENDPOINT_URL …).
const (
	EnvRules     = "FARREAD_RULES"      // the rules: a JSON list, or the path of a file
	EnvRulesFile = "FARREAD_RULES_FILE" // path of a file with the rules, if EnvRules is not set; default: rules.json beside the program
	EnvMaxMemory = "FARREAD_MAX_MEMORY" // soft limit of the Go runtime's memory in MiB, from 16; default 200, within a worker's bound of 256
	EnvLog       = "FARREAD_LOG"        // lowest level that is logged: debug, info, warn, error; default info
	EnvMetrics   = "FARREAD_METRICS"    // "emf", the default: metrics in CloudWatch's embedded format on standard output; "off": none
	EnvHedge     = "FARREAD_HEDGE"      // "on", the default: make a second request beside a slow one (objstore.Hedge); "off": none
)

// defaultMemory leaves room below 256 MiB of resident memory for the program itself,
// which the runtime's limit does not count, and for memory above a soft limit.
const defaultMemory = 200

// Config is a function's configuration.
type Config struct {
	Rules     functions.Rules
	MaxMemory int64      // soft limit of the Go runtime's memory, in bytes
	Level     slog.Level // level of the log
	Metrics   bool       // write them
	NoHedge   bool       // make no second request beside a slow one
	Function  string     // name of the function in metrics: AWS_LAMBDA_FUNCTION_NAME
}

// Load reads and validates the configuration; the error has every fault. getenv is
// os.Getenv, dir the folder of the program, for rules.json. Load reads no file except
// the one of rules. more are names of further jobs that rules may have, besides the
// jobs of farread.
func Load(getenv func(string) string, dir string, more ...string) (Config, error) {
	c := Config{MaxMemory: defaultMemory << 20, Metrics: true, Function: getenv("AWS_LAMBDA_FUNCTION_NAME")}
	var errs []error
	text, err := rulesText(getenv, dir)
	if err == nil {
		c.Rules, err = functions.ParseRules(text, more...)
	}
	errs = append(errs, err)
	if v := getenv(EnvMaxMemory); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 16 || n > 1<<20 {
			errs = append(errs, fmt.Errorf("%s=%q is not a number of MiB from 16", EnvMaxMemory, v))
		}
		c.MaxMemory = n << 20
	}
	c.Level, err = logLevel(getenv)
	errs = append(errs, err)
	switch v := getenv(EnvMetrics); v {
	case "", "emf":
	case "off":
		c.Metrics = false
	default:
		errs = append(errs, fmt.Errorf("%s=%q is neither emf nor off", EnvMetrics, v))
	}
	c.NoHedge, err = noHedge(getenv)
	errs = append(errs, err)
	return c, errors.Join(errs...)
}

// logLevel reads EnvLog.
func logLevel(getenv func(string) string) (l slog.Level, err error) {
	if v := getenv(EnvLog); v != "" {
		if err = l.UnmarshalText([]byte(v)); err != nil {
			err = fmt.Errorf("%s=%q: %w", EnvLog, v, err)
		}
	}
	return l, err
}

// noHedge reads EnvHedge.
func noHedge(getenv func(string) string) (bool, error) {
	switch v := getenv(EnvHedge); v {
	case "", "on":
		return false, nil
	case "off":
		return true, nil
	default:
		return false, fmt.Errorf("%s=%q is neither on nor off", EnvHedge, v)
	}
}

func rulesText(getenv func(string) string, dir string) ([]byte, error) {
	v := strings.TrimSpace(getenv(EnvRules))
	if strings.HasPrefix(v, "[") {
		return []byte(v), nil
	}
	file := v
	if file == "" {
		file = getenv(EnvRulesFile)
	}
	if file == "" {
		file = filepath.Join(dir, "rules.json")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("rules (%s, %s): %w", EnvRules, EnvRulesFile, err)
	}
	return bytes.TrimSpace(text), nil
}

// Buckets makes and keeps one S3 bucket for each name. The zero value is ready, and its
// methods are safe for concurrent use.
type Buckets struct {
	Log     *slog.Logger // log of the buckets; set it before the first Open; nil: no log
	NoHedge bool         // the Objects of the buckets make no second request beside a slow one: see objstore.Hedge

	mu       sync.Mutex
	buckets  map[string]objstore.Bucket
	counters map[string]*objstore.Counter
}

// Open returns the bucket called name; every call returns the same one. The first call
// reads the SDK's configuration, and may fail with an error of that. It sends no
// request to the store.
func (b *Buckets) Open(name string) (objstore.Bucket, error) {
	c := b.Counter(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	if have := b.buckets[name]; have != nil {
		return have, nil
	}
	// The client outlives the invocation that was first to need it.
	s, err := s3store.New(context.Background(), s3store.Config{Bucket: name, Counter: c, Logger: b.Log})
	if err != nil {
		return nil, err
	}
	bucket := objstore.Bucket(s)
	if !b.NoHedge {
		bucket = objstore.Hedge(&objstore.Pace{})(s)
	}
	if b.buckets == nil {
		b.buckets = map[string]objstore.Bucket{}
	}
	b.buckets[name] = bucket
	return bucket, nil
}

// Counter returns the counter of the requests of the bucket called name, even if
// the bucket is not open yet.
func (b *Buckets) Counter(name string) *objstore.Counter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counters == nil {
		b.counters = map[string]*objstore.Counter{}
	}
	if b.counters[name] == nil {
		b.counters[name] = &objstore.Counter{}
	}
	return b.counters[name]
}

// Handler makes a handler for the given jobs. It returns the error of the
// handler's Check.
func Handler(c Config, log *slog.Logger, jobs map[string]functions.JobMaker) (*functions.Handler, error) {
	b := &Buckets{Log: log, NoHedge: c.NoHedge}
	h := &functions.Handler{Rules: c.Rules, Jobs: jobs, Buckets: b.Open, Counter: b.Counter, Log: log, Request: requestID}
	return h, h.Check()
}

func requestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}

// invoker is a lambda.Handler: bytes in, bytes out, without reflection.
type invoker struct {
	h *functions.Handler
	m *Metrics
}

func (i invoker) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	r, err := i.h.Handle(ctx, payload)
	i.m.Write(r, requestID(ctx)) // before the answer, after which the process is frozen
	if err != nil {
		return nil, err
	}
	return r.Answer(), nil
}

// Run is the main of a function: it configures itself from the environment and
// serves events until the runtime ends the process. It returns only if the
// configuration is wrong. jobs is called once, with the logger that everything else
// gets, which writes JSON to standard error; command is Handler.Command, for jobs that
// are too large for a function.
func Run(jobs func(*slog.Logger) map[string]functions.JobMaker, command func(functions.Rule, functions.Upload) string) error {
	dir := "."
	if exe, err := os.Executable(); err == nil {
		dir = filepath.Dir(exe)
	}
	var level slog.LevelVar
	l := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: &level}))
	makers := jobs(l)
	c, err := Load(os.Getenv, dir, slices.Collect(maps.Keys(makers))...)
	if err != nil {
		return err
	}
	level.Set(c.Level)
	h, err := Handler(c, l, makers)
	if err != nil {
		return err
	}
	h.Command = command
	debug.SetMemoryLimit(c.MaxMemory)
	// Buffers of 8 MiB come and go: with the usual target of 100 % the heap would grow
	// to twice the memory in use.
	debug.SetGCPercent(50)
	m := &Metrics{Function: c.Function, Log: h.Log}
	if c.Metrics {
		m.Out = os.Stdout
	}
	lambda.Start(invoker{h, m})
	return nil
}

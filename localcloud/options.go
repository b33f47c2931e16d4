package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/localcloud/delivery"
)

const usage = `localcloud runs an S3 server and Lambda functions on loopback: an upload that a
rule names starts the real function binary.

Usage: localcloud [flags]

Once it answers it prints one line of JSON with endpoint and credentials, then one
for each finished invocation. Logs go to stderr. Example:

  localcloud --rules rules.json --functions bin --dir ~/farread-cloud

Flags:
`

// options are the flags.
type options struct {
	dir, addr, region  string
	rulesFile          string
	functions          string
	function           map[string]string // name to path
	env                []string
	urls               []string // functions that answer HTTP
	buckets            []string
	timeout            time.Duration
	memory             int64 // MiB
	concurrency, tries int
	retryDelay, window time.Duration
	versioning         bool
	redrive            bool
	exitWithStdin      bool
	logFormat          string

	rules functions.Rules
}

// parseOptions reads flags and rules.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	o := options{function: map[string]string{}}
	f := flag.NewFlagSet("localcloud", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.dir, "dir", "", "`folder` of buckets, events and dead letters; made if absent and kept (default: a temporary one, removed at the end)")
	f.StringVar(&o.addr, "addr", "127.0.0.1:0", "`host:port` on loopback; port 0 takes a free one")
	f.StringVar(&o.region, "region", "us-east-1", "`name` of the region")
	f.StringVar(&o.rulesFile, "rules", "", "`file` of rules (JSON): which uploads start which function")
	f.StringVar(&o.functions, "functions", "", "`folder` with NAME/bootstrap for each function that the rules need")
	f.Func("function", "`NAME=PATH` of one function's binary, before --functions; repeatable", func(s string) error {
		name, path, ok := strings.Cut(s, "=")
		if !ok || name == "" || path == "" {
			return errors.New("want NAME=PATH")
		}
		o.function[name] = path
		return nil
	})
	f.Func("env", "`K=V` for the functions; repeatable", func(s string) error {
		if k, _, ok := strings.Cut(s, "="); !ok || k == "" {
			return errors.New("want K=V")
		}
		o.env = append(o.env, s)
		return nil
	})
	f.Func("url", "`NAME` of a function that answers HTTP at an address of its own, as behind a function URL; repeatable", func(s string) error {
		if s == "" || slices.Contains(o.urls, s) {
			return errors.New("want a name, once")
		}
		o.urls = append(o.urls, s)
		return nil
	})
	f.Func("bucket", "`name` of one more bucket to make, beside those of the rules; repeatable", func(s string) error {
		if !bucketName.MatchString(s) {
			return errors.New("not a bucket name")
		}
		o.buckets = append(o.buckets, s)
		return nil
	})
	f.DurationVar(&o.timeout, "timeout", time.Minute, "`time` after which an invocation is killed")
	f.Int64Var(&o.memory, "memory", 512, "`MiB` of resident memory after which a function is killed (Linux)")
	f.IntVar(&o.concurrency, "concurrency", 4, "`processes` of one function at a time")
	f.IntVar(&o.tries, "tries", 3, "`times` an event is tried before it is a dead letter")
	f.DurationVar(&o.retryDelay, "retry-delay", time.Second, "`time` before the second try; doubled for each more")
	f.DurationVar(&o.window, "batch-window", 100*time.Millisecond, "`time` that the first message of a queue waits for others")
	f.BoolVar(&o.versioning, "versioning", false, "keep the versions of objects")
	f.BoolVar(&o.redrive, "redrive", false, "deliver the dead letters of --dir again at the start")
	f.BoolVar(&o.exitWithStdin, "exit-with-stdin", false, "end when standard input ends, as when the parent dies")
	f.StringVar(&o.logFormat, "log-format", "text", "`text or json`, on stderr")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			_, _ = io.WriteString(stderr, usage)
			f.SetOutput(stderr)
			f.PrintDefaults()
		}
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag", f.Arg(0))
	}
	if err := o.check(); err != nil {
		return o, err
	}
	return o, o.readRules()
}

// bucketName is S3's rule without its rarer exceptions, as in functions.Rules.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func (o options) check() error {
	switch {
	case o.logFormat != "text" && o.logFormat != "json":
		return fmt.Errorf("--log-format %q is not text or json", o.logFormat)
	case o.timeout <= 0 || o.retryDelay <= 0 || o.window <= 0:
		return errors.New("--timeout, --retry-delay and --batch-window must be more than 0")
	case o.memory < 1 || o.memory > 1<<20:
		return fmt.Errorf("--memory %d is not in 1 to %d MiB", o.memory, 1<<20)
	case o.concurrency < 1 || o.concurrency > 1000: // Lambda's default limit of an account
		return fmt.Errorf("--concurrency %d is not in 1 to 1000", o.concurrency)
	case o.tries < 1:
		return fmt.Errorf("--tries %d is less than 1", o.tries)
	case o.redrive && o.dir == "":
		return errors.New("--redrive needs --dir")
	}
	return nil
}

func (o *options) readRules() error {
	if o.rulesFile == "" {
		return nil
	}
	b, err := os.ReadFile(o.rulesFile)
	if err != nil {
		return err
	}
	if o.rules, err = functions.ParseRules(b); err != nil {
		return fmt.Errorf("%s: %w", o.rulesFile, err)
	}
	return nil
}

// allBuckets returns the buckets of the rules and of --bucket, each once.
func (o options) allBuckets() []string {
	out := []string{}
	add := func(b string) {
		if !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	for _, r := range o.rules {
		add(r.Bucket)
		add(r.Out.Bucket)
	}
	for _, b := range o.buckets {
		add(b)
	}
	return out
}

// binaries is the absolute path of each function that the rules or --url need.
func (o options) binaries() (map[string]string, error) {
	out := map[string]string{}
	add := func(name, why string) error {
		path, ok := o.function[name]
		if !ok && o.functions == "" {
			return fmt.Errorf("%s needs function %s: give --functions or --function %s=PATH", why, name, name)
		}
		if !ok {
			path = filepath.Join(o.functions, name, "bootstrap")
		}
		abs, err := filepath.Abs(path) // the S3 backend changes the current directory
		out[name] = abs
		return err
	}
	for i, r := range o.rules {
		if err := add(delivery.FunctionName(r.Job), fmt.Sprintf("rule %d", i)); err != nil {
			return nil, err
		}
	}
	for _, name := range o.urls {
		if err := add(name, "--url"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

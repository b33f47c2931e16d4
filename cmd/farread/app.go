package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// app is one run of the program: its streams, the flags that every command takes, and
// the client and the counter that all reads share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	terminal       bool // stderr is a terminal
	screen         bool // stdout is a terminal
	width          int  // its columns; 0: not known

	flags   globals
	running bool     // the command line was understood
	remote  bool     // the command may read objects of a store
	joins   bool     // reads of several callers share requests: the command serves
	memory  sizeFlag // what --cache says of a server's memory; 0: nothing
	start   time.Time
	counter objstore.Counter
	client  *farread.Client
	tracing bool // requests are noted in the trace
	trace   trace

	rehearsal *rehearsal         // nil: appends are made
	search    *b2nd.SearchReport // what a search for values has read; nil: there was none
	opened    farread.Dataset    // the dataset that was opened last; nil: there was none
	trash     sink.Trash
	served    bool // the command was a server, which an interrupt ends in order
	partly    bool // an object was replaced after a part of it was written to stdout
	patient   bool // in tests: the number of requests does not depend on the time that they take
}

// globals are the flags that every command takes.
type globals struct {
	endpoint, region, profile string
	anonymous, pathStyle      bool
	policy                    policyFlag
	maxMemory                 sizeFlag
	timeout                   time.Duration
	cache                     cacheFlags
	noHedge, json, stats      bool
	quiet, verbose            bool
}

func (g *globals) register(f *pflag.FlagSet) {
	g.policy, g.maxMemory = "fast", 1<<30
	f.StringVar(&g.endpoint, "endpoint-url", "", "`URL` of another S3 than AWS (else AWS_ENDPOINT_URL)")
	f.StringVar(&g.region, "region", "", "AWS region (else AWS_REGION, the profile, or what the store says)")
	f.StringVar(&g.profile, "profile", "", "profile of the AWS configuration files (else AWS_PROFILE)")
	f.BoolVar(&g.anonymous, "no-sign-request", false, "send no credentials: public buckets")
	f.BoolVar(&g.pathStyle, "path-style", false, "bucket in the URL's path, not in the host name")
	f.Var(&g.policy, "policy", "plan reads for least time, fewest requests or fewest bytes")
	f.Var(&g.maxMemory, "max-memory", "ceiling for buffers and caches")
	f.DurationVar(&g.timeout, "timeout", silence.Default, "give up on a store that has not brought or taken 1 KiB for so long; 0: never")
	f.BoolVar(&g.noHedge, "no-hedge", false, "make no second request beside a slow one")
	g.cache.register(f)
	f.BoolVar(&g.json, "json", false, "JSON on stdout instead of a table")
	f.BoolVar(&g.stats, "stats", false, "at the end, one line of JSON on stderr: requests, bytes, phases …")
	f.BoolVarP(&g.quiet, "quiet", "q", false, "no progress bar and no remarks")
	f.BoolVarP(&g.verbose, "verbose", "v", false, "debug log on stderr")
}

// silence returns the flag --timeout as the libraries take it.
func (g *globals) silence() time.Duration {
	if g.timeout == 0 {
		return -1
	}
	return g.timeout
}

// policyFlag is a flag whose value is one of the planner's policies.
type policyFlag string

func policies() []string { return []string{"fast", "few", "lean"} }

func (p *policyFlag) String() string { return string(*p) }
func (p *policyFlag) Type() string   { return "fast|few|lean" }
func (p *policyFlag) Set(s string) error {
	for _, name := range policies() {
		if s == name {
			*p = policyFlag(s)
			return nil
		}
	}
	return fmt.Errorf("want one of %v", policies())
}

func (p policyFlag) policy() rangeio.Policy {
	switch p {
	case "few":
		return rangeio.Few()
	case "lean":
		return rangeio.Lean()
	}
	return rangeio.Fast()
}

// sizeFlag is a flag whose value is a number of bytes, with or without a unit.
type sizeFlag int64

func (s *sizeFlag) String() string { return human.Size(int64(*s)) }
func (s *sizeFlag) Type() string   { return "size" }
func (s *sizeFlag) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return fmt.Errorf("want a size such as 512MiB")
	}
	*s = sizeFlag(n)
	return nil
}

const (
	minWindow  = 1 << 20
	maxAtATime = 64 << 20 // 16 requests of 4 MiB keep a link busy
)

// window returns the number of decoded bytes that are read at a time. Two such windows
// are held, besides the memory of the reader.
func (a *app) window() int64 {
	return min(max(int64(a.flags.maxMemory)/8, minWindow), maxAtATime)
}

const minMemory = 16 << 20 // room for two windows of a read, the index and the program itself

// setup runs after the command line is understood.
func (a *app) setup() error {
	a.running = true
	if a.flags.maxMemory < minMemory {
		return usagef("--max-memory %s: at least %s is needed", &a.flags.maxMemory, human.Size(minMemory))
	}
	if a.flags.timeout < 0 {
		return usagef("--timeout %s is negative", a.flags.timeout)
	}
	debug.SetMemoryLimit(int64(a.flags.maxMemory))
	c := farread.Config{
		Endpoint: a.flags.endpoint, Region: a.flags.region, Profile: a.flags.profile,
		Anonymous: a.flags.anonymous, PathStyle: a.flags.pathStyle,
		Policy: a.flags.policy.policy(), MaxMemory: int64(a.flags.maxMemory), Counter: &a.counter, Timeout: a.flags.silence(),
		NoHedge: a.flags.noHedge || a.patient,
	}
	if a.joins {
		c.Join = objstore.NewJoiner(objstore.JoinWait)
	}
	if a.tracing {
		c.Middleware = []objstore.Middleware{a.trace.watch(&a.counter)}
	}
	if a.flags.verbose {
		c.Logger = a.logger()
	}
	if a.remote {
		var err error
		if c.DiskCache, err = a.openCache(); err != nil {
			return err
		}
	}
	a.client = farread.New(c)
	return nil
}

func (a *app) logger() *slog.Logger {
	level := slog.LevelWarn
	if a.flags.verbose {
		level = slog.LevelDebug
	}
	if a.flags.quiet {
		level = slog.LevelError
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}

// main runs one command line and returns the exit code. After an interrupt the command
// has the time grace to stop by itself. Then main removes its temporary files and
// abandons the command, since some system calls cannot be cancelled.
func (a *app) main(args []string, interrupts <-chan os.Signal, grace time.Duration) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- a.run(ctx, args) }()
	var err error
	select {
	case err = <-done:
	case <-interrupts:
		a.trash.Shut() // no output appears after this call
		cancel(errInterrupted)
		if err = a.wind(done, interrupts, grace); err == nil && !a.trash.Settled() && !a.served {
			err = errInterrupted
		}
	}
	a.trash.Empty()
	return a.report(ctx, err)
}

// wind waits for the end of an interrupted command. If the output of the command is
// just appearing, wind abandons the command only after a second interrupt.
func (a *app) wind(done <-chan error, interrupts <-chan os.Signal, grace time.Duration) error {
	select {
	case err := <-done:
		return err
	case <-time.After(grace):
	}
	if !a.trash.Appearing() {
		return errInterrupted
	}
	select {
	case err := <-done:
		return err
	case <-interrupts:
		return errInterrupted
	}
}

// run is main without signals.
func (a *app) run(ctx context.Context, args []string) error {
	a.start = time.Now()
	root := newRoot(a) //nolint:contextcheck // commands get theirs from ExecuteContext
	root.SetArgs(negative(root, args))
	root.SetIn(a.stdin)
	out := &firstError{w: a.stdout}
	root.SetOut(out)
	root.SetErr(a.stderr)
	mendCompletion(root) // its commands take the streams as they are now
	if completes(args) {
		registerOffers(root)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		return outside(cmd, a.running, err)
	}
	if out.err != nil {
		return outside(cmd, true, out.err)
	}
	return nil
}

// A firstError keeps the first error of a writer, for callers such as help that do not
// look at errors.
type firstError struct {
	w   io.Writer
	err error
}

func (f *firstError) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if f.err == nil {
		f.err = err
	}
	return n, err
}

// report prints an error as one line, and the statistics. It returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	code := exitOK
	if err != nil {
		if ctx.Err() != nil {
			err = errInterrupted
		}
		text := oneLine(err)
		if silence.Is(err) && ctx.Err() == nil {
			text += "; --timeout allows it longer"
		}
		if a.partly && ctx.Err() == nil {
			text += "; what stdout got is incomplete: run it again"
		}
		fmt.Fprintln(a.stderr, text)
		code = exitCode(err)
	}
	if a.flags.stats {
		s := a.counter.Stats()
		_ = writeJSON(a.stderr, struct {
			rangeio.Stats
			Elapsed float64            `json:"elapsed_ms"`
			Search  *b2nd.SearchReport `json:"search,omitempty"`
			// Unused tells of an index that is there and was not used, and what to do.
			Unused string `json:"index_unused,omitempty"`
		}{s, float64(time.Since(a.start).Microseconds()) / 1000, a.search, a.unusedIndex()})
	}
	return code
}

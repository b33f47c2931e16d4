// Command localcloud runs an S3 server and Lambda functions on loopback, with
// nothing but files of this machine below them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	out := os.Stdout
	os.Stdout = os.Stderr // libraries that print must not break the lines of JSON
	os.Exit(run(os.Args[1:], os.Stdin, out, os.Stderr))
}

// run is main with its surroundings as arguments; it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		complain(stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// With a handler, a closed pipe makes the write fail instead of ending the
	// process.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	if o.exitWithStdin {
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // only the end of stdin matters
			cancel()
		}()
	}
	if err := serve(ctx, cancel, o, stdout, stderr); err != nil {
		complain(stderr, err)
		return 1
	}
	return 0
}

// serve runs a cloud until ctx ends.
func serve(ctx context.Context, cancel func(), o options, stdout, stderr io.Writer) (err error) {
	var h slog.Handler = slog.NewTextHandler(stderr, nil)
	if o.logFormat == "json" {
		h = slog.NewJSONHandler(stderr, nil)
	}
	f, err := openFolder(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	for try := 1; ; try++ {
		c, err := newCloud(ctx, o, f, &output{w: stdout, broken: cancel}, slog.New(h))
		if err != nil {
			return err
		}
		err = c.run(ctx, o.redrive)
		// A free port may be taken by another program before the server has it.
		if try == portTries || !strings.HasSuffix(o.addr, ":0") || !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
	}
}

// portTries is how often a free port is looked for.
const portTries = 5

// complain writes an error as one line.
func complain(w io.Writer, err error) {
	_, _ = fmt.Fprintf(w, "localcloud: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
}

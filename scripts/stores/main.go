// Command stores tries `farread doctor` and a round trip on S3 servers of others, each of
// which it starts on loopback, and puts a table of what works into a page.
//
//	stores -farread PROGRAM -page PAGE "NAME VERSION=COMMAND"…
//
// {port}, {port2} and {dir} in COMMAND are free ports and an empty folder. A URL instead of
// a command is of a server that runs already.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/farread/farread/functions/soak"
)

func main() {
	program := flag.String("farread", "bin/farread", "the `program`")
	page := flag.String("page", "", "`page` whose table is replaced; none: it is only printed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *program, *page, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stores:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program, page string, args []string) error {
	var results []result
	for _, arg := range args {
		s, err := parse(arg)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s %s …\n", s.name, s.version)
		r, err := try(ctx, program, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		results = append(results, r)
	}
	text := table(results) + "\n" + flaws(results)
	if _, err := os.Stdout.WriteString(text); err != nil || page == "" {
		return err
	}
	doc, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	out, err := soak.Insert(string(doc), "stores", text)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(out), 0o644)
}

// A store is a server that is tried.
type store struct {
	name, version string
	command       string // with {port}, {port2} and {dir}, or the URL of a server that runs
}

func parse(arg string) (store, error) {
	head, command, ok := strings.Cut(arg, "=")
	name, version, ok2 := strings.Cut(head, " ")
	if !ok || !ok2 || command == "" {
		return store{}, fmt.Errorf("%q: want NAME VERSION=COMMAND", arg)
	}
	return store{name, version, command}, nil
}

// A result is what was found out about a store.
type result struct {
	store

	findings []finding // of doctor, then of the round trip
}

// try starts a store and does all that is tried with it.
func try(ctx context.Context, program string, s store) (result, error) {
	srv, err := start(ctx, s)
	if err != nil {
		return result{}, err
	}
	defer srv.stop()
	t := &trip{server: srv, program: program}
	if t.dir, err = os.MkdirTemp("", "stores-"); err != nil {
		return result{}, err
	}
	defer os.RemoveAll(t.dir) //nolint:errcheck // a temporary folder
	found, err := t.doctor(ctx)
	if err == nil {
		found = append(found, t.all(ctx)...)
		err = ctx.Err()
	}
	if err != nil {
		return result{}, fmt.Errorf("%w\n%s", err, srv.log())
	}
	return result{s, found}, nil
}

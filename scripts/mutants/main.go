// Command mutants changes a package in one small way after the other and says which
// changes no test notices:
//
//	make mutants PKG=./functions MUTANTS='-sample 200'
//	go run ./scripts/mutants -only SURVIVORS -full -tests ./functions/pack,./functions ./functions/pack
//
// The second looks at the survivors of an earlier run again, with the full tests, and
// those of a package that uses it.
//
// The tools that there are (gremlins, go-mutesting) build and link the tests once for
// each mutant and run all of them. Here that is seconds a mutant before the first
// test begins, for thousands of mutants. So all mutants of a package are built into
// one binary, behind a number in the environment; each test runs alone once, to hear
// which mutants it comes by; and a mutant is shown only those tests, the quick ones
// first. Nothing in the work tree changes: the build reads the mutants by an overlay.
//
// Survivors that were looked at and change nothing stand in equivalent.txt beside
// this file, each with its reason.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

type options struct {
	tests    []string // packages whose tests are run; none: the package itself
	files    *regexp.Regexp
	run      string
	sample   int
	seed     string
	slack    time.Duration
	full     bool
	known    string
	all      bool
	verbose  bool
	survived string
}

func main() {
	var o options
	tests := flag.String("tests", "", "packages whose tests are run, with commas; the package itself")
	files := flag.String("files", "", "mutate the files whose names this `pattern` matches")
	flag.StringVar(&o.run, "run", "", "run the tests that this `pattern` matches")
	flag.IntVar(&o.sample, "sample", 0, "look at this many mutants, drawn by -seed; 0: all")
	flag.StringVar(&o.seed, "seed", "1", "what draws the sample")
	flag.DurationVar(&o.slack, "slack", 10*time.Second, "a test that takes this much longer than five times its own time has noticed")
	flag.BoolVar(&o.full, "full", false, "full tests, not -short")
	flag.StringVar(&o.known, "known", "scripts/mutants/equivalent.txt", "`file` of mutants that change nothing")
	flag.BoolVar(&o.all, "all", false, "run those, too")
	flag.BoolVar(&o.verbose, "v", false, "print killed mutants and what killed them")
	flag.StringVar(&o.survived, "only", "", "look only at mutants that this `file`, an earlier output, names as survivors")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: mutants [flags] PACKAGE")
		flag.PrintDefaults()
		os.Exit(2)
	}
	o.files = regexp.MustCompile(*files)
	o.tests = []string{flag.Arg(0)}
	if *tests != "" {
		o.tests = strings.Split(*tests, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	survivors, err := run(ctx, os.Stdout, flag.Arg(0), o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// run looks at the mutants of a package and says on w which ones survive.
func run(ctx context.Context, w io.Writer, pkg string, o options) (survivors int, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := load(ctx, pkg, o.files)
	if err != nil {
		return 0, err
	}
	bins, err := build(ctx, p, o.tests, dir)
	if err != nil {
		return 0, err
	}
	var reach []reached
	for _, b := range bins {
		r, err := b.reach(ctx, o, dir)
		if err != nil {
			return 0, err
		}
		reach = append(reach, r...)
	}
	slices.SortStableFunc(reach, func(a, b reached) int { return cmp.Compare(a.took, b.took) })

	known, err := readKnown(o.known)
	if err != nil {
		return 0, err
	}
	look := p.live()
	if o.survived != "" {
		b, err := os.ReadFile(o.survived)
		if err != nil {
			return 0, err
		}
		look = slices.DeleteFunc(look, func(m *mutant) bool { return !strings.Contains(string(b), m.key()+"\n") })
	}
	total := len(look)
	if o.sample > 0 && o.sample < total {
		look = draw(look, o.sample, o.seed)
	}
	killed, equivalent := 0, 0
	for i, m := range look {
		if known[m.key()] && !o.all {
			equivalent++
			continue
		}
		if i%50 == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d: %d killed, %d survive\n", i, len(look), killed, survivors)
		}
		if err := ctx.Err(); err != nil {
			return survivors, err
		}
		by, tests := m.judge(ctx, reach, o)
		switch {
		case by != "":
			killed++
			if o.verbose {
				fmt.Fprintf(w, "killed   %s  by %s\n", m, by)
			}
		case tests == 0:
			survivors++
			fmt.Fprintf(w, "unreached %s\n\t%s\n", m, m.key())
		default:
			survivors++
			fmt.Fprintf(w, "survives %s (%d tests)\n\t%s\n", m, tests, m.key())
		}
	}
	fmt.Fprintf(w, "%s: %d mutants, %d looked at: %d killed, %d survive, %d change nothing\n", pkg, total, len(look), killed, survivors, equivalent)
	return survivors, nil
}

// draw takes n mutants. Which ones depends on what they are, not on how many stand
// before them.
func draw(ms []*mutant, n int, seed string) []*mutant {
	rank := func(m *mutant) uint64 {
		h := fnv.New64a()
		fmt.Fprint(h, seed, m.key())
		return h.Sum64()
	}
	ms = slices.Clone(ms)
	slices.SortStableFunc(ms, func(a, b *mutant) int { return cmp.Compare(rank(a), rank(b)) })
	ms = ms[:n]
	slices.SortFunc(ms, func(a, b *mutant) int { return cmp.Compare(a.id, b.id) })
	return ms
}

// readKnown reads "key" lines; lines that begin with white space or # say why.
func readKnown(file string) (map[string]bool, error) {
	known := map[string]bool{}
	b, err := os.ReadFile(filepath.FromSlash(file))
	if os.IsNotExist(err) {
		return known, nil
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.ContainsAny(line[:1], "# \t") {
			known[line] = true
		}
	}
	return known, err
}

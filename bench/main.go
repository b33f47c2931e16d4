// Command bench measures farread beside its peers: each job is done by both in
// the same run, turn by turn, and the medians and their ratio are printed as a
// table. Absolute figures of one machine say little; ratios travel.
//
// The rows that need a Python library are left out where it is missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	rounds := fs.Int("rounds", 5, "`rounds` of each job, ours and the peer's in turn")
	rows := fs.String("rows", ".", "only the jobs whose name matches the `regexp`")
	write := fs.String("write", "", "put the table into this `file`, between its markers")
	dir := fs.String("dir", "", "`folder` for temporary data; empty: the system's")
	quick := fs.Bool("quick", false, "small inputs: that everything runs, not how fast")
	watch := fs.String("guard", "", "measure some of the rows of this `page`, and fail if a ratio has fallen")
	cpu := fs.String("cpuprofile", "", "write a CPU profile to this `file`")
	list := fs.Bool("list", false, "name the jobs")
	peak := fs.Bool("peak", false, "run the program that follows, and print how many bytes it held at the most")
	scan := fs.String("scan", "", "open the array at this `path`, read a slice and all of it, and print what that took")
	bare := fs.Bool("bare", false, "answer at the address that follows with the file behind it, and nothing else")
	if err := fs.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *peak {
		return printPeak(ctx, out, fs.Args())
	}
	if *scan != "" {
		return printScan(ctx, out, *scan)
	}
	if *bare {
		return serveBare(ctx, fs.Args())
	}
	match, err := regexp.Compile(*rows)
	if err != nil {
		return err
	}
	if *list {
		for _, j := range jobs() {
			fmt.Fprintln(out, j.name)
		}
		return nil
	}
	if *cpu != "" {
		f, err := os.Create(filepath.Clean(*cpu))
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	temp, err := os.MkdirTemp(*dir, "farread-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	root, err := checkout()
	if err != nil {
		return err
	}
	b := &bench{root: root, dir: temp, rounds: max(1, *rounds), quick: *quick, log: os.Stderr}
	defer b.close()
	if *watch != "" {
		b.rounds = max(1, *rounds/2)
		return guard(ctx, b, *watch, out)
	}
	results := map[string][]row{} // by the name of the table
	for _, j := range jobs() {
		if !match.MatchString(j.name) {
			continue
		}
		start := time.Now()
		rs, err := j.run(ctx, b)
		var skip *skipped
		switch {
		case errors.As(err, &skip):
			rs = []row{{job: j.name, note: "not measured: " + skip.why}}
		case err != nil:
			return fmt.Errorf("%s: %w", j.name, err)
		}
		for _, r := range rs {
			fmt.Fprintln(b.log, r)
		}
		fmt.Fprintf(b.log, "-- %s took %.0f s\n", j.name, time.Since(start).Seconds())
		results[j.table] = append(results[j.table], rs...)
	}
	return publish(ctx, b, results, *write, out)
}

// A job measures one or more rows.
type job struct {
	name string
	run  func(context.Context, *bench) ([]row, error)

	table string // where the rows go: a table of that name; empty: the first
}

func jobs() []job {
	return []job{
		{name: "gulp-read", run: gulpRead},
		{name: "tar-to-gulp", run: tarToGulp},
		{name: "frame-by-id", run: frameByID},
		{name: "afar/gulp-id", run: gulpFromAfar},
		{name: "afar/gulp-load", run: gulpLoad},
		{name: "decode", run: bloscDecode},
		{name: "blosc-encode", run: bloscEncode},
		{name: "blosc-parallel", run: bloscParallel},
		{name: "blosc-filter", run: bloscFilter},
		{name: "npy-to-b2nd", run: npyToB2nd},
		{name: "local-slices", run: localSlices},
		{name: "whole-array", run: wholeArray},
		{name: "growth", run: growth, table: "growth"},
		{name: "sorted-column", run: sortedColumn},
		{name: "analyze-local", run: analyzeLocal},
		{name: "analyze-afar", run: analyzeAfar},
		{name: "analyze-where", run: analyzeWhere},
		{name: "bloscpack-decode", run: bloscpackDecode},
		{name: "bloscpack-lines", run: bloscpackLines},
		{name: "analyze-lines", run: analyzeLines},
		{name: "bloscpack-item", run: bloscpackItem},
		{name: "zoom-build", run: zoomBuild},
		{name: "zoom-wav", run: zoomWAV},
		{name: "download", run: download},
		{name: "full-scan", run: fullScan},
		{name: "afar-many", run: afarMany},
		{name: "afar-frames", run: afarFrames},
		{name: "afar/peers", run: afarPeers},
		{name: "afar/python", run: afarPython},
		{name: "http2", run: http2},
		{name: "disk-cache", run: diskCache},
		{name: "cached-read", run: cachedRead},
		{name: "serve-chunk", run: servedChunk},
		{name: "serve-zarr", run: servedZarr},
		{name: "serve-answers", run: servedAnswers},
		{name: "serve-memory", run: servedMemory},
		{name: "function", run: function},
		{name: "memory", run: peakMemory, table: "memory"},
		{name: "pack-memory", run: packMemory},
	}
}

// checkout is the folder of the library's module, where programs are built.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "localcloud", "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no checkout of farread above this folder")
		}
		dir = up
	}
}

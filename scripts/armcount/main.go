// Command armcount counts the instructions that arm64 takes for what has kernels there, with
// the kernels and without (`-tags purego`), on an emulated processor: qemu-aarch64 logs each
// instruction. It prints a table for docs/performance.md. Counts are no times.
//
// It builds itself twice for arm64, makes what is to be decoded, and lets the emulator run
// each job (see work.go).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 4 && os.Args[1] == "-work":
		err = work(os.Args[2], os.Args[3])
	case len(os.Args) <= 2:
		err = report(context.Background(), os.Stdout, strings.Join(os.Args[1:], ""))
	default:
		err = errors.New("usage: armcount [PATTERN of jobs]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "armcount:", err)
		os.Exit(1)
	}
}

// report writes the table of the jobs whose name the pattern finds.
func report(ctx context.Context, w io.Writer, pattern string) error {
	find, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	e, err := newEmulator(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "armcount")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var programs [2]*program
	for i, tags := range []string{"purego", ""} {
		if programs[i], err = build(ctx, filepath.Join(dir, fmt.Sprint("arm", i)), tags); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprint(w, "| job | instructions per KiB, Go | kernel | ratio | wrong guesses per KiB, Go | kernel |\n| --- | --- | --- | --- | --- | --- |\n"); err != nil {
		return err
	}
	for _, name := range jobNames() {
		if !find.MatchString(name) {
			continue
		}
		if err := line(ctx, w, e, programs, name, filepath.Join(dir, "input")); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// line writes the line of a job, whose input it writes to a file.
func line(ctx context.Context, w io.Writer, e *emulator, programs [2]*program, job, input string) error {
	data, size, err := prepare(job)
	if err != nil {
		return err
	}
	if err := os.WriteFile(input, data, 0o600); err != nil {
		return err
	}
	var t [2]tally
	for i, p := range programs {
		if t[i], err = e.run(ctx, p, job, input); err != nil {
			return err
		}
	}
	k := float64(size) / 1024
	_, err = fmt.Fprintf(w, "| %s | %.0f | %.0f | %.2f | %.1f | %.1f |\n", job, float64(t[0].instructions)/k, float64(t[1].instructions)/k,
		float64(t[1].instructions)/float64(t[0].instructions), float64(t[0].wrong)/k, float64(t[1].wrong)/k)
	return err
}

// build builds this program for arm64.
func build(ctx context.Context, to, tags string) (*program, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, "-tags", tags, "./scripts/armcount")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return readProgram(to)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/farread/farread/internal/teststack"
)

// bench has the data that the jobs of one run share.
type bench struct {
	root, dir string
	rounds    int
	quick     bool
	log       io.Writer

	stack *teststack.Stack
	array *analyzedSet       // of the rows analyze-*
	peers map[string]*python // peers by module

	watched []string // the rows that the guard wants; nil: all
}

func (b *bench) close() {
	for _, p := range b.peers {
		p.close()
	}
	if b.stack != nil {
		if err := b.stack.Stop(); err != nil {
			fmt.Fprintln(b.log, "bench:", err)
		}
	}
}

// pick is full, or small where only the running counts.
func pick[T any](b *bench, full, small T) T {
	if b.quick {
		return small
	}
	return full
}

// part is full for the table, less for the guard, and small where only the running counts.
func part[T any](b *bench, full, less, small T) T {
	if b.watched != nil {
		return less
	}
	return pick(b, full, small)
}

// sub is a new folder for temporary data.
func (b *bench) sub(name string) (string, error) {
	d, err := os.MkdirTemp(b.dir, name+"-")
	if err != nil {
		return "", err
	}
	return filepath.Clean(d), nil
}

// skipped is the error of a job that cannot run on this machine.
type skipped struct{ why string }

func (s *skipped) Error() string { return s.why }

// A side does a job once and returns the time that it took. It measures the
// time itself, so that it can leave out start-up.
type side func(ctx context.Context) (time.Duration, error)

// onCPU makes a side that measures the processor time of this process. With several
// goroutines this is the cost of the job, not its duration.
func onCPU(f func(ctx context.Context) error) side {
	return func(ctx context.Context) (time.Duration, error) {
		start := cpuTime()
		err := f(ctx)
		return cpuTime() - start, err
	}
}

// fresh removes the output of a round before the next one: to free the pages of an old file of
// 700 MB takes as long as half the job, and is none of it.
func fresh(output string, s side) side {
	return func(ctx context.Context) (time.Duration, error) {
		if err := os.Remove(output); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		return s(ctx)
	}
}

// checkedFirst does the job once before each measurement and looks at the result.
func checkedFirst(once func() error, right func() bool, s side) side {
	return func(ctx context.Context) (time.Duration, error) {
		if err := once(); err != nil {
			return 0, err
		}
		if !right() {
			return 0, errors.New("the result is wrong")
		}
		return s(ctx)
	}
}

// cpuTime is the user and system time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// timed is a side whose whole call counts.
func timed(f func(ctx context.Context) error) side {
	return func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		err := f(ctx)
		return time.Since(start), err
	}
}

// finer has three times as many rounds, for jobs so short that what else the
// machine does falls into one round and not into another.
func (b *bench) finer() *bench {
	f := *b
	f.rounds = pick(b, 3*b.rounds, 1)
	return &f
}

// interleave measures the sides in turn and returns the median of each, to the guard the
// best: other work on the machine only takes time away.
func (b *bench) interleave(ctx context.Context, sides ...side) ([]time.Duration, error) {
	if b.watched != nil {
		return b.best(ctx, sides...)
	}
	return b.each(ctx, median, sides...)
}

// best is interleave with the best round of each side: for work in memory, from which other work
// on the machine only takes.
func (b *bench) best(ctx context.Context, sides ...side) ([]time.Duration, error) {
	return b.each(ctx, slices.Min, sides...)
}

// each measures the sides in turn and returns what of says of the rounds of each.
func (b *bench) each(ctx context.Context, of func([]time.Duration) time.Duration, sides ...side) ([]time.Duration, error) {
	all, err := b.measure(ctx, sides...)
	if err != nil {
		return nil, err
	}
	out := make([]time.Duration, len(sides))
	for i, ds := range all {
		out[i] = of(ds)
	}
	return out, nil
}

// measure runs the sides in turn, rounds times, after one round that does not
// count, and returns how long each took in each round.
func (b *bench) measure(ctx context.Context, sides ...side) ([][]time.Duration, error) {
	all := make([][]time.Duration, len(sides))
	for n := range b.rounds + 1 {
		for k := range sides {
			i := (k + n) % len(sides) // who follows whom changes too
			runtime.GC()
			d, err := sides[i](ctx)
			if err != nil {
				return nil, err
			}
			if d <= 0 {
				return nil, errors.New("measured no time")
			}
			if n > 0 {
				all[i] = append(all[i], d)
			}
		}
	}
	return all, nil
}

func median(ds []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(ds))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

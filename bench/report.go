package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A row is a line of the table.
type row struct {
	job        string
	ours, peer string
	ratio      float64 // our result divided by the peer's, larger is better; 0: no peer
	goal       string
	met        bool
	judged     bool // the row has a goal
	note       string
}

func (r row) verdict() string {
	switch {
	case !r.judged:
		return ""
	case r.met:
		return "met"
	}
	return "**missed**"
}

func (r row) String() string {
	ratio := ""
	if r.ratio > 0 {
		ratio = fmt.Sprintf("%.2fx", r.ratio)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", r.job, r.goal, r.ours, r.peer, ratio, r.verdict(), r.note)
}

// against is a row with a peer: amount of something, per second, on both sides.
func against(job, unit string, amount float64, ours, peer time.Duration, goal float64) row {
	r := row{job: job, ours: rate(amount, ours, unit), peer: rate(amount, peer, unit), ratio: peer.Seconds() / ours.Seconds()}
	if goal > 0 {
		r.goal, r.judged, r.met = fmt.Sprintf(">= %gx", goal), true, r.ratio >= goal
	}
	return r
}

func rate(amount float64, d time.Duration, unit string) string {
	v := amount / d.Seconds()
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.2f G%s/s", v/1e9, unit)
	case v >= 1e6:
		return fmt.Sprintf("%.2f M%s/s", v/1e6, unit)
	case v >= 1e3:
		return fmt.Sprintf("%.1f k%s/s", v/1e3, unit)
	}
	return fmt.Sprintf("%.1f %s/s", v, unit)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// report is the table with the machine that it was measured on.
func report(ctx context.Context, b *bench, rows []row) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured %s on %s; %s, GOMAXPROCS %d; median of %d rounds, sides in turn.\n", time.Now().UTC().Format("2006-01-02"),
		machine(ctx), runtime.Version(), runtime.GOMAXPROCS(0), b.rounds)
	for _, name := range slices.Sorted(maps.Keys(b.peers)) {
		fmt.Fprintf(&out, "Peer: %s.\n", b.peers[name].versions)
	}
	out.WriteString("\n| job | goal | ours | peer | ratio | | |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range rows {
		fmt.Fprintln(&out, r)
	}
	return out.String()
}

// processor is this machine's.
func processor() string {
	name := runtime.GOOS + "/" + runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				return name + ", " + strings.TrimSpace(v)
			}
		}
	}
	return name
}

func machine(ctx context.Context) string {
	name := processor()
	kernel, err := exec.CommandContext(ctx, "uname", "-r").Output()
	if err == nil {
		name += ", Linux " + strings.TrimSpace(string(kernel))
	}
	return fmt.Sprintf("%s, %d CPUs%s", name, runtime.NumCPU(), load())
}

// load tells a machine that had other work to do: above the number of CPUs both
// sides lose, though not always alike.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); err == nil && len(f) > 2 {
		return fmt.Sprintf(", load average at the end %s (1 min) and %s (15 min), the measurements' own part in it", f[0], f[2])
	}
	return ""
}

const (
	beginMark = "<!-- table: begin -->\n"
	endMark   = "<!-- table: end -->\n"
)

// insert replaces what stands between the markers of a file.
func insert(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	from := bytes.Index(old, []byte(beginMark))
	to := bytes.Index(old, []byte(endMark))
	if from < 0 || to < from {
		return fmt.Errorf("%s has no lines %q and %q", file, strings.TrimSpace(beginMark), strings.TrimSpace(endMark))
	}
	from += len(beginMark)
	return os.WriteFile(file, []byte(string(old[:from])+text+string(old[to:])), 0o644)
}

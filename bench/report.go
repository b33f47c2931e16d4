package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
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

	cells []string // instead of all that, in a table that is not the first
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
	if r.cells != nil {
		return "| " + strings.Join(r.cells, " | ") + " |"
	}
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
	return out.String() + "\n" + tableOf("| job | goal | ours | peer | ratio | | |", rows)
}

func tableOf(head string, rows []row) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n|%s\n", head, strings.Repeat(" --- |", strings.Count(head, "|")-1))
	for _, r := range rows {
		fmt.Fprintln(&out, r)
	}
	return out.String()
}

// heads are those of the tables beside the first, by their names.
func heads() map[string]string {
	return map[string]string{
		"memory": "| farread | input | peak | with `--max-memory 128MiB` | | took |",
		"growth": "| array | file | open and a slice: ours | peer | ratio | full scan: ours | peer | ratio | peak resident: ours | peer | of it imports |",
	}
}

// publish puts the tables into a page, each between markers of its own, or prints them.
func publish(ctx context.Context, b *bench, results map[string][]row, page string, out io.Writer) error {
	texts := map[string]string{}
	for name, rows := range results {
		if texts[name] = report(ctx, b, rows); name != "" {
			texts[name] = tableOf(heads()[name], rows)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		var err error
		if page == "" {
			_, err = io.WriteString(out, texts[name]+"\n")
		} else {
			err = insert(page, name, texts[name])
		}
		if err != nil {
			return err
		}
	}
	return nil
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

// marks are the lines around a table: of the first one, without a name, and of others.
func marks(name string) (begin, end string) {
	if name == "" {
		return beginMark, endMark
	}
	return strings.Replace(beginMark, "table", name, 1), strings.Replace(endMark, "table", name, 1)
}

// insert replaces what stands between the markers of a file.
func insert(file, name, text string) error {
	beginMark, endMark := marks(name)
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

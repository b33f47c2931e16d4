package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A watch names rows of the published table by a pattern, and the job that measures them.
type watch struct{ job, rows string }

// watches are what the guard measures: rows that count processor time, or jobs so short
// that other work falls beside them, and not all of a kind.
func watches() []watch {
	return []watch{
		{"decode", `^decode (lz4|blosclz) 5 \+ shuffle, f32 sine$|^decode lz4 5 \+ bitshuffle, f64 walk$|^decode zstd 1 \+ shuffle, (f32 sine|f64 walk|sparse)$|^decode zlib 5 \+ shuffle, f64 walk$`},
		{"decode", `^decode (lz4 5|zstd 1) \+ shuffle, (counts-u2|stamps-i8)$|^decode (lz4 5|zstd 1) \+ bitshuffle, field-f4$|^decode zlib 5 \+ shuffle, sensor-f8$`},
		{"blosc-encode", `^encode (lz4 5|zstd 1) \+ shuffle, (f32 sine|f64 walk)$`},
		{"blosc-filter", `unshuffle, items of [48] bytes`},
		{"npy-to-b2nd", `^npy to b2nd, zstd 1 \+ shuffle, (f32 sine|f64 walk), `},
		{"local-slices", `^slice .* of a local array`},
		{"gulp-read", `^gulp read of bytes`},
		{"bloscpack-decode", `^bloscpack file .* decode (blosclz 7|lz4 5) \+ shuffle, f32 sine$`},
		{"bloscpack-lines", `^pack # such lines of 293 bytes, a chunk of zstd 1 each$`},
		{"whole-array", `^array of # to memory`},
		{"zoom-build", `^zoom-cache file`},
		{"zoom-wav", `^WAV of .* to a \.zoom`},
	}
}

// A ratio that fell below this part of the published one fails. Processors differ in what
// they do well, so that on another one than the table's the guard sees less.
const (
	guardSame  = 2.0 / 3
	guardOther = 1.0 / 2
)

// published is what a page says of the rows that have a ratio, by keys as keyed makes
// them, and the machine that they were measured on.
type published struct {
	machine string
	keys    []string
	ratios  map[string]float64
}

// parsePublished takes the table between its markers apart.
func parsePublished(page string) (published, error) {
	p := published{ratios: map[string]float64{}}
	_, rest, found := strings.Cut(page, beginMark)
	text, _, ended := strings.Cut(rest, endMark)
	if !found || !ended {
		return p, fmt.Errorf("no lines %q and %q", strings.TrimSpace(beginMark), strings.TrimSpace(endMark))
	}
	var k keyed
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Measured ") {
			p.machine = line
		}
		cells := strings.Split(line, "|")
		if len(cells) != 9 || strings.TrimSpace(cells[1]) == "job" || strings.HasPrefix(cells[1], " --") {
			continue
		}
		key, cell := k.key(strings.TrimSpace(cells[1])), strings.TrimSpace(cells[5])
		if cell == "" {
			continue
		}
		number, isRatio := strings.CutSuffix(cell, "x")
		ratio, err := strconv.ParseFloat(number, 64)
		if _, twice := p.ratios[key]; err != nil || !isRatio || !(ratio > 0) || twice {
			return p, fmt.Errorf("row %q: %q is no ratio, or the row is there twice", key, cell)
		}
		p.keys, p.ratios[key] = append(p.keys, key), ratio
	}
	if len(p.keys) == 0 {
		return p, errors.New("no row with a ratio")
	}
	return p, nil
}

// keyed names rows for comparing them: a row "same, …" by the last other one before it, too.
type keyed struct{ before string }

func (k *keyed) key(job string) string {
	job = sizeInName.ReplaceAllString(job, "#")
	if strings.HasPrefix(job, "same, ") {
		return k.before + "; " + job
	}
	k.before = job
	return job
}

// sizeInName is how much a job works on, or how long a recording is, which the guard has less of, and shapes, which the
// peer chooses by the processor's caches.
var sizeInName = regexp.MustCompile(`\b(\d+(\.\d+)? MiB|\d{4,}|(\d+h)?\d+m\d+s)\b|\[[\d ]+\]`)

// guard measures the watched rows of a page and fails if one has fallen.
func guard(ctx context.Context, b *bench, page string, out io.Writer) error {
	text, err := os.ReadFile(filepath.Clean(page))
	if err != nil {
		return err
	}
	p, err := parsePublished(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	g := guarding{page: page, ratios: p.ratios, slack: guardSame, rounds: b.rounds, out: out, measure: b.watch}
	if here := processor(); !strings.Contains(p.machine, here+",") {
		g.slack = guardOther
		fmt.Fprintf(out, "guard: %s is another processor than that of %s: a ratio may fall to half of the published one\n", here, page)
	}
	return g.run(ctx, p.watched())
}

// guarding compares what is measured with what is published.
type guarding struct {
	page    string
	ratios  map[string]float64
	slack   float64
	rounds  int
	out     io.Writer
	measure func(ctx context.Context, w watched, rounds int) ([]row, error)
}

// A fall is a row below what the table allows.
type fall struct {
	watch
	key  string
	seen float64
}

// run measures what fell again, in more rounds each time: only other work on the machine
// goes away so.
func (g *guarding) run(ctx context.Context, left []watched) error {
	var fallen []fall
	for _, rounds := range []int{g.rounds, 3 * g.rounds, 9 * g.rounds} {
		fallen = nil
		for _, w := range left {
			f, err := g.look(ctx, w, rounds)
			if err != nil {
				return fmt.Errorf("%s: %w", w.job, err)
			}
			fallen = append(fallen, f...)
		}
		if len(fallen) == 0 {
			return nil
		}
		left = nil
		for _, f := range fallen {
			left = append(left, watched{f.watch, []string{f.key}})
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "fallen in each of three tries: %d rows", len(fallen))
	for _, f := range fallen {
		fmt.Fprintf(&text, "\n  %s: %.2fx, and %s says %.2fx; look closer: cd bench && go run . -rows '^%s$' -rounds 15", f.key, f.seen, g.page, g.ratios[f.key], f.job)
	}
	return errors.New(text.String())
}

// look measures rows of one job and returns those that are too low.
func (g *guarding) look(ctx context.Context, w watched, rounds int) ([]fall, error) {
	if len(w.keys) == 0 {
		fmt.Fprintf(g.out, "guard: skipped: %s: the table has no such rows\n", w.rows)
		return nil, nil
	}
	rs, err := g.measure(ctx, w, rounds)
	if skip := (*skipped)(nil); errors.As(err, &skip) {
		fmt.Fprintf(g.out, "guard: skipped: %s: %s\n", strings.Join(w.keys, ", "), skip.why)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var fallen []fall
	var k keyed
	left := slices.Clone(w.keys)
	for _, r := range rs {
		key := k.key(r.job)
		if !slices.Contains(left, key) {
			continue
		}
		left = slices.DeleteFunc(left, func(s string) bool { return s == key })
		verdict := "ok"
		if r.ratio < g.slack*g.ratios[key] {
			fallen, verdict = append(fallen, fall{w.watch, key, r.ratio}), "LOW"
		}
		fmt.Fprintf(g.out, "guard: %s: %s: %.2fx, published %.2fx\n", verdict, key, r.ratio, g.ratios[key])
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("the table has rows that are not measured any more: %q", left)
	}
	return fallen, nil
}

// watched are the published rows of one watch, by their keys.
type watched struct {
	watch
	keys []string
}

func (p published) watched() []watched {
	ws := watches()
	all := make([]watched, 0, len(ws))
	for _, w := range ws {
		rows, x := regexp.MustCompile(w.rows), watched{watch: w}
		for _, key := range p.keys {
			if rows.MatchString(key) {
				x.keys = append(x.keys, key)
			}
		}
		all = append(all, x)
	}
	return all
}

// watch measures rows of one job.
func (b *bench) watch(ctx context.Context, w watched, rounds int) ([]row, error) {
	x := *b
	x.rounds, x.watched = rounds, w.keys
	start := time.Now()
	rs, err := jobNamed(w.job).run(ctx, &x)
	b.stack, b.peers = x.stack, x.peers
	fmt.Fprintf(b.log, "-- %s took %.1f s\n", w.job, time.Since(start).Seconds())
	return rs, err
}

// wants says whether rows whose names begin so are to be measured: in the table all are.
func (b *bench) wants(job string) bool {
	job = sizeInName.ReplaceAllString(job, "#")
	return b.watched == nil || slices.ContainsFunc(b.watched, func(key string) bool { return strings.HasPrefix(key, job) })
}

func jobNamed(name string) job {
	for _, j := range jobs() {
		if j.name == name {
			return j
		}
	}
	panic("no such job: " + name)
}

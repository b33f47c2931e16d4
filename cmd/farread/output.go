package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
)

// writeJSON writes v as one line.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// A table is aligned text for people. Columns named with a leading ">" are
// flush right.
type table struct {
	head  []string
	rows  [][]string
	width []int // widths of the columns that were written before
}

func newTable(head ...string) *table { return &table{head: head} }

// add adds a row. Text from files, keys or servers is made printable there.
func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = printable(c)
	}
	t.rows = append(t.rows, cells)
}

// write prints the table, without a head only its rows. Rows that are added later are
// printed by another call, in columns at least as wide.
func (t *table) write(w io.Writer) error {
	begun := t.width != nil
	if !begun {
		t.width = make([]int, len(t.head))
	}
	width := t.width
	right := make([]bool, len(t.head))
	head := make([]string, len(t.head))
	titled := false
	for i, h := range t.head {
		head[i], right[i] = strings.CutPrefix(h, ">")
		width[i] = max(width[i], utf8.RuneCountInString(head[i]))
		titled = titled || head[i] != "" && !begun
	}
	for _, r := range t.rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b, l strings.Builder
	line := func(cells []string) {
		l.Reset()
		for i, c := range cells {
			if i > 0 {
				l.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if right[i] {
				l.WriteString(pad + c)
			} else {
				l.WriteString(c + pad)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " "))
		b.WriteByte('\n')
	}
	if titled {
		line(head)
	}
	for _, r := range t.rows {
		line(r)
	}
	t.rows = t.rows[:0]
	_, err := io.WriteString(w, b.String())
	return err
}

func humanSize(n int64) string {
	if n < 0 {
		return strconv.FormatInt(n, 10)
	}
	return humanize.IBytes(uint64(n))
}

func count(n int64) string { return humanize.Comma(n) }

// plural is "1 frame", "2,000 frames".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// printable is text from a file or a key in a form that is safe on a terminal: quoted
// if it has characters that do more than show themselves.
func printable(s string) string {
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}

// shown is text of several lines in a form that is safe on a terminal. Names of others
// are part of it, and not all of them are quoted.
func shown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' {
			b.WriteByte('\n')
			continue
		}
		spell(&b, r)
	}
	return b.String()
}

// spell writes a character, or its number if it does more than show itself.
func spell(b *strings.Builder, r rune) {
	if unicode.IsPrint(r) {
		b.WriteRune(r)
		return
	}
	fmt.Fprintf(b, "\\u%04x", r)
}

// shapeText is a shape as Python writes it.
func shapeText[T int | int64](shape []T) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, n := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	if len(shape) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}

// layerText names metalayers with their sizes.
func layerText(m map[string][]byte) string {
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", printable(name), plural(int64(len(m[name])), "byte")))
	}
	return strings.Join(parts, ", ")
}

// shorten cuts text for a table cell.
func shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// A bar shows the progress of long work, if somebody is looking.
type bar struct{ b *progressbar.ProgressBar }

// newBar makes a bar of total bytes; total is -1 if nobody knows.
func (a *app) newBar(what string, total int64) bar {
	if !a.terminal || a.flags.quiet || a.flags.verbose {
		return bar{}
	}
	return bar{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true), progressbar.OptionShowCount(), progressbar.OptionUseIECUnits(true), progressbar.OptionShowTotalBytes(true),
		progressbar.OptionSetPredictTime(true), progressbar.OptionSetElapsedTime(false), progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionUseANSICodes(true),
	)}
}

// newCounter is a bar for a number of things that nobody knows.
func (a *app) newCounter(what string) bar {
	if !a.terminal || a.flags.quiet || a.flags.verbose {
		return bar{}
	}
	return bar{progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionUseANSICodes(true),
	)}
}

// set is a formats.Progress; the bar knows the total already.
func (b bar) set(done, _ int64) {
	if b.b != nil {
		_ = b.b.Set64(done) // a bar that cannot be drawn must not stop the work
	}
}

func (b bar) add(n int64) {
	if b.b != nil {
		_ = b.b.Add64(n)
	}
}

// clear takes the bar off the screen.
func (b bar) clear() {
	if b.b != nil {
		_ = b.b.Clear()
		_ = b.b.Exit()
	}
}

// remark tells people something on stderr that is neither a result nor an error.
func (a *app) remark(format string, args ...any) {
	if a.terminal && !a.flags.quiet && !a.flags.json {
		fmt.Fprintln(a.stderr, shown(fmt.Sprintf(format, args...)))
	}
}

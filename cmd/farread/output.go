package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/render"
)

const fileBuffer = render.FileBuffer

// writeJSON writes v as one line.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// layerText returns the names of metalayers with their sizes.
func layerText(m map[string][]byte) string {
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", human.Printable(name), human.Plural(int64(len(m[name])), "byte")))
	}
	return strings.Join(parts, ", ")
}

// columns is how wide the screen is on which OUT is shown, 0 if it is a file or a pipe.
func (a *app) columns(out string) int {
	switch {
	case out != "-" || !a.screen:
		return 0
	case a.width <= 0:
		return render.ScreenColumns
	}
	return max(a.width, leastColumns)
}

// leastColumns is a line that holds a few numbers.
const leastColumns = 20

// A bar shows the progress of long work on a terminal.
type bar struct{ b *progressbar.ProgressBar }

// newBar makes a bar of total bytes. If total is -1, the number is unknown.
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

// newCounter makes a bar for an unknown number of things.
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

// set is a formats.Progress. It ignores the total, which the bar already has.
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

// clear removes the bar from the screen.
func (b bar) clear() {
	if b.b != nil {
		_ = b.b.Clear()
		_ = b.b.Exit()
	}
}

// remark prints a text on stderr that is neither a result nor an error.
func (a *app) remark(format string, args ...any) {
	if a.terminal && !a.flags.quiet && !a.flags.json {
		fmt.Fprintln(a.stderr, human.Lines(fmt.Sprintf(format, args...)))
	}
}

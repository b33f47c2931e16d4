package formattest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/rangeio"
	"github.com/google/go-cmp/cmp"
)

// A Trace lists the planned reads of a format as text, to be compared with a
// golden file: what a read asks for is then a line in review when it changes.
// One line is one planned read, with the spans it asks for; how a store turns
// spans into requests is the store's own trace. It is safe for concurrent use.
type Trace struct {
	mu    sync.Mutex
	lines []string
	out   strings.Builder
}

// Wrap returns a Reader that records the reads of r under a name.
func (tr *Trace) Wrap(name string, r rangeio.Reader) rangeio.Reader {
	return traced{r, name, tr}
}

// Step adds a title and the reads since the last Step, sorted, as those of one
// step may come in any order. Notes, such as digests, follow on lines of their
// own.
func (tr *Trace) Step(title string, notes ...string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	slices.Sort(tr.lines)
	fmt.Fprintf(&tr.out, "%s\n----\n", title)
	for _, l := range append(tr.lines, notes...) {
		fmt.Fprintln(&tr.out, l)
	}
	fmt.Fprintln(&tr.out)
	tr.lines = nil
}

// Golden compares all steps so far with a file; reads since the last Step are left
// out. A test binary that defines a flag "update", as the project's do, rewrites
// the file if that is set.
func (tr *Trace) Golden(t *testing.T, path string) {
	t.Helper()
	tr.mu.Lock()
	got := tr.out.String()
	tr.mu.Unlock()
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func (tr *Trace) add(name string, spans []rangeio.Span) {
	var b strings.Builder
	b.WriteString(name)
	for _, s := range spans {
		fmt.Fprintf(&b, " %d+%d", s.Off, len(s.P))
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.lines = append(tr.lines, b.String())
}

type traced struct {
	rangeio.Reader
	name string
	tr   *Trace
}

func (r traced) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	r.tr.add(r.name, spans)
	return r.Reader.ReadRanges(ctx, spans)
}

func (r traced) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	r.tr.add(r.name, spans)
	return r.Reader.ReadEach(ctx, spans, done)
}

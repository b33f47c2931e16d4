// Package tracetest holds golden request traces: text files that list the
// requests a read makes, so that a change of cost is a change of a file.
package tracetest

import (
	"flag"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/objstore"
)

var update = flag.Bool("update", false, "rewrite golden traces")

// A Log collects the requests of a bucket; use its Middleware.
type Log struct {
	mu    sync.Mutex
	lines []string
	out   strings.Builder
}

// Middleware records the calls of the bucket it wraps.
func (l *Log) Middleware() objstore.Middleware {
	return objstore.Trace(func(e objstore.Event) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, e.String())
	})
}

// Step writes what was requested since the last one under a title. Requests of
// one step run side by side, so their order means nothing: they are sorted.
func (l *Log) Step(title string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sort.Strings(l.lines)
	l.out.WriteString(title + "\n----\n")
	for _, s := range l.lines {
		l.out.WriteString(s + "\n")
	}
	l.out.WriteString("\n")
	l.lines = nil
}

// Note adds a line of facts, a digest say, to the present step.
func (l *Log) Note(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.WriteString(s + "\n")
}

// Golden compares all steps with the file; -update rewrites it.
func (l *Log) Golden(t *testing.T, path string) {
	t.Helper()
	l.mu.Lock()
	got := l.out.String()
	l.mu.Unlock()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (make trace-update writes it)", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s: requests differ (-want +got), make trace-update accepts them:\n%s", path, d)
	}
}

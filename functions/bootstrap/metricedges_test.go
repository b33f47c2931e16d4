package bootstrap_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/bootstrap"
)

// brokenPipe takes no line.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// TestMetricsOfNoJob: counts that belong to no job are written, too, without
// durations. An invocation without messages has no line.
func TestMetricsOfNoJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		r                functions.Result
		ignored, retried float64
	}{
		"ignored":   {functions.Result{Ignored: 2}, 2, 0},
		"unmatched": {functions.Result{Uploads: 3, Unmatched: 3}, 3, 0},
		"elsewhere": {functions.Result{Uploads: 4, Elsewhere: 4}, 4, 0},
		"refused":   {functions.Result{Retry: 1}, 0, 1},
		"all":       {functions.Result{Uploads: 7, Ignored: 2, Unmatched: 3, Elsewhere: 4, Retry: 5}, 9, 5},
	} {
		var b bytes.Buffer
		(&bootstrap.Metrics{Out: &b}).Write(c.r, "")
		lines := linesOf(t, b.Bytes())
		if len(lines) != 1 || lines[0].values["Ignored"][0] != c.ignored || lines[0].values["Retried"][0] != c.retried || lines[0].dimensions[0] != "function=farread" {
			t.Fatalf("%s: %s", name, b.Bytes())
		}
		if strings.Contains(b.String(), "Duration") {
			t.Errorf("%s: durations of nothing: %s", name, b.Bytes())
		}
	}
	var b, log bytes.Buffer
	(&bootstrap.Metrics{Out: &b}).Write(functions.Result{}, "")
	if b.Len() > 0 {
		t.Errorf("%s", b.Bytes())
	}
	(&bootstrap.Metrics{Out: brokenPipe{}, Log: slog.New(slog.NewTextHandler(&log, nil))}).Write(functions.Result{Ignored: 1}, "")
	if !strings.Contains(log.String(), "broken pipe") {
		t.Errorf("%q", log.String())
	}
}

// TestLeastMemory: the bounds of the memory that a function may be given.
func TestLeastMemory(t *testing.T) {
	t.Parallel()
	rules := `[{"bucket":"uploads","job":"pack","out":{"bucket":"datasets"}}]`
	for v, want := range map[string]int64{"": 200, "16": 16, "15": 0, "1048576": 1 << 20, "1048577": 0, "-1": 0, "1e3": 0, "99999999999999999999": 0} {
		c, err := bootstrap.Load(func(name string) string {
			return map[string]string{bootstrap.EnvRules: rules, bootstrap.EnvMaxMemory: v}[name]
		}, "")
		if (err == nil) != (want > 0) || err == nil && c.MaxMemory != want<<20 {
			t.Errorf("%q: %d, %v", v, c.MaxMemory, err)
		}
	}
}

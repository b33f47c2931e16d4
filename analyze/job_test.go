package analyze_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
)

// words is a job of parts that say their numbers. calls counts its maps.
func words(parts int, calls *atomic.Int64, bad func(part int) error) (*analyze.Job[string], *[]string) {
	var merged []string
	return &analyze.Job[string]{
		ID: "words", Parts: parts,
		Map: func(_ context.Context, part int) (string, error) {
			calls.Add(1)
			return fmt.Sprint(part), bad(part)
		},
		Merge: func(_ int, s string) error {
			merged = append(merged, s)
			return nil
		},
		Encode: func(s string) ([]byte, error) { return json.Marshal(s) },
		Decode: func(line []byte) (s string, err error) { return s, json.Unmarshal(line, &s) },
	}, &merged
}

func none(int) error { return nil }

func checkpoint(t *testing.T, name string) *analyze.Checkpoint {
	t.Helper()
	c, err := analyze.OpenCheckpoint(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestOrder: results are merged in the order of the parts, and progress is told, for any
// number of jobs.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{0, 1, 2, 7, 100} {
		var calls atomic.Int64
		var told []int64
		j, merged := words(40, &calls, none)
		err := analyze.Run(t.Context(), j, analyze.Options{Jobs: jobs, Progress: func(done, total int64) { told = append(told, done, total) }})
		if err != nil || calls.Load() != 40 || len(*merged) != 40 || (*merged)[39] != "39" || !slices.IsSortedFunc(*merged, func(a, b string) int { return len(a) - len(b) }) {
			t.Errorf("%d jobs: %v, %d calls, %v", jobs, err, calls.Load(), *merged)
		}
		if len(told) != 80 || told[78] != 40 || told[79] != 40 {
			t.Errorf("%d jobs: told %v", jobs, told)
		}
	}
}

// TestFailed: the parts that failed are listed. With a checkpoint the next run does these
// alone.
func TestFailed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	bad := func(part int) error {
		if part%10 == 3 {
			return broken
		}
		return nil
	}
	var calls atomic.Int64
	j, _ := words(40, &calls, bad)
	err := analyze.Run(t.Context(), j, analyze.Options{})
	if e, ok := errors.AsType[*analyze.FailedError](err); !ok || len(e.Errors) != 1 || e.Errors[0].Part != 3 || !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	name := filepath.Join(t.TempDir(), "run.ckpt")
	calls.Store(0)
	err = analyze.Run(t.Context(), j, analyze.Options{Checkpoint: checkpoint(t, name)})
	if want := "4 of 40 parts failed: part 3: broken; part 13: broken; part 23: broken; part 33: broken"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	calls.Store(0)
	j, merged := words(40, &calls, none)
	c := checkpoint(t, name)
	if c.Parts() != 36 {
		t.Errorf("%d parts are kept", c.Parts())
	}
	if err := analyze.Run(t.Context(), j, analyze.Options{Checkpoint: c}); err != nil || calls.Load() != 4 || len(*merged) != 40 || (*merged)[13] != "13" {
		t.Errorf("%v, %d calls, %v", err, calls.Load(), *merged)
	}
	if err := c.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	j, _ = words(40, &calls, func(int) error { return broken })
	err = analyze.Run(t.Context(), j, analyze.Options{Checkpoint: checkpoint(t, name)})
	if e, ok := errors.AsType[*analyze.FailedError](err); !ok || len(e.Errors) != 8 {
		t.Errorf("%v", err)
	}
}

// TestStopped: a run ends with the cause of its context, and goes on where it was.
func TestStopped(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "run.ckpt")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	var calls atomic.Int64
	j, _ := words(40, &calls, none)
	err := analyze.Run(ctx, j, analyze.Options{Jobs: 3, Checkpoint: checkpoint(t, name), Progress: func(done, _ int64) {
		if done == 11 {
			cancel(stop)
		}
	}})
	if !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	c := checkpoint(t, name)
	kept := c.Parts()
	if kept < 11 || kept > 11+6 {
		t.Errorf("%d parts are kept", kept)
	}
	calls.Store(0)
	j, merged := words(40, &calls, none)
	if err := analyze.Run(t.Context(), j, analyze.Options{Checkpoint: c}); err != nil || int(calls.Load()) != 40-kept || len(*merged) != 40 {
		t.Errorf("%v, %d calls, %v", err, calls.Load(), *merged)
	}
}

// TestCheckpointFile: what a killed run left is dropped, another plan and other files are
// refused and left alone.
func TestCheckpointFile(t *testing.T) {
	t.Parallel()
	const head = `{"farread_checkpoint":1,"plan":"words"}` + "\n"
	name := filepath.Join(t.TempDir(), "run.ckpt")
	var calls atomic.Int64
	for _, text := range []string{"", `{"farread_checkp`, head, head + `{"part":1,"result":"1"}` + "\n" + `{"part":2,"res`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		j, merged := words(5, &calls, none)
		if err := analyze.Run(t.Context(), j, analyze.Options{Checkpoint: checkpoint(t, name)}); err != nil || strings.Join(*merged, "") != "01234" {
			t.Errorf("%q: %v, %v", text, err, *merged)
		}
		if c := checkpoint(t, name); c.Parts() != 5 {
			t.Errorf("%q: %d parts are kept", text, c.Parts())
		}
	}
	for text, want := range map[string]error{
		"other text\n": formats.ErrCorrupt,
		"x":            formats.ErrCorrupt,
		`{"farread_checkpoint":7,"plan":"words"}` + "\n": formats.ErrUnsupported,
		head + "{}\n":                           formats.ErrCorrupt,
		head + `{"part":-1,"result":1}` + "\n":  formats.ErrCorrupt,
		head + `{"part":9,"result":"9"}` + "\n": formats.ErrCorrupt,
		head + `{"part":1,"result":[]}` + "\n":  nil,
		strings.Replace(head, "words", "w", 1):  analyze.ErrOtherPlan,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := analyze.OpenCheckpoint(name)
		if err == nil {
			j, _ := words(5, &calls, none)
			err = analyze.Run(t.Context(), j, analyze.Options{Checkpoint: c})
			c.Close()
		}
		if err == nil || want != nil && !errors.Is(err, want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
		if now, err := os.ReadFile(name); err != nil || want != nil && string(now) != text {
			t.Errorf("%q became %q", text, now)
		}
	}
}

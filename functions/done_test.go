package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// TestLogLines: the log line of each outcome, with the names that docs/operations.md
// lists.
func TestLogLines(t *testing.T) {
	t.Parallel()
	made := []objstore.Info{{Key: "a.gulp", Size: 70}, {Key: "a.gmeta", Size: 30}}
	gone := &objstore.Error{Op: "get", Key: "a.tar", Code: "NoSuchKey", Err: objstore.ErrNotFound}
	for name, c := range map[string]struct {
		outputs    []objstore.Info
		err        error
		level, msg string
		more       map[string]any // beside the members of all outcomes
		readOnly   bool           // errors/ cannot be written
		comesAgain bool
	}{
		"packed":    {outputs: made, level: "INFO", msg: "packed", more: map[string]any{"output": []any{"a.gulp", "a.gmeta"}, "written": 100.}},
		"unchanged": {level: "INFO", msg: "unchanged"},
		"ignored":   {err: functions.ErrSkip, level: "DEBUG", msg: "ignored", more: map[string]any{"error": "nothing to do"}},
		"own":       {err: functions.ErrOwn, level: "DEBUG", msg: "own", more: map[string]any{"error": "made by farread: nothing to do"}},
		"dropped":   {err: gone, level: "INFO", msg: "dropped", more: map[string]any{"error": gone.Error()}},
		"failed": {err: fmt.Errorf("x: %w", formats.ErrCorrupt), level: "ERROR", msg: "failed",
			more: map[string]any{"error": "x: corrupt data", "report": "datasets/errors/a.tar.json"}},
		"not reported": {err: fmt.Errorf("x: %w", formats.ErrCorrupt), readOnly: true, comesAgain: true, level: "ERROR", msg: "again",
			more: map[string]any{"error": "x: corrupt data", "not reported": "bucket datasets: access denied"}},
		"again": {err: objstore.ErrThrottled, comesAgain: true, level: "WARN", msg: "again", more: map[string]any{"error": objstore.ErrThrottled.Error()}},
	} {
		h := with(func(context.Context, functions.Upload) ([]objstore.Info, error) { return c.outputs, c.err })
		if c.readOnly {
			open, n := h.Buckets, 0
			h.Buckets = func(name string) (objstore.Bucket, error) {
				if n++; n > 2 { // the job has had its two buckets
					return nil, fmt.Errorf("bucket %s: %w", name, objstore.ErrDenied)
				}
				return open(name)
			}
		}
		counter := &objstore.Counter{}
		h.Counter = func(string) *objstore.Counter { return counter }
		h.Request = func(context.Context) string { return "req-1" }
		var log bytes.Buffer
		h.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		r, err := h.Handle(t.Context(), s3Event(record("a.tar", objstore.Info{ETag: `"e"`, VersionID: "v", Size: 5}, 1)))
		if (err != nil) != c.comesAgain || len(r.Done) != 1 || string(r.Done[0].Outcome) != c.msg {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Errorf("%s: %v: %s", name, err, log.String())
			continue
		}
		delete(line, "time")
		delete(line, "ms")
		want := map[string]any{"level": c.level, "msg": c.msg, "job": "pack", "bucket": "uploads", "key": "a.tar", "version": "v",
			"requests": 0., "bytes": 0., "retries": 0., "request": "req-1"}
		for k, v := range c.more {
			want[k] = v
		}
		if d := cmp.Diff(want, line); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

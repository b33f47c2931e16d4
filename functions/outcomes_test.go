package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// TestNotUnderstood: a payload that is not an event comes again, is logged, and is
// never acknowledged. Without a queue the answer has no list of failures.
func TestNotUnderstood(t *testing.T) {
	t.Parallel()
	h := with(func(context.Context, functions.Upload) ([]objstore.Info, error) { return nil, objstore.ErrThrottled })
	var log bytes.Buffer
	h.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r, err := h.Handle(t.Context(), []byte("hello"))
	if !errors.Is(err, functions.ErrEvent) || r.Retry != 1 || !errors.Is(r.Err, functions.ErrEvent) || !strings.Contains(log.String(), "event refused") {
		t.Errorf("%+v, %v, %s", r, err, log.String())
	}
	r, err = h.Handle(t.Context(), s3Event(record("k", objstore.Info{Size: 1}, 1)))
	if !errors.Is(err, objstore.ErrThrottled) || len(r.Failures) > 0 || string(r.Answer()) != "null" {
		t.Errorf("%+v, %v, answer %s", r, err, r.Answer())
	}
	log.Reset()
	r, err = h.Handle(t.Context(), sqsEvent([]byte("hello")))
	if err != nil || !slices.Equal(r.Failures, []string{"m0"}) || r.Retry != 1 || !strings.Contains(log.String(), `"message refused" message=m0`) {
		t.Errorf("%+v, %v, %s", r, err, log.String())
	}
}

// TestNobodys: uploads without a rule and uploads of another function are acknowledged
// and counted, each under its own name.
func TestNobodys(t *testing.T) {
	t.Parallel()
	h := with(func(context.Context, functions.Upload) ([]objstore.Info, error) {
		return nil, errors.New("it is called")
	})
	h.Rules = functions.Rules{{Bucket: "uploads", Prefix: "z/", Job: "zoom"}, {Bucket: "uploads", Prefix: "p/", Job: "pack"}}
	var log bytes.Buffer
	h.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r, err := h.Handle(t.Context(), s3Event(record("k", objstore.Info{Size: 1}, 1), record("z/k", objstore.Info{Size: 1}, 2)))
	if err != nil || r.Unmatched != 1 || r.Elsewhere != 1 || len(r.Done) != 0 || !strings.Contains(log.String(), `"no rule" bucket=uploads key=k`) || !strings.Contains(log.String(), `"another function's" bucket=uploads key=z/k job=zoom`) {
		t.Errorf("%+v, %v, %s", r, err, log.String())
	}
}

// TestCosts: each job is told with its own time and requests. The requests are those of
// both of its buckets, counted once if the two are the same.
func TestCosts(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New(memstore.Config{})
			counters := map[string]*objstore.Counter{"uploads": {}, "datasets": {}}
			counted := func(name string) objstore.Bucket {
				return objstore.Chain(store, simstore.Latency(time.Second), objstore.Count(counters[name]))
			}
			out := "datasets"
			if same {
				out = "uploads"
			}
			set := put(t, store, "k", []byte("12345"), nil)
			h := with(func(ctx context.Context, _ functions.Upload) ([]objstore.Info, error) {
				for _, name := range []string{"uploads", out, out} {
					r, _, err := counted(name).Get(ctx, "k", objstore.GetOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if p, err := io.ReadAll(r); err != nil || len(p) != 5 {
						t.Error(len(p), err)
					}
					counters[name].AddRetry()
					r.Close()
				}
				return []objstore.Info{{Key: "made", Size: 3}, {Key: "more", Size: 4}}, nil
			})
			h.Rules[0].Out.Bucket = out
			h.Buckets = func(name string) (objstore.Bucket, error) { return counted(name), nil }
			h.Counter = func(name string) *objstore.Counter { return counters[name] }
			r, err := h.Handle(t.Context(), s3Event(record("k", set, 1), record("k", set, 2)))
			if err != nil || len(r.Done) != 2 || len(r.Outputs) != 4 || r.Packed != 2 {
				t.Fatalf("%+v, %v", r, err)
			}
			for _, d := range r.Done {
				if d.Stats.Requests != 3 || d.Stats.Bytes != 15 || d.Stats.Retries != 3 || d.Took != 3*time.Second || d.Written() != 7 {
					t.Errorf("same bucket %v: %+v in %v, %d written", same, d.Stats, d.Took, d.Written())
				}
			}
		})
	}
}

// TestNoBucket: if a bucket or a job cannot be made, that is told and the event comes
// again; no job runs.
func TestNoBucket(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"uploads", "datasets", "job", "head"} {
		in := memstore.New(memstore.Config{})
		ran := false
		h := with(func(context.Context, functions.Upload) ([]objstore.Info, error) { ran = true; return nil, nil })
		job := h.Jobs["pack"]
		h.Jobs["pack"] = func(r functions.Rule, b objstore.Bucket) (functions.Job, error) {
			if missing == "job" {
				return nil, objstore.ErrDenied
			}
			return job(r, b)
		}
		h.Buckets = func(name string) (objstore.Bucket, error) {
			if name == missing {
				return nil, objstore.ErrDenied
			}
			return objstore.Bucket(refusing{in, missing}), nil
		}
		event := s3Event(record("k", objstore.Info{ETag: `"e"`, Size: 1}, 1))
		if missing == "head" {
			event = byName("k", "")
		}
		r, err := h.Handle(t.Context(), event)
		if !errors.Is(err, objstore.ErrDenied) || strings.Contains(err.Error(), "panic") || r.Retry != 1 || ran {
			t.Errorf("%s: %+v, %v, ran %v", missing, r, err, ran)
		}
	}
}

// refusing answers no Head, with an error of its own.
type refusing struct {
	objstore.Bucket

	missing string
}

func (r refusing) Head(ctx context.Context, key string) (objstore.Info, error) {
	if r.missing == "head" {
		return objstore.Info{}, objstore.ErrDenied
	}
	return r.Bucket.Head(ctx, key)
}

// TestJobSees: an upload that comes by name is the version that its key holds. An
// upload with an ETag is the version that the event names, whatever the key holds now.
func TestJobSees(t *testing.T) {
	t.Parallel()
	in := memstore.New(memstore.Config{Versioned: true})
	var seen []functions.Upload
	h := with(func(_ context.Context, u functions.Upload) ([]objstore.Info, error) {
		seen = append(seen, u)
		return nil, nil
	})
	h.Buckets = func(string) (objstore.Bucket, error) { return in, nil }
	old := put(t, in, "k", []byte("old"), nil)
	now := put(t, in, "k", []byte("new one"), nil)
	r, err := h.Handle(t.Context(), s3Event(record("k", old, 0)))
	if err != nil || r.Unchanged != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := h.Handle(t.Context(), byName("k", "")); err != nil || r.Unchanged != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	want := []functions.Upload{
		{Bucket: "uploads", Key: "k", ETag: old.ETag, VersionID: old.VersionID, Size: 3},
		{Bucket: "uploads", Key: "k", ETag: now.ETag, VersionID: now.VersionID, Size: 7},
	}
	if d := cmp.Diff(want, seen); d != "" {
		t.Error(d)
	}
}

// TestCheck: faults of a handler are told at its start.
func TestCheck(t *testing.T) {
	t.Parallel()
	h := with(nil)
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	h.Jobs["pack"] = func(functions.Rule, objstore.Bucket) (functions.Job, error) { return nil, errors.New("no such codec") }
	if err := h.Check(); err == nil || !strings.Contains(err.Error(), "rules: rule 0: no such codec") {
		t.Error(err)
	}
	h = with(nil)
	h.Rules = nil
	if err := h.Check(); err == nil || !strings.Contains(err.Error(), "rules: empty") || strings.Contains(err.Error(), "none is for") {
		t.Error(err)
	}
	h = with(nil)
	h.Buckets = nil
	if err := h.Check(); err == nil || !strings.Contains(err.Error(), "no buckets") {
		t.Error(err)
	}
}

// TestReportTells: a report tells the place, and the command that helps if there is
// one. If a report cannot be written, the event comes back.
func TestReportTells(t *testing.T) {
	t.Parallel()
	place := func(off int64, err error) error {
		return &formats.Error{Format: "tar", Part: "header", Off: off, Err: err}
	}
	for name, c := range map[string]struct {
		err     error
		command bool
		offset  any
		told    bool
	}{
		"at the start":    {place(0, formats.ErrCorrupt), true, 0., false},
		"further on":      {place(5, formats.ErrCorrupt), true, 5., false},
		"nowhere":         {place(-1, formats.ErrCorrupt), true, nil, false},
		"too long":        {place(1, functions.ErrTooLong), true, 1., true},
		"without command": {place(1, functions.ErrTooLong), false, 1., false},
	} {
		out := memstore.New(memstore.Config{})
		h := with(func(context.Context, functions.Upload) ([]objstore.Info, error) { return nil, c.err })
		h.Buckets = func(string) (objstore.Bucket, error) { return out, nil }
		if c.command {
			h.Command = func(_ functions.Rule, u functions.Upload) string { return "pack " + u.Key }
		}
		r, err := h.Handle(t.Context(), s3Event(record("k", objstore.Info{ETag: `"e"`, Size: 1}, 1)))
		if err != nil || r.Failed != 1 || r.Done[0].Report != "errors/k.json" {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		var got struct {
			What, Command string
			Where         map[string]any
		}
		if err := json.Unmarshal(body(t, out, "errors/k.json"), &got); err != nil {
			t.Fatal(err)
		}
		if got.Where["offset"] != c.offset || (got.Command == "pack k") != c.told || strings.HasSuffix(got.What, "; run: pack k") != c.told {
			t.Errorf("%s: %+v", name, got)
		}
	}
	h := with(func(context.Context, functions.Upload) ([]objstore.Info, error) { return nil, formats.ErrCorrupt })
	h.Buckets = func(string) (objstore.Bucket, error) { return readOnly{memstore.New(memstore.Config{})}, nil }
	r, err := h.Handle(t.Context(), s3Event(record("k", objstore.Info{ETag: `"e"`, Size: 1}, 1)))
	if !errors.Is(err, objstore.ErrDenied) || r.Retry != 1 || r.Failed != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

type readOnly struct{ objstore.Bucket }

func (readOnly) Create(_ context.Context, key string, _ objstore.PutOptions) (objstore.Writer, error) {
	return nil, fmt.Errorf("%s: %w", key, objstore.ErrDenied)
}

// TestReportOfAnUnknownVersion: a report is overwritten only for a version that is
// known to be the newest.
func TestReportOfAnUnknownVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		etag    string
		src     error // answer of the uploads' bucket
		replace bool
	}{"no ETag": {"", nil, true}, "not current": {`"e"`, nil, false}, "no bucket": {`"e"`, objstore.ErrThrottled, false}} {
		out := memstore.New(memstore.Config{})
		put(t, out, "errors/k.json", []byte("another's"), nil)
		h := with(func(context.Context, functions.Upload) ([]objstore.Info, error) { return nil, formats.ErrCorrupt })
		asked := 0
		h.Buckets = func(bucket string) (objstore.Bucket, error) {
			if asked++; bucket == "uploads" && asked > 1 { // the job has had its bucket
				if c.src != nil {
					return nil, c.src
				}
				return memstore.New(memstore.Config{}), nil
			}
			return out, nil
		}
		r, err := h.Handle(t.Context(), s3Event(record("k", objstore.Info{ETag: c.etag, Size: 1}, 1)))
		if err != nil || r.Failed != 1 || (r.Done[0].Report == "errors/k.json") != c.replace || len(keys(out, "errors/")) == 1 != c.replace {
			t.Errorf("%s: %+v, %v, %q", name, r, err, keys(out, ""))
		}
	}
}

// TestReportInConflict: two writers write one report. An event whose report may
// replace the other's comes again; else the failure is told in a report beside it.
func TestReportInConflict(t *testing.T) {
	t.Parallel()
	in := memstore.New(memstore.Config{})
	now := put(t, in, "k", []byte("x"), nil)
	for etag, beside := range map[string]bool{now.ETag: false, `"old"`: true} {
		for _, refused := range []error{objstore.ErrChanged, objstore.ErrExists} {
			out := memstore.New(memstore.Config{})
			h := with(func(context.Context, functions.Upload) ([]objstore.Info, error) { return nil, formats.ErrCorrupt })
			h.Buckets = func(bucket string) (objstore.Bucket, error) {
				if bucket == "uploads" {
					return in, nil
				}
				return contested{out, refused}, nil
			}
			r, err := h.Handle(t.Context(), s3Event(record("k", objstore.Info{ETag: etag, Size: 1}, 1)))
			if (err == nil) != beside || (r.Failed == 1) != beside || (len(keys(out, "errors/")) == 1) != beside || !beside && !errors.Is(err, refused) {
				t.Errorf("%s, %v: %+v, %v, %q", etag, refused, r, err, keys(out, ""))
			}
		}
	}
}

// contested refuses to write the report under the upload's own name.
type contested struct {
	objstore.Bucket

	err error
}

func (c contested) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	if key == "errors/k.json" {
		return nil, c.err
	}
	return c.Bucket.Create(ctx, key, o)
}

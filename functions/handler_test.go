package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

func put(tb testing.TB, b objstore.Bucket, key string, data []byte, meta map[string]string) objstore.Info {
	tb.Helper()
	info, err := objstore.Put(context.Background(), b, key, bytes.NewReader(data), objstore.PutOptions{Meta: meta})
	if err != nil {
		tb.Fatal(err)
	}
	return info
}

func keys(b objstore.Bucket, prefix string) []string {
	var ks []string
	for i, err := range b.List(context.Background(), prefix) {
		if err != nil {
			return []string{err.Error()}
		}
		ks = append(ks, i.Key)
	}
	return ks
}

// TestNastyKeys (docs/reliability.md, E2): odd keys, objects that are not uploads, and
// one poison message among ten.
func TestNastyKeys(t *testing.T) {
	t.Parallel()
	in, out := memstore.New(memstore.Config{}), memstore.New(memstore.Config{})
	odd := []string{
		"a b.tar", "a+b.tar", "a%20b.tar", "a%2Bb.tar", "a%.tar", "//x.tar", "a//b.tar", "/lead.tar", "a/../b.tar", "./a.tar", "ü/日本.tar", "a&b=c?d#e.tar",
		"quote'\".tar", "back\\slash.tar", "tab\t.tar", "new\nline.tar", "\u00a0.tar", "😀.tar", "a;b,c:d@e.tar", "~!*().tar", "[x]{y}.tar", "$HOME`id`.tar", "no-suffix",
		"UPPER.TAR", strings.Repeat("k", 1024), strings.Repeat("ü", 512), "a.tar.gulp", "frames", "x-0123456789abcdef", "nul\u0001.tar",
	}
	tarball := upload(t, 1)
	bodies := [][]byte{}
	for i, k := range odd {
		bodies = append(bodies, s3Event(record(k, put(t, in, k, tarball, nil), i+1)))
	}
	empty := put(t, in, "empty.tar", nil, nil)
	bodies = append(bodies, []byte(`{"Event":"s3:TestEvent"}`), s3Event(record("folder/", objstore.Info{ETag: `"x"`}, 1)), s3Event(record("empty.tar", empty, 1)), []byte("poison"))
	h := handler(in, out)
	r, err := h.Handle(t.Context(), sqsEvent(bodies...))
	if err != nil {
		t.Fatal(err)
	}
	poison := fmt.Sprint("m", len(bodies)-1)
	if d := cmp.Diff([]string{poison}, r.Failures); d != "" {
		t.Errorf("%s: %v", d, r.Err)
	}
	if r.Packed != len(odd) || r.Ignored != 2 || r.Failed != 1 || r.Retry != 1 {
		t.Errorf("%+v", r)
	}
	if got := string(r.Answer()); got != `{"batchItemFailures":[{"itemIdentifier":"`+poison+`"}]}` {
		t.Error(got)
	}
	if got := len(keys(out, "")); got != 2*len(odd)+1 {
		t.Errorf("%d objects: %q", got, keys(out, ""))
	}
	// Everything again: nothing is written.
	before := fmt.Sprint(keys(out, ""))
	r, err = h.Handle(t.Context(), sqsEvent(bodies[:len(odd)]...))
	if err != nil || r.Unchanged != len(odd) || r.Packed != 0 || fmt.Sprint(keys(out, "")) != before || string(r.Answer()) != `{"batchItemFailures":[]}` {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	tarball := upload(t, 1)
	for name, c := range map[string]struct {
		prepare func(in, out objstore.Bucket) []byte
		want    functions.Result
		objects []string // in datasets
	}{
		"own output": {func(in, _ objstore.Bucket) []byte {
			return s3Event(record("a.tar", put(t, in, "a.tar", tarball, map[string]string{functions.MetaMarker: "1"}), 1))
		}, functions.Result{Uploads: 1, Own: 1}, nil},
		"loose image": {func(in, _ objstore.Bucket) []byte {
			return s3Event(record("a.jpg", put(t, in, "a.jpg", tarball[512:], nil), 1))
		}, functions.Result{Uploads: 1, Ignored: 1}, nil},
		"deleted meanwhile": {func(_, _ objstore.Bucket) []byte {
			return s3Event(record("a.tar", objstore.Info{ETag: `"x"`, Size: 1}, 1))
		}, functions.Result{Uploads: 1, Dropped: 1}, nil},
		"replaced meanwhile": {func(in, _ objstore.Bucket) []byte {
			old := put(t, in, "a.tar", tarball, nil)
			put(t, in, "a.tar", upload(t, 2), nil)
			return s3Event(record("a.tar", old, 1))
		}, functions.Result{Uploads: 1, Dropped: 1}, nil},
		"corrupt": {func(in, _ objstore.Bucket) []byte {
			return s3Event(record("d/a.tar", put(t, in, "d/a.tar", tarball[:700], nil), 1))
		}, functions.Result{Uploads: 1, Failed: 1}, []string{"errors/d/a.tar.json"}},
		"taken": {func(in, out objstore.Bucket) []byte {
			put(t, out, "a.tar.gulp", []byte("somebody's own"), nil)
			return s3Event(record("a.tar", put(t, in, "a.tar", tarball, nil), 1))
		}, functions.Result{Uploads: 1, Failed: 1}, []string{"a.tar.gulp", "errors/a.tar.json"}},
		"two in one": {func(in, _ objstore.Bucket) []byte {
			return s3Event(record("a.tar", put(t, in, "a.tar", tarball, nil), 1), record("b.bin", put(t, in, "b.bin", []byte("junk"), nil), 1))
		}, functions.Result{Uploads: 2, Packed: 1, Failed: 1}, []string{"a.tar.gmeta", "a.tar.gulp", "errors/b.bin.json"}},
		"no sequencer": {func(in, _ objstore.Bucket) []byte {
			return s3Event(record("a.tar", put(t, in, "a.tar", tarball, nil), 0))
		}, functions.Result{Uploads: 1, Packed: 1}, []string{"a.tar.gmeta", "a.tar.gulp"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := memstore.New(memstore.Config{}), memstore.New(memstore.Config{})
			event := c.prepare(in, out)
			r, err := handler(in, out).Handle(t.Context(), event)
			if err != nil {
				t.Fatal(err)
			}
			r.Outputs, r.Failures, r.Done = nil, nil, nil
			if d := cmp.Diff(c.want, r); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.objects, keys(out, "")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	in, out := memstore.New(memstore.Config{Versioned: true}), memstore.New(memstore.Config{})
	info := put(t, in, "d/a.tar", upload(t, 1)[:700], nil)
	h := handler(in, out)
	h.Request = func(context.Context) string { return "req-1" }
	h.Now = func() time.Time { return time.Date(2026, 11, 2, 1, 2, 3, 0, time.UTC) }
	var log bytes.Buffer
	h.Log = slog.New(slog.NewJSONHandler(&log, nil))
	h.Counter = func(string) *objstore.Counter { return &objstore.Counter{} }
	if _, err := h.Handle(t.Context(), s3Event(record("d/a.tar", info, 7))); err != nil {
		t.Fatal(err)
	}
	var got functions.Report
	if err := json.Unmarshal(body(t, out, "errors/d/a.tar.json"), &got); err != nil {
		t.Fatal(err)
	}
	if got.Where == nil || got.Where.Format != "tar" || !strings.Contains(got.What, "truncated") {
		t.Errorf("%+v, where %+v", got, got.Where)
	}
	got.Where, got.What = nil, ""
	want := functions.Report{Kind: "corrupt", Bucket: "uploads", Key: "d/a.tar", ETag: info.ETag, VersionID: info.VersionID, Sequencer: "000007", Job: "pack", RequestID: "req-1", Time: h.Now()}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, log.String())
	}
	for _, k := range []string{"bucket", "key", "version", "requests", "bytes", "ms", "retries", "request", "error"} {
		if _, ok := line[k]; !ok {
			t.Errorf("the log line has no %q: %s", k, log.String())
		}
	}
}

// jobFunc is a job made of a function.
type jobFunc func(ctx context.Context, u functions.Upload) ([]objstore.Info, error)

func (f jobFunc) Run(ctx context.Context, _ objstore.Bucket, u functions.Upload) ([]objstore.Info, error) {
	return f(ctx, u)
}

func with(f jobFunc) *functions.Handler {
	h := handler(memstore.New(memstore.Config{}), memstore.New(memstore.Config{}))
	h.Jobs = map[string]functions.JobMaker{"pack": func(functions.Rule, objstore.Bucket) (functions.Job, error) { return f, nil }}
	return h
}

// TestIsolation: transient errors and panics give back their own message only.
func TestIsolation(t *testing.T) {
	t.Parallel()
	h := with(func(_ context.Context, u functions.Upload) ([]objstore.Info, error) {
		switch u.Key {
		case "panics":
			panic("at the disco")
		case "throttled":
			return nil, fmt.Errorf("get: %w", objstore.ErrThrottled)
		case "no output bucket":
			return nil, fmt.Errorf("%w: %w", functions.ErrOutput, objstore.ErrNotFound)
		}
		return []objstore.Info{{Key: u.Key}}, nil
	})
	var bodies [][]byte
	for _, k := range []string{"a", "panics", "b", "throttled", "no output bucket", "c"} {
		bodies = append(bodies, s3Event(record(k, objstore.Info{Size: 1}, 1)))
	}
	r, err := h.Handle(t.Context(), sqsEvent(bodies...))
	if err != nil || !slices.Equal(r.Failures, []string{"m1", "m3", "m4"}) || r.Packed != 3 || r.Retry != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	// Without a queue the one error is returned to the caller.
	if _, err := h.Handle(t.Context(), bodies[3]); !errors.Is(err, objstore.ErrThrottled) {
		t.Errorf("direct: %v", err)
	}
}

// TestDeadline: near its end an invocation gives items back, and a job ends before
// the invocation does.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h := with(func(ctx context.Context, u functions.Upload) ([]objstore.Info, error) {
			d := 20 * time.Second
			if u.Key == "endless" {
				d = time.Hour
			}
			select {
			case <-time.After(d):
				return []objstore.Info{{Key: u.Key}}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		event := func(k string) []byte { return s3Event(record(k, objstore.Info{Size: 1}, 1)) }
		r, err := h.Handle(ctx, sqsEvent(event("a"), event("b"), event("endless"), event("c")))
		if err != nil || !slices.Equal(r.Failures, []string{"m2", "m3"}) || r.Packed != 2 || ctx.Err() != nil {
			t.Errorf("%+v, %v, %v", r, err, ctx.Err())
		}
	})
}

// TestTooLargeForOne: a job that will not fit is known by its upload's size alone.
func TestTooLargeForOne(t *testing.T) {
	t.Parallel()
	in, out := memstore.New(memstore.Config{}), memstore.New(memstore.Config{})
	big := append(upload(t, 1), make([]byte, 40<<20)...)
	info := put(t, in, "big.tar", big, nil)
	synctest.Test(t, func(t *testing.T) { // in virtual time, in which a second lasts a second on a busy machine, too
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h := handler(in, out)
		h.Reserve, h.Margin = time.Millisecond, time.Millisecond
		h.Command = pack.Command
		r, err := h.Handle(ctx, s3Event(record("big.tar", info, 1)))
		if err != nil || r.Failed != 1 || !strings.Contains(string(body(t, out, "errors/big.tar.json")), "farread pack") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	if !errors.Is(functions.ErrTooLong, formats.ErrTooLarge) {
		t.Error("ErrTooLong is no ErrTooLarge")
	}
}

// TestRepair: an older worker's data lie over a newer worker's pair, whose event was
// acknowledged long ago. When the older event comes a second time, its worker mends
// the pair.
func TestRepair(t *testing.T) {
	t.Parallel()
	in := &contentTags{b: memstore.New(memstore.Config{Versioned: true})}
	out := &contentTags{b: memstore.New(memstore.Config{})}
	old := put(t, in, stormKey, upload(t, 1), nil)
	newest := put(t, in, stormKey, upload(t, 2), nil)
	h := handler(in, out)
	if r, err := h.Handle(t.Context(), s3Event(record(stormKey, newest, 2))); err != nil || r.Packed != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	olds := map[string]string{functions.MetaMarker: "1", functions.MetaSource: "uploads", functions.MetaKey: "clips%2Fa%20b+c.tar",
		functions.MetaETag: old.ETag, functions.MetaVersion: old.VersionID, functions.MetaSequencer: "000001"}
	put(t, out, stormKey+".gulp", []byte("the data of an older version"), olds)
	if _, err := h.Handle(t.Context(), s3Event(record(stormKey, old, 1))); err != nil {
		t.Fatal(err)
	}
	checkNewest(t, in, out)
}

// TestCrashBetween: a worker ended between data and index; the next one writes
// the index only.
func TestCrashBetween(t *testing.T) {
	t.Parallel()
	in, out := memstore.New(memstore.Config{}), memstore.New(memstore.Config{})
	event := s3Event(record(stormKey, put(t, in, stormKey, upload(t, 1), nil), 1))
	h := handler(in, out)
	if _, err := h.Handle(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	data, err := out.Head(t.Context(), stormKey+".gulp")
	if err == nil {
		err = out.Delete(t.Context(), stormKey+".gmeta")
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := h.Handle(t.Context(), event); err != nil || r.Packed != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if now, err := out.Head(t.Context(), stormKey+".gulp"); err != nil || now.ETag != data.ETag {
		t.Errorf("the data were written again: %v, %v", now, err)
	}
	checkNewest(t, in, out)
}

// TestOnlyGoneIsDropped: an event is dropped if its own object is gone for certain.
// After any other "not found" it comes again.
func TestOnlyGoneIsDropped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		gone bool
	}{
		"NoSuchKey":          {&objstore.Error{Key: "k", Status: 404, Code: "NoSuchKey", Err: objstore.ErrNotFound}, true},
		"NoSuchVersion":      {&objstore.Error{Key: "k", Status: 404, Code: "NoSuchVersion", Err: objstore.ErrNotFound}, true},
		"HEAD":               {&objstore.Error{Op: "head", Key: "k", Status: 404, Code: "NotFound", Err: objstore.ErrNotFound}, true},
		"a proxy's page":     {&objstore.Error{Op: "get", Key: "k", Status: 404, Code: "NotFound", Err: objstore.ErrNotFound}, false},
		"no code":            {&objstore.Error{Key: "k", Err: objstore.ErrNotFound}, true},
		"replaced":           {&objstore.Error{Key: "k", Status: 412, Code: "PreconditionFailed", Err: objstore.ErrChanged}, true},
		"replaced, wrapped":  {fmt.Errorf("header: %w", &objstore.Error{Key: "k", Err: objstore.ErrChanged}), true},
		"NoSuchBucket":       {&objstore.Error{Key: "k", Status: 404, Code: "NoSuchBucket", Err: objstore.ErrNotFound}, false},
		"unknown code":       {&objstore.Error{Key: "k", Status: 404, Code: "XAdminUserNotFound", Err: objstore.ErrNotFound}, false},
		"another object":     {&objstore.Error{Key: "k2", Status: 404, Code: "NoSuchKey", Err: objstore.ErrNotFound}, false},
		"another's change":   {&objstore.Error{Key: "k2", Err: objstore.ErrChanged}, false},
		"conflict":           {&objstore.Error{Key: "k", Status: 409, Code: "OperationAborted", Err: objstore.ErrChanged}, false},
		"denied":             {&objstore.Error{Key: "k", Status: 403, Err: objstore.ErrDenied}, false},
		"nobody says where":  {objstore.ErrNotFound, false},
		"the output, not it": {fmt.Errorf("%w: %w", functions.ErrOutput, &objstore.Error{Key: "k", Code: "NoSuchKey", Err: objstore.ErrNotFound}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := with(func(context.Context, functions.Upload) ([]objstore.Info, error) { return nil, c.err })
			r, err := h.Handle(t.Context(), sqsEvent(s3Event(record("k", objstore.Info{Size: 1}, 1))))
			if err != nil || (r.Dropped == 1) != c.gone || (len(r.Failures) == 1) == c.gone || r.Dropped+r.Retry != 1 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	t.Run("no bucket", func(t *testing.T) {
		t.Parallel()
		h := handler(memstore.New(memstore.Config{}), memstore.New(memstore.Config{}))
		h.Buckets = func(string) (objstore.Bucket, error) {
			return nil, &objstore.Error{Key: "k", Err: objstore.ErrNotFound}
		}
		r, err := h.Handle(t.Context(), s3Event(record("k", objstore.Info{Size: 1}, 1)))
		if err == nil || r.Dropped != 0 || r.Retry != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

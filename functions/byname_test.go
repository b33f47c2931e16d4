package functions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// byName is a direct invocation.
func byName(key, version string) []byte {
	e := map[string]string{"bucket": "uploads", "key": key}
	if version != "" {
		e["versionId"] = version
	}
	b, _ := json.Marshal(e)
	return b
}

// TestByName: an object that comes by name alone is packed in its current version, and
// in no other.
func TestByName(t *testing.T) {
	t.Parallel()
	tarball := upload(t, 1)
	for name, c := range map[string]struct {
		prepare func(in, out objstore.Bucket) []byte
		want    functions.Result
	}{
		"current": {func(in, _ objstore.Bucket) []byte {
			put(t, in, stormKey, tarball, nil)
			return byName(stormKey, "")
		}, functions.Result{Uploads: 1, Packed: 1}},
		"current version": {func(in, _ objstore.Bucket) []byte {
			return byName(stormKey, put(t, in, stormKey, tarball, nil).VersionID)
		}, functions.Result{Uploads: 1, Packed: 1}},
		"another version": {func(in, _ objstore.Bucket) []byte {
			old := put(t, in, stormKey, upload(t, 2), nil)
			put(t, in, stormKey, tarball, nil)
			return byName(stormKey, old.VersionID)
		}, functions.Result{Uploads: 1, Dropped: 1}},
		"not there": {func(_, _ objstore.Bucket) []byte { return byName(stormKey, "") }, functions.Result{Uploads: 1, Dropped: 1}},
		"deleted": {func(in, _ objstore.Bucket) []byte {
			put(t, in, stormKey, tarball, nil)
			if err := in.Delete(t.Context(), stormKey); err != nil {
				t.Error(err)
			}
			return byName(stormKey, "")
		}, functions.Result{Uploads: 1, Dropped: 1}},
		"folder": {func(in, _ objstore.Bucket) []byte {
			put(t, in, "f/", nil, nil)
			return byName("f/", "")
		}, functions.Result{Uploads: 1, Ignored: 1}},
		"own": {func(in, _ objstore.Bucket) []byte {
			put(t, in, stormKey, tarball, map[string]string{functions.MetaMarker: "1"})
			return byName(stormKey, "")
		}, functions.Result{Uploads: 1, Own: 1}},
		"done by its event": {func(in, out objstore.Bucket) []byte {
			e := s3Event(record(stormKey, put(t, in, stormKey, tarball, nil), 5))
			if r, err := handler(in, out).Handle(t.Context(), e); err != nil || r.Packed != 1 {
				t.Errorf("%+v, %v", r, err)
			}
			return byName(stormKey, "")
		}, functions.Result{Uploads: 1, Unchanged: 1}},
		"older output": {func(in, out objstore.Bucket) []byte {
			e := s3Event(record(stormKey, put(t, in, stormKey, upload(t, 2), nil), 5))
			if r, err := handler(in, out).Handle(t.Context(), e); err != nil || r.Packed != 1 {
				t.Errorf("%+v, %v", r, err)
			}
			put(t, in, stormKey, tarball, nil)
			return byName(stormKey, "")
		}, functions.Result{Uploads: 1, Packed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads", Versioned: true})}
			out := &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets"})}
			event := c.prepare(in, out)
			r, err := handler(in, out).Handle(t.Context(), event)
			if err != nil {
				t.Fatal(err)
			}
			for outcome, n := range map[functions.Outcome]int{functions.Packed: c.want.Packed, functions.Unchanged: c.want.Unchanged, functions.Dropped: c.want.Dropped,
				functions.Own: c.want.Own, functions.Ignored: c.want.Ignored + c.want.Unmatched} {
				if got := string(r.Answer()); (n > 0) != (got == `{"outcome":"`+string(outcome)+`"}`) {
					t.Errorf("the answer is %s, %s %d", got, outcome, n)
				}
			}
			r.Outputs, r.Failures, r.Done = nil, nil, nil
			c.want.Named = true
			if d := cmp.Diff(c.want, r); d != "" {
				t.Error(d)
			}
			if c.want.Packed+c.want.Unchanged > 0 {
				checkNewest(t, in, out)
			}
		})
	}
}

// TestOneDocument: all functions have the same rules. The first matching rule decides
// whose an upload is; the other functions acknowledge it and write nothing.
func TestOneDocument(t *testing.T) {
	t.Parallel()
	rules := functions.Rules{
		{Bucket: "uploads", Prefix: "series/", Job: "zoom", Out: functions.Out{Bucket: "datasets"}},
		{Bucket: "uploads", Job: "pack", Out: functions.Out{Bucket: "datasets"}},
		{Bucket: "uploads", Suffix: ".wav", Job: "zoom", Out: functions.Out{Bucket: "datasets"}}, // this rule never matches first
	}
	in, out := memstore.New(memstore.Config{}), memstore.New(memstore.Config{})
	packer, zoomer := handler(in, out), handler(in, out)
	zoomer.Jobs = map[string]functions.JobMaker{"zoom": zoom.New(zoom.WriteOptions{}, nil)}
	csv := []byte("seconds,v\n0,1\n1,2\n")
	event := s3Event(
		record("series/a.csv", put(t, in, "series/a.csv", csv, nil), 1),
		record("a.tar", put(t, in, "a.tar", upload(t, 1), nil), 2),
		record("series/b.tar", put(t, in, "series/b.tar", upload(t, 1), nil), 3),
	)
	for _, c := range []struct {
		h    *functions.Handler
		want functions.Result
		keys string
	}{
		{packer, functions.Result{Uploads: 3, Packed: 1, Elsewhere: 2}, "a.tar.gmeta a.tar.gulp"},
		{zoomer, functions.Result{Uploads: 3, Packed: 1, Ignored: 1, Elsewhere: 1}, "a.tar.gmeta a.tar.gulp series/a.csv.zoom"},
	} {
		c.h.Rules = rules
		if err := c.h.Check(); err != nil {
			t.Fatal(err)
		}
		r, err := c.h.Handle(t.Context(), event)
		r.Outputs, r.Failures, r.Done = nil, nil, nil
		if d := cmp.Diff(c.want, r); d != "" || err != nil {
			t.Error(d, err)
		}
		if got := strings.Join(keys(out, ""), " "); got != c.keys {
			t.Errorf("outputs %s, want %s", got, c.keys)
		}
	}
	// A document without any rule for this function is a mistake.
	packer.Rules = rules[:1]
	if err := packer.Check(); err == nil || !strings.Contains(err.Error(), `none is for a job of this worker, ["pack"]`) {
		t.Error(err)
	}
	packer.Rules, packer.Jobs = rules[1:2], map[string]functions.JobMaker{"pack": pack.New(pack.Options{}), "zoom": zoom.New(zoom.WriteOptions{}, nil)}
	if err := packer.Check(); err != nil {
		t.Error(err)
	}
}

// TestByNameFails: who gave an object by name hears why it fails for good, in a bounded text;
// after another try it is looked at as what may have been left in the middle.
func TestByNameFails(t *testing.T) {
	t.Parallel()
	var again []bool
	h := with(func(ctx context.Context, u functions.Upload) ([]objstore.Info, error) {
		again = append(again, functions.IsAgain(ctx))
		return nil, fmt.Errorf("%s: %w", strings.Repeat("ü", 2000), formats.ErrCorrupt)
	})
	in, out := memstore.New(memstore.Config{}), memstore.New(memstore.Config{})
	put(t, in, "k", []byte("x"), nil)
	h.Buckets = handler(in, out).Buckets
	for _, event := range []string{`{"bucket":"uploads","key":"k"}`, `{"bucket":"uploads","key":"k","retries":0}`, `{"bucket":"uploads","key":"k","retries":1}`} {
		r, err := h.Handle(t.Context(), []byte(event))
		var a functions.Answer
		if err != nil || json.Unmarshal(r.Answer(), &a) != nil || a.Outcome != functions.Failed || a.Error != strings.Repeat("ü", 1000) {
			t.Errorf("%v: %s", err, r.Answer())
		}
	}
	if !slices.Equal(again, []bool{false, false, true}) {
		t.Error(again)
	}
}

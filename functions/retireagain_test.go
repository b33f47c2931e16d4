package functions_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// TestRetireByName: a backfill that ended between its output and the delete does the
// delete when it goes on, though the output is unchanged by then. So does a queue that
// delivers names. Other runs do not look, since most of them find only finished work.
func TestRetireByName(t *testing.T) {
	t.Parallel()
	in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
	for n := range 2 {
		put(t, in, mixedKey, anything(t, n+1), nil)
		h := handlerOf(mixed(), in, simstore.Fault(simstore.Rule{Op: "delete"})(out))
		if r, err := h.Handle(t.Context(), byName(mixedKey, "")); (err != nil) != (n == 1) || r.Packed+r.Retry != 1 {
			t.Fatalf("%d: %+v, %v", n, r, err)
		}
	}
	if both := []string{mixedKey + ".b2nd", mixedKey + ".blp"}; !cmp.Equal(keys(out, ""), both) {
		t.Fatalf("%q", keys(out, ""))
	}
	left, err := out.Head(t.Context(), mixedKey+".b2nd")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		event []byte
		again bool // said by the caller
		goes  bool
	}{
		{byName(mixedKey, ""), false, false},
		{byName(mixedKey, ""), true, true},
		{received(1, byName(mixedKey, "")), false, false},
		{received(2, byName(mixedKey, "")), false, true},
	} {
		ctx := t.Context()
		if c.again {
			ctx = functions.Again(ctx)
		}
		put(t, out, left.Key, []byte("as before"), left.Meta)
		if r, err := handlerOf(mixed(), in, out).Handle(ctx, c.event); err != nil || r.Unchanged != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if c.goes {
			checkMixed(t, in, out)
		} else if len(keys(out, "")) != 2 {
			t.Errorf("%q", keys(out, ""))
		}
	}
}

// TestRetireReplaced: a late worker, whose version is gone by now, was killed before
// it looked at the output of the newer version. Its event comes again. The worker has
// nothing to read, but finds the output that was left.
func TestRetireReplaced(t *testing.T) {
	t.Parallel()
	for first, left := range map[int][]string{1: {".b2nd"}, 2: {".blp"}, 3: {".gmeta", ".gulp"}} {
		in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
		before := memstore.New(memstore.Config{Name: "mem://uploads"}) // as the first worker saw it
		put(t, before, mixedKey, anything(t, first), nil)
		old := s3Event(record(mixedKey, put(t, in, mixedKey, anything(t, first), nil), 1))
		now := s3Event(record(mixedKey, put(t, in, mixedKey, anything(t, first+1), nil), 2))
		if r, err := handlerOf(mixed(), in, out).Handle(t.Context(), now); err != nil || r.Packed != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		killed := simstore.Fault(simstore.Rule{Op: "delete"})(out)
		if r, err := handlerOf(mixed(), before, killed).Handle(t.Context(), old); err == nil || r.Retry != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, suffix := range left {
			if _, err := out.Head(t.Context(), mixedKey+suffix); err != nil {
				t.Fatalf("the late worker wrote nothing: %v", err)
			}
		}
		// The store fails once more: the event has to come again.
		if r, err := handlerOf(mixed(), in, killed).Handle(t.Context(), old); err == nil || r.Retry != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		for range 2 {
			if r, err := handlerOf(mixed(), in, out).Handle(t.Context(), old); err != nil || r.Dropped != 1 {
				t.Errorf("%+v, %v", r, err)
			}
			checkMixed(t, in, out)
		}
	}
}

// TestRetireNoted: raw data are packed as bytes until their note comes. Then their
// array is the one output, whichever worker writes last. Without the note nothing is
// deleted.
func TestRetireNoted(t *testing.T) {
	t.Parallel()
	const key, note = "x.raw", "x.raw.json"
	data, text := make([]byte, 24), []byte(`{"dtype":"<i4","shape":[6]}`)
	for name, c := range map[string]struct {
		run  func(t *testing.T, in, out objstore.Bucket, event []byte)
		want []string
	}{
		"the note comes": {func(t *testing.T, in, out objstore.Bucket, event []byte) {
			t.Helper()
			handled(t, in, out, event)
			handled(t, in, out, s3Event(record(note, put(t, in, note, text, nil), 1)))
		}, []string{"x.raw.b2nd"}},
		"the note comes, by name": {func(t *testing.T, in, out objstore.Bucket, event []byte) {
			t.Helper()
			handled(t, in, out, event)
			put(t, in, note, text, nil)
			handled(t, in, out, byName(key, ""))
		}, []string{"x.raw.b2nd"}},
		"a worker that saw none is late": {func(t *testing.T, in, out objstore.Bucket, event []byte) {
			t.Helper()
			late := simstore.Replace(func(ctx context.Context, call simstore.Call) error {
				if call.Op == "get" && call.Key == note {
					handled(t, in, out, s3Event(record(note, put(t, in, note, text, nil), 1)))
					return &objstore.Error{Op: "get", Key: note, Code: "NoSuchKey", Err: objstore.ErrNotFound}
				}
				return nil
			})
			handled(t, late(in), out, event)
		}, []string{"x.raw.b2nd"}},
		"the note is gone": {func(t *testing.T, in, out objstore.Bucket, event []byte) {
			t.Helper()
			put(t, in, note, text, nil)
			handled(t, in, out, event)
			if err := in.Delete(t.Context(), note); err != nil {
				t.Fatal(err)
			}
			handled(t, in, out, event)
		}, []string{"x.raw.b2nd", "x.raw.blp"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
			event := s3Event(record(key, put(t, in, key, data, nil), 1))
			c.run(t, in, out, event)
			if d := cmp.Diff(c.want, keys(out, "")); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestRetireNotedAgain: the worker of a note ended before the bytes were deleted, or
// could not see whether the note is still there. It is called again and ends the work.
// A worker that has only the note's name does not look again, unless it is told to.
func TestRetireNotedAgain(t *testing.T) {
	t.Parallel()
	const key, note = "x.raw", "x.raw.json"
	both, array := []string{"x.raw.b2nd", "x.raw.blp"}, []string{"x.raw.b2nd"}
	for name, c := range map[string]struct {
		src, out simstore.Rule
		named    bool
		want     []string
	}{
		"no delete":             {src: simstore.Rule{Op: "none"}, out: simstore.Rule{Op: "delete"}, want: array},
		"no answer at the look": {src: simstore.Rule{Op: "head", Key: note, From: 2}, out: simstore.Rule{Op: "none"}, want: array}, // the first HEAD is the writer's
		"none at the delete":    {src: simstore.Rule{Op: "head", Key: note, From: 3}, out: simstore.Rule{Op: "none"}, want: array},
		"no delete, by name":    {src: simstore.Rule{Op: "none"}, out: simstore.Rule{Op: "delete"}, named: true, want: both},
	} {
		in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
		handled(t, in, out, s3Event(record(key, put(t, in, key, make([]byte, 24), nil), 1)))
		event := s3Event(record(note, put(t, in, note, []byte(`{"dtype":"<i4","shape":[6]}`), nil), 1))
		if c.named {
			event = byName(note, "")
		}
		h := handlerOf(mixed(), simstore.Fault(c.src)(in), simstore.Fault(c.out)(out))
		if r, err := h.Handle(t.Context(), event); err == nil || r.Retry != 1 || !cmp.Equal(keys(out, ""), both) {
			t.Errorf("%s: %+v, %v, %q", name, r, err, keys(out, ""))
		}
		if r, err := handlerOf(mixed(), in, out).Handle(t.Context(), event); err != nil || r.Unchanged != 1 || !cmp.Equal(keys(out, ""), c.want) {
			t.Errorf("%s, again: %+v, %v, %q", name, r, err, keys(out, ""))
		}
	}
}

// handled gives an event to a handler that packs, under a rule without a format.
func handled(t *testing.T, in, out objstore.Bucket, event []byte) {
	t.Helper()
	h := handler(in, out)
	h.Rules[0].Format = ""
	if r, err := h.Handle(t.Context(), event); err != nil || r.Packed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

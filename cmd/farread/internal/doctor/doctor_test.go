package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/farread/farread/cmd/farread/internal/doctor"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// levels are the checks that ended with a level.
func levels(r *doctor.Report, l doctor.Level) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Level == l {
			out = append(out, f.Check)
		}
	}
	return out
}

// left are the keys in a bucket.
func left(t *testing.T, b objstore.Bucket) []string {
	t.Helper()
	var out []string
	for in, err := range b.List(context.WithoutCancel(t.Context()), "") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, in.Key)
	}
	return out
}

// TestSound: a store that does all has no finding but those that are notes, and nothing is left in it.
func TestSound(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{})
	told := 0
	r, err := doctor.Run(t.Context(), doctor.Options{Bucket: b, Key: "some/", Tell: func(doctor.Finding) { told++ }})
	if err != nil {
		t.Fatal(err)
	}
	bad := slices.Concat(levels(&r, doctor.Bad), levels(&r, doctor.Skipped))
	if len(bad) > 0 || told != len(r.Findings) || told < 20 {
		t.Errorf("%q of %d, %d told: %+v", bad, len(r.Findings), told, r)
	}
	if warned := levels(&r, doctor.Warning); len(warned) > 0 && !slices.Equal(warned, []string{"copy of parts"}) {
		t.Errorf("warnings: %q", warned)
	}
	if keys := left(t, b); len(keys) > 0 {
		t.Errorf("left: %q", keys)
	}
}

// A lax store has a flaw.
type lax struct {
	objstore.Bucket

	flaw string
}

// Unwrap returns the store behind.
func (s *lax) Unwrap() objstore.Bucket { return s.Bucket }

func (s *lax) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	switch s.flaw {
	case "conditions":
		o.IfAbsent, o.IfMatch = false, ""
	case "metadata":
		o.Meta = nil
	case "racy": // looks first, and then writes
		if o.IfAbsent {
			if _, err := s.Head(ctx, key); err == nil {
				return nil, objstore.ErrExists
			}
		}
		if in, err := s.Head(ctx, key); o.IfMatch != "" && (err != nil || in.ETag != o.IfMatch) {
			return nil, objstore.ErrChanged
		}
		o.IfAbsent, o.IfMatch = false, ""
	case "denied":
		return nil, fmt.Errorf("no: %w", objstore.ErrDenied)
	}
	return s.Bucket.Create(ctx, key, o)
}

func (s *lax) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	switch {
	case s.flaw == "suffix" && o.Range.Off < 0:
		return nil, objstore.Info{}, fmt.Errorf("no: %w", objstore.ErrBadRange)
	case s.flaw == "pin":
		o.IfMatch = ""
	case s.flaw == "range" && o.Range.Off > 0:
		o.Range.Off--
	}
	return s.Bucket.Get(ctx, key, o)
}

// TestFlaws: each flaw is found, with what it means, and with no other one.
func TestFlaws(t *testing.T) {
	t.Parallel()
	for flaw, want := range map[string]struct {
		level  doctor.Level
		checks []string
	}{
		"conditions": {doctor.Bad, []string{"If-None-Match on writes", "If-None-Match, several at once", "If-Match on writes", "If-Match, several at once", "If-None-Match, in parts", "If-Match, in parts"}},
		"racy":       {doctor.Bad, []string{"If-None-Match, several at once", "If-Match, several at once"}},
		"metadata":   {doctor.Bad, []string{"metadata"}},
		"suffix":     {doctor.Warning, []string{"range from the end"}},
		"pin":        {doctor.Bad, []string{"If-Match on reads"}},
		"range":      {doctor.Bad, []string{"range"}},
	} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			b := &lax{Bucket: memstore.New(memstore.Config{}), flaw: flaw}
			r, err := doctor.Run(t.Context(), doctor.Options{Bucket: b, Rounds: 2})
			if err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(levels(&r, want.level), func(c string) bool { return c == "copy of parts" })
			if !slices.Equal(got, want.checks) {
				t.Errorf("%q, want %q: %+v", got, want.checks, r)
			}
			for _, f := range r.Findings {
				if (f.Means != "") != (f.Level == doctor.Bad || f.Level == doctor.Warning) || f.Seen == "" || strings.Contains(f.Seen, "\n") {
					t.Errorf("%+v", f)
				}
			}
			if keys := left(t, b); len(keys) > 0 {
				t.Errorf("left: %q", keys)
			}
		})
	}
}

// TestStopped: without the right to write, and after an interrupt, the run ends, and nothing is left.
func TestStopped(t *testing.T) {
	t.Parallel()
	b := &lax{Bucket: memstore.New(memstore.Config{}), flaw: "denied"}
	r, err := doctor.Run(t.Context(), doctor.Options{Bucket: b})
	if !errors.Is(err, objstore.ErrDenied) || len(r.Findings) != 2 || r.Findings[1].Level != doctor.Bad {
		t.Errorf("%v, %+v", err, r)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	b = &lax{Bucket: memstore.New(memstore.Config{})}
	r, err = doctor.Run(ctx, doctor.Options{Bucket: b, Tell: func(f doctor.Finding) {
		if f.Check == "upload in parts" {
			cancel(why)
		}
	}})
	if !errors.Is(err, why) || r.Findings[len(r.Findings)-1].Check != "clean up" {
		t.Errorf("%v, %+v", err, r)
	}
	if keys := left(t, b); len(keys) > 0 {
		t.Errorf("left: %q", keys)
	}
}

// TestReadOnly: an object is read, and nothing is written.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	b := &lax{Bucket: memstore.New(memstore.Config{})}
	if _, err := objstore.Put(t.Context(), b, "a.b2nd", strings.NewReader("some bytes"), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	b.flaw = "denied"
	r, err := doctor.Run(t.Context(), doctor.Options{Bucket: b, Key: "a.b2nd", ReadOnly: true})
	if err != nil || r.Count(doctor.Bad)+r.Count(doctor.Warning) > 0 || len(r.Findings) < 7 {
		t.Errorf("%v, %+v", err, r)
	}
	if _, err := doctor.Run(t.Context(), doctor.Options{Bucket: b, Key: "none", ReadOnly: true}); !errors.Is(err, objstore.ErrNotFound) {
		t.Error(err)
	}
}

package functions_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// TestBudget: how long a job may take. Reserve is kept before the deadline. An item
// that would start with less than Margin left besides is given back, though there
// would have been time.
func TestBudget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reserve, margin time.Duration
		started         int // of items that take 10 s each, in an invocation of 37 s
		left            time.Duration
	}{
		"as it is":         {0, 0, 3, 34 * time.Second},
		"below zero":       {-1, -1, 3, 34 * time.Second},
		"one more fits":    {time.Second, 6 * time.Second, 4, 36 * time.Second},
		"just so":          {3 * time.Second, 14 * time.Second, 3, 34 * time.Second},
		"one fits no more": {3 * time.Second, 14*time.Second + 1, 2, 34 * time.Second},
		"no margin":        {3 * time.Second, 1, 4, 34 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 37*time.Second)
				defer cancel()
				var started []string
				h := with(func(ctx context.Context, u functions.Upload) ([]objstore.Info, error) {
					started = append(started, u.Key)
					if got := functions.Budget(ctx); got != c.left {
						t.Errorf("a budget of %v, want %v", got, c.left)
					}
					time.Sleep(10 * time.Second)
					return []objstore.Info{{Key: u.Key}}, ctx.Err()
				})
				h.Reserve, h.Margin = c.reserve, c.margin
				var bodies [][]byte
				for _, k := range strings.Split("abcdef", "") {
					bodies = append(bodies, s3Event(record(k, objstore.Info{Size: 1}, 1)))
				}
				r, err := h.Handle(ctx, sqsEvent(bodies...))
				if err != nil || len(started) != c.started || len(started) != len(r.Done) {
					t.Errorf("started %q, %+v, %v", started, r, err)
				}
				if r.Retry != len(r.Failures) || r.Packed+r.Retry != len(bodies) || !slices.Contains(r.Failures, "m5") || !errors.Is(r.Err, functions.ErrNoTime) {
					t.Errorf("%+v", r)
				}
			})
		})
	}
	if got := functions.Budget(t.Context()); got != 0 {
		t.Errorf("without a deadline %v", got)
	}
}

// TestEndedInvocation: no job begins after the invocation has ended, and the items
// that are given back are told.
func TestEndedInvocation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := with(func(_ context.Context, u functions.Upload) ([]objstore.Info, error) {
		t.Errorf("%s is begun", u.Key)
		return nil, nil
	})
	var log bytes.Buffer
	h.Log = slog.New(slog.NewTextHandler(&log, nil))
	r, err := h.Handle(ctx, sqsEvent(s3Event(record("a", objstore.Info{Size: 1}, 1))))
	if err != nil || r.Retry != 1 || !errors.Is(r.Err, functions.ErrNoTime) || !strings.Contains(log.String(), `"given back" bucket=uploads key=a`) {
		t.Errorf("%+v, %v, %s", r, err, log.String())
	}
}

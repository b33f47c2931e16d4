package functions_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// endsWith is a job that works for a given time and ends with a given error.
type endsWith struct {
	job
	with func(context.Context, error) error
}

func (e endsWith) Run(ctx context.Context, src objstore.Bucket, u functions.Upload) ([]objstore.Info, error) {
	infos, err := e.job.Run(ctx, src, u)
	return infos, e.with(ctx, err)
}

// TestNotJudged: the size of an upload is judged only if its job had a whole
// invocation and ended with it. Another upload of the batch had less time, and errors
// of other kinds, or at other times, have their own meaning.
func TestNotJudged(t *testing.T) {
	t.Parallel()
	in := memstore.New(memstore.Config{Name: "mem://uploads"})
	small, big := put(t, in, "small.bin", make([]byte, 5<<20), nil), put(t, in, "big.bin", make([]byte, 40<<20), nil)
	first, second := s3Event(record("small.bin", small, 1)), s3Event(record("big.bin", big, 1))
	synctest.Test(t, func(t *testing.T) {
		h := worked(3*time.Second, in)
		if r := minute(t, h, received(2, first, second)); r.Packed != 1 || r.Retry != 1 {
			t.Errorf("the second of a batch: %+v, %v", r, r.Err)
		}
		for name, c := range map[string]struct {
			with   func(context.Context, error) error
			failed int
		}{
			"its end":    {func(_ context.Context, err error) error { return err }, 1},
			"wrapped":    {func(_ context.Context, err error) error { return fmt.Errorf("x: %w", err) }, 1},
			"another":    {func(context.Context, error) error { return objstore.ErrUnavailable }, 0},
			"of its own": {func(context.Context, error) error { return context.Canceled }, 0},
		} {
			h.Jobs["pack"] = func(functions.Rule, objstore.Bucket) (functions.Job, error) {
				return endsWith{job{3 * time.Second}, c.with}, nil
			}
			if r := minute(t, h, received(2, second)); r.Failed != c.failed || r.Retry != 1-c.failed {
				t.Errorf("%s: %+v, %v", name, r, r.Err)
			}
		}
		// A deadline of a call's own, before the invocation's.
		h.Jobs["pack"] = func(functions.Rule, objstore.Bucket) (functions.Job, error) {
			return endsWith{job{time.Second}, func(context.Context, error) error {
				time.Sleep(14 * time.Second)
				return context.DeadlineExceeded
			}}, nil
		}
		if r := minute(t, h, received(2, second)); r.Retry != 1 || r.Failed > 0 {
			t.Errorf("%+v, %v", r, r.Err)
		}
	})
}

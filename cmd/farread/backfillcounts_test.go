package main

import (
	"context"
	"io"
	"iter"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// An aged bucket reports one time of change for all of its objects.
type aged struct {
	endless

	at time.Time
}

func (a aged) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		for info, err := range a.endless.List(ctx, prefix) {
			info.ModTime = a.at
			if !yield(info, err) {
				return
			}
		}
	}
}

type hangJob func(ctx context.Context, key string) error

func (h hangJob) Run(ctx context.Context, _ objstore.Bucket, u functions.Upload) ([]objstore.Info, error) {
	return nil, h(ctx, u.Key)
}

// TestBackfillCounts: a run is interrupted while one object hangs and later ones are
// done. The run that gets to the end reports each object once. A --since that is an
// age keeps the time of the first run, past midnight, too.
func TestBackfillCounts(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark.json")
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		rules := functions.Rules{{Bucket: "uploads", Suffix: "0.tar", Job: "pack", Out: functions.Out{Bucket: "datasets"}},
			{Bucket: "uploads", Suffix: "5.tar", Job: "pack", Out: functions.Out{Bucket: "datasets"}}}
		b := aged{endless{memstore.New(memstore.Config{}), n}, time.Now()}
		for _, hangs := range []string{"00000020.tar", "00000055.tar", ""} {
			ctx, cancel := context.WithCancel(t.Context())
			job := hangJob(func(ctx context.Context, key string) error {
				if key == hangs {
					time.Sleep(time.Minute) // meanwhile the others are done
					cancel()
					return ctx.Err()
				}
				return nil
			})
			o := backfillOptions{jobs: 3, checkpoint: mark, since: time.Now().Add(-36 * time.Hour), age: "36h"}
			f := &filler{o: o, name: "uploads", rules: rules, bucket: b, out: io.Discard, report: backfillReport{Failures: []backfillFailure{}}, handler: &functions.Handler{
				Rules: rules, Buckets: func(string) (objstore.Bucket, error) { return b, nil },
				Jobs: map[string]functions.JobMaker{"pack": func(functions.Rule, objstore.Bucket) (functions.Job, error) { return job, nil }},
			}}
			if err := f.resume(); err != nil {
				t.Fatal(err)
			}
			if err := f.run(ctx); (err == nil) != (hangs == "") {
				t.Errorf("%q hangs: %v", hangs, err)
			}
			cancel()
			want := backfillReport{Listed: n, Skipped: n, Unchanged: n / 5, Unmatched: n - n/5, Failures: []backfillFailure{}}
			if hangs != "" { // all but the object that hangs
				want.Skipped, want.Unchanged = n-1, n/5-1
			}
			if d := cmp.Diff(want, f.report); d != "" {
				t.Errorf("%q hangs: %s", hangs, d)
			}
			time.Sleep(20 * time.Hour)
		}
	})
}

// TestBackfillAgain: jobs are told of objects that an earlier try, or the run of the
// checkpoint, may have left in the middle. They are not told so of a first run's
// objects.
func TestBackfillAgain(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark.json")
	synctest.Test(t, func(t *testing.T) {
		rules := functions.Rules{{Bucket: "uploads", Job: "pack", Out: functions.Out{Bucket: "datasets"}}}
		b := endless{memstore.New(memstore.Config{}), 2}
		var heard []bool
		for _, want := range [][]bool{{false, false, true, true}, {true}} {
			heard = nil
			job := hangJob(func(ctx context.Context, key string) error {
				heard = append(heard, functions.IsAgain(ctx))
				if key == "00000001.tar" && len(want) > 1 {
					return objstore.ErrUnavailable
				}
				return nil
			})
			f := &filler{o: backfillOptions{jobs: 1, checkpoint: mark}, name: "uploads", rules: rules, bucket: b, out: io.Discard, handler: &functions.Handler{
				Rules: rules, Buckets: func(string) (objstore.Bucket, error) { return b, nil },
				Jobs: map[string]functions.JobMaker{"pack": func(functions.Rule, objstore.Bucket) (functions.Job, error) { return job, nil }},
			}}
			if err := f.resume(); err != nil {
				t.Fatal(err)
			}
			if err := f.run(t.Context()); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, heard); d != "" {
				t.Error(d)
			}
		}
	})
}

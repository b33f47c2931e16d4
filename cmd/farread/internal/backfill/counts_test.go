package backfill

import (
	"context"
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

// TestCounts: a run is interrupted while one object hangs and later ones are
// done. The run that gets to the end reports each object once. A --since that is an
// age keeps the time of the first run, past midnight, too.
func TestCounts(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark.json")
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		rules := functions.Rules{{Bucket: "uploads", Suffix: "0.tar", Job: "pack", Out: functions.Out{Bucket: "datasets"}},
			{Bucket: "uploads", Suffix: "5.tar", Job: "pack", Out: functions.Out{Bucket: "datasets"}}}
		b := aged{endless{memstore.New(memstore.Config{}), n}, time.Now()}
		for _, hangs := range []string{"00000020.tar", "00000055.tar", ""} {
			ctx, cancel := context.WithCancel(t.Context())
			job := func(ctx context.Context, key string) error {
				if key == hangs {
					time.Sleep(time.Minute) // meanwhile the others are done
					cancel()
					return ctx.Err()
				}
				return nil
			}
			f, err := New(Options{Name: "uploads", Bucket: b, Jobs: 3, Mark: mark, Since: time.Now().Add(-36 * time.Hour), Age: "36h", Handler: handlerOf(b, rules, job)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Run(ctx)
			if (err == nil) != (hangs == "") {
				t.Errorf("%q hangs: %v", hangs, err)
			}
			cancel()
			want := Report{Complete: hangs == "", Listed: n, Skipped: n, Unchanged: n / 5, Unmatched: n - n/5, Failures: []Failure{}}
			if hangs != "" { // all but the object that hangs
				want.Skipped, want.Unchanged = n-1, n/5-1
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%q hangs: %s", hangs, d)
			}
			time.Sleep(20 * time.Hour)
		}
	})
}

// TestAgain: jobs are told of objects that an earlier try, or the run of the
// checkpoint, may have left in the middle. They are not told so of a first run's
// objects.
func TestAgain(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark.json")
	synctest.Test(t, func(t *testing.T) {
		b := endless{memstore.New(memstore.Config{}), 2}
		var heard []bool
		for _, want := range [][]bool{{false, false, true, true}, {true}} {
			heard = nil
			job := func(ctx context.Context, key string) error {
				heard = append(heard, functions.IsAgain(ctx))
				if key == "00000001.tar" && len(want) > 1 {
					return objstore.ErrUnavailable
				}
				return nil
			}
			f, err := New(Options{Name: "uploads", Bucket: b, Jobs: 1, Mark: mark, Handler: handlerOf(b, functions.Rules{everything()}, job)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Run(t.Context()); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, heard); d != "" {
				t.Error(d)
			}
		}
	})
}

package backfill

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// endless is a bucket of n keys that are stored nowhere.
type endless struct {
	objstore.Bucket
	n int
}

func (e endless) List(_ context.Context, _ string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		for i := range e.n {
			if !yield(objstore.Info{Key: fmt.Sprintf("%08d.tar", i), ETag: `"e"`}, nil) {
				return
			}
		}
	}
}

func (e endless) Head(_ context.Context, key string) (objstore.Info, error) {
	return objstore.Info{Key: key, ETag: `"e"`, Size: 1}, nil
}

// A testJob writes nothing.
type testJob func(ctx context.Context, key string) error

func (j testJob) Run(ctx context.Context, _ objstore.Bucket, u functions.Upload) ([]objstore.Info, error) {
	return nil, j(ctx, u.Key)
}

// everything is a rule for all uploads.
func everything() functions.Rule {
	return functions.Rule{Bucket: "uploads", Job: "pack", Out: functions.Out{Bucket: "datasets"}}
}

// handlerOf runs one job for all uploads that rules match.
func handlerOf(b objstore.Bucket, rules functions.Rules, job testJob) *functions.Handler {
	return &functions.Handler{
		Rules: rules, Buckets: func(string) (objstore.Bucket, error) { return b, nil },
		Jobs: map[string]functions.JobMaker{"pack": func(functions.Rule, objstore.Bucket) (functions.Job, error) { return job, nil }},
	}
}

// TestAhead: while one object takes its time others are begun, but no more
// than can be remembered. In the end every object is done once.
func TestAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 3 * maxAhead
		var mu sync.Mutex
		begun := 0
		slow := make(chan struct{})
		job := func(_ context.Context, key string) error {
			mu.Lock()
			begun++
			mu.Unlock()
			if key == "00000005.tar" {
				<-slow
			}
			return nil
		}
		b := endless{memstore.New(memstore.Config{}), n}
		f, err := New(Options{Name: "uploads", Bucket: b, Jobs: 3, Handler: handlerOf(b, functions.Rules{everything()}, job)})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := f.Run(t.Context())
			done <- err
		}()
		time.Sleep(time.Minute) // until no worker can go on
		mu.Lock()
		if want := 5 + maxAhead; begun != want {
			t.Errorf("%d begun behind one that hangs, want %d", begun, want)
		}
		mu.Unlock()
		close(slow)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if begun != n || f.report.Unchanged != n || f.report.Listed != n || len(f.keys)+len(f.ended) != 0 || f.mark.After != fmt.Sprintf("%08d.tar", n-1) {
			t.Errorf("%d begun, %+v, %d remembered, up to %s", begun, f.report, len(f.keys)+len(f.ended), f.mark.After)
		}
	})
}

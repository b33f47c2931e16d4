package farread

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A busyBucket notes how many Gets are open at a time. It hides what is inside.
type busyBucket struct {
	objstore.Bucket
	now, most atomic.Int64
}

func (b *busyBucket) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	n := b.now.Add(1)
	defer b.now.Add(-1)
	for m := b.most.Load(); n > m && !b.most.CompareAndSwap(m, n); m = b.most.Load() {
	}
	time.Sleep(time.Millisecond)
	return b.Bucket.Get(ctx, key, o)
}

// TestOwnBucket: what is opened in a bucket that is not the client's is counted, limited
// and seen by the client's middlewares, once, by whichever method.
func TestOwnBucket(t *testing.T) {
	t.Parallel()
	objects := fixtures(t)
	for _, k := range kinds {
		t.Run(k.path, func(t *testing.T) {
			t.Parallel()
			store := memstore.New(memstore.Config{Name: "own"})
			for key, p := range objects {
				put(t, store, key, p, nil)
			}
			want := &objstore.Counter{}
			var seen atomic.Int64
			own := &busyBucket{Bucket: objstore.Count(want)(store)}
			c := New(Config{NoHedge: true, Concurrency: 2, Middleware: []objstore.Middleware{objstore.Trace(func(objstore.Event) { seen.Add(1) })}})
			d, err := c.OpenKey(t.Context(), own, k.path, AnyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range d.Entries(t.Context(), EntriesOptions{Scan: true}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := d.Verify(t.Context(), formats.Progress(nil)); err != nil {
				t.Fatal(err)
			}
			if is, err := d.Current(t.Context()); !is || err != nil {
				t.Fatal(is, err)
			}
			again, err := c.OpenPlace(t.Context(), d.Place(), AnyOptions{})
			if err != nil || again.Place() != d.Place() {
				t.Fatal(again, err)
			}
			got, sent := c.Stats(), want.Stats()
			if got.Requests != sent.Requests || got.Bytes != sent.Bytes || got.Requests == 0 || got.Phases == 0 {
				t.Errorf("counted are %+v of %+v", got, sent)
			}
			if n := seen.Load(); n != sent.Requests {
				t.Errorf("the middleware saw %d of %d requests", n, sent.Requests)
			}
			if n := own.most.Load(); n > 2 {
				t.Errorf("%d requests at a time, 2 allowed", n)
			}
		})
	}
}

// TestOwnBucketTwice: a bucket around one of the client's does not wait for itself, and
// one that shares the client's counter is not counted again.
func TestOwnBucketTwice(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true, Concurrency: 1})
	put(t, b, "x", make([]byte, 1<<20), nil)
	ours, _, err := c.Bucket(t.Context(), "s3://b/x")
	if err != nil {
		t.Fatal(err)
	}
	for name, bucket := range map[string]objstore.Bucket{
		"hidden": &busyBucket{Bucket: ours}, "wrapped": objstore.Trace(func(objstore.Event) {})(ours), "counted": objstore.Count(c.c.Counter)(b),
	} {
		before := c.Stats()
		ob, err := c.OpenObject(t.Context(), bucket, "x", objstore.OpenOptions{})
		if err == nil {
			_, err = ob.ReadAt(make([]byte, 1<<19), 1<<19)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := int64(2)
		if name == "hidden" { // counted inside and outside
			want = 4
		}
		if n := minus(c.Stats(), before).Requests; n != want {
			t.Errorf("%s: %d requests, want %d", name, n, want)
		}
	}
}

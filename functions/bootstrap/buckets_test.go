package bootstrap_test

import (
	"sync"
	"testing"

	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/objstore"
)

// TestBuckets: a name has one bucket and one counter for all callers.
func TestBuckets(t *testing.T) {
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_CONFIG_FILE", "/nowhere")
	var b bootstrap.Buckets
	seen := map[objstore.Bucket]bool{}
	counters := map[*objstore.Counter]bool{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 4 {
		for _, name := range []string{"one", "two"} {
			all.Go(func() {
				bucket, err := b.Open(name)
				if err != nil || bucket.Name() != "s3://"+name {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[bucket], counters[b.Counter(name)] = true, true
			})
		}
	}
	all.Wait()
	if again, err := b.Open("one"); err != nil || !seen[again] || len(seen) != 2 || len(counters) != 2 || !counters[b.Counter("two")] {
		t.Errorf("%d buckets, %d counters, %v", len(seen), len(counters), err)
	}
}

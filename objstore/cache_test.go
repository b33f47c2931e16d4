package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// gate lets a test hold the Gets of a bucket: each waits for a value.
type gate struct {
	objstore.Bucket
	arrived chan struct{}
	pass    chan error
	on      atomic.Bool
}

func (g *gate) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	if g.on.Load() {
		g.arrived <- struct{}{}
		select {
		case err := <-g.pass:
			if err != nil {
				return nil, objstore.Info{}, err
			}
		case <-ctx.Done():
			return nil, objstore.Info{}, ctx.Err()
		}
	}
	return g.Bucket.Get(ctx, key, o)
}

func gated(t *testing.T, data []byte) (*objstore.Object, *gate, *objstore.Counter) {
	t.Helper()
	var c objstore.Counter
	mem := memstore.New(memstore.Config{})
	put(t, mem, "k", data)
	g := &gate{Bucket: mem, arrived: make(chan struct{}, 100), pass: make(chan error, 100)}
	obj, err := objstore.Open(t.Context(), objstore.Chain(g, objstore.Count(&c)), "k", objstore.OpenOptions{Head: 1, Counter: &c})
	if err != nil {
		t.Fatal(err)
	}
	g.on.Store(true)
	return obj, g, &c
}

func TestMissesAreJoined(t *testing.T) {
	data := randomBytes(1 << 20)
	obj, g, c := gated(t, data)
	before := c.Stats().Requests
	var wg sync.WaitGroup
	for i := range int64(8) {
		wg.Go(func() {
			p := make([]byte, 1000)
			if _, err := obj.ReadAt(p, 500_000+i); err != nil || !bytes.Equal(p, data[500_000+i:501_000+i]) {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	<-g.arrived
	g.pass <- nil
	wg.Wait()
	if n := c.Stats().Requests - before; n != 1 {
		t.Errorf("%d requests for one block", n)
	}
}

func TestWaiterTakesOver(t *testing.T) {
	data := randomBytes(1 << 20)
	obj, g, _ := gated(t, data)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := obj.WithContext(ctx).ReadAt(make([]byte, 10), 500_000)
		first <- err
	}()
	<-g.arrived // the first reader loads the block
	second := make(chan error, 1)
	p := make([]byte, 10)
	go func() {
		_, err := obj.ReadAt(p, 500_000)
		second <- err
	}()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled reader: %v", err)
	}
	<-g.arrived // the second loads it itself
	g.pass <- nil
	if err := <-second; err != nil || !bytes.Equal(p, data[500_000:500_010]) {
		t.Errorf("the reader that waited: %v", err)
	}
}

func TestFailedLoadIsNotKept(t *testing.T) {
	data := randomBytes(1 << 20)
	obj, g, _ := gated(t, data)
	g.pass <- objstore.ErrDenied
	p := make([]byte, 10)
	if _, err := obj.ReadAt(p, 500_000); !errors.Is(err, objstore.ErrDenied) {
		t.Fatal(err)
	}
	g.pass <- nil
	if _, err := obj.ReadAt(p, 500_000); err != nil || !bytes.Equal(p, data[500_000:500_010]) {
		t.Errorf("after the fault: %v", err)
	}
}

func TestCacheIsSharedAndBounded(t *testing.T) {
	const block, budget = 4096, 10 * 4096
	cache := objstore.NewCache(budget, block)
	b := memstore.New(memstore.Config{})
	versions := [][]byte{randomBytes(300_000), make([]byte, 300_000)}
	var objs []*objstore.Object
	for _, v := range versions { // the second replaces the first, which stays open
		put(t, b, "k", v)
		obj, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 1, Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		objs = append(objs, obj)
		if len(objs) == 1 {
			if _, err := obj.ReadAt(make([]byte, 100), 200_000); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := make([]byte, 100)
	if _, err := objs[1].ReadAt(p, 200_000); err != nil || !bytes.Equal(p, versions[1][:100]) {
		t.Errorf("the new object gave a block of the old one: %v", err)
	}
	if _, err := objs[0].ReadAt(p, 200_000); err != nil || !bytes.Equal(p, versions[0][200_000:200_100]) {
		t.Errorf("a cached block of the pinned object: %v", err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		off := r.Int64N(290_000)
		if _, err := objs[1].ReadAt(make([]byte, r.IntN(9000)), off); err != nil {
			t.Fatal(err)
		}
		if cache.Size() > budget {
			t.Fatalf("cache holds %d of %d bytes", cache.Size(), budget)
		}
	}
	fresh, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 1, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	off := int64(0)
	for ; off < 290_000; off += block {
		hits := fresh.Stats().CacheHits
		if _, err := fresh.ReadAt(p[:1], off+1); err != nil {
			t.Fatal(err)
		}
		if fresh.Stats().CacheHits > hits {
			return // another handle of the same version found its block
		}
	}
	t.Error("no block was shared between handles of one version")
}

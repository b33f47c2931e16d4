package main

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// cachedRead measures ReadAt of bytes in the cache.
//
//nolint:contextcheck // io.ReaderAt has no context
func cachedRead(ctx context.Context, _ *bench) ([]row, error) {
	o, buf, err := cachedObject(ctx)
	if err != nil {
		return nil, err
	}
	const n = 200_000
	start := time.Now()
	allocs := testing.AllocsPerRun(n, func() {
		if _, err := o.ReadAt(buf, 1<<20); err != nil {
			panic(err)
		}
	})
	each := time.Since(start) / n
	return []row{{job: "ReadAt of 4 KiB in a cached block", goal: "0 allocations", judged: true, met: allocs == 0,
		ours: fmt.Sprintf("%g allocations, %d ns", allocs, each.Nanoseconds())}}, nil
}

// cachedObject is an object whose block at 1 MiB is in the cache.
//
//nolint:contextcheck // io.ReaderAt has no context
func cachedObject(ctx context.Context) (*objstore.Object, []byte, error) {
	bk := memstore.New(memstore.Config{})
	if _, err := objstore.Put(ctx, bk, "x", bytes.NewReader(make([]byte, 4<<20)), objstore.PutOptions{}); err != nil {
		return nil, nil, err
	}
	o, err := objstore.Open(ctx, bk, "x", objstore.OpenOptions{})
	if err != nil {
		return nil, nil, err
	}
	buf := make([]byte, 4096)
	_, err = o.ReadAt(buf, 1<<20)
	return o, buf, err
}

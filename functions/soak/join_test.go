package soak_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
)

// TestJoin (docs/reliability.md, E8): uploads of days come shuffled and side by side, to
// functions that are killed between the commit of a dataset and their answer, while a
// backfill delivers the same uploads once more. In the end the dataset is all days in the
// order of their names, each once, and readers only ever see whole days.
func TestJoin(t *testing.T) {
	t.Parallel()
	days, kills := scale(20, 80), int64(scale(5, 30))
	if racetest.On { // the functions are other processes, which it does not look into
		days, kills = 8, 2
	}
	c := start(t, options{seed: 7, tries: 30, retryDelay: 30 * time.Millisecond, concurrency: 4, shape: "s3"})
	var commits, killed atomic.Int64
	c.proxy.mu.Lock()
	c.proxy.unheard = func(r *http.Request) func() {
		q := r.URL.Query()
		commit := r.Method == http.MethodPut && !q.Has("partNumber") || r.Method == http.MethodPost && q.Has("uploadId")
		if !commit || r.URL.Path != "/"+datasets+"/"+joined || commits.Add(1)%3 != 0 || killed.Load() >= kills {
			return nil
		}
		return func() {
			if c.kill("fn-pack") {
				killed.Add(1)
			}
		}
	}
	c.proxy.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	looks := make(chan int)
	go func() { looks <- lookAtDays(ctx, t, c) }()

	order := rand.New(rand.NewPCG(7, 7)).Perm(days)
	var puts sync.WaitGroup
	next := make(chan int)
	for range 4 {
		puts.Go(func() {
			for n := range next {
				c.put(t, dayKey(n), day(t, n))
			}
		})
	}
	for _, n := range order {
		next <- n
	}
	close(next)
	puts.Wait()
	backfill(t, c, days)
	for n := range days {
		if r, runs, err := c.settled(dayKey(n)); err != nil || r.dead {
			t.Fatalf("%s after %d runs: %+v, %v", dayKey(n), runs, r, err)
		}
	}
	cancel()
	seen := <-looks
	var want []byte
	for n := range days {
		want = append(want, dayItems(n)...)
	}
	got, err := readDays(t.Context(), c.out)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d: %v, %v", len(got), len(want), wholeDays(got), err)
	}
	if killed.Load() < kills || seen == 0 || len(keys(t.Context(), t, c.out, "")) != 1 {
		t.Errorf("%d kills, %d looks, %q", killed.Load(), seen, keys(t.Context(), t, c.out, ""))
	}
	counts, _, _ := c.proxy.seen()
	figure(t, "E8", fmt.Sprintf("%d uploads join a dataset of %d MiB, shuffled, by 4 functions, %d of them killed after a commit, beside a backfill", days, len(want)>>20, killed.Load()),
		fmt.Sprintf("%d commits; %d looks, none partial; all in order, once each (%s)", commits.Load(), seen, listed(counts)), "NumPy's concatenate", !t.Failed())
}

// backfill handles the uploads by name, beside the functions.
func backfill(t *testing.T, c *cloud, days int) {
	t.Helper()
	h := &functions.Handler{Rules: rules("", ""), Jobs: map[string]functions.JobMaker{"pack": pack.New(pack.Options{})},
		Buckets: func(name string) (objstore.Bucket, error) {
			return map[string]objstore.Bucket{uploads: c.in, datasets: c.out}[name], nil
		}}
	for n := 0; n < days; n += 3 {
		r, err := h.Handle(t.Context(), fmt.Appendf(nil, `{"bucket":%q,"key":%q}`, uploads, dayKey(n)))
		if err != nil || r.Packed+r.Unchanged != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func dayKey(n int) string { return fmt.Sprintf("join/2026/day %03d.npy", n) }

const dayItem = 1024 // items of a row

// day is a .npy of rows that do not compress.
func day(tb testing.TB, n int) []byte {
	tb.Helper()
	d, err := dtype.Parse("<i8")
	if err != nil {
		tb.Fatal(err)
	}
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{int64(dayRows(n)), dayItem}})
	if err != nil {
		tb.Fatal(err)
	}
	return append(p, dayItems(n)...)
}

func dayRows(n int) int { return 20 + n*7%20 }

// dayItems are noise, but for the number of the day before each row.
func dayItems(n int) []byte {
	p := noise(uint64(n), dayRows(n)*dayItem*8)
	for at := 0; at < len(p); at += dayItem * 8 {
		binary.LittleEndian.PutUint64(p[at:], uint64(n))
	}
	return p
}

// wholeDays says what is wrong with the items of a dataset, if they are not whole days in
// their order.
func wholeDays(p []byte) error {
	last := -1
	for len(p) > 0 {
		n := int(binary.LittleEndian.Uint64(p))
		if n <= last || n > 1000 {
			return fmt.Errorf("day %d behind %d", n, last)
		}
		want := dayItems(n)
		if !bytes.HasPrefix(p, want) {
			return fmt.Errorf("day %d is not whole", n)
		}
		last, p = n, p[len(want):]
	}
	return nil
}

func readDays(ctx context.Context, b objstore.Bucket) ([]byte, error) {
	obj, err := objstore.Open(ctx, b, joined, objstore.OpenOptions{})
	if err != nil {
		return nil, err
	}
	a, err := b2nd.Open(ctx, obj, b2nd.Options{})
	if err != nil {
		return nil, err
	}
	var got bytes.Buffer
	_, err = a.CopyTo(ctx, &got, b2nd.Whole(a.Shape()), 0)
	return got.Bytes(), err
}

// lookAtDays reads the dataset until ctx ends.
func lookAtDays(ctx context.Context, t *testing.T, c *cloud) (looks int) {
	t.Helper()
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for ; ctx.Err() == nil; <-tick.C {
		got, err := readDays(context.WithoutCancel(ctx), c.out)
		if errors.Is(err, objstore.ErrChanged) || errors.Is(err, objstore.ErrNotFound) {
			continue // it opens the dataset again
		}
		if err == nil {
			err = wholeDays(got)
		}
		if err != nil {
			t.Error(err)
			return looks
		}
		looks++
	}
	return looks
}

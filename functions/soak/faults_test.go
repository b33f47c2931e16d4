package soak_test

import (
	"fmt"
	"testing"
	"time"
)

// TestFaultyStore (docs/reliability.md, E6): the store fails 20 % of all calls, in each
// of five ways. Every upload is packed. If the store is worse than the retries can
// bear, the upload ends in the dead letters and is packed from there later.
func TestFaultyStore(t *testing.T) {
	t.Parallel()
	shape := "s3" // one by one, all at a time
	if full() {
		shape = "eventbridge-sqs" // as deployed
	}
	c := start(t, options{seed: 6, tries: 5, retryDelay: 50 * time.Millisecond, concurrency: 8, shape: shape})
	c.proxy.fail(0.2)
	count := scale(3, 200)
	large := scale(1, 10) // of them, of several parts
	data := func(k kind, n int) []byte {
		if n < large {
			return k.data(t, uint64(n), 24<<20)
		}
		return k.data(t, uint64(n), 100<<10+n*1000)
	}
	begun := time.Now()
	for n := range count {
		for _, k := range kinds() {
			c.put(t, k.key(n), data(k, n))
		}
	}
	packed, dead, retried := 0, 0, 0
	for n := range count {
		for _, k := range kinds() {
			key := k.key(n)
			r, runs, err := c.settled(key)
			if err != nil {
				t.Fatal(err)
			}
			retried += runs - 1
			there, err := k.check(t.Context(), c.out, key, data(k, n))
			switch {
			case err != nil:
				t.Errorf("%s: %v", key, err)
			case r.dead:
				dead++
			case !there:
				t.Errorf("%s is acknowledged and not there", key)
			default:
				packed++
			}
		}
	}
	all := count * len(kinds())
	took := time.Since(begun)
	counts, faults, _ := c.proxy.seen()
	if e := keys(t.Context(), t, c.out, "errors/"); len(e) > 0 {
		t.Errorf("reported as bad uploads: %q", e)
	}
	s := c.status(t)
	if s.Pending != 0 || s.Delivered != int64(packed) || s.Dead != int64(dead) || s.Letters != dead || packed+dead != all {
		t.Errorf("%d packed and %d dead of %d, but %+v", packed, dead, all, s)
	}
	lost := all - packed - dead
	figure(t, "E6", fmt.Sprintf("%d uploads; %d calls, %d of them failed (%s)", all, sum(counts), sum(faults), listed(faults)),
		fmt.Sprintf("%d packed, %d dead letters, %d lost; %d given back and done later; %.0f s", packed, dead, lost, retried, took.Seconds()),
		"all packed or dead letters", lost == 0)
}

// TestDeadLetters: if the store fails nearly always, uploads become dead letters and
// none is lost. They are packed when they are delivered again to a sound store.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	c := start(t, options{seed: 66, tries: 2, concurrency: 8, shape: "s3", args: []string{"--timeout", "15s"}})
	share := 0.8
	if !full() {
		share = 0.9 // some of the few uploads have to become dead letters: at 0.8 none does now and then
	}
	c.proxy.fail(share)
	count := scale(2, 25)
	want := map[string]kind{}
	for n := range count {
		for _, k := range kinds() {
			want[k.key(n)] = k
			c.put(t, k.key(n), k.data(t, uint64(n), 50<<10))
		}
	}
	letters := map[string]int{}
	for key := range want {
		r, runs, err := c.settled(key)
		if err != nil {
			t.Fatal(err)
		}
		if r.dead {
			letters[key] = runs
		}
	}
	for n := range count {
		for _, k := range kinds() {
			there, err := k.check(t.Context(), c.out, k.key(n), k.data(t, uint64(n), 50<<10))
			if err != nil || !there && letters[k.key(n)] == 0 {
				t.Errorf("%s: there %t, runs to its dead letter %d, %v", k.key(n), there, letters[k.key(n)], err)
			}
		}
	}
	if s := c.status(t); s.Pending != 0 || s.Letters != len(letters) || len(letters) == 0 {
		t.Errorf("%d dead letters, but %+v", len(letters), s)
	}
	c.proxy.fail(0)
	if n := c.redrive(t); n != len(letters) {
		t.Errorf("%d delivered again, of %d", n, len(letters))
	}
	packed := 0
	for key, runs := range letters {
		if r, err := c.wait(key, runs+1); err != nil || r.failed {
			t.Errorf("%s: %+v, %v", key, r, err)
		}
	}
	for n := range count {
		for _, k := range kinds() {
			if there, err := k.check(t.Context(), c.out, k.key(n), k.data(t, uint64(n), 50<<10)); !there || err != nil {
				t.Errorf("%s: %t, %v", k.key(n), there, err)
			} else {
				packed++
			}
		}
	}
	if e := keys(t.Context(), t, c.out, "errors/"); len(e) > 0 {
		t.Errorf("reported as bad uploads: %q", e)
	}
	figure(t, "E6", fmt.Sprintf("%.0f %% of calls fail: %d uploads", 100*share, len(want)),
		fmt.Sprintf("%d dead letters; redriven to a sound store, all %d are packed", len(letters), packed), "none lost", packed == len(want))
}

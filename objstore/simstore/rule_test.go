package simstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestRuleCounts: which calls a rule makes fail.
func TestRuleCounts(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Rule{
		"[1 2 3 4 5 6 7 8 9]": {}, "[2 5 8]": {From: 2, Every: 3}, "[3 4]": {From: 3, Times: 2}, "[1 3]": {Times: 4, Every: 2}, "[4]": {From: 4, Every: 2, Times: 2},
	} {
		var got []int64
		for n := int64(1); n < 10; n++ {
			if r.fails(n) {
				got = append(got, n)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%+v: %v, want %s", r, got, want)
		}
	}
}

// TestTrickleEnds: a slow body ends with its context.
func TestTrickleEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		if w, err := mem.Create(t.Context(), "k", objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		} else if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rc, _, err := objstore.Chain(mem, Trickle(1, time.Hour)).Get(ctx, "k", objstore.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer rc.Close()
		begun := time.Now()
		if _, err := rc.Read(make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

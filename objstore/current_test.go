package objstore_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestCurrent: an object is current until it is replaced or gone, for one HEAD.
func TestCurrent(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{Name: "mem://b"})
	var c objstore.Counter
	put := func(text string) {
		if _, err := objstore.Put(t.Context(), b, "k", bytes.NewReader([]byte(text)), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	put("one")
	ob, err := objstore.Open(t.Context(), objstore.Chain(b, objstore.Count(&c)), "k", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := c.Stats().Requests
	want := func(current bool) {
		t.Helper()
		if got, err := ob.Current(t.Context()); got != current || err != nil {
			t.Errorf("%t, %v, want %t", got, err, current)
		}
	}
	want(true)
	put("two")
	want(false)
	if err := b.Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	want(false)
	if n := c.Stats().Requests - before; n != 3 {
		t.Errorf("%d requests for three looks", n)
	}
}

// TestAgain: a second run after ErrChanged, no third one, and none after other
// errors.
func TestAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		errs []error
		runs int
		want error
	}{
		{[]error{nil}, 1, nil},
		{[]error{objstore.ErrChanged, nil}, 2, nil},
		{[]error{objstore.ErrChanged, objstore.ErrChanged, nil}, 2, objstore.ErrChanged},
		{[]error{objstore.ErrDenied, nil}, 1, objstore.ErrDenied},
	} {
		runs := 0
		err := objstore.Again(t.Context(), func() error { runs++; return tc.errs[runs-1] })
		if runs != tc.runs || !errors.Is(err, tc.want) {
			t.Errorf("%v: %d runs, %v", tc.errs, runs, err)
		}
	}
}

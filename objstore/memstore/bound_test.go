package memstore_test

import (
	"errors"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestMaxObjectByAndBy: the bound counts all bytes written and a head that grows, to
// the byte.
func TestMaxObjectByAndBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		max  int64
		grow int
		ok   bool
	}{{0, 5, true}, {13, 5, true}, {12, 5, false}, {13, 6, false}, {13, 2, true}} {
		b := memstore.New(memstore.Config{MaxObject: c.max})
		w, err := b.Create(t.Context(), "k", objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := w.Write([]byte("01234")); err != nil {
				t.Fatal(err)
			}
		}
		err = w.Rehead(2, make([]byte, c.grow))
		if (err == nil) != c.ok || err != nil && !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
		info, err := w.Commit(t.Context())
		if (err == nil) != c.ok || err == nil && info.Size != int64(8+c.grow) {
			t.Errorf("%+v: %+v, %v", c, info, err)
		}
	}
	b := memstore.New(memstore.Config{MaxObject: 9})
	w, err := b.Create(t.Context(), "k", objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("01234")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("56789")); !errors.Is(err, objstore.ErrInvalid) {
		t.Error(err)
	}
}

package objstore_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestOpenAsks: how many requests an open is, and what is known then.
func TestOpenAsks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    objstore.OpenOptions
		gets int
		err  error
	}{
		"as it is":        {objstore.OpenOptions{}, 1, nil},
		"neither end":     {objstore.OpenOptions{Head: -1}, 1, nil},
		"both ends":       {objstore.OpenOptions{Head: 10, Tail: 10}, 2, nil},
		"the end alone":   {objstore.OpenOptions{Head: -1, Tail: 10}, 1, nil},
		"another version": {objstore.OpenOptions{IfMatch: `"e"`}, 1, objstore.ErrChanged},
	} {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", randomBytes(300_000))
		a := &altered{Bucket: mem}
		a.get = func(_ int, o objstore.GetOptions, rc io.ReadCloser, in objstore.Info) (io.ReadCloser, objstore.Info, error) {
			if o.IfMatch != "" && o.IfMatch != in.ETag {
				return nil, objstore.Info{}, objstore.ErrChanged
			}
			in.Key = "" // not every driver says it
			return rc, in, nil
		}
		obj, err := objstore.Open(t.Context(), a, "k", c.o)
		if !errors.Is(err, c.err) || len(a.ask) != c.gets {
			t.Errorf("%s: %v, %+v", name, err, a.ask)
		}
		if err == nil && (obj.Info().Key != "k" || obj.Size() != 300_000) {
			t.Errorf("%s: %+v", name, obj.Info())
		}
	}
}

// TestEndedBeforeItsPlace: a call whose context has ended is not made, though a place
// is free.
func TestEndedBeforeItsPlace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var c objstore.Counter
	b := objstore.Chain(memstore.New(memstore.Config{}), objstore.Limit(1), objstore.Count(&c))
	for range 50 {
		if _, err := b.Head(ctx, "k"); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if n := c.Stats().Requests; n != 0 {
		t.Errorf("%d calls", n)
	}
}

// TestRefusedIsTraced: a call that fails at once is told like any other.
func TestRefusedIsTraced(t *testing.T) {
	t.Parallel()
	var events []objstore.Event
	b := objstore.Chain(memstore.New(memstore.Config{}), objstore.Trace(func(e objstore.Event) { events = append(events, e) }))
	_, create := b.Create(t.Context(), "", objstore.PutOptions{IfAbsent: true, IfMatch: `"e"`})
	_, _, get := b.Get(t.Context(), "none", objstore.GetOptions{})
	if create == nil || get == nil || len(events) != 2 || !errors.Is(events[0].Err, create) || events[0].Op != "put" || !errors.Is(events[1].Err, get) {
		t.Errorf("%v, %v, %+v", create, get, events)
	}
}

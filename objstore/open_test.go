package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
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
		if err != nil {
			continue
		}
		if obj.Info().Key != "k" || obj.Size() != 300_000 {
			t.Errorf("%s: %+v", name, obj.Info())
		}
		if c.o.Head == 0 || c.o.Head < 0 && c.o.Tail == 0 {
			before := obj.Stats()
			if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: 0, P: make([]byte, 1000)}}); err != nil || len(a.ask) != c.gets || obj.Stats().Phases != before.Phases {
				t.Errorf("%s: the head is asked for again: %v, %+v, was %+v", name, err, obj.Stats(), before)
			}
		}
	}
}

// TestOpenBuf: the head lies in memory of the caller if that holds it, also if a body
// broke, and reads of it cost nothing.
func TestOpenBuf(t *testing.T) {
	t.Parallel()
	mem := memstore.New(memstore.Config{})
	data := randomBytes(3000)
	put(t, mem, "k", data)
	a := &altered{Bucket: mem}
	a.get = func(n int, _ objstore.GetOptions, rc io.ReadCloser, in objstore.Info) (io.ReadCloser, objstore.Info, error) {
		if n%2 == 1 {
			return struct {
				io.Reader
				io.Closer
			}{io.LimitReader(rc, 500), rc}, in, nil
		}
		return rc, in, nil
	}
	for _, c := range []struct {
		buf, head int64
		taken     bool
	}{{3000, 3000, true}, {5000, 4000, true}, {2000, 2000, true}, {2999, 3000, false}, {0, 100, false}} {
		buf := make([]byte, c.buf)
		obj, err := objstore.Open(t.Context(), a, "k", objstore.OpenOptions{Head: c.head, Buf: buf})
		if err != nil {
			t.Fatal(err)
		}
		n, asked := min(c.head, 3000), len(a.ask)
		if taken := c.buf > 0 && bytes.Equal(buf[:min(n, c.buf)], data[:min(n, c.buf)]); taken != c.taken {
			t.Errorf("%+v: the head lies in it: %t", c, taken)
		}
		p := make([]byte, n)
		if err := obj.ReadRanges(t.Context(), []rangeio.Span{{P: p}}); err != nil || !bytes.Equal(p, data[:n]) || len(a.ask) != asked {
			t.Errorf("%+v: %v, or other bytes, or another request", c, err)
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

// TestReadsAtTheEnd: reads beyond the end give what is there, report the end once, and
// report an ended context with its place.
func TestReadsAtTheEnd(t *testing.T) {
	t.Parallel()
	data := randomBytes(300_000)
	mem := memstore.New(memstore.Config{Name: "mem://b"})
	put(t, mem, "k", data)
	obj, err := objstore.Open(t.Context(), mem, "k", objstore.OpenOptions{Head: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		off  int64
		n    int
		want int
		err  error
	}{{299_990, 10, 10, nil}, {299_990, 20, 10, io.EOF}, {300_000, 1, 0, io.EOF}, {300_000, 0, 0, io.EOF}, {400_000, 1, 0, io.EOF}, {-1, 1, 0, objstore.ErrInvalid}} {
		p := make([]byte, c.n)
		n, err := obj.ReadAt(p, c.off)
		if n != c.want || !errors.Is(err, c.err) || c.err == nil && err != nil || n > 0 && string(p[:n]) != string(data[c.off:][:n]) {
			t.Errorf("%d at %d: %d, %v", c.n, c.off, n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var e *objstore.Error
	err = obj.ReadRanges(ctx, []rangeio.Span{{Off: 100_000, P: make([]byte, 10)}})
	if !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Key != "k" {
		t.Errorf("%v", err)
	}
	// An error of the caller's own is returned unchanged.
	own := errors.New("enough")
	if err := obj.ReadEach(t.Context(), []rangeio.Span{{Off: 100_000, P: make([]byte, 10)}}, func(int) error { return own }); !errors.Is(err, own) || errors.As(err, &e) {
		t.Errorf("%v", err)
	}
}

// TestTailByOffset: if a server refuses ranges from the end, the tail is fetched by its
// offset, and is kept as well.
func TestTailByOffset(t *testing.T) {
	t.Parallel()
	data := randomBytes(300_000)
	mem := memstore.New(memstore.Config{})
	put(t, mem, "k", data)
	a := &altered{Bucket: mem}
	a.get = func(_ int, o objstore.GetOptions, rc io.ReadCloser, in objstore.Info) (io.ReadCloser, objstore.Info, error) {
		if o.Range.Off < 0 {
			return nil, objstore.Info{}, objstore.ErrBadRange
		}
		return rc, in, nil
	}
	obj, err := objstore.Open(t.Context(), a, "k", objstore.OpenOptions{Head: 10, Tail: 1000})
	if err != nil {
		t.Fatal(err)
	}
	asked := len(a.ask)
	p := make([]byte, 1000)
	if _, err := obj.ReadAt(p, 299_000); err != nil || string(p) != string(data[299_000:]) || len(a.ask) != asked {
		t.Errorf("%v, %d more requests", err, len(a.ask)-asked)
	}
	// To plan a read copies nothing.
	q := make([]byte, 1000)
	if rs := obj.Plan([]rangeio.Span{{Off: 299_000, P: q}}); len(rs) != 0 || string(q) != string(make([]byte, 1000)) {
		t.Errorf("%d requests", len(rs))
	}
}

package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// altered answers each Get as get says, which sees the options and how many Gets
// there were before.
type altered struct {
	objstore.Bucket

	mu   sync.Mutex
	ask  []objstore.GetOptions
	open atomic.Int64 // bodies
	get  func(n int, o objstore.GetOptions, rc io.ReadCloser, in objstore.Info) (io.ReadCloser, objstore.Info, error)
}

func (a *altered) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	a.mu.Lock()
	n := len(a.ask)
	a.ask = append(a.ask, o)
	a.mu.Unlock()
	// A server that ignores every condition.
	rc, in, err := a.Bucket.Get(ctx, key, objstore.GetOptions{Range: o.Range})
	if err != nil {
		return nil, in, err
	}
	a.open.Add(1)
	return a.get(n, o, &openBody{ReadCloser: rc, open: &a.open}, in)
}

type openBody struct {
	io.ReadCloser

	open *atomic.Int64
	once sync.Once
}

func (b *openBody) Close() error {
	b.once.Do(func() { b.open.Add(-1) })
	return b.ReadCloser.Close()
}

// short is a body that breaks after n bytes.
func short(rc io.ReadCloser, n int64) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(rc, n), failing{io.ErrUnexpectedEOF}), rc}
}

// TestPinHolds: an answer of another version is refused, also if the server ignores the
// condition, in a read and in the continuation of a body.
func TestPinHolds(t *testing.T) {
	t.Parallel()
	data := randomBytes(300_000)
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		pin   objstore.Info // of the first answer; its size is that of the data
		other func(in *objstore.Info)
		ok    bool
	}{
		"nothing else":     {objstore.Info{ETag: `"e"`, VersionID: "v"}, func(*objstore.Info) {}, true},
		"version":          {objstore.Info{ETag: `"e"`, VersionID: "v"}, func(in *objstore.Info) { in.VersionID = "w" }, false},
		"version not told": {objstore.Info{ETag: `"e"`, VersionID: "v"}, func(in *objstore.Info) { in.VersionID = "" }, true},
		"ETag":             {objstore.Info{ETag: `"e"`}, func(in *objstore.Info) { in.ETag = `"f"` }, false},
		"weak ETag":        {objstore.Info{ETag: `W/"e"`}, func(in *objstore.Info) { in.ETag = `W/"f"` }, false},
		"size":             {objstore.Info{ETag: `"e"`}, func(in *objstore.Info) { in.Size++ }, false},
		"date alone":       {objstore.Info{ModTime: date}, func(in *objstore.Info) { in.ModTime = date.Add(time.Second) }, false},
		"date beside ETag": {objstore.Info{ETag: `"e"`, ModTime: date}, func(in *objstore.Info) { in.ModTime = date.Add(time.Second) }, true},
	} {
		for _, cut := range []bool{false, true} {
			mem := memstore.New(memstore.Config{})
			put(t, mem, "k", data)
			a := &altered{Bucket: mem}
			a.get = func(n int, _ objstore.GetOptions, rc io.ReadCloser, in objstore.Info) (io.ReadCloser, objstore.Info, error) {
				pin := c.pin
				pin.Key, pin.Size = in.Key, in.Size
				if n > 0 {
					c.other(&pin)
				}
				if n == 0 && cut {
					rc = short(rc, 1000)
				}
				return rc, pin, nil
			}
			obj, err := objstore.Open(t.Context(), a, "k", objstore.OpenOptions{Head: 5000, IfMatch: "*"})
			p := make([]byte, 100)
			if err == nil {
				_, err = obj.ReadAt(p, 200_000)
			}
			if c.ok && (err != nil || !bytes.Equal(p, data[200_000:200_100])) || !c.ok && !errors.Is(err, objstore.ErrChanged) {
				t.Errorf("%s, cut %v: %v", name, cut, err)
			}
			if n := a.open.Load(); n != 0 {
				t.Errorf("%s, cut %v: %d bodies are open", name, cut, n)
			}
			// What is left of the head is asked for, under what pins it.
			if ask := a.ask[1]; cut && (ask.Range != objstore.Range{Off: 1000, Len: 4000} || ask.IfMatch == "" && strings.HasPrefix(c.pin.ETag, `"`)) {
				t.Errorf("%s: %+v", name, ask)
			}
		}
	}
}

// TestConditionsOfAPin: what a read asks for, by what the store says of an object.
func TestConditionsOfAPin(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		pin  objstore.Info
		want objstore.GetOptions
	}{
		"version": {objstore.Info{ETag: `"e"`, VersionID: "v", ModTime: date}, objstore.GetOptions{VersionID: "v"}},
		"ETag":    {objstore.Info{ETag: `"e"`, ModTime: date}, objstore.GetOptions{IfMatch: `"e"`}},
		"weak":    {objstore.Info{ETag: `W/"e"`, ModTime: date}, objstore.GetOptions{IfUnmod: date}},
		"date":    {objstore.Info{ModTime: date}, objstore.GetOptions{IfUnmod: date}},
		"nothing": {objstore.Info{}, objstore.GetOptions{}},
	} {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", randomBytes(300_000))
		a := &altered{Bucket: mem}
		a.get = func(_ int, _ objstore.GetOptions, rc io.ReadCloser, in objstore.Info) (io.ReadCloser, objstore.Info, error) {
			pin := c.pin
			pin.Key, pin.Size = in.Key, in.Size
			return rc, pin, nil
		}
		obj, err := objstore.Open(t.Context(), a, "k", objstore.OpenOptions{Head: 1})
		if err == nil {
			_, err = obj.ReadAt(make([]byte, 10), 200_000)
		}
		got := a.ask[len(a.ask)-1]
		got.Range = objstore.Range{}
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestResumesAreCounted: a body that always breaks is continued so many times, with
// longer and longer pauses, and each time is a retry.
func TestResumesAreCounted(t *testing.T) {
	t.Parallel()
	for _, resumes := range []int{-1, 1, 2, 0} {
		want := map[int]int64{-1: 0, 0: 5}[resumes]
		if resumes > 0 {
			want = int64(resumes)
		}
		synctest.Test(t, func(t *testing.T) {
			mem := memstore.New(memstore.Config{})
			put(t, mem, "k", randomBytes(300_000))
			broken := false
			a := &altered{Bucket: mem}
			a.get = func(_ int, _ objstore.GetOptions, rc io.ReadCloser, in objstore.Info) (io.ReadCloser, objstore.Info, error) {
				if broken {
					rc = short(rc, 1)
				}
				return rc, in, nil
			}
			o := objstore.OpenOptions{Head: 1, Resumes: resumes, Counter: &objstore.Counter{}}
			obj, err := objstore.Open(t.Context(), a, "k", o)
			if err != nil {
				t.Fatal(err)
			}
			broken = true
			for what, read := range map[string]func() error{
				"read": func() error { _, err := obj.ReadAt(make([]byte, 100_000), 100_000); return err },
				"open": func() error {
					_, err := objstore.Open(t.Context(), a, "k", objstore.OpenOptions{Resumes: resumes, Counter: o.Counter})
					return err
				},
			} {
				asked, before, begun := len(a.ask), o.Counter.Stats().Retries, time.Now()
				if err := read(); !errors.Is(err, objstore.ErrUnavailable) || strings.Count(err.Error(), "get ") != 1 {
					t.Errorf("%s: %v", what, err)
				}
				if n := int64(len(a.ask) - asked); n != want+1 || o.Counter.Stats().Retries-before != want {
					t.Errorf("%s, resumes %d: %d requests, %d retries", what, resumes, n, o.Counter.Stats().Retries-before)
				}
				pauses := []time.Duration{0, 0, 100 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, 1500 * time.Millisecond}
				if took := time.Since(begun); took != pauses[want] {
					t.Errorf("%s, resumes %d: %v of pauses, want %v", what, resumes, took, pauses[want])
				}
			}
		})
	}
}

// TestGetsAreLogged: one line for each request, with its bytes and times.
func TestGetsAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		mem := memstore.New(memstore.Config{Name: "mem://b"})
		put(t, mem, "k", randomBytes(300_000))
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		obj, err := objstore.Open(t.Context(), objstore.Chain(mem, simstore.Latency(time.Second)), "k", objstore.OpenOptions{Head: 5000, Logger: logger})
		if err == nil {
			_, err = obj.ReadAt(make([]byte, 10), 200_000)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"key=k range=0+5000 bytes=5000 first_ms=1000 ms=1000", "key=k range=196608+65536 bytes=65536 first_ms=1000 ms=1000"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %q in %s", want, log.String())
			}
		}
	})
}

// TestDeniedVersion: without the permission to read versions, the ETag pins. If there
// is no ETag, nothing would pin, and the refusal is returned. A driver's error is
// returned unchanged.
func TestDeniedVersion(t *testing.T) {
	t.Parallel()
	for etag, gets := range map[string]int{`"e"`: 2, "": 1} {
		mem := memstore.New(memstore.Config{Name: "mem://b"})
		put(t, mem, "k", randomBytes(300_000))
		a := &altered{Bucket: mem}
		a.get = func(_ int, o objstore.GetOptions, rc io.ReadCloser, in objstore.Info) (io.ReadCloser, objstore.Info, error) {
			if o.VersionID != "" {
				return nil, objstore.Info{}, &objstore.Error{Op: "get", Bucket: "mem://b", Key: "k", Err: objstore.ErrDenied}
			}
			in.ETag, in.VersionID = etag, "v"
			return rc, in, nil
		}
		obj, err := objstore.Open(t.Context(), a, "k", objstore.OpenOptions{Head: 1})
		if err != nil {
			t.Fatal(err)
		}
		asked := len(a.ask)
		_, err = obj.ReadAt(make([]byte, 10), 200_000)
		if errors.Is(err, objstore.ErrDenied) != (etag == "") || err != nil && strings.Count(err.Error(), "get ") != 1 || len(a.ask)-asked != gets {
			t.Errorf("ETag %s: %v after %d requests", etag, err, len(a.ask)-asked)
		}
	}
}

package filestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/rangeio"
)

// newFile is a file of random bytes in a bucket that counts, opened.
func newFile(t *testing.T, size int, m ...objstore.Middleware) (path string, data []byte, o *objstore.Object, c *objstore.Counter) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "x")
	data = make([]byte, size)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c = new(objstore.Counter)
	o, err = objstore.Open(t.Context(), objstore.Chain(b, append(m, objstore.Count(c))...), "x", objstore.OpenOptions{Head: 1})
	if err != nil {
		t.Fatal(err)
	}
	return path, data, o, c
}

// spread are n spans here and there, in no order.
func spread(n, length, size int) []rangeio.Span {
	spans := make([]rangeio.Span, n)
	for i := range spans {
		spans[i] = rangeio.Span{Off: rand.Int64N(int64(size - length)), P: make([]byte, length)}
	}
	return spans
}

// TestFillIsRead: spans get the bytes of the file, whether they are few, many, or too
// many bytes for one goroutine, and each span is reported once.
func TestFillIsRead(t *testing.T) {
	_, data, o, _ := newFile(t, 5<<20)
	if !rangeio.Local(o) {
		t.Fatal("a file is not local")
	}
	for _, c := range []struct{ n, length int }{{0, 0}, {1, 1}, {1, 4 << 20}, {3, 50_000}, {40, 100_000}, {300, 10}} {
		spans := spread(c.n, c.length, len(data))
		calls := make([]int, c.n)
		if err := o.ReadEach(t.Context(), spans, func(i int) error {
			if !bytes.Equal(spans[i].P, data[spans[i].Off:spans[i].End()]) {
				t.Errorf("%d spans of %d: span %d is done with other bytes", c.n, c.length, i)
			}
			calls[i]++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(calls, func(k int) bool { return k != 1 }) {
			t.Errorf("%d spans of %d: calls of done: %v", c.n, c.length, calls)
		}
	}
}

// blind is a middleware of somebody else, which wants to see every Get.
type blind struct{ objstore.Bucket }

func (b blind) Unwrap() objstore.Bucket { return b.Bucket }

// TestFillCounts: handle, bucket and trace count what Plan lists, whether or not a
// middleware keeps reads from the file itself. One that only watches does not.
func TestFillCounts(t *testing.T) {
	var mu sync.Mutex
	var events []objstore.Event
	trace := objstore.Trace(func(e objstore.Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	})
	for _, c := range []struct {
		name  string
		m     []objstore.Middleware
		local bool
	}{
		{"bare", nil, true},
		{"traced", []objstore.Middleware{trace}, true},
		{"blind", []objstore.Middleware{trace, func(b objstore.Bucket) objstore.Bucket { return blind{b} }}, false},
	} {
		events = nil
		path, _, o, count := newFile(t, 1<<20, c.m...)
		if rangeio.Local(o) != c.local {
			t.Errorf("%s: local %t", c.name, !c.local)
		}
		spans := []rangeio.Span{{Off: 1000, P: make([]byte, 100)}, {Off: 1200, P: make([]byte, 100)}, {Off: 500_000, P: make([]byte, 100)}}
		plan := o.Plan(spans)
		before, seen := o.Stats(), count.Stats()
		for range 2 {
			if err := o.ReadRanges(t.Context(), spans); err != nil {
				t.Fatal(err)
			}
		}
		got, all := o.Stats(), count.Stats()
		if n := got.Requests - before.Requests; n != 4 || all.Requests-seen.Requests != 4 || got.Phases != before.Phases+2 {
			t.Errorf("%s: %d requests counted, %d by the bucket, %d phases", c.name, n, all.Requests-seen.Requests, got.Phases)
		}
		if n := got.Bytes - before.Bytes; n != 800 || all.Bytes-seen.Bytes != n {
			t.Errorf("%s: %d bytes counted, %d by the bucket, want 800 with the gaps", c.name, n, all.Bytes-seen.Bytes)
		}
		if c.m == nil {
			continue
		}
		if len(events) != 1+4 {
			t.Fatalf("%s: the trace has %d events", c.name, len(events))
		}
		for _, r := range plan {
			want := objstore.Event{Op: "get", Bucket: "file://" + filepath.ToSlash(filepath.Dir(path)), Key: "x", Range: objstore.Range{Off: r.Off, Len: r.Len}, IfMatch: o.Info().ETag, Bytes: r.Len}
			n := 0
			for _, e := range events {
				if e.Start.IsZero() || e.Seq < 1 {
					t.Errorf("%s: place %d, time %v", c.name, e.Seq, e.Start)
				}
				e.Seq, e.Start, e.Duration = 0, time.Time{}, 0
				if e == want {
					n++
				}
			}
			if n != 2 {
				t.Errorf("%s: %d times %v, want 2, in %v", c.name, n, want, events)
			}
		}
	}
}

// TestFillOfChangedFile: a file that was replaced, written to, cut short or removed
// gives an error and no bytes.
func TestFillOfChangedFile(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(path string) error
		want   error
	}{
		"written": {func(p string) error {
			f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more")
			return errors.Join(err, f.Close())
		}, objstore.ErrChanged},
		"cut": {func(p string) error { return os.Truncate(p, 600) }, objstore.ErrChanged},
		"replaced": {func(p string) error {
			if err := os.WriteFile(p+"2", make([]byte, 1000), 0o600); err != nil {
				return err
			}
			return os.Rename(p+"2", p)
		}, objstore.ErrChanged},
		"written over": {func(p string) error {
			f, err := os.OpenFile(p, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("other")
			return errors.Join(err, f.Close(), os.Chtimes(p, time.Time{}, time.Now().Add(time.Hour)))
		}, objstore.ErrChanged},
		"removed": {os.Remove, objstore.ErrNotFound},
		"renamed": {func(p string) error { return os.Rename(p, p+"2") }, objstore.ErrNotFound},
		"a folder": {func(p string) error {
			return errors.Join(os.Remove(p), os.Mkdir(p, 0o700))
		}, objstore.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			path, _, o, _ := newFile(t, 1000)
			spans := []rangeio.Span{{Off: 100, P: make([]byte, 10)}, {Off: 700, P: make([]byte, 10)}}
			if err := o.ReadRanges(t.Context(), spans); err != nil {
				t.Fatal(err)
			}
			if err := tc.change(path); err != nil {
				t.Fatal(err)
			}
			err := o.ReadEach(t.Context(), spans, func(int) error { t.Error("done"); return nil })
			if !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
}

// TestFillOfLinkedFile: a second name, or none any more, changes the file's time of change, but
// not its bytes.
func TestFillOfLinkedFile(t *testing.T) {
	path, _, o, _ := newFile(t, 1000)
	read := func() error { return o.ReadRanges(t.Context(), spread(3, 10, 1000)) }
	for i, change := range []func() error{
		func() error { return nil },
		func() error { return os.Link(path, path+"2") },
		func() error { return os.Remove(path + "2") },
		func() error { return os.Chmod(path, 0o640) },
	} {
		if err := errors.Join(change(), read(), read()); err != nil {
			t.Errorf("change %d: %v", i, err)
		}
	}
}

// TestFillOfMovedFolder: while a folder above a file is gone, or another one is in its place,
// reads have old bytes or fail, and soon fail.
func TestFillOfMovedFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		moved   string // below the bucket's parent
		another bool   // takes the place
		want    error
	}{
		{"b/sub", false, objstore.ErrNotFound}, {"b/sub", true, objstore.ErrChanged}, {"b", false, objstore.ErrNotFound}, {"b", true, objstore.ErrChanged},
	} {
		t.Run(fmt.Sprint(c.moved, c.another), func(t *testing.T) {
			t.Parallel()
			parent, data := t.TempDir(), bytes.Repeat([]byte("old "), 250)
			path := filepath.Join(parent, "b", "sub", "x")
			create := func(data []byte) {
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			create(data)
			b, err := filestore.New(filestore.Config{Dir: filepath.Join(parent, "b")})
			if err != nil {
				t.Fatal(err)
			}
			defer b.CloseIdleConnections()
			o, err := objstore.Open(t.Context(), b, "sub/x", objstore.OpenOptions{Head: 1})
			if err != nil {
				t.Fatal(err)
			}
			read := func() error {
				spans := spread(3, 8, len(data))
				err := o.ReadRanges(t.Context(), spans)
				for _, s := range spans {
					if err == nil && !bytes.Equal(s.P, data[s.Off:s.End()]) {
						t.Fatal("bytes of another file")
					}
				}
				return err
			}
			if err := read(); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(parent, c.moved), filepath.Join(parent, "away")); err != nil {
				t.Fatal(err)
			}
			if c.another {
				create(bytes.Repeat([]byte("new "), 250))
			}
			end := time.Now().Add(10 * time.Second)
			for err = read(); err == nil && time.Now().Before(end); err = read() {
				time.Sleep(10 * time.Millisecond)
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// A meanwhile is a context that does something when it is asked for the n-th time whether
// it has ended, as a read does before each span.
type meanwhile struct {
	context.Context //nolint:containedctx // this is one
	n               int
	do              func()
}

func (c *meanwhile) Err() error {
	if c.n--; c.n == 0 {
		c.do()
	}
	return c.Context.Err()
}

// TestFillOfFileChangedMeanwhile: whenever a file changes during a read, the read fails or
// has none but old bytes, and if bytes of the file itself changed, it fails.
func TestFillOfFileChangedMeanwhile(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(path string) error
		survive bool // the old bytes are still there
	}{
		"written": {func(p string) error { return os.WriteFile(p, make([]byte, 1001), 0o600) }, false},
		"cut":     {func(p string) error { return os.Truncate(p, 600) }, false},
		"replaced": {func(p string) error {
			return errors.Join(os.WriteFile(p+"2", make([]byte, 1000), 0o600), os.Rename(p+"2", p))
		}, true},
		"removed": {os.Remove, true},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				path, data, o, _ := newFile(t, 1000)
				spans := []rangeio.Span{{Off: 100, P: make([]byte, 10)}, {Off: 500, P: make([]byte, 10)}, {Off: 700, P: make([]byte, 10)}}
				changed := false
				err := o.ReadRanges(&meanwhile{t.Context(), n, func() {
					changed = true
					if err := tc.change(path); err != nil {
						t.Fatal(err)
					}
				}}, spans)
				if !changed {
					if err != nil || n < len(spans) {
						t.Errorf("%v, after %d questions", err, n-1)
					}
					return
				}
				if err == nil && !tc.survive {
					t.Errorf("changed at question %d: no error", n)
				}
				for i, s := range spans {
					if err == nil && !bytes.Equal(s.P, data[s.Off:s.End()]) {
						t.Errorf("changed at question %d: span %d has other bytes", n, i)
					}
				}
			}
		})
	}
}

// TestFillEnds: an ended context ends the read before it begins.
func TestFillEnds(t *testing.T) {
	_, _, o, _ := newFile(t, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.ReadRanges(ctx, []rangeio.Span{{Off: 10, P: make([]byte, 10)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

package simstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/objstoretest"
	"github.com/farread/farread/objstore/simstore"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConformance: a bucket that is only slowed down or counted behaves as before.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, m := range map[string][]objstore.Middleware{
		"calls": {
			simstore.Latency(20 * time.Microsecond),
			simstore.Fault(simstore.Rule{Key: "no such key"}),
			simstore.Replace(func(context.Context, simstore.Call) error { return nil }),
			simstore.Latency(0),
		},
		"bodies": {simstore.Bandwidth(1 << 40), simstore.Trickle(10_000, 0), simstore.Cut(1, 1<<40), simstore.Short(1, 1<<40), simstore.Stall(1, 1<<40)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objstoretest.Run(t, func(*testing.T) objstore.Bucket {
				return objstore.Chain(memstore.New(memstore.Config{Versioned: true}), m...)
			}, objstoretest.Features{Meta: true, Versions: true})
		})
	}
}

func TestZeroSettingsAreNothing(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{})
	for name, m := range map[string]objstore.Middleware{
		"latency":   simstore.Latency(0),
		"bandwidth": simstore.Bandwidth(0),
		"trickle":   simstore.Trickle(0, 0),
		"cut":       simstore.Cut(0, 0),
		"short":     simstore.Short(0, 0),
		"stall":     simstore.Stall(0, 0),
		"fault":     simstore.Fault(),
		"replace":   simstore.Replace(nil),
	} {
		if got := m(b); got != objstore.Bucket(b) {
			t.Errorf("%s wraps the bucket in a %T", name, got)
		}
	}
}

// bucket holds "k" with n bytes behind the middlewares.
func bucket(t *testing.T, n int, m ...objstore.Middleware) (b objstore.Bucket, data []byte) {
	t.Helper()
	mem := memstore.New(memstore.Config{})
	data = bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
	if _, err := objstore.Put(t.Context(), mem, "k", bytes.NewReader(data), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	return objstore.Chain(mem, m...), data
}

func read(ctx context.Context, b objstore.Bucket, r objstore.Range) ([]byte, error) {
	rc, _, err := b.Get(ctx, "k", objstore.GetOptions{Range: r})
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	return io.ReadAll(rc)
}

// took checks how much virtual time f takes.
func took(t *testing.T, what string, want time.Duration, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	if d := time.Since(begin); d != want {
		t.Errorf("%s took %v, want %v", what, d, want)
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, data := bucket(t, 100, simstore.Latency(500*time.Millisecond))
		took(t, "a get", 500*time.Millisecond, func() {
			if p, err := read(t.Context(), b, objstore.Range{}); err != nil || !bytes.Equal(p, data) {
				t.Errorf("%d bytes, %v", len(p), err)
			}
		})
		took(t, "head, list, put and delete", 2*time.Second, func() {
			_, herr := b.Head(t.Context(), "k")
			for _, err := range b.List(t.Context(), "") {
				herr = errors.Join(herr, err)
			}
			_, perr := objstore.Put(t.Context(), b, "n", bytes.NewReader(data), objstore.PutOptions{})
			if err := errors.Join(herr, perr, b.Delete(t.Context(), "n")); err != nil {
				t.Error(err)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		took(t, "a get that runs out of time", 100*time.Millisecond, func() {
			if _, err := read(ctx, b, objstore.Range{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("want DeadlineExceeded, got %v", err)
			}
		})
	})
}

// TestBandwidth: each connection has its own, whatever the size of the reads.
func TestBandwidth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := bucket(t, 9_000_000, simstore.Latency(30*time.Millisecond), simstore.Bandwidth(90_000_000))
		took(t, "one body", 130*time.Millisecond, func() {
			if _, err := read(t.Context(), b, objstore.Range{}); err != nil {
				t.Error(err)
			}
		})
		took(t, "three bodies side by side", 130*time.Millisecond, func() {
			errs := make(chan error)
			for range 3 {
				go func() {
					_, err := read(t.Context(), b, objstore.Range{})
					errs <- err
				}()
			}
			if err := errors.Join(<-errs, <-errs, <-errs); err != nil {
				t.Error(err)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		defer cancel()
		took(t, "a body that runs out of time", 60*time.Millisecond, func() {
			if _, err := read(ctx, b, objstore.Range{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("want DeadlineExceeded, got %v", err)
			}
		})
	})
}

func TestTrickle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, data := bucket(t, 1000, simstore.Trickle(100, time.Second))
		took(t, "ten pieces", 10*time.Second, func() {
			rc, _, err := b.Get(t.Context(), "k", objstore.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer rc.Close()
			p := make([]byte, len(data))
			if _, err := io.ReadFull(rc, p); err != nil || !bytes.Equal(p, data) {
				t.Error(err)
			}
		})
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ every, n, size int64 }{{1, 0, 10}, {1, 1, 10}, {1, 9, 10}, {3, 5, 10}, {1, 10, 10}, {2, 11, 10}, {1, 0, 0}} {
		for name, m := range map[string]struct {
			cut  func(every, n int64) objstore.Middleware
			want error
		}{"Cut": {simstore.Cut, io.ErrUnexpectedEOF}, "Short": {simstore.Short, nil}} {
			b, data := bucket(t, int(c.size), m.cut(c.every, c.n))
			for i := range int64(6) {
				want, wantErr := data, error(nil)
				if (i+1)%c.every == 0 && c.n < c.size {
					want, wantErr = data[:c.n], m.want
				}
				p, err := read(t.Context(), b, objstore.Range{})
				if !bytes.Equal(p, want) || !errors.Is(err, wantErr) {
					t.Errorf("%s %+v, body %d: %d bytes, %v; want %d, %v", name, c, i+1, len(p), err, len(want), wantErr)
				}
			}
		}
	}
}

func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, data := bucket(t, 100, simstore.Stall(2, 40))
		if p, err := read(t.Context(), b, objstore.Range{}); err != nil || !bytes.Equal(p, data) {
			t.Errorf("the first body: %d bytes, %v", len(p), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		took(t, "the second body", time.Hour, func() {
			p, err := read(ctx, b, objstore.Range{})
			if !errors.Is(err, context.DeadlineExceeded) || !bytes.Equal(p, data[:40]) {
				t.Errorf("the second body: %d bytes, %v", len(p), err)
			}
		})
		// Closing wakes a reader up, as it does over HTTP.
		if _, err := read(t.Context(), b, objstore.Range{}); err != nil {
			t.Error(err)
		}
		rc, _, err := b.Get(t.Context(), "k", objstore.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { rc.Close() })
		took(t, "until it was closed", time.Minute, func() {
			if p, err := io.ReadAll(rc); err == nil || len(p) != 40 {
				t.Errorf("a closed body: %d bytes, %v", len(p), err)
			}
		})
	})
}

func TestFault(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	for _, c := range []struct {
		name  string
		rules []simstore.Rule
		want  []error // of the first gets
	}{
		{"all", []simstore.Rule{{}}, []error{objstore.ErrUnavailable, objstore.ErrUnavailable}},
		{"second", []simstore.Rule{{From: 2, Times: 1, Status: 503}}, []error{nil, objstore.ErrThrottled, nil, nil}},
		{"three times", []simstore.Rule{{Times: 3, Status: 500}}, []error{objstore.ErrUnavailable, objstore.ErrUnavailable, objstore.ErrUnavailable, nil}},
		{"every second", []simstore.Rule{{Every: 2, Status: 403}}, []error{objstore.ErrDenied, nil, objstore.ErrDenied, nil}},
		{"own error", []simstore.Rule{{From: 3, Err: own, Status: 500}}, []error{nil, nil, own, own}},
		{"other operation", []simstore.Rule{{Op: "head"}}, []error{nil, nil}},
		{"other key", []simstore.Rule{{Key: "other"}}, []error{nil, nil}},
		{"two rules", []simstore.Rule{{Op: "get", Times: 1, Status: 404}, {Key: "k", From: 2, Times: 1, Status: 412}}, []error{objstore.ErrNotFound, objstore.ErrChanged, nil}},
	} {
		b, _ := bucket(t, 10, simstore.Fault(c.rules...))
		for i, want := range c.want {
			_, err := read(t.Context(), b, objstore.Range{Len: 3})
			if !errors.Is(err, want) {
				t.Errorf("%s: get %d: want %v, got %v", c.name, i+1, want, err)
			}
			var e *objstore.Error
			if err != nil && (!errors.As(err, &e) || e.Op != "get" || e.Key != "k" || e.Range.Len != 3) {
				t.Errorf("%s: get %d: the error does not say where: %v", c.name, i+1, err)
			}
		}
	}
}

// TestFaultOfEachOperation: a failed commit publishes nothing.
func TestFaultOfEachOperation(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"get", "head", "list", "put", "delete"} {
		mem := memstore.New(memstore.Config{})
		b := simstore.Fault(simstore.Rule{Op: op, Status: 503})(mem)
		got := map[string]error{}
		_, got["put"] = objstore.Put(t.Context(), b, "k", bytes.NewReader([]byte("x")), objstore.PutOptions{})
		if op == "put" {
			if _, err := mem.Head(t.Context(), "k"); !errors.Is(err, objstore.ErrNotFound) {
				t.Errorf("after a failed put: %v", err)
			}
			if _, err := objstore.Put(t.Context(), mem, "k", bytes.NewReader([]byte("x")), objstore.PutOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		_, got["get"] = read(t.Context(), b, objstore.Range{})
		_, got["head"] = b.Head(t.Context(), "k")
		for _, err := range b.List(t.Context(), "") {
			got["list"] = err
		}
		got["delete"] = b.Delete(t.Context(), "k")
		for o, err := range got {
			if errors.Is(err, objstore.ErrThrottled) != (o == op) || err != nil && o != op {
				t.Errorf("fault of %s: %s gives %v", op, o, err)
			}
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	mem := memstore.New(memstore.Config{})
	var calls []string
	b := simstore.Replace(func(ctx context.Context, c simstore.Call) error {
		calls = append(calls, fmt.Sprintf("%d %s %s [%s]", c.N, c.Op, c.Key, c.Range))
		if c.N != 3 {
			return nil
		}
		_, err := objstore.Put(ctx, mem, c.Key, bytes.NewReader([]byte("new")), objstore.PutOptions{})
		return err
	})(mem)
	if _, err := objstore.Put(t.Context(), b, "k", bytes.NewReader([]byte("old")), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		p, err := read(t.Context(), b, objstore.Range{Off: 0, Len: 5})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(p))
	}
	if want := []string{"old", "new", "new"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	if d := cmp.Diff([]string{"1 put k [0+]", "2 get k [0+5]", "3 get k [0+5]", "4 get k [0+5]"}, calls); d != "" {
		t.Error(d)
	}
}

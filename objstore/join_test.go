package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// A joining is an object whose reads are joined, and the ranges that were asked for.
type joining struct {
	*objstore.Object
	mem  *memstore.Bucket
	data []byte

	mu    sync.Mutex
	asked []objstore.Range
}

var joinData = sync.OnceValue(func() []byte { return randomBytes(5 << 20) })

func newJoining(t *testing.T, j *objstore.Joiner, more ...objstore.Middleware) *joining {
	t.Helper()
	x := &joining{mem: memstore.New(memstore.Config{}), data: joinData()}
	put(t, x.mem, "k", x.data)
	watch := objstore.Trace(func(e objstore.Event) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.asked = append(x.asked, e.Range)
	})
	b := objstore.Chain(x.mem, append([]objstore.Middleware{watch}, append(more, simstore.Latency(rtt))...)...)
	x.Object = x.open(t, b, j)
	x.asked = nil
	return x
}

func (x *joining) open(t *testing.T, b objstore.Bucket, j *objstore.Joiner) *objstore.Object {
	t.Helper()
	o, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 1, Join: j})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// get reads n bytes from off on after a time, and compares them.
func (x *joining) get(t *testing.T, ctx context.Context, after time.Duration, off int64, n int) error {
	t.Helper()
	time.Sleep(after)
	p := make([]byte, n)
	if err := x.ReadRanges(ctx, []rangeio.Span{{Off: off, P: p}}); err != nil {
		return err
	}
	if !bytes.Equal(p, x.data[off:off+int64(n)]) {
		t.Errorf("wrong bytes at %d", off)
	}
	return nil
}

func TestJoin(t *testing.T) {
	const ms = time.Millisecond
	type call struct {
		after time.Duration
		off   int64
		n     int
	}
	for _, tc := range []struct {
		name  string
		calls []call
		asked []objstore.Range
		took  time.Duration
	}{
		{"one", []call{{0, 100, 50}}, []objstore.Range{{Off: 100, Len: 50}}, 32 * ms},
		{"the same twice", []call{{0, 100, 50}, {ms, 100, 50}}, []objstore.Range{{Off: 100, Len: 50}}, 32 * ms},
		{"overlapping", []call{{0, 100, 50}, {ms, 120, 100}}, []objstore.Range{{Off: 100, Len: 120}}, 32 * ms},
		{"neighbours", []call{{ms, 100, 50}, {0, 1000, 50}}, []objstore.Range{{Off: 100, Len: 950}}, 32 * ms},
		{"far apart", []call{{0, 100, 50}, {ms, 4 << 20, 50}}, []objstore.Range{{Off: 100, Len: 50}, {Off: 4 << 20, Len: 50}}, 32 * ms},
		{"too late", []call{{0, 100, 50}, {3 * ms, 120, 50}}, []objstore.Range{{Off: 100, Len: 50}, {Off: 120, Len: 50}}, 35 * ms},
		{"a long read does not wait", []call{{0, 100, 2 << 20}}, []objstore.Range{{Off: 100, Len: 2 << 20}}, 30 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			x := newJoining(t, objstore.NewJoiner(0))
			start := time.Now()
			var wg sync.WaitGroup
			for _, c := range tc.calls {
				wg.Go(func() {
					if err := x.get(t, t.Context(), c.after, c.off, c.n); err != nil {
						t.Errorf("%s: %v", tc.name, err)
					}
				})
			}
			wg.Wait()
			took := time.Since(start)
			synctest.Wait()
			if d := cmp.Diff(tc.asked, sorted(x.asked)); d != "" || took != tc.took {
				t.Errorf("%s: %v (want %v), %s", tc.name, took, tc.took, d)
			}
		})
	}
}

func sorted(rs []objstore.Range) []objstore.Range {
	out := append([]objstore.Range(nil), rs...)
	for i := range out {
		for k := range i {
			if out[i].Off < out[k].Off {
				out[i], out[k] = out[k], out[i]
			}
		}
	}
	return out
}

// TestJoinCancelled: a caller who leaves gets the end of its context at once, and its
// memory back. The others get their bytes. A request that nobody waits for ends.
func TestJoinCancelled(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name        string
		end         time.Duration // of the first caller's context
		alone       bool
		asked, lost int
	}{
		{"before the requests", ms / 2, false, 1, 0},
		{"before the requests, alone", ms / 2, true, 0, 0},
		{"with the requests under way", 10 * ms, false, 1, 0},
		{"with the requests under way, alone", 10 * ms, true, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var lost atomic.Int32
			x := newJoining(t, objstore.NewJoiner(0), endings(&lost))
			ctx, cancel := context.WithTimeout(t.Context(), tc.end)
			defer cancel()
			start := time.Now()
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := x.get(t, ctx, 0, 100, 50); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != tc.end {
					t.Errorf("%s: %v after %v", tc.name, err, time.Since(start))
				}
			})
			if !tc.alone {
				wg.Go(func() {
					if err := x.get(t, t.Context(), ms/4, 120, 50); err != nil || time.Since(start) != 32*ms {
						t.Errorf("%s: %v after %v", tc.name, err, time.Since(start))
					}
				})
			}
			wg.Wait()
			time.Sleep(time.Second)
			synctest.Wait()
			if len(x.asked) != tc.asked || int(lost.Load()) != tc.lost {
				t.Errorf("%s: %v asked, %d ended early", tc.name, x.asked, lost.Load())
			}
		})
	}
}

// endings counts the Gets whose context has ended when they fail.
func endings(n *atomic.Int32) objstore.Middleware {
	return objstore.Trace(func(e objstore.Event) {
		if errors.Is(e.Err, context.Canceled) {
			n.Add(1)
		}
	})
}

// TestJoinErrors: each caller gets the error of the requests that it needs, and no other.
func TestJoinErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newJoining(t, objstore.NewJoiner(0), denyAt(100))
		var wg sync.WaitGroup
		for i, off := range []int64{100, 100, 4 << 20} {
			wg.Go(func() {
				err := x.get(t, t.Context(), 0, off, 50)
				if i < 2 && !errors.Is(err, objstore.ErrDenied) || i == 2 && err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if err := x.get(t, t.Context(), 0, 200, 50); err != nil {
			t.Error(err)
		}
	})
}

// TestJoinVersions: handles of one version share requests, those of different versions do
// not, and no caller gets bytes of the other version.
func TestJoinVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := objstore.NewJoiner(0)
		x := newJoining(t, j)
		same := x.open(t, x.Bucket(), j)
		other := append([]byte(nil), x.data...)
		for i := range other {
			other[i] ^= 0xff
		}
		put(t, x.mem, "k", other)
		next := x.open(t, x.Bucket(), j)
		x.asked = nil
		var wg sync.WaitGroup
		for i, o := range []*objstore.Object{x.Object, same, next} {
			wg.Go(func() {
				p := make([]byte, 50)
				err := o.ReadRanges(t.Context(), []rangeio.Span{{Off: 100, P: p}})
				switch {
				case i < 2 && !errors.Is(err, objstore.ErrChanged):
					t.Errorf("handle %d of the version that was replaced: %v", i, err)
				case i == 2 && (err != nil || !bytes.Equal(p, other[100:150])):
					t.Errorf("handle of the new version: %v", err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if len(x.asked) != 2 {
			t.Errorf("%d requests: %v", len(x.asked), x.asked)
		}
	})
}

// TestJoinEach: done is called for each span of each caller, once it is full.
func TestJoinEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newJoining(t, objstore.NewJoiner(0))
		var wg sync.WaitGroup
		for c := range int64(8) {
			wg.Go(func() {
				var spans []rangeio.Span
				for i := range int64(40) {
					spans = append(spans, rangeio.Span{Off: 10 + (i*(97+c)<<10)%(5<<20-9000), P: make([]byte, i*200)})
				}
				calls := make([]int, len(spans))
				err := x.ReadEach(t.Context(), spans, func(i int) error {
					calls[i]++
					if !bytes.Equal(spans[i].P, x.data[spans[i].Off:spans[i].End()]) {
						t.Errorf("caller %d: span %d is not full", c, i)
					}
					return nil
				})
				for i, n := range calls {
					if err != nil || n != 1 {
						t.Fatalf("caller %d: %v, span %d was done %d times", c, err, i, n)
					}
				}
			})
		}
		wg.Wait()
		bad := errors.New("bad")
		if err := x.ReadEach(t.Context(), []rangeio.Span{{Off: 9, P: make([]byte, 5)}}, func(int) error { return bad }); !errors.Is(err, bad) {
			t.Error(err)
		}
	})
}

// denyAt refuses ranges from off on.
func denyAt(off int64) objstore.Middleware {
	return simstore.Replace(func(_ context.Context, c simstore.Call) error {
		if c.Op == "get" && c.Range.Off == off {
			return objstore.ErrDenied
		}
		return nil
	})
}

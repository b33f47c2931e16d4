package functions_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// plays are one for each kind of output.
func plays() map[string]play {
	return map[string]play{
		"gulp": tars(), "b2nd": {arrayKey, b2nd.Format, grid, checkArray}, "blp": {itemKey, bloscpack.Format, logLines, checkLines},
		"zoom": {seriesKey, zoomcache.Format, tide, checkSeries},
	}
}

// virtual are the plays that run in virtual time. Encoders of zstd, which arrays need,
// have channels that are shared with other tests.
func virtual() map[string]play {
	all := plays()
	delete(all, "b2nd")
	return all
}

// handlerOf is the handler of a play.
func handlerOf(p play, in, out objstore.Bucket) *functions.Handler {
	h := handler(in, out)
	h.Rules[0].Format = p.format
	if p.format == zoomcache.Format {
		h.Rules[0].Format, h.Rules[0].Job = "", "zoom"
		h.Jobs["zoom"] = zoom.New(zoom.WriteOptions{}, nil)
	}
	return h
}

// received are events that their queue has delivered n times.
func received(n int, events ...[]byte) []byte {
	return bytes.ReplaceAll(sqsEvent(events...), []byte(`"messageId"`), []byte(fmt.Sprintf(`"attributes":{"ApproximateReceiveCount":"%d"},"messageId"`, n)))
}

// minute handles an event in an invocation of a minute.
func minute(t *testing.T, h *functions.Handler, event []byte) functions.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := h.Handle(ctx, event)
	if err != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	return r
}

// TestSickStore: a store that delays or refuses requests says nothing about the size
// of an upload. The event comes again after any number of tries, is not reported, and
// is done once the store is well.
func TestSickStore(t *testing.T) {
	t.Parallel()
	refuse := &objstore.Error{Op: "get", Status: 503, Code: "SlowDown", Err: objstore.ErrThrottled}
	wait := func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for name, ill := range map[string]func(ctx context.Context) error{
		"slow":               func(ctx context.Context) error { return wait(ctx, 25*time.Second) },
		"very slow":          func(ctx context.Context) error { return wait(ctx, time.Hour) },
		"refuses":            func(context.Context) error { return refuse },
		"refuses in the end": func(ctx context.Context) error { return errors.Join(wait(ctx, 20*time.Second), refuse) },
	} {
		for _, share := range []float64{0.45, 0.8, 1} {
			for kind, p := range virtual() {
				t.Run(fmt.Sprintf("%s/%v/%s", name, share, kind), func(t *testing.T) {
					t.Parallel()
					in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
					event := s3Event(record(p.key, put(t, in, p.key, p.upload(t, 1), nil), 1))
					rng := rand.New(rand.NewPCG(3, uint64(100*share)))
					var mu sync.Mutex // Gets are made side by side if one is slow
					fails := func() bool {
						mu.Lock()
						defer mu.Unlock()
						return rng.Float64() < share
					}
					sick := simstore.Replace(func(ctx context.Context, c simstore.Call) error {
						if c.Op == "get" && fails() {
							return ill(ctx)
						}
						return nil
					})
					done := false
					synctest.Test(t, func(t *testing.T) {
						for n := 1; n <= 4 && !done; n++ {
							h := handlerOf(p, sick(in), out)
							if n == 4 {
								h = handlerOf(p, in, out)
							}
							r := minute(t, h, received(n, event))
							done = r.Packed == 1
							if r.Packed+r.Retry != 1 || r.Failed > 0 {
								t.Errorf("delivery %d: %+v", n, r)
							}
						}
					})
					if !done {
						t.Error("not packed in the end")
					}
					p.check(t, in, out)
				})
			}
		}
	}
}

// TestTrickle: bodies that come byte by byte are as bad as no answer, and so is an
// output whose upload does not get on.
func TestTrickle(t *testing.T) {
	t.Parallel()
	for kind, p := range virtual() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
			event := s3Event(record(p.key, put(t, in, p.key, p.upload(t, 1), nil), 1))
			synctest.Test(t, func(t *testing.T) {
				drip := simstore.Trickle(1, 2*time.Second)
				stuck := simstore.Replace(func(ctx context.Context, c simstore.Call) error {
					if c.Op == "put" {
						<-ctx.Done()
						return ctx.Err()
					}
					return nil
				})
				for n, h := range []*functions.Handler{handlerOf(p, drip(in), out), handlerOf(p, drip(in), out), handlerOf(p, in, stuck(out)), handlerOf(p, in, stuck(out))} {
					if r := minute(t, h, received(n+1, event)); r.Retry != 1 || r.Failed > 0 {
						t.Errorf("delivery %d: %+v", n+1, r)
					}
				}
			})
			if got := keys(out, ""); len(got) > 0 {
				t.Errorf("%q", got)
			}
		})
	}
}

// worked is a job that reads its upload a MiB at a time and works on each for a while.
func worked(a time.Duration, in objstore.Bucket) *functions.Handler {
	h := handler(in, memstore.New(memstore.Config{}))
	h.Jobs["pack"] = func(functions.Rule, objstore.Bucket) (functions.Job, error) { return job{a}, nil }
	h.Command = pack.Command
	return h
}

type job struct{ each time.Duration }

func (j job) Run(ctx context.Context, src objstore.Bucket, u functions.Upload) ([]objstore.Info, error) {
	for off := int64(0); off < u.Size; off += 1 << 20 {
		rc, _, err := src.Get(ctx, u.Key, objstore.GetOptions{Range: objstore.Range{Off: off, Len: 1 << 20}})
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, rc)
		rc.Close()
		if err != nil {
			return nil, err
		}
		select {
		case <-time.After(j.each):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return []objstore.Info{{Key: u.Key}}, nil
}

// TestTooLong: an upload that is too large for an invocation is reported at its second
// delivery, by the bytes that were read and the time of work, also if the store was
// slow for some of the time. An upload that would fit is not reported, however long it
// waited.
func TestTooLong(t *testing.T) {
	t.Parallel()
	const size = 40 // MiB
	for name, c := range map[string]struct {
		each  time.Duration // of work, a MiB
		delay time.Duration // of every fourth GET
		drip  int64         // bytes a second of each body; 0: no limit
		long  bool
	}{
		"work":                       {3 * time.Second, 0, 0, true},
		"a little over":              {1500 * time.Millisecond, 0, 0, true},
		"work, and some waiting":     {3 * time.Second, 5 * time.Second, 0, true},
		"usual answers":              {3 * time.Second, 200 * time.Millisecond, 0, true},
		"a slow line":                {time.Second, 0, 3 << 20, false},
		"a slow line and much work":  {2 * time.Second, 0, 3 << 20, true},
		"would fit but for waiting":  {1200 * time.Millisecond, 5 * time.Second, 0, false},
		"would fit, and waits long":  {1200 * time.Millisecond, 30 * time.Second, 0, false},
		"would not, but only waited": {3 * time.Second, 50 * time.Second, 0, false},
		"bytes hardly come":          {time.Second, 0, 100 << 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := memstore.New(memstore.Config{})
			info := put(t, in, "big.bin", make([]byte, size<<20), nil)
			synctest.Test(t, func(t *testing.T) {
				gets := 0
				slow := simstore.Replace(func(ctx context.Context, call simstore.Call) error {
					if call.Op != "get" {
						return nil
					}
					if gets++; gets%4 != 1 {
						return nil
					}
					select {
					case <-time.After(c.delay):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				h := worked(c.each, objstore.Chain(in, slow, simstore.Bandwidth(c.drip)))
				out, _ := h.Buckets("datasets")
				fits := name == "a slow line"
				for n, want := range []functions.Result{{Retry: 1}, {Retry: 1}} {
					if fits {
						want = functions.Result{Packed: 1}
					} else if n == 1 && c.long {
						want = functions.Result{Failed: 1}
					}
					r := minute(t, h, received(n+1, s3Event(record("big.bin", info, 1))))
					if r.Retry != want.Retry || r.Failed != want.Failed || r.Packed != want.Packed {
						t.Errorf("delivery %d: %+v, %v, not %+v", n+1, r, r.Err, want)
					}
				}
				reports := keys(out, "errors/")
				if c.long != slices.Equal(reports, []string{"errors/big.bin.json"}) {
					t.Fatalf("reports %q", reports)
				}
				if c.long {
					if text := string(body(t, out, reports[0])); !strings.Contains(text, "farread pack 's3://uploads/big.bin'") || !strings.Contains(text, "in waiting for the store") {
						t.Error(text)
					}
				}
			})
		})
	}
}

// TestMargin: if less than the margin is left before the reserve, the next item of a
// batch is given back. If the margin is left, the item is begun.
func TestMargin(t *testing.T) {
	t.Parallel()
	for left, begun := range map[time.Duration]bool{4900 * time.Millisecond: false, 5 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			var ran []string
			h := with(func(_ context.Context, u functions.Upload) ([]objstore.Info, error) {
				ran = append(ran, u.Key)
				if u.Key == "a" {
					time.Sleep(time.Minute - 3*time.Second - left)
				}
				return []objstore.Info{{Key: u.Key}}, nil
			})
			event := func(k string) []byte { return s3Event(record(k, objstore.Info{Size: 1}, 1)) }
			r := minute(t, h, sqsEvent(event("a"), event("b")))
			want, failures := []string{"a"}, []string{"m1"}
			if begun {
				want, failures = []string{"a", "b"}, nil
			}
			if !slices.Equal(ran, want) || !slices.Equal(r.Failures, failures) || r.Retry != len(failures) {
				t.Errorf("%v before the reserve: ran %q, %+v", left, ran, r)
			}
			if !begun && !errors.Is(r.Err, functions.ErrNoTime) {
				t.Error(r.Err)
			}
		})
	}
}

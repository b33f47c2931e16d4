package functions

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/farread/farread/objstore"
)

// retiring is a worker that has outputs of every kind to delete, and the buckets that
// hold them.
type retiring struct {
	src, out *hooked
	run      func(context.Context) error
	want     string // keys that are left in the end
}

// retirings: the version of one worker is current, that of the other is gone. Neither
// has a sequencer, so the source is asked.
func retirings(t *testing.T) map[string]retiring {
	t.Helper()
	all := map[string]retiring{}
	for name, want := range map[string]string{"after": "k.own k/b.x", "replaced": "k.own k.t"} {
		src, out := newHooked(), newHooked()
		now, old := version(set(t, src.Bucket, "k", "x", nil).ETag, ""), version(`"0"`, "")
		set(t, src.Bucket, "note", "x", nil)
		single, row := oneOut("k.s"), rowOut()
		if name == "after" {
			single.Same = func(ctx context.Context) (int, error) {
				_, err := src.Head(ctx, "note")
				return -1, err
			}
			row.Keep = map[string]bool{"k/b.x": true}
			objects{ownKey: now, "k.m": old, "k.d": old, "k.s": now, "k/a.x": old, "k/b.x": now}.put(t, out.Bucket)
			r := retirement(out, pairOut(), single, row)
			all[name] = retiring{src, out, func(ctx context.Context) error { return r.After(ctx, src, now) }, want}
			continue
		}
		objects{ownKey: now, "k.m": old, "k.d": old, "k/a.x": old, "k.t": {}}.put(t, out.Bucket)
		r := Retirement{Bucket: out, Others: []Output{oneOut(ownKey), pairOut(), single, row, oneOut("k.t")}}
		all[name] = retiring{src, out, func(ctx context.Context) error { return r.Replaced(ctx, src, old) }, want}
	}
	return all
}

// nth is a hook that calls do before the n-th call of op, from 0.
func nth(n int, op string, do func() error) func(op, key string) error {
	return func(o, key string) error {
		if o+" "+key != op {
			return nil
		}
		if n--; n == -1 {
			return do()
		}
		return nil
	}
}

// TestRetirementFails: if any request fails, the worker says so, and the next one ends
// the work.
func TestRetirementFails(t *testing.T) {
	t.Parallel()
	for name, sound := range retirings(t) {
		if err := sound.run(t.Context()); err != nil || keysOf(t, sound.out.Bucket) != sound.want {
			t.Fatalf("%s: %s, %v", name, keysOf(t, sound.out.Bucket), err)
		}
		for _, at := range []string{"src", "out"} {
			ops := map[string]*hooked{"src": sound.src, "out": sound.out}[at].ops
			for i, op := range ops {
				n := 0
				for _, before := range ops[:i] {
					if before == op {
						n++
					}
				}
				r := retirings(t)[name]
				hook := nth(n, op, func() error { return objstore.ErrThrottled })
				if at == "src" {
					r.src.fail = hook
				} else {
					r.out.fail = hook
				}
				if err := r.run(t.Context()); !errors.Is(err, objstore.ErrThrottled) || errors.Is(err, ErrOutput) != (at == "out") || errors.Is(err, ErrLeft) {
					t.Errorf("%s, %s: %s, the %d. time: %v", name, at, op, n+1, err)
				}
				if err := r.run(t.Context()); err != nil || keysOf(t, r.out.Bucket) != r.want {
					t.Errorf("%s, %s: %s, the %d. time; then %s, %v", name, at, op, n+1, keysOf(t, r.out.Bucket), err)
				}
			}
		}
	}
}

// TestRetirementLeaves: without the right to delete, or without conditions, the output
// stays and nothing else is tried.
func TestRetirementLeaves(t *testing.T) {
	t.Parallel()
	for _, refused := range []error{objstore.ErrDenied, objstore.ErrInvalid} {
		for name, r := range retirings(t) {
			before := keysOf(t, r.out.Bucket)
			r.out.fail = func(op, _ string) error {
				if op == "delete" {
					return refused
				}
				return nil
			}
			if err := r.run(t.Context()); !errors.Is(err, ErrLeft) || !errors.Is(err, refused) || keysOf(t, r.out.Bucket) != before {
				t.Errorf("%s: %s, %v", name, keysOf(t, r.out.Bucket), err)
			}
			if slices.Contains(r.out.ops, "delete k.d") {
				t.Errorf("%s: data go before their index: %q", name, r.out.ops)
			}
		}
	}
}

// TestRetirementMeets: somebody else changes objects between a look and the delete.
func TestRetirementMeets(t *testing.T) {
	t.Parallel()
	v0, v1, v2, v3 := version(`"0"`, "00"), version(`"1"`, "01"), version(`"2"`, "02"), version(`"3"`, "03")
	for name, c := range map[string]struct {
		there objects
		n     int
		op    string // before its n-th call, from 0
		put   objects
		gone  string
		want  string
	}{
		"another older one":        {objects{"k.s": v0}, 0, "delete k.s", objects{"k.s": v1}, "", "k.own"},
		"a newer one":              {objects{"k.s": v0}, 0, "delete k.s", objects{"k.s": v3}, "", "k.own k.s"},
		"somebody else's":          {objects{"k.s": v0}, 0, "delete k.s", objects{"k.s": {}}, "", "k.own k.s"},
		"it goes":                  {objects{"k.s": v0}, 0, "delete k.s", nil, "k.s", "k.own"},
		"an index over these":      {objects{"k.m": v1, "k.d": v1}, 1, "head k.m", objects{"k.m": v3}, "", "k.d k.m k.own"},
		"an index goes":            {objects{"k.m": v1, "k.d": v1}, 1, "head k.m", nil, "k.m", "k.own"},
		"a member goes":            {objects{"k/a.x": v1, "k/b.x": v1}, 0, "head k/b.x", nil, "k/b.x", "k.own"},
		"a member becomes newer":   {objects{"k/a.x": v1, "k/b.x": v1, "k/c.x": v1}, 2, "head k/b.x", objects{"k/b.x": v3}, "", "k.own k/b.x"},
		"a member is taken":        {objects{"k/a.x": v1, "k/b.x": v1}, 2, "head k/a.x", objects{"k/a.x": {}}, "", "k.own k/a.x"},
		"a member comes meanwhile": {objects{"k/a.x": v1}, 1, "list k/", objects{"k/b.x": v3, "k/c.x": v1}, "", "k.own k/b.x"},
	} {
		out := newHooked()
		objects{ownKey: v2}.put(t, out.Bucket)
		c.there.put(t, out.Bucket)
		did := false
		out.fail = nth(c.n, c.op, func() error {
			did = true
			c.put.put(t, out.Bucket)
			if c.gone == "" {
				return nil
			}
			return out.Delete(t.Context(), c.gone)
		})
		synctest.Test(t, func(t *testing.T) {
			err := retirement(out, pairOut(), oneOut("k.s"), rowOut()).After(t.Context(), nil, v2)
			if got := keysOf(t, out.Bucket); err != nil || !did || got != c.want {
				t.Errorf("%s: %s, want %s; %v\n%s", name, got, c.want, err, strings.Join(out.ops, "\n"))
			}
		})
	}
}

// TestRetirementBusy: if an object changes before every delete, the result is ErrBusy.
// No try begins after the context's end.
func TestRetirementBusy(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} {
		out := newHooked()
		objects{"k.s": version(`"1"`, "01")}.put(t, out.Bucket)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tries := 0
			out.fail = func(op, key string) error {
				if op == "delete" {
					tries++
					objects{key: version(`"1"`, "01")}.put(t, out.Bucket)
					if ends {
						cancel()
						return objstore.ErrChanged
					}
				}
				return nil
			}
			err := retirement(out, oneOut("k.s")).After(ctx, nil, version(`"2"`, "02"))
			want, most := ErrBusy, maxTries
			if ends {
				want, most = context.Canceled, 1
			}
			if !errors.Is(err, want) || errors.Is(err, ErrOutput) || tries != most {
				t.Errorf("%d tries, %v", tries, err)
			}
			if last := out.ops[len(out.ops)-1]; last != "delete k.s" {
				t.Errorf("%s after the end", last)
			}
		})
	}
}

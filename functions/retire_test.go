package functions_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

const mixedKey = "any/a b+c.bin"

// mixed is the play of an upload whose content changes its kind.
func mixed() play { return play{mixedKey, "", anything, checkMixed} }

// anything is an upload of a kind that depends on n.
func anything(tb testing.TB, n int) []byte {
	tb.Helper()
	switch n % 3 {
	case 0:
		return upload(tb, n)
	case 1:
		return grid(tb, n)
	}
	return bytes.Repeat([]byte{0, byte(n)}, 50)
}

// either is a tar or bytes. It makes no arrays, for tests in virtual time: encoders of
// zstd have channels that are shared with other tests.
func either(tb testing.TB, n int) []byte {
	tb.Helper()
	return anything(tb, []int{3, 2}[n%2])
}

// checkMixed: there is one output, of the kind of the newest upload and made of it.
func checkMixed(t *testing.T, in, out objstore.Bucket) {
	t.Helper()
	data := body(t, in, mixedKey)
	want := []string{mixedKey + ".gmeta", mixedKey + ".gulp"}
	switch {
	case bytes.HasPrefix(data, []byte("\x93NUMPY")):
		want = []string{mixedKey + ".b2nd"}
	case data[0] == 0:
		want = []string{mixedKey + ".blp"}
	}
	if d := cmp.Diff(want, keys(out, "")); d != "" {
		t.Fatal(d)
	}
	src, err := in.Head(context.Background(), mixedKey)
	if err != nil {
		t.Fatal(err)
	}
	info, err := out.Head(context.Background(), want[0])
	if err != nil {
		t.Fatal(err)
	}
	if of, _ := functions.SourceOf(info.Meta); of.ETag != src.ETag || of.VersionID != src.VersionID {
		t.Errorf("made of %+v, not of %+v", of, src)
	}
}

// TestMixedStorm is TestStorm for an upload whose content changes its kind.
func TestMixedStorm(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]memstore.Config{"plain": {}, "versions": {Versioned: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds(20) {
				config.Name = "mem://uploads"
				in := &contentTags{b: memstore.New(config)}
				config.Name = "mem://datasets"
				out := &contentTags{b: memstore.New(config)}
				storm(t, mixed(), in, jittery{out}, uint64(round))
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

// npz is a zip of arrays with these names.
func npz(tb testing.TB, names string, seed int) []byte {
	tb.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range strings.Fields(names) {
		w, err := z.Create(name + ".npy")
		if err == nil {
			_, err = w.Write(grid(tb, seed))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestKinds: the outputs after a row of uploads under one key, and the other objects
// in the bucket, which must stay.
func TestKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key, format string
		uploads     []func(testing.TB) []byte
		deliver     []int // events, from 1; nil: each in its order
		named       bool  // by name instead of events
		want        string
	}{
		"array, bytes":            {key: "x.bin", uploads: of(1, 2), want: "x.bin.blp"},
		"array, bytes, by name":   {key: "x.bin", uploads: of(1, 2), named: true, want: "x.bin.blp"},
		"bytes, gulp":             {key: "x.bin", uploads: of(2, 3), want: "x.bin.gmeta x.bin.gulp"},
		"gulp, array":             {key: "x.bin", uploads: of(3, 1), want: "x.bin.b2nd"},
		"all of them":             {key: "x.bin", uploads: of(1, 2, 3, 4, 5, 6, 7), want: "x.bin.b2nd"},
		"twice":                   {key: "x.bin", uploads: of(1, 2), deliver: []int{1, 2, 1, 2, 1}, want: "x.bin.blp"},
		"late":                    {key: "x.bin", uploads: of(1, 2), deliver: []int{2, 1}, want: "x.bin.blp"},
		"a rule leaves one kind":  {key: "x.bin", format: "bloscpack", uploads: of(1, 2, 3), want: "x.bin.blp"},
		"a member goes":           {key: "x.npz", uploads: zips("a b c", "a c"), want: "x.npz/a.b2nd x.npz/c.b2nd"},
		"a member goes, by rule":  {key: "x.npz", format: "b2nd", uploads: zips("a b c", "a c"), want: "x.npz/a.b2nd x.npz/c.b2nd"},
		"a member goes, by name":  {key: "x.npz", uploads: zips("a b c", "d"), named: true, want: "x.npz/d.b2nd"},
		"a member goes, any name": {key: "x.bin", uploads: zips("a b c", "a c"), want: "x.bin/a.b2nd x.bin/c.b2nd"},
		"members, array, by rule": {key: "x.npz", format: "b2nd", uploads: append(zips("a b"), of(1)...), want: "x.npz.b2nd"},
		"array, members, by rule": {key: "x.npz", format: "b2nd", uploads: append(of(1), zips("a b")...), want: "x.npz/a.b2nd x.npz/b.b2nd"},
		"members, late":           {key: "x.npz", uploads: zips("a b c", "a c"), deliver: []int{2, 1}, want: "x.npz/a.b2nd x.npz/c.b2nd"},
		"members, then one array": {key: "x.npz", uploads: append(zips("a b"), of(1)...), want: "x.npz.b2nd"},
		"one array, then members": {key: "x.zip", uploads: append(of(1), zips("a b")...), want: "x.zip/a.b2nd x.zip/b.b2nd"},
		"members, then a gulp":    {key: "x.zip", uploads: append(zips("a b"), of(3)...), want: "x.zip.gmeta x.zip.gulp"},
	} {
		for _, versioned := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", name, versioned), func(t *testing.T) {
				t.Parallel()
				in := &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads", Versioned: versioned})}
				out := &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets", Versioned: versioned})}
				// Objects of somebody else, and of other uploads.
				put(t, out, c.key+".other", []byte("theirs"), nil)
				put(t, out, c.key+"/deep/theirs.b2nd", []byte("theirs"), nil)
				neighbour := map[string]string{functions.MetaMarker: "1", functions.MetaSource: "uploads", functions.MetaKey: c.key + "%2Fz", functions.MetaETag: `"0"`, functions.MetaSequencer: "000000"}
				put(t, out, c.key+"/z.b2nd", []byte("of the upload "+c.key+"/z"), neighbour)
				h := handler(in, out)
				h.Rules[0].Format = c.format
				var events [][]byte
				handle := func(e []byte) {
					r, err := h.Handle(t.Context(), e)
					if err != nil || r.Failed > 0 {
						t.Errorf("%+v, %v", r, err)
					}
				}
				for i, data := range c.uploads {
					e := s3Event(record(c.key, put(t, in, c.key, data(t), nil), i+1))
					if c.named {
						e = byName(c.key, "")
					}
					if events = append(events, e); c.deliver == nil {
						handle(e)
					}
				}
				for _, n := range c.deliver {
					handle(events[n-1])
				}
				want := append(strings.Fields(c.want), c.key+".other", c.key+"/deep/theirs.b2nd", c.key+"/z.b2nd")
				slices.Sort(want)
				if d := cmp.Diff(want, keys(out, "")); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// of are uploads of kinds; see anything.
func of(ns ...int) (all []func(testing.TB) []byte) {
	for _, n := range ns {
		all = append(all, func(tb testing.TB) []byte { tb.Helper(); return anything(tb, n) })
	}
	return all
}

func zips(names ...string) (all []func(testing.TB) []byte) {
	for i, n := range names {
		all = append(all, func(tb testing.TB) []byte { tb.Helper(); return npz(tb, n, i) })
	}
	return all
}

// TestRetireWithout: a worker that may not delete, or that is killed before it does,
// has packed the upload all the same. The first leaves the other output and says so.
// After the second the event comes again, and that worker ends the work.
func TestRetireWithout(t *testing.T) {
	t.Parallel()
	in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
	first := s3Event(record(mixedKey, put(t, in, mixedKey, anything(t, 1), nil), 1))
	if r, err := handlerOf(mixed(), in, out).Handle(t.Context(), first); err != nil || r.Packed != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	second := s3Event(record(mixedKey, put(t, in, mixedKey, anything(t, 2), nil), 2))
	both := []string{mixedKey + ".b2nd", mixedKey + ".blp"}
	// The store fails at the delete: the output is there, the event comes again.
	h := handlerOf(mixed(), in, simstore.Fault(simstore.Rule{Op: "delete"})(out))
	if r, err := h.Handle(t.Context(), second); err == nil || r.Retry != 1 || !cmp.Equal(keys(out, ""), both) {
		t.Errorf("%+v, %v, %q", r, err, keys(out, ""))
	}
	var warned string
	h = handlerOf(mixed(), in, simstore.Fault(simstore.Rule{Op: "delete", Status: 403})(out))
	h.Jobs["pack"] = pack.New(pack.Options{Warn: func(key, text string) { warned = key + ": " + text }})
	if r, err := h.Handle(t.Context(), second); err != nil || r.Unchanged != 1 || !cmp.Equal(keys(out, ""), both) {
		t.Errorf("%+v, %v, %q", r, err, keys(out, ""))
	}
	if !strings.HasPrefix(warned, mixedKey+": ") || !strings.Contains(warned, mixedKey+".b2nd") || !strings.Contains(warned, "access denied") {
		t.Errorf("warned: %q", warned)
	}
	h.Jobs["pack"] = pack.New(pack.Options{}) // no callback takes the remark
	if r, err := h.Handle(t.Context(), second); err != nil || r.Unchanged != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := handlerOf(mixed(), in, out).Handle(t.Context(), second); err != nil || r.Unchanged != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	checkMixed(t, in, out)
}

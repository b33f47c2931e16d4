package b2nd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/stats"
	"github.com/farread/farread/rangeio"
)

// sidecarOf is an index beside an object with the ETag "e".
func sidecarOf(side []byte) func(context.Context) (rangeio.Reader, string, error) {
	return func(context.Context) (rangeio.Reader, string, error) { return reader(side), "e", nil }
}

// statLists returns the statistics of an array: of all of it, its chunks and its blocks, for
// all columns. It is nil if it has none.
func statLists(t *testing.T, a *b2nd.Array) [][]stats.Stat {
	t.Helper()
	s, err := a.Statistics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		return nil
	}
	var cols, chunks []int
	for i := range s.Columns() {
		cols = append(cols, i)
	}
	for i := range a.Frame().Chunks() {
		chunks = append(chunks, i)
	}
	all, err := s.All(t.Context(), cols)
	out := [][]stats.Stat{all}
	add := func(_ int, list []stats.Stat) error {
		out = append(out, slices.Clone(list))
		return nil
	}
	err = errors.Join(err, s.Chunks(t.Context(), cols, chunks, add))
	if s.HasBlocks() {
		err = errors.Join(err, s.Blocks(t.Context(), cols, chunks, add))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkStats compares the statistics inside an edited array with those that are made anew of
// all of it, and the index with the frame.
func checkStats(t *testing.T, what string, p []byte) {
	t.Helper()
	a, err := b2nd.Open(t.Context(), reader(p), b2nd.Options{})
	if err != nil {
		t.Fatal(what, err)
	}
	got := statLists(t, a)
	if info, err := a.Frame().Index(t.Context()); err != nil || !info.Inside || info.Size == 0 || got == nil {
		t.Fatalf("%s: %+v, %v, statistics %t", what, info, err, got != nil)
	}
	bare, err := b2nd.Open(t.Context(), reader(withoutTrailer(t, p)), b2nd.Options{})
	if err != nil {
		t.Fatal(what, err)
	}
	side, err := bare.BuildIndex(t.Context(), "e", nil)
	if err != nil {
		t.Fatal(what, err)
	}
	bare.Frame().Sidecar(sidecarOf(side))
	if d := cmp.Diff(statLists(t, bare), got); d != "" {
		t.Fatalf("%s: other statistics: %s", what, d)
	}
	if r, err := a.Verify(t.Context(), nil); err != nil || r.Statistics == 0 || r.Index.Size == 0 {
		t.Fatalf("%s: %+v, %v", what, r, err)
	}
}

// withoutTrailer makes the index inside a frame stale, as c-blosc2 does with every edit.
func withoutTrailer(t *testing.T, p []byte) []byte {
	t.Helper()
	p = bytes.Clone(p)
	clear(p[len(p)-17:])
	return p
}

// edited is an array of 6 x 6 chunks of 4 blocks of items of two fields.
func edited(t *testing.T, o b2nd.WriteOptions) []byte {
	t.Helper()
	m := b2nd.Meta{Shape: []int64{370, 380}, ChunkShape: []int{64, 64}, BlockShape: []int{16, 64}, DType: "[('a', '<f4'), ('b', '<i2')]"}
	r := rand.New(rand.NewPCG(7, 8))
	items := make([]byte, 370*380*6)
	for i := range items {
		items[i] = byte(r.Uint32())
	}
	o.Encode = blosc.EncodeOptions{Codec: blosc.LZ4}
	return build(t, m, items, o)
}

// edits are changes of such an array, each with a commit of its own.
func edits(t *testing.T) map[string]func(e *b2nd.Editor) error {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 1))
	rows := func(n int64) []byte {
		p := make([]byte, n*6)
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		return p
	}
	return map[string]func(e *b2nd.Editor) error{
		"write": func(e *b2nd.Editor) error { return e.WriteSlice(b2nd.Sub([]int64{20, 30}, []int64{21, 50}), rows(20)) },
		"zeros": func(e *b2nd.Editor) error {
			return e.WriteSlice(b2nd.Sub([]int64{64, 64}, []int64{128, 128}), make([]byte, 4096*6))
		},
		"extend": func(e *b2nd.Editor) error { return e.Extend(rows(3 * e.Meta().Shape[1])) },
		"grow":   func(e *b2nd.Editor) error { return e.Resize([]int64{e.Meta().Shape[0] + 100, 390}) },
		"shrink": func(e *b2nd.Editor) error { return e.Resize([]int64{350, 370}) },
		"regrown": func(e *b2nd.Editor) error {
			return errors.Join(e.Resize([]int64{340, 380}), e.Resize([]int64{370, 380}))
		},
		"twice": func(e *b2nd.Editor) error {
			return errors.Join(e.Extend(rows(e.Meta().Shape[1])), e.Commit(), e.WriteSlice(b2nd.Sub([]int64{370, 70}, []int64{371, 75}), rows(5)), e.Commit(),
				e.WriteSlice(b2nd.Sub([]int64{0, 0}, []int64{1, 1}), rows(1)))
		},
	}
}

// TestEditStatistics: after each commit the statistics inside an array are those that its
// items have, of whatever was changed, and of what was not.
func TestEditStatistics(t *testing.T) {
	t.Parallel()
	p := edited(t, b2nd.WriteOptions{Index: cframe.WithIndex})
	checkStats(t, "as written", p)
	for name, change := range edits(t) {
		f := &file{bytes.Clone(p)}
		e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{})
		if err == nil {
			err = errors.Join(change(e), e.Close())
		}
		if err != nil {
			t.Fatal(name, err)
		}
		checkStats(t, name, f.b)
		f.b = withoutTrailer(t, f.b) // then somebody else edits it
		for _, all := range []bool{false, true} {
			g := &file{bytes.Clone(f.b)}
			e, err := b2nd.Edit(t.Context(), g, b2nd.EditOptions{Statistics: all})
			if err == nil {
				err = errors.Join(edits(t)["write"](e), e.Close())
			}
			if err != nil {
				t.Fatal(name, err)
			}
			if all {
				checkStats(t, name+" after an edit by others", g.b)
				continue
			}
			a, err := b2nd.Open(t.Context(), reader(g.b), b2nd.Options{})
			if err != nil {
				t.Fatal(name, err)
			}
			if r, err := a.Verify(t.Context(), nil); err != nil || r.Index.Size == 0 || r.Statistics != 0 {
				t.Errorf("%s after an edit by others: %+v, %v", name, r, err)
			}
		}
	}
}

// TestEditIndexBeside: an array whose index lies beside it gets one inside, if it is asked for.
func TestEditIndexBeside(t *testing.T) {
	t.Parallel()
	for _, o := range []b2nd.EditOptions{{}, {Index: cframe.WithIndex}, {Index: cframe.WithIndex, Statistics: true}} {
		f := &file{edited(t, b2nd.WriteOptions{})}
		e, err := b2nd.Edit(t.Context(), f, o)
		if err == nil {
			err = errors.Join(edits(t)["write"](e), e.Commit(), edits(t)["extend"](e), e.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		if o.Statistics {
			checkStats(t, "made", f.b)
			continue
		}
		a, err := b2nd.Open(t.Context(), reader(f.b), b2nd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := a.Verify(t.Context(), nil); err != nil || r.Index.Size > 0 != (o.Index == cframe.WithIndex) || r.Statistics != 0 {
			t.Errorf("%+v: %+v, %v", o, r, err)
		}
	}
}

// TestEditSidecar: an array whose index lies beside it gets one inside with the statistics that
// that has, whatever is changed; one of another version is not used.
func TestEditSidecar(t *testing.T) {
	t.Parallel()
	p := edited(t, b2nd.WriteOptions{})
	a, err := b2nd.Open(t.Context(), reader(p), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	side, err := a.BuildIndex(t.Context(), "e", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range edits(t) {
		for _, draft := range []bool{false, true} {
			if draft && name == "twice" {
				continue
			}
			f := &file{bytes.Clone(p)}
			e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{Sidecar: sidecarOf(side), Draft: draft})
			if err == nil {
				err = errors.Join(change(e), e.Close())
			}
			if err != nil || !e.Frame().Indexed() {
				t.Fatal(name, draft, err)
			}
			checkStats(t, name, f.b)
		}
	}
	f := &file{bytes.Clone(p)}
	e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{Draft: true, Sidecar: func(context.Context) (rangeio.Reader, string, error) {
		return reader(side), "another", nil
	}})
	if err == nil {
		err = errors.Join(edits(t)["extend"](e), e.Close())
	}
	if err != nil || e.Frame().Indexed() {
		t.Errorf("of another version: %v, %t", err, e.Frame().Indexed())
	}
}

// TestEditDamagedStatistics: damage in the statistics of an array fails no edit, and hides no item.
func TestEditDamagedStatistics(t *testing.T) {
	t.Parallel()
	p := edited(t, b2nd.WriteOptions{Index: cframe.WithIndex})
	a, err := b2nd.Open(t.Context(), reader(p), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := a.Frame().Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for at := len(p) - int(info.Size) - 4<<10; at < len(p); at += 97 {
		f := &file{bytes.Clone(p)}
		f.b[at] ^= 16
		e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{})
		if err != nil {
			continue // offsets, and the chunks before them
		}
		if err := errors.Join(edits(t)["extend"](e), e.Close()); err != nil {
			t.Fatal(at, err)
		}
		b, err := b2nd.Open(t.Context(), reader(f.b), b2nd.Options{})
		if err != nil {
			t.Fatal(at, err)
		}
		if r, err := b.Verify(t.Context(), nil); err != nil && r.Index.Size == 0 {
			t.Fatalf("byte %d: %+v, %v", at, r, err)
		} else if err == nil && r.Statistics > 0 {
			kept++
		}
	}
	if kept == 0 {
		t.Error("no statistics are kept")
	}
}

// TestCompactStatistics: a copy without dead bytes has the statistics of what it copies, whether
// the index lies inside or beside.
func TestCompactStatistics(t *testing.T) {
	t.Parallel()
	for _, inside := range []bool{true, false} {
		o := b2nd.WriteOptions{}
		if inside {
			o.Index = cframe.WithIndex
		}
		p := edited(t, o)
		a, err := b2nd.Open(t.Context(), reader(p), b2nd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !inside {
			side, err := a.BuildIndex(t.Context(), "e", nil)
			if err != nil {
				t.Fatal(err)
			}
			a.Frame().Sidecar(sidecarOf(side))
		}
		var out memory
		if err := cframe.Compact(t.Context(), &out, a.Frame()); err != nil {
			t.Fatal(err)
		}
		checkStats(t, fmt.Sprintf("inside %t", inside), out.Bytes())
	}
}

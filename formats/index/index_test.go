package index

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

// sample is an index of two sections, and what their pages hold.
func sample(tb testing.TB, bind Binding, pages int) (ix Built, want [][]byte) {
	tb.Helper()
	var b Builder
	r := rand.New(rand.NewPCG(1, 2))
	var list []*SectionBuilder
	for k := range int64(2) {
		s := b.Section(Name{Kind: 1, Of: -5, Level: k})
		for i := range int64(pages) {
			q := make([]byte, r.IntN(900))
			for j := range q {
				q[j] = byte(r.IntN(256))
			}
			s.Add(i*100-50, i*100+49, 100, q)
			want = append(want, q)
		}
		list = append(list, s)
	}
	held := b.Held()
	ix, err := b.finish(list, bind, []byte("meta"))
	if err != nil || held < ix.Len/2 {
		tb.Fatal(held, err)
	}
	return ix, want
}

func reader(p []byte) rangeio.Reader { return rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))) }

// readAll opens an index and reads all of its pages.
func readAll(tb testing.TB, p []byte, o Options) (*Index, [][]byte, error) {
	tb.Helper()
	ix, err := Open(tb.Context(), reader(p), o)
	if err != nil {
		return nil, nil, err
	}
	parts := make([]Parts, 0, len(ix.Sections))
	for i := range ix.Sections {
		parts = append(parts, Parts{&ix.Sections[i], 0, len(ix.Sections[i].Pages)})
	}
	got, err := ix.Pages(tb.Context(), parts...)
	return ix, got, err
}

// TestReadBack reads what was built, whatever of it the first read brings.
func TestReadBack(t *testing.T) {
	t.Parallel()
	bind := Binding{Size: 12345, ETag: `"e"`}
	ix, want := sample(t, bind, 60)
	p := Beside(ix, 777)
	for _, tail := range []int64{1, 100, 1000, 1 << 20} {
		got, pages, err := readAll(t, p, Options{Tail: tail, Bind: bind})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, pages, cmp.Comparer(bytes.Equal)); d != "" {
			t.Error(d)
		}
		s := got.Section(Name{Kind: 1, Of: -5, Level: 1})
		if i, j := s.Over(250, 449); i != 3 || j != 5 || string(got.Meta) != "meta" || got.Trailer.Plain != 777 {
			t.Errorf("pages [%d, %d), %q, %+v", i, j, got.Meta, got.Trailer)
		}
		if err := got.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, o := range []Binding{{}, {Size: 12345}, {Size: 12344, ETag: `"e"`}, {Size: 12345, ETag: `"f"`}} {
		if _, err := Open(t.Context(), reader(p), Options{Bind: o}); !errors.Is(err, ErrUnusable) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestWeak: an index is bound by a strong ETag or by none at all, inside its file. One that
// names a weak one, or none, is not believed by a reader that finds the same.
func TestWeak(t *testing.T) {
	t.Parallel()
	for bind, good := range map[Binding]bool{{}: true, {Size: 9, ETag: `"W/"`}: true, {Size: 9}: false,
		{Size: 9, ETag: `W/"e"`}: false, {ETag: `W/"e"`}: false} {
		var b Builder
		if _, err := b.Finish(nil, bind, nil); good != (err == nil) || !good && !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%+v: made, %v", bind, err)
		}
		ix, _ := sample(t, bind, 3)
		if _, _, err := readAll(t, Beside(ix, 9), Options{Bind: bind}); good != (err == nil) || !good && !errors.Is(err, ErrUnusable) {
			t.Errorf("%+v: opened, %v", bind, err)
		}
	}
}

// TestDamage: every cut and every flipped bit is found, by the pages that it hits
// or, in what no read looks at, by Verify.
func TestDamage(t *testing.T) {
	t.Parallel()
	ix, want := sample(t, Binding{}, 3)
	p := Beside(ix, 7)
	check := func(q []byte, what int) {
		got, pages, err := readAll(t, q, Options{Tail: 200})
		if err == nil {
			if err = got.Verify(t.Context()); err == nil && got.Trailer.Plain == 7 {
				t.Fatalf("%d: nothing is found", what)
			}
			if d := cmp.Diff(want, pages, cmp.Comparer(bytes.Equal)); d != "" {
				t.Fatalf("%d: other pages: %s", what, d)
			}
			return
		}
		if !errors.Is(err, ErrUnusable) {
			t.Fatalf("%d: %v", what, err)
		}
	}
	for n := range p {
		check(p[:n], n)
	}
	for i := range 8 * len(p) {
		q := bytes.Clone(p)
		q[i/8] ^= 1 << (i % 8)
		check(q, i)
	}
}

// FuzzOpen: whatever an index is, it is read or refused.
func FuzzOpen(f *testing.F) {
	ix, _ := sample(f, Binding{}, 3)
	p := Beside(ix, 7)
	f.Add(p, p[len(p)-TrailerLen-200:len(p)-TrailerLen])
	f.Fuzz(func(t *testing.T, p, dir []byte) {
		if _, _, err := readAll(t, p, Options{}); err != nil && !errors.Is(err, ErrUnusable) {
			t.Fatal(err)
		}
		x := &Index{dir: 1 << 20} // a directory that its checksum passes
		if err := x.parse(dir, Binding{}, false); err != nil && !errors.Is(err, ErrUnusable) {
			t.Fatal(err)
		}
	})
}

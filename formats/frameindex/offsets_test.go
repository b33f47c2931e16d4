package frameindex

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/index"
)

// layouts are places of n chunks, of the kinds that writers and editors leave.
func layouts(n int) map[string][]Place {
	r := rand.New(rand.NewPCG(1, 2))
	out := map[string][]Place{}
	one := func(name string, next func(i int, end int64) Place) {
		var list []Place
		end := int64(0)
		for i := range n {
			p := next(i, end)
			if p.Special == blosc.None {
				end = p.Off + p.Size
			}
			list = append(list, p)
		}
		out[name] = list
	}
	one("equal", func(_ int, end int64) Place { return Place{Off: end, Size: 500} })
	one("noisy", func(_ int, end int64) Place { return Place{Off: end, Size: 900 + r.Int64N(200)} })
	one("large", func(_ int, end int64) Place { return Place{Off: end, Size: 1<<20 + r.Int64N(1<<18)} })
	one("holes", func(_ int, end int64) Place {
		return Place{Off: end + r.Int64N(2)*r.Int64N(1<<16), Size: 50 + r.Int64N(100)}
	})
	one("special", func(i int, end int64) Place {
		if k := i * 5 / n; k%2 == 1 || r.IntN(9) == 0 {
			return Place{Special: []blosc.Special{blosc.Zeros, blosc.NaN, blosc.Uninit}[r.IntN(3)]}
		}
		return Place{Off: end, Size: 32 + r.Int64N(64)}
	})
	one("nothing", func(int, int64) Place { return Place{Special: blosc.Zeros} })
	mixed := slices.Clone(out["noisy"])
	r.Shuffle(n, func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	out["reordered"] = mixed
	out["last"] = append(slices.Clone(out["equal"][1:]), out["equal"][0])
	return out
}

func buildPlaces(tb testing.TB, list []Place) []byte {
	tb.Helper()
	var b Builder
	for range list {
		b.Add(nil)
	}
	b.DropHeads()
	b.SetPlaces(func(i int) Place { return list[i] })
	ix, err := b.Finish(State{Sum{1, 2}, Sum{3}}, index.Binding{Size: 9, ETag: "e"})
	if err != nil {
		tb.Fatal(err)
	}
	return index.Beside(ix, 0)
}

// TestPlaces: places come back, any of them from one page, and a chunk lies within what is
// guessed without one. A place takes few bytes, and the marks come with a short tail.
func TestPlaces(t *testing.T) {
	t.Parallel()
	most := map[string]float64{"equal": 1.1, "noisy": 2.1, "large": 3.1, "holes": 4.5, "special": 2.1, "nothing": 1.1, "reordered": 6, "last": 1.1}
	for _, n := range []int{1, 2, 4095, 4097, 40_000} {
		for name, list := range layouts(n) {
			p := buildPlaces(t, list)
			o := options(n)
			o.Tail = 12 << 10
			c := &counting{Reader: reader(p)}
			x, err := Open(t.Context(), c, o)
			if err != nil || c.n != 1 || !x.HasPlaces() || x.HasHeads() {
				t.Fatalf("%s of %d: %v, %d reads", name, n, err, c.n)
			}
			if size := float64(len(p)-marksBytes) / float64(n); n > 10_000 && size > most[name] {
				t.Errorf("%s: %.2f bytes a chunk", name, size)
			}
			widest := int64(0)
			for i, want := range list {
				from, to, mean := x.Guess(i)
				if want.Special == blosc.None && (want.Off < from || want.Off+want.Size > to) || from < 0 || mean < 0 {
					t.Fatalf("%s: chunk %d of %d, %+v, is not in [%d, %d)", name, i, n, want, from, to)
				}
				widest = max(widest, to-from)
			}
			t.Logf("%s of %d: %d bytes, guesses up to %d", name, n, len(p), widest)
			every := make([]int, n)
			for i := range every {
				every[i] = i
			}
			for _, want := range [][]int{{n - 1}, {n / 2, n / 2}, every} {
				before := c.n
				var got []Place
				missing := x.PlacesMissing(want)
				err := x.Places(t.Context(), want, func(k int, p Place) error {
					if k != len(got) || p != list[want[k]] {
						t.Fatalf("%s: chunk %d is at %+v, not %+v", name, want[k], p, list[want[k]])
					}
					got = append(got, p)
					return nil
				})
				if err != nil || len(got) != len(want) || c.n-before > 1 || missing == 0 != (c.n == before) {
					t.Fatalf("%s: %d of %d, %d reads, %d bytes, %v", name, len(got), len(want), c.n-before, missing, err)
				}
			}
		}
	}
}

// TestPlacesDamaged: a flipped bit anywhere is an index that cannot be used, never another
// place.
func TestPlacesDamaged(t *testing.T) {
	t.Parallel()
	list := layouts(30)["special"]
	p := buildPlaces(t, list)
	every := make([]int, len(list))
	for i := range every {
		every[i] = i
	}
	for i := range 8 * len(p) {
		q := slices.Clone(p)
		q[i/8] ^= 1 << (i % 8)
		x, err := Open(t.Context(), reader(q), options(len(list)))
		if err == nil {
			err = x.Places(t.Context(), every, func(k int, p Place) error {
				if p != list[k] {
					t.Fatalf("bit %d: chunk %d at %+v", i, k, p)
				}
				return nil
			})
		}
		if err != nil && !errors.Is(err, index.ErrUnusable) {
			t.Fatal(err)
		}
	}
}

// FuzzPlaces: whatever a page and marks hold under right checksums, places have a sound
// form, and come back the same when they are written again; or the index is unusable.
func FuzzPlaces(f *testing.F) {
	for _, name := range []string{"equal", "noisy", "special", "reordered"} {
		var last lastPlace
		var p []byte
		list := layouts(9)[name]
		for _, q := range list {
			p = last.append(p, q)
		}
		f.Add(p, appendMarks(9, func(i int) Place { return list[i] }))
	}
	f.Fuzz(func(t *testing.T, p, m []byte) {
		const n = 9
		var b index.Builder
		s, ms := b.Section(index.Name{Kind: sectionPlaces}), b.Section(index.Name{Kind: sectionMarks})
		s.Add(0, n-1, n, p)
		ms.Add(0, n-1, n, m)
		meta := append(append([]byte{metaVersion, n, 1, 2}, make([]byte, 14)...), append([]byte{3}, make([]byte, 15)...)...)
		ix, err := b.Finish([]*index.SectionBuilder{s, ms}, options(n).Bind, meta)
		if err != nil {
			t.Fatal(err)
		}
		x, err := Open(t.Context(), reader(index.Beside(ix, 0)), options(n))
		var got []Place
		if err == nil {
			for i := range n {
				if from, _, mean := x.Guess(i); from < 0 || mean < 0 {
					t.Fatalf("chunk %d at %d, of %d", i, from, mean)
				}
			}
			err = x.Places(t.Context(), []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, func(_ int, p Place) error {
				if p.Special == blosc.None && (p.Off < 0 || p.Size <= 0 || p.Off+p.Size < 0) {
					t.Fatalf("%+v", p)
				}
				got = append(got, p)
				return nil
			})
		}
		if err != nil && !errors.Is(err, index.ErrUnusable) {
			t.Fatal(err)
		}
		var last, back lastPlace
		var again []byte
		for _, p := range got {
			again = last.append(again, p)
		}
		d := pageOf(again)
		for i, p := range got {
			if q, ok := back.next(&d); !ok || q != p {
				t.Fatalf("place %d: %+v, was %+v", i, q, p)
			}
		}
	})
}

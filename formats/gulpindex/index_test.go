package gulpindex_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/rangeio"
)

func reader(p []byte) rangeio.Reader {
	return rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p)))
}

// A made is a chunk with the objects that it lies in.
type made struct {
	data, meta []byte
	c          *gulp.Chunk
	pair       gulpindex.Pair
}

func chunkOf(tb testing.TB, data, meta []byte) made {
	tb.Helper()
	c, err := gulp.Open(tb.Context(), reader(meta), reader(data), gulp.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return made{data, meta, c, gulpindex.Pair{Data: gulpindex.Version{Size: int64(len(data)), ETag: "d"}, Meta: gulpindex.Version{Size: int64(len(meta)), ETag: "m"}}}
}

func fixture(tb testing.TB, dir string, n int) made {
	tb.Helper()
	at := filepath.Join("..", "gulp", "testdata", "chunks", dir)
	data, err := os.ReadFile(filepath.Join(at, fmt.Sprintf("data_%d.gulp", n)))
	meta, err2 := os.ReadFile(filepath.Join(at, fmt.Sprintf("meta_%d.gmeta", n)))
	if err := errors.Join(err, err2); err != nil {
		tb.Fatal(err)
	}
	return chunkOf(tb, data, meta)
}

// written makes a chunk of ids, in a shuffled order if seed is not 0, with frames of a
// few bytes of each. Frames of two ids are interleaved now and then.
func written(tb testing.TB, seed uint64, ids, frames int) made {
	tb.Helper()
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	r := rand.New(rand.NewPCG(1, seed))
	order := r.Perm(ids)
	for k := range ids {
		n := k
		if seed != 0 {
			n = order[k]
		}
		id := fmt.Sprintf("clip-%07d", n)
		for i := range frames {
			p := fmt.Appendf(nil, "%d/%d", n, i)
			p = append(p, bytes.Repeat([]byte{'x'}, r.IntN(9))...)
			if err := w.WriteFrame(id, p); err != nil {
				tb.Fatal(err)
			}
			if seed != 0 && i == 1 && k > 0 && k%5 == 0 {
				if err := w.WriteFrame(w.ID(k-1), p); err != nil {
					tb.Fatal(err)
				}
			}
		}
	}
	if err := w.WriteMeta(&meta); err != nil {
		tb.Fatal(err)
	}
	return chunkOf(tb, data.Bytes(), meta.Bytes())
}

func build(tb testing.TB, m made) []byte {
	tb.Helper()
	p, err := gulpindex.Build(m.c, m.pair)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func open(tb testing.TB, m made, p []byte) *gulpindex.Index {
	tb.Helper()
	x, err := gulpindex.Open(tb.Context(), reader(p), reader(m.data), m.pair, gulpindex.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

// equal holds each frame that the index finds against that of the chunk.
func equal(tb testing.TB, m made, x *gulpindex.Index) {
	tb.Helper()
	if x.Totals() != m.c.Totals() {
		tb.Errorf("totals %+v, want %+v", x.Totals(), m.c.Totals())
	}
	if err := x.Verify(tb.Context(), m.c); err != nil {
		tb.Error(err)
	}
	equalNumbers(tb, m, x)
	equalMeta(tb, m, x)
	for k, id := range slices.Collect(m.c.IDs()) {
		if k%7 > 0 && m.c.Len() > 500 {
			continue // Verify has looked at all
		}
		n, err := x.Frames(tb.Context(), id)
		if want, _ := m.c.Frames(id); err != nil || n != want {
			tb.Fatalf("%q: %d frames, not %d, %v", id, n, want, err)
		}
		for i := range n {
			c, err := x.Select(tb.Context(), id, i, i+1)
			if err != nil {
				tb.Fatal(err)
			}
			got, err := c.AppendFrame(tb.Context(), nil, id, i)
			want, err2 := m.c.AppendFrame(tb.Context(), nil, id, i)
			if err := errors.Join(err, err2); err != nil || !bytes.Equal(got, want) {
				tb.Fatalf("%q frame %d: %v", id, i, err)
			}
		}
		for _, step := range []int{1, 2, -1, -3} {
			from, to := 0, n
			if step < 0 {
				from, to = n-1, -1
			}
			if n == 0 {
				continue
			}
			c, err := x.Select(tb.Context(), id, 0, n)
			if err != nil {
				tb.Fatal(err)
			}
			got, err := c.AppendFrames(tb.Context(), nil, id, from, to, step)
			want, err2 := m.c.AppendFrames(tb.Context(), nil, id, from, to, step)
			if err := errors.Join(err, err2); err != nil || !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
				tb.Fatalf("%q frames %d:%d:%d: %v", id, from, to, step, err)
			}
		}
		for _, id := range []string{id + "0", id[:len(id)/2], id + "\x00", ""} {
			if m.c.Has(id) {
				continue
			}
			if _, err := x.Select(tb.Context(), id, 0, 1); !errors.Is(err, formats.ErrNoEntry) {
				tb.Fatalf("%q: %v", id, err)
			}
		}
	}
}

// equalNumbers holds frames by their number in the file against those of the chunk.
func equalNumbers(tb testing.TB, m made, x *gulpindex.Index) {
	tb.Helper()
	var all [][]byte
	if err := m.c.Each(tb.Context(), func(_ string, _ int, p []byte) error {
		all = append(all, bytes.Clone(p))
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	for _, r := range [][2]int{{0, len(all)}, {len(all) / 2, len(all)/2 + 1}, {len(all) / 3, len(all) - 1}, {len(all) - 1, len(all)}, {3, 3}} {
		from, to := max(r[0], 0), max(r[1], 0)
		if to > len(all) || from > to {
			continue
		}
		c, err := x.Numbered(tb.Context(), from, to)
		if err != nil {
			tb.Fatal(err)
		}
		got, err := c.AppendFrames(tb.Context(), nil, "", from, to, 1)
		if err != nil || len(got) != to-from || !slices.EqualFunc(got, all[from:to], bytes.Equal) {
			tb.Errorf("frames %d:%d: %d of them, %v", from, to, len(got), err)
		}
		if c, err = m.c.Numbered(from, to); err == nil {
			got, err = c.AppendFrames(tb.Context(), got[:0], "", from, to, 1)
		}
		if err != nil || !slices.EqualFunc(got, all[from:to], bytes.Equal) {
			tb.Errorf("frames %d:%d of the chunk itself: %v", from, to, err)
		}
	}
	c, err := x.Numbered(tb.Context(), len(all), len(all)+1)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := c.AppendFrame(tb.Context(), nil, "", len(all)); !errors.Is(err, gulp.ErrIndex) {
		tb.Errorf("one frame too far: %v", err)
	}
}

// equalMeta holds the places of meta_data against the text of the .gmeta.
func equalMeta(tb testing.TB, m made, x *gulpindex.Index) {
	tb.Helper()
	t := m.c.Totals()
	for k, id := range slices.Collect(m.c.IDs()) {
		if k%17 > 0 && m.c.Len() > 100 {
			continue
		}
		off, n, known, err := x.MetaPlace(tb.Context(), id)
		want, err2 := m.c.MetaData(id)
		if err := errors.Join(err, err2); err != nil || known != (t.Frames/4 >= t.IDs) || known && string(m.meta[off:off+n]) != string(want) {
			tb.Fatalf("meta_data of %q: [%d, +%d), known %v, want %s, %v", id, off, n, known, want, err)
		}
	}
	if _, _, _, err := x.MetaPlace(tb.Context(), "none at all"); !errors.Is(err, formats.ErrNoEntry) {
		tb.Error(err)
	}
}

// TestFixtures: chunks that GulpIO2 wrote have the same frames by their index.
func TestFixtures(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob(filepath.Join("..", "gulp", "testdata", "chunks", "*", "data_*.gulp"))
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	for _, name := range all {
		dir := filepath.Base(filepath.Dir(name))
		var n int
		if _, err := fmt.Sscanf(filepath.Base(name), "data_%d.gulp", &n); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%s/%d", dir, n), func(t *testing.T) {
			t.Parallel()
			m := fixture(t, dir, n)
			equal(t, m, open(t, m, build(t, m)))
		})
	}
}

// TestWritten: ids in file order and in any other, few and many frames of each.
func TestWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		seed        uint64
		ids, frames int
	}{{0, 0, 0}, {0, 1, 1}, {0, 3000, 1}, {7, 3000, 1}, {3, 90, 40}, {4, 2, 9000}, {5, 1, 4096}, {5, 1, 4097}, {6, 3, 4096}} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			t.Parallel()
			m := written(t, tc.seed, tc.ids, tc.frames)
			equal(t, m, open(t, m, build(t, m)))
		})
	}
}

// TestUnusable: an index of another version of either object is not used, nor a damaged
// one.
func TestUnusable(t *testing.T) {
	t.Parallel()
	m := written(t, 3, 90, 40)
	p := build(t, m)
	other := func(change func(*gulpindex.Pair)) gulpindex.Pair {
		pair := m.pair
		change(&pair)
		return pair
	}
	for name, pair := range map[string]gulpindex.Pair{
		"ETag of the data":   other(func(p *gulpindex.Pair) { p.Data.ETag = "e" }),
		"size of the data":   other(func(p *gulpindex.Pair) { p.Data.Size++ }),
		"ETag of the .gmeta": other(func(p *gulpindex.Pair) { p.Meta.ETag = "n" }),
		"size of the .gmeta": other(func(p *gulpindex.Pair) { p.Meta.Size-- }),
	} {
		if _, err := gulpindex.Open(t.Context(), reader(p), reader(m.data), pair, gulpindex.Options{}); !errors.Is(err, index.ErrUnusable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m = written(t, 3, 12, 6)
	p = build(t, m)
	for at := range p {
		bad := bytes.Clone(p)
		bad[at] ^= 1 << (at % 8)
		x, err := gulpindex.Open(t.Context(), reader(bad), reader(m.data), m.pair, gulpindex.Options{})
		if err == nil {
			err = x.Verify(t.Context(), m.c)
		}
		if !errors.Is(err, index.ErrUnusable) {
			t.Fatalf("a bit of byte %d: %v", at, err)
		}
	}
	long := written(t, 0, 1, 1)
	if _, err := gulpindex.Build(renamed{long.c, strings.Repeat("x", 2<<10+1)}, long.pair); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
}

// TestUnbound: without an ETag of both objects, or with a weak one, nothing would tell that
// a pair was replaced by one of the same sizes. No index is made then, and none read.
func TestUnbound(t *testing.T) {
	t.Parallel()
	m := written(t, 3, 12, 6)
	p := build(t, m)
	for _, etags := range [][2]string{{"", ""}, {"d", ""}, {"", "m"}, {`W/"d"`, "m"}, {"d", `W/"m"`}} {
		pair := m.pair
		pair.Data.ETag, pair.Meta.ETag = etags[0], etags[1]
		r := &counted{Reader: reader(p)}
		if _, err := gulpindex.Open(t.Context(), r, reader(m.data), pair, gulpindex.Options{}); !errors.Is(err, index.ErrUnusable) || r.calls > 0 {
			t.Errorf("%q: read %d times, %v", etags, r.calls, err)
		}
		if _, err := gulpindex.Build(m.c, pair); !errors.Is(err, formats.ErrUnsupported) || pair.Bound() {
			t.Errorf("%q: %v", etags, err)
		}
	}
}

// A renamed chunk has one id, of another name.
type renamed struct {
	*gulp.Chunk
	id string
}

func (r renamed) ID(int) string { return r.id }

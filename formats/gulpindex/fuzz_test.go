package gulpindex_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
)

// wrapped is a page, and a meta, in an index whose checksums are right.
func wrapped(tb testing.TB, m made, ids, frames int64, fences, page []byte, metas ...[]byte) []byte {
	tb.Helper()
	var b index.Builder
	s := b.Section(index.Name{Kind: 1})
	s.Add(0, ids-1, frames, page)
	sections := []*index.SectionBuilder{s}
	for _, p := range metas {
		s := b.Section(index.Name{Kind: 3})
		s.Add(0, ids-1, ids, p)
		sections = append(sections, s)
	}
	meta := []byte{2}
	for _, v := range []int64{ids, frames, 1, 0, m.pair.Meta.Size, int64(len(m.pair.Meta.ETag))} {
		meta = binary.AppendUvarint(meta, uint64(v))
	}
	meta = append(append(meta, m.pair.Meta.ETag...), fences...)
	built, err := b.Finish(sections, index.Binding{Size: m.pair.Data.Size, ETag: m.pair.Data.ETag}, meta)
	if err != nil {
		tb.Fatal(err)
	}
	return index.Beside(built, m.pair.Data.Size)
}

// firstPage returns the bytes of the first page of ids of an index.
func firstPage(tb testing.TB, m made) []byte {
	tb.Helper()
	ix, err := index.Open(tb.Context(), reader(build(tb, m)), index.Options{Bind: index.Binding{Size: m.pair.Data.Size, ETag: m.pair.Data.ETag}})
	if err != nil {
		tb.Fatal(err)
	}
	pages, err := ix.Pages(tb.Context(), index.Parts{Section: ix.Section(index.Name{Kind: 1}), I: 0, J: 1})
	if err != nil {
		tb.Fatal(err)
	}
	return pages[0]
}

// FuzzPage takes any bytes as a page, with checksums that are right. A page gives frames
// inside the data, or an error that says that the index is of no use.
func FuzzPage(f *testing.F) {
	m := written(f, 3, 12, 6)
	for _, x := range []made{m, written(f, 0, 1, 70), fixture(f, "append_gulpio23", 0), fixture(f, "nested_gulpio7", 0)} {
		t := x.c.Totals()
		f.Add(firstPage(f, x), uint16(t.IDs), uint16(t.Frames))
	}
	f.Add([]byte{1, 1, 0, 1, 15, 0, 1, 0, 0, 'a', 0, 0, 1, 0}, uint16(1), uint16(1))
	f.Fuzz(func(t *testing.T, page []byte, ids, frames uint16) {
		if ids == 0 {
			return
		}
		p := wrapped(t, m, int64(ids), int64(frames), []byte{0, 0, 0}, page)
		x, err := gulpindex.Open(t.Context(), reader(p), reader(m.data), m.pair, gulpindex.Options{})
		if err != nil {
			if !errors.Is(err, index.ErrUnusable) {
				t.Fatal(err)
			}
			return
		}
		last, known := "", int64(0)
		err = x.Walk(t.Context(), func(id string, _ int64, n, from int, places []gulp.FrameInfo) error {
			if id <= last && last != "" || from+len(places) > n {
				t.Fatalf("%q behind %q, frames %d+%d of %d", id, last, from, len(places), n)
			}
			last, known = id, known+int64(len(places))
			for _, f := range places {
				if f.Off < 0 || f.Size < 1 || f.Pad < 0 || f.Pad > 3 || f.Off+f.Size+int64(f.Pad) > int64(len(m.data)) {
					t.Fatalf("a frame at %+v", f)
				}
			}
			c, err := x.Select(t.Context(), id, from, from+len(places))
			if err != nil {
				return err
			}
			got, err := c.AppendFrames(t.Context(), nil, id, from, from+len(places), 1)
			if err != nil || len(got) != len(places) {
				t.Fatalf("%d frames of %d, %v", len(got), len(places), err)
			}
			for i, f := range places {
				if !bytes.Equal(got[i], m.data[f.Off:f.Off+f.Size]) {
					t.Fatalf("frame %d of %q", from+i, id)
				}
			}
			return nil
		})
		if c, err := x.Numbered(t.Context(), 0, int(frames)); err == nil {
			got, err := c.AppendFrames(t.Context(), nil, "", 0, int(frames), 1)
			if err != nil || len(got) != int(frames) {
				t.Fatalf("by number: %d frames of %d, %v", len(got), frames, err)
			}
		} else if !errors.Is(err, index.ErrUnusable) {
			t.Fatal(err)
		}
		if err != nil && !errors.Is(err, index.ErrUnusable) || err == nil && known != int64(frames) {
			t.Fatalf("%d frames of %d, %v", known, frames, err)
		}
		if _, err := x.Select(t.Context(), "clip-0000007", 2, 3); err != nil && !errors.Is(err, index.ErrUnusable) && !errors.Is(err, formats.ErrNoEntry) {
			t.Fatal(err)
		}
	})
}

// FuzzMetas takes any bytes as the places of meta_data.
func FuzzMetas(f *testing.F) {
	m := written(f, 3, 12, 6)
	page := firstPage(f, m)
	f.Add([]byte{0, 0}, uint8(12))
	f.Add(bytes.Repeat([]byte{8, 9}, 12), uint8(12))
	f.Add(bytes.Repeat([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1}, 12), uint8(12))
	f.Fuzz(func(t *testing.T, places []byte, ids uint8) {
		if ids == 0 {
			return
		}
		p := wrapped(t, m, int64(ids), m.c.Totals().Frames, []byte{0, 0, 0}, page, places)
		x, err := gulpindex.Open(t.Context(), reader(p), reader(m.data), m.pair, gulpindex.Options{})
		for id := range m.c.IDs() {
			var off, n int64
			if err == nil {
				off, n, _, err = x.MetaPlace(t.Context(), id)
			}
			if err != nil && !errors.Is(err, index.ErrUnusable) && !errors.Is(err, formats.ErrNoEntry) {
				t.Fatal(err)
			}
			if err == nil && (off < 0 || n < 0 || off+n > int64(len(m.meta))) {
				t.Fatalf("[%d, +%d) of %d bytes", off, n, len(m.meta))
			}
		}
	})
}

// FuzzFences takes any bytes as the fences of an index.
func FuzzFences(f *testing.F) {
	m := written(f, 3, 12, 6)
	page := firstPage(f, m)
	f.Add([]byte{0, 0, 0}, uint8(12))
	f.Add([]byte{0, 1, 'a', 0}, uint8(12))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0x7f, 0}, uint8(1))
	f.Fuzz(func(t *testing.T, fences []byte, ids uint8) {
		if ids == 0 {
			return
		}
		p := wrapped(t, m, int64(ids), m.c.Totals().Frames, fences, page)
		x, err := gulpindex.Open(t.Context(), reader(p), reader(m.data), m.pair, gulpindex.Options{})
		for id := range m.c.IDs() {
			if err == nil {
				_, err = x.Select(t.Context(), id, 0, 6)
			}
			if err != nil && !errors.Is(err, index.ErrUnusable) && !errors.Is(err, formats.ErrNoEntry) {
				t.Fatal(err)
			}
		}
	})
}

package zoomindex

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// FuzzIndexed: the checksums of the index are right, but its pages and its entries may
// be anything. No read of the file hangs, panics or fails, or gives samples that the
// file does not have.
func FuzzIndexed(f *testing.F) {
	c := viewCases()[0]
	c.n = 2000
	plain, s := c.write(f, nil)
	file, err := Open(f.Context(), readerOf(plain), zoomcache.Options{Head: minHead})
	if err != nil {
		f.Fatal(err)
	}
	side, err := file.BuildIndex(f.Context(), "e", WriteOptions{})
	if err != nil {
		f.Fatal(err)
	}
	ix, err := index.Open(f.Context(), readerOf(side), index.Options{Bind: index.Binding{Size: int64(len(plain)), ETag: "e"}})
	if err != nil {
		f.Fatal(err)
	}
	page := func(kind int64) []byte {
		for i := range ix.Sections {
			if x := &ix.Sections[i]; x.Kind == kind && x.Of == 5 {
				p, err := ix.Pages(f.Context(), index.Parts{Section: x, I: 0, J: 1})
				if err != nil {
					f.Fatal(err)
				}
				return p[0]
			}
		}
		f.Fatal("no such section")
		return nil
	}
	f.Add(page(sectionLevel), page(sectionRuns), ix.Meta, int64(1), int64(2000), int64(2), uint16(10))
	f.Add(page(sectionLevel), page(sectionRuns), ix.Meta, int64(1), int64(2000), int64(2), uint16(1000))
	f.Fuzz(func(t *testing.T, level, runs, meta []byte, first, last, count int64, width uint16) {
		if first > last || count < 0 || len(level)+len(runs)+len(meta) > 1<<14 {
			return
		}
		var b index.Builder
		sections := []*index.SectionBuilder{b.Section(index.Name{Kind: sectionRuns, Of: 5}), b.Section(index.Name{Kind: sectionLevel, Of: 5, Level: 1})}
		sections[0].Add(first, last, count, runs)
		sections[1].Add(first, last, count, level)
		made, err := b.Finish(sections, index.Binding{Size: int64(len(plain)), ETag: "e"}, meta)
		if err != nil {
			t.Fatal(err)
		}
		p := index.Beside(made, int64(len(plain)))
		x, err := Open(t.Context(), readerOf(plain), zoomcache.Options{Head: minHead, Limits: small()})
		if err != nil {
			t.Fatal(err)
		}
		x.Sidecar(func(context.Context) (rangeio.Reader, string, error) { return readerOf(bytes.Clone(p)), "e", nil })
		if _, err := x.View(t.Context(), 5, 1, 2000, int(width)+1); err != nil && !errors.Is(err, formats.ErrTooLarge) {
			t.Fatal(err)
		}
		err = x.EachPacket(t.Context(), 5, 500, 1500, func(p *zoomcache.Packet) error {
			for i := range int(p.Count) {
				off := p.Offset(i)
				if want := s.v[off-1].Float(); p.Values.F64[i] != want && (want == want || p.Values.F64[i] == p.Values.F64[i]) {
					t.Fatalf("sample %d is %g, not %g", off, p.Values.F64[i], want)
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, formats.ErrTooLarge) {
			t.Fatal(err)
		}
		if _, _, err := x.Totals(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := bufpool.Loans(); n != 0 {
			t.Fatalf("%d buffers are still lent", n)
		}
	})
}

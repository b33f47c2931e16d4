package gulpindex

import (
	"cmp"
	"context"
	"encoding/binary"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/internal/varint"
	"github.com/farread/farread/rangeio"
)

// byMeta is the name of the section of the places of meta_data. It has a page for each
// page of ids: of each id a gap to the meta_data before, and a length, as varints.
func byMeta() index.Name { return index.Name{Kind: 3} }

// metaFrames is the least number of frames an id for that section: of fewer, it would
// take more than a byte a frame.
const metaFrames = 4

// metas writes the pages of the section.
type metas struct {
	s   *index.SectionBuilder
	c   Source
	p   []byte
	end int64 // end of the meta_data before
}

// newMetas returns nil if c has too many ids for the section, or does not know the places.
func newMetas(c Source, ib *index.Builder) *metas {
	if t := c.Totals(); t.IDs == 0 || t.Frames/metaFrames < t.IDs {
		return nil
	}
	for k := range c.Len() {
		if _, _, known := c.MetaPlace(k); !known {
			return nil
		}
	}
	return &metas{s: ib.Section(byMeta()), c: c}
}

func (m *metas) add(number int64) {
	if m == nil {
		return
	}
	off, n, _ := m.c.MetaPlace(int(number))
	m.p = binary.AppendVarint(m.p, off-m.end)
	m.p = binary.AppendUvarint(m.p, uint64(n))
	m.end = off + n
}

func (m *metas) flush(first, last int64) {
	if m == nil {
		return
	}
	m.s.Add(first, last, last-first+1, m.p)
	m.p, m.end = m.p[:0], 0
}

// metaPages checks that the section of places of meta_data, if there is one, fits that of
// ids.
func (x *Index) metaPages() error {
	s := x.ix.Section(byMeta())
	if s == nil {
		return nil
	}
	if len(s.Pages) != len(x.s.Pages) {
		return unusable("%d pages of meta_data for %d of ids", len(s.Pages), len(x.s.Pages))
	}
	for i := range s.Pages {
		if p, of := &s.Pages[i], &x.s.Pages[i]; p.First != of.First || p.Last != of.Last || p.Len() > maxMetaPage {
			return unusable("page %d of meta_data", i)
		}
	}
	x.metas = s
	return nil
}

// maxMetaPage is more than the places for a page of ids take: an id has two bytes or more
// there, and 20 at most here.
const maxMetaPage = 10 * maxPage

// MetaPlace returns where in the .gmeta the meta_data of id lie; n is 0 if the id has
// none. known is false if the index does not have the places, as that of chunks with fewer
// than 4 frames an id. Pages that are not in memory are read in one phase. Errors are those
// of Select.
func (x *Index) MetaPlace(ctx context.Context, id string) (off, n int64, known bool, err error) {
	i := x.pageOf(id, 0)
	if i < 0 {
		return 0, 0, false, noEntry(id)
	}
	ctx = rangeio.OnePhase(ctx)
	ids, err := x.read(ctx, x.s, i, i+1)
	if err != nil {
		return 0, 0, false, err
	}
	var places []byte
	if x.metas != nil {
		p, err := x.read(ctx, x.metas, i, i+1)
		if err != nil {
			return 0, 0, false, err
		}
		places = p[0]
	}
	found := false
	err = x.eachMeta(i, ids[0], places, func(r *row, at, size int64) bool {
		if string(r.id) == id {
			off, n, found = at, size, true
		}
		return !found
	})
	if err == nil && !found {
		err = noEntry(id)
	}
	return off, n, found && x.metas != nil, err
}

// eachMeta calls fn for each id of page i, with the place of its meta_data, until fn
// returns false. places is empty if the index has none.
func (x *Index) eachMeta(i int, ids, places []byte, fn func(r *row, off, n int64) bool) error {
	r, err := newPageReader(ids, &x.s.Pages[i])
	if err != nil {
		return err
	}
	d := &pageReader{Reader: varint.Reader{P: places}}
	end := int64(0)
	for r.k < r.n {
		row, err := r.next()
		if err != nil {
			return err
		}
		var off, n int64
		if x.metas != nil {
			off, n = end+d.Int(), d.uint(x.metaSize) // no overflow that matters: the sum is checked
			if d.Bad || off < 0 || off > x.metaSize-n {
				return unusable("the place of meta_data in page %d", i)
			}
			end = off + n
		}
		if !fn(row, off, n) {
			return nil
		}
	}
	return nil
}

// verifyMetas compares the places of meta_data with those of the chunk.
func (x *Index) verifyMetas(ctx context.Context, c *gulp.Chunk) error {
	const step = 256 // pages, as in Walk
	for i := 0; x.metas != nil && i < len(x.fences); i += step {
		n := min(step, len(x.fences)-i)
		pages, err := x.ix.Pages(ctx, index.Parts{Section: x.s, I: i, J: i + n}, index.Parts{Section: x.metas, I: i, J: i + n})
		if err != nil {
			return err
		}
		for k := range n {
			var wrong error
			err := x.eachMeta(i+k, pages[k], pages[n+k], func(r *row, off, n int64) bool {
				if at, want, _ := c.MetaPlace(int(r.number)); n != want || n > 0 && off != at {
					wrong = unusable("meta_data of id %q are at %d, with %d bytes, where the .gmeta has %d, %d", r.id, off, n, at, want)
				}
				return wrong == nil
			})
			if err := cmp.Or(err, wrong); err != nil {
				return err
			}
		}
	}
	return nil
}

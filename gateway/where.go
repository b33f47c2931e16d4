package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/internal/render"
)

const (
	searchMemory = 16 << 20 // decoded items that a search holds
	searchChunks = 1 << 20  // most chunks that a search looks at
	searchTimes  = 64       // most decoded bytes of its box, as a multiple of MaxRead
)

// planSearch plans the items of a box that match a comparison, as records of their index
// and value. How many there are only the search tells; it ends at the limit of an answer.
func planSearch(ctx context.Context, s *Server, c *call, h *handle) (*job, error) {
	a, ok := h.d.(farread.Searcher)
	if !ok {
		return nil, wrongKind(h.d, "array that is searched by values")
	}
	for _, name := range []string{"as", "colors", "range", "robust", "axes", "width", "height", "title", "dark"} {
		if c.query.Has(name) {
			return nil, badf("query", "where gives items as they are stored: it goes without %s", name)
		}
	}
	format := c.query.Get("format")
	if format == "" {
		format = render.Npy
	}
	if !slices.Contains(render.HitFormats(), format) {
		return nil, badf("format", "format %q: with where want %s", clip(format), strings.Join(render.HitFormats(), ", "))
	}
	box, at, err := s.boxOf(ctx, c, a)
	if err != nil {
		return nil, err
	}
	x, err := cutOf(a, box, c.query.Get("field"), "")
	if err != nil {
		return nil, err
	}
	e, err := predicate.Parse(c.query.Get("where"))
	if err != nil {
		return nil, badf("where", "%s", err)
	}
	p, err := e.Bind(a.DType())
	if err != nil {
		return nil, badf("where", "%s", err)
	}
	record, err := render.HitType(len(x.box.Start), x.stored, x.field)
	if err != nil {
		return nil, err
	}
	if err := x.searchable(s.c.MaxRead); err != nil {
		return nil, err
	}
	most, o := s.unknown(), b2nd.SearchOptions{Memory: min(searchMemory, s.c.Memory/8)}
	j := &job{media: medias[format], head: map[string]string{"X-Dtype": record.String()}, text: true, size: most, work: most + 3*o.Memory, read: -1,
		cost: func(ctx context.Context) (farread.Cost, error) {
			plan, _, err := a.ExplainSearch(ctx, x.box, p, o)
			return plan.Cost(), err
		}}
	if at != "" {
		j.head["X-Slice"] = at
	}
	item := a.DType().ItemSize()
	j.make = func(ctx context.Context) ([]byte, error) {
		out := newPage(firstPage, most)
		err := render.Hits(out, record, render.HitOptions{Format: format, Off: 8 * len(x.box.Start), Memory: most}, func(put func(p []byte) error) error {
			var buf []byte
			_, err := a.Search(ctx, x.box, p, o, func(h b2nd.Hit) error {
				buf = render.AppendHits(buf[:0], x.box, h, item, x.field)
				return put(buf)
			})
			return err
		})
		return out.Bytes(), err
	}
	return j, nil
}

// searchable refuses boxes of so many items that to compare them would take too long: chunks
// of one value take no bytes.
func (x *cut) searchable(read int64) error {
	whole, err := x.a.SizeOf(x.box)
	if err != nil {
		return err
	}
	chunk, _ := x.a.Cells()
	if n := x.touched(chunk); n > searchChunks {
		return refusef(http.StatusRequestEntityTooLarge, "too-much", "%.0f chunks to look at, %d allowed", n, searchChunks)
	}
	if whole/searchTimes > read {
		return refusef(http.StatusRequestEntityTooLarge, "too-much", "%d bytes of items to look at, %d allowed", whole, searchTimes*read)
	}
	return nil
}

package zoomindex

import (
	"context"
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// Totals returns the counts of each track, as Count does, from the index of the file.
// They are the counts that the maker of the index found. ok is false if there is no
// index, or the index is about other tracks. To find the index costs as much as for the
// first View, and nothing after that. The list belongs to the caller.
func (f *File) Totals(ctx context.Context) (list []zoomcache.TrackCount, ok bool, err error) {
	ix, err := f.ix.open(ctx, f)
	if err != nil || ix == nil || len(ix.tracks) != len(f.Header().Tracks) {
		return nil, false, err
	}
	for i := range f.Header().Tracks {
		m := ix.about(&f.Header().Tracks[i])
		if m == nil {
			return nil, false, nil
		}
		c := m.count
		c.Levels = slices.Clone(c.Levels)
		list = append(list, c)
	}
	return list, true, nil
}

// Extra returns the content of the first packet of a track that no header declares, among
// those behind the plain file and in front of the index in it, such as seals; nil if there is
// none, or no index. If they are longer together than most bytes, the error is
// formats.ErrTooLarge. It costs what Totals costs, and a read if they lie in front of what
// that has read.
func (f *File) Extra(ctx context.Context, track int32, most int64) ([]byte, error) {
	ix, err := f.ix.open(ctx, f)
	if err != nil || ix == nil || ix.beside {
		return nil, err
	}
	at, end := ix.Trailer.Plain, ix.Trailer.Off-zoomcache.BlockHeaderLen
	bad := func(off int64, why error) ([]byte, error) {
		return nil, &formats.Error{Format: zoomcache.Format, Part: "packets in front of the index", Off: off, Err: why}
	}
	if end-at > most {
		return bad(at, fmt.Errorf("%d bytes, at most %d: %w", end-at, most, formats.ErrTooLarge))
	}
	p := ix.Known(at, end-at)
	if p == nil {
		p = make([]byte, end-at)
		if err := f.r.ReadRanges(ctx, []rangeio.Span{{Off: at, P: p}}); err != nil {
			return nil, wrapRead(at, err)
		}
	}
	for len(p) > 0 {
		b, err := f.ParseBlock(p, at)
		if err != nil {
			return nil, err
		}
		if b.Size() > int64(len(p)) {
			return bad(at, fmt.Errorf("a packet reaches into it: %w", formats.ErrCorrupt))
		}
		if b.Track == track && !b.Summary {
			return slices.Clone(p[zoomcache.BlockHeaderLen:b.Size()]), nil
		}
		p, at = p[b.Size():], at+b.Size()
	}
	return nil, nil
}

// total returns the totals of one track, from the index. Without an index it makes a
// pass over the file.
func (f *File) total(ctx context.Context, t *zoomcache.Track) (zoomcache.TrackCount, error) {
	list, ok, err := f.Totals(ctx)
	if err == nil && !ok {
		var r zoomcache.Report
		r, err = f.Count(ctx)
		list = r.Tracks
	}
	if err != nil {
		return zoomcache.TrackCount{}, err
	}
	i := slices.IndexFunc(list, func(c zoomcache.TrackCount) bool { return c.Track == t.Number })
	return list[i], nil
}

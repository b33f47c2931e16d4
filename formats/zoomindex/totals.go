package zoomindex

import (
	"context"
	"slices"

	"github.com/farread/farread/formats/zoomcache"
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

// Between tells where the packets lie that are behind the plain file and in front of the
// index: those of tracks that no header declares, such as seals. ok is false if there is no
// index in the file. It costs what Totals costs.
func (f *File) Between(ctx context.Context) (from, to int64, ok bool, err error) {
	ix, err := f.ix.open(ctx, f)
	if err != nil || ix == nil || ix.beside {
		return 0, 0, false, err
	}
	return ix.Trailer.Plain, ix.Trailer.Off - zoomcache.BlockHeaderLen, true, nil
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

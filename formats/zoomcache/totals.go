package zoomcache

import (
	"context"
	"slices"
)

// Totals says what Count does of each track, as the index of the file has it:
// what whoever made the index found. ok is false where there is none. It costs what
// the first View does to find the index, and nothing after that.
func (f *File) Totals(ctx context.Context) (list []TrackCount, ok bool, err error) {
	ix, err := f.ix.open(ctx, f)
	if err != nil || ix == nil || len(ix.tracks) != len(f.h.Tracks) {
		return nil, false, err
	}
	for i := range f.h.Tracks {
		m := ix.about(&f.h.Tracks[i])
		if m == nil {
			return nil, false, nil
		}
		c := m.count
		c.Levels = slices.Clone(c.Levels)
		list = append(list, c)
	}
	return list, true, nil
}

// total is what an index or, where there is none, a pass over the file tells of
// one track.
func (f *File) total(ctx context.Context, t *Track) (TrackCount, error) {
	list, ok, err := f.Totals(ctx)
	if err == nil && !ok {
		var r Report
		r, err = f.Count(ctx)
		list = r.Tracks
	}
	if err != nil {
		return TrackCount{}, err
	}
	i := slices.IndexFunc(list, func(c TrackCount) bool { return c.Track == t.Number })
	return list[i], nil
}

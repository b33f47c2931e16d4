package zoomindex

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// FlushBefore finds, by the lists of packets in the index, where a flush begins in front of which no
// track has more than rows[i] samples, in the order of the header: the last such one, if each flush
// has packets of the same tracks. have are the samples in front of it. ok is false if there is no
// index that tells it. It costs what Totals costs, and a read for each of the lists
// that lies in front of what that has read. It reads no samples, and the lists
// belong to the caller.
func (f *File) FlushBefore(ctx context.Context, rows []int64) (off int64, have []int64, ok bool, err error) {
	tracks := f.Header().Tracks
	ix, err := f.ix.open(ctx, f)
	if err != nil || ix == nil || len(rows) != len(tracks) {
		return 0, nil, false, err
	}
	var all []flushRun
	for i := range tracks {
		if all, ok, err = f.runsUpTo(ctx, ix, i, rows[i], all); err != nil || !ok {
			if errors.Is(err, index.ErrUnusable) {
				f.ix.drop(ix)
				err = nil
			}
			return 0, nil, false, err
		}
	}
	slices.SortStableFunc(all, func(a, b flushRun) int { return cmp.Compare(a.off, b.off) })
	off, have = f.Body(), make([]int64, len(tracks))
	now := make([]int64, len(tracks))
	for k, r := range all {
		if k > 0 && tracks[r.track].Number <= tracks[all[k-1].track].Number { // a flush has its tracks in ascending order
			for i := range now {
				if now[i] > rows[i] {
					return off, have, true, nil
				}
			}
			off = r.off
			copy(have, now)
		}
		now[r.track] += r.count
	}
	return off, have, true, nil
}

// A flushRun is a packet of a track, by its place in the header.
type flushRun struct {
	off, count int64
	track      int
}

// runsUpTo adds to all the packets of a track up to the first one behind which it has
// more than rows samples.
func (f *File) runsUpTo(ctx context.Context, ix *openIndex, track int, rows int64, all []flushRun) ([]flushRun, bool, error) {
	t := &f.Header().Tracks[track]
	m := ix.about(t)
	if m == nil || !m.part {
		return nil, false, nil
	}
	v := &indexView{f: f, t: t, ix: ix, from: zoomcache.FirstOffset, to: zoomcache.LastOffset}
	if v.section(sectionRuns, 0) == nil {
		return all, m.count.Samples == 0, nil
	}
	l := v.lister()
	have, end := int64(0), f.Body()
	for have <= rows {
		runs, err := l.next(rangeio.OnePhase(ctx))
		if err != nil {
			return nil, false, err
		}
		if len(runs) == 0 {
			return all, have == m.count.Samples, nil
		}
		for _, r := range runs {
			if r.off < end || r.count <= 0 {
				return nil, false, nil
			}
			end = r.end()
			all = append(all, flushRun{r.off, r.count, track})
			if have += r.count; have > rows {
				break
			}
		}
	}
	return all, true, nil
}

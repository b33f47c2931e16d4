package zoomcache

import "context"

// EveryLevel stands for all levels, in EachSummary.
const EveryLevel = 0

// EachSummary calls fn with the stored summaries of a track and level, or of
// EveryLevel, whose offsets from Entry to Exit touch [from, to], in the file's
// order. The Summary is reused, and valid during the call only. An error of fn
// ends it and is returned as it is.
//
// It is one pass like EachBlock. For one level of a track of constant rate the pass
// ends early, as the summaries of a level lie in the order of their offsets.
//
// A track that is not there is ErrNoEntry. A level that the track does not have
// has no summaries.
func (f *File) EachSummary(ctx context.Context, track int32, level int, from, to int64, fn func(s *Summary) error) error {
	t, err := f.Track(track)
	if err != nil || from > to {
		return err
	}
	var s Summary
	ours := func(b *Block) bool {
		return b.Summary && b.Track == track && (level == EveryLevel || int(b.Level) == level)
	}
	want := func(b *Block, _ *Track) bool { return ours(b) && b.touches(from, to) }
	early := level != EveryLevel && !t.Variable
	return f.walk(ctx, &walker{pos: f.body, want: want, early: early && to != LastOffset, fn: func(b Block, _ *Track, content []byte) (bad, err error) {
		switch {
		case !ours(&b):
			return nil, nil
		case content != nil:
			if bad := t.DecodeSummary(&s, b, content); bad != nil {
				return bad, nil
			}
			return nil, fn(&s)
		case early && b.Entry > to:
			return nil, errStop
		}
		return nil, nil
	}})
}

// touches reports whether a block has an offset in [from, to]. At variable rate Entry
// may be greater than Exit.
func (b *Block) touches(from, to int64) bool {
	return min(b.Entry, b.Exit) <= to && max(b.Entry, b.Exit) >= from
}

package zoomindex

import (
	"slices"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// finish makes the index.
func (x *Builder) finish(bind index.Binding) (index.Built, error) {
	var first, ends, levels, runs, small, coarse []*index.SectionBuilder
	if x.note != nil {
		first = append(first, x.b.Section(index.Name{Kind: sectionState}))
		first[0].Add(0, 0, 1, x.note)
	}
	top := 0
	for _, t := range x.tracks {
		if t.out || !t.any {
			continue
		}
		if err := x.last(t); err != nil {
			return index.Built{}, err
		}
		x.same(t)
		switch n := t.runs.Len(); {
		case n == 0: // no packets were written
		case n > x.long:
			runs = append(runs, t.runs)
			if err := x.place(t, &coarse); err != nil {
				return index.Built{}, err
			}
		default:
			small = append(small, t.runs)
		}
		top = max(top, len(t.bins)+len(t.level))
	}
	// Finer levels lie in front; the tracks of one level lie beside each other.
	for i := range top {
		for _, t := range x.tracks {
			all := slices.Concat(t.bins, t.level)
			if t.out || i >= len(all) || all[i].given {
				continue
			}
			levels = append(levels, all[i].core)
			if all[i].ends != nil {
				ends = append(ends, all[i].ends) // readers need it last
			}
		}
	}
	return x.b.Finish(slices.Concat(first, runs, ends, levels, small, coarse), bind, x.meta())
}

// place makes the section that tells roughly where the packets of a track lie.
func (x *Builder) place(t *trackIndex, to *[]*index.SectionBuilder) error {
	if len(t.at.list) == 0 {
		return nil
	}
	list := t.at.end(&t.end)
	p, err := x.k.places(list)
	if err != nil {
		return err
	}
	s := x.b.Section(index.Name{Kind: sectionPlace, Of: int64(t.t.Number)})
	s.Add(list[0].entry, t.end.exit, int64(len(list)-1), p)
	*to = append(*to, s)
	return nil
}

// last makes the pages that are not full at the end.
func (x *Builder) last(t *trackIndex) error {
	if err := x.rise(t); err != nil {
		return err
	}
	list := slices.Concat(t.bins, t.level)
	if err := x.flushAll(list); err != nil {
		return err
	}
	for _, l := range list {
		l.sheet = nil
	}
	return x.flushRuns(t)
}

// indexTrack is the number of the track that holds the index.
func (x *Builder) indexTrack() int32 {
	number := int32(TrackNumber)
	for x.track(number) != nil {
		number++
	}
	return number
}

// held returns the memory of the pages.
func (x *Builder) held() int64 { return x.b.Held() + x.sheets }

// Finish implements zoomcache.Sink: it appends the index and its trailer, each in a packet
// of a track that no header declares.
func (x *Builder) Finish(end int64, add func(track int32, payload ...[]byte) (int64, error)) error {
	if err := x.settle(); err != nil {
		return err
	}
	if err := x.remember(); err != nil {
		return err
	}
	ix, err := x.finish(index.Binding{})
	if err != nil {
		return err
	}
	off, err := add(x.indexTrack(), ix.Pieces...)
	if err != nil {
		return err
	}
	t := index.Trailer{Off: off + zoomcache.BlockHeaderLen, Len: ix.Len, Plain: end, SHA256: ix.SHA256}
	_, err = add(x.indexTrack(), t.Append(nil))
	return err
}

package zoomindex

import (
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// Between implements zoomcache.Interleaver. If the pages take too much memory, it
// writes the longest sections into the file.
func (x *Builder) Between(add func(track int32, payload ...[]byte) (int64, error)) error {
	if queued, err := x.flushed(); queued || err != nil {
		return err
	}
	x.grace = 0
	defer x.goBehind()
	for x.held() > x.o.MaxMemory {
		s := x.longest()
		if s == nil || s.Waiting() < leastExtent {
			return nil
		}
		x.marks.spills(&x.b)
		x.spilled += zoomcache.BlockHeaderLen + s.Waiting()
		err := s.Spill(func(pieces ...[]byte) (int64, error) {
			off, err := add(x.indexTrack(), pieces...)
			return off + zoomcache.BlockHeaderLen, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// longest is the section that holds the most memory.
func (x *Builder) longest() *index.SectionBuilder {
	var most *index.SectionBuilder
	see := func(s *index.SectionBuilder) {
		if s != nil && (most == nil || s.Waiting() > most.Waiting()) {
			most = s
		}
	}
	for _, t := range x.tracks {
		see(t.runs)
		for _, list := range [...][]*levelIndex{t.bins, t.level} {
			for _, l := range list {
				see(l.core)
				see(l.ends)
			}
		}
	}
	return most
}

// Spilled returns the number of bytes of index packets that lie between the blocks of
// the file, with their headers.
func (x *Builder) Spilled() int64 { return x.spilled }

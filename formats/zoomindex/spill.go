package zoomindex

import (
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// A checkpoint is a flush behind which the pages are compared with the bound: wherever so many
// values have come since the beginning of the file that their pages may take a tenth of the
// bound. It goes by what the list of packets tells, so a Builder that resumes has the same ones.
const (
	checkpoints  = 16  // of values of constant rate, in the bytes of the bound
	windowValues = 256 // that each channel of a window counts for besides its own
	unevenValues = 64  // that each of variable rate counts for: it may be a span
)

// passes counts samples of windows of a track.
func (x *Builder) passes(t *zoomcache.Track, windows, samples int64) {
	sample := int64(1)
	if t.Variable {
		sample = unevenValues
	}
	x.behind.values += (windows*windowValues + samples*sample) * int64(t.Codec.Width())
}

// interval is the number of checkpoints so far.
func (x *Builder) interval() int64 {
	return x.behind.values / max(min(x.o.MaxMemory/checkpoints, x.behind.most), 1)
}

// Between implements zoomcache.Interleaver. If the pages take too much memory at a checkpoint,
// it writes the longest sections into the file. If they are short, levels are given up.
func (x *Builder) Between(add func(track int32, payload ...[]byte) (int64, error)) error {
	d, n := &x.behind, x.interval()
	due := n != d.checked
	if d.on && !due && len(d.fill.list) < mostCalls { // flushes without values have calls, too
		d.fill.ended = true
		return nil
	}
	d.checked = n
	if err := x.wait(); err != nil {
		return err
	}
	if x.checks = true; due {
		x.grace = 0
		if err := x.spill(add); err != nil {
			return err
		}
	}
	if x.tight() { // the batch may have bins of a level that is given up
		if err := x.settle(); err != nil {
			return err
		}
		if err := x.spill(add); err != nil {
			return err
		}
		x.fit()
	}
	return x.handOver()
}

// spill writes the longest sections into the file, until the others fit into the memory, or are
// too short.
func (x *Builder) spill(add func(track int32, payload ...[]byte) (int64, error)) error {
	for x.held() > x.o.MaxMemory {
		s := x.longest()
		if s == nil || s.Waiting() < leastExtent {
			return nil
		}
		x.marks.spills(&x.b, x.behind.fill.flush)
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

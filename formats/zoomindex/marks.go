package zoomindex

import (
	"slices"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// marks tell where the last flush with samples begins. A file grows from there: its
// packets are written again with what follows. So a Builder keeps of everything that a
// flush changes what it was in front of it.
type marks struct {
	gen     int   // number of the flushes with samples, the present one included
	cut     int64 // where its first block begins
	off     int64 // where the first packet of the present flush begins; -1: not known yet
	begun   bool  // there was a flush
	some    bool  // the present one has samples
	summary bool  // it has summaries
	last    int32 // track of its last packet
	packets bool  // it has packets
	shown   int32 // track of its last window
	windows bool  // it has windows
	sum     []byte
	sumGen  int
}

// window notes that a track has samples in a flush, the present or the next one.
func (m *marks) window(track int32) {
	if !m.begun || m.summary || m.packets && track <= m.last || m.windows && track <= m.shown {
		m.next()
	}
	m.windows, m.shown = true, track
	if !m.some {
		m.some = true
		m.gen++
		m.cut = m.off // -1 until the first packet
	}
}

// packet notes a packet of a track.
func (m *marks) packet(b *zoomcache.Block) {
	if !m.begun || m.summary || m.packets && b.Track <= m.last {
		m.next()
	}
	if m.packets, m.last = true, b.Track; m.off < 0 {
		m.off = b.Off
		if m.some {
			m.cut = b.Off
		}
	}
}

func (m *marks) next() {
	m.begun, m.off = true, -1
	m.some, m.summary, m.packets, m.windows = false, false, false, false
}

// spills keeps the hash of what lies between the blocks, before more is written there. So many
// flushes with samples that lie in front of it are not taken yet.
func (m *marks) spills(b *index.Builder, flushes int) {
	if gen := m.gen + flushes; m.sumGen != gen {
		m.sum, m.sumGen = b.Sum(), gen
	}
}

// before is the hash of what was between the blocks in front of the last flush.
func (m *marks) before(b *index.Builder) []byte {
	if m.sumGen == m.gen {
		return m.sum
	}
	return b.Sum()
}

// A sumMark is where the last summary of a level lies: the last one of all, and of those
// in front of flush gen.
type sumMark struct {
	off, was int64
	gen      int
}

// mark notes the place of a summary.
func (t *trackIndex) mark(b *zoomcache.Block, gen int) {
	if b.Level < 1 || b.Level > zoomcache.MaxLevel {
		return
	}
	for len(t.sums) < int(b.Level) {
		t.sums = append(t.sums, sumMark{})
	}
	s := &t.sums[b.Level-1]
	if s.gen != gen {
		s.was, s.gen = s.off, gen
	}
	s.off = b.Off
}

// A guessMark is a guess that can be made again from the pages.
type guessMark struct{ pages, fresh, age int }

func (g *guess) mark() guessMark { return guessMark{g.pages, g.fresh, g.age} }

// A joinState is what a joiner knows between two windows.
type joinState struct {
	size  int64
	usual float64
	any   bool
	last  int64
}

// A levelState is what a levelIndex knows, but for its spans.
type levelState struct {
	size           int64 // of bins
	given          bool
	total          int64
	core, ends     guessMark
	full           bool
	entry, exit, n int64
	carry          []stat
}

// A trackState is what a trackIndex knows, but for its packets.
type trackState struct {
	windows int64 // packets with samples
	runs    guessMark
	joins   []joinState
	sums    []int64 // the place of the last summary of each level of which one waits; else 0
	bins    []levelState
	level   []levelState
}

// save keeps what is so in front of flush gen.
func (t *trackIndex) save(gen int) {
	if t.gen == gen {
		return
	}
	t.gen = gen
	t.state(&t.was)
}

func (t *trackIndex) state(s *trackState) {
	s.windows, s.runs, s.joins = t.seen+int64(len(t.run)), t.guess.mark(), s.joins[:0]
	for _, j := range t.joins {
		s.joins = append(s.joins, joinState{j.size, j.pace.usual, j.any, j.last})
	}
}

// save keeps what is so in front of flush gen.
func (l *levelIndex) save(gen int) {
	if l.gen == gen {
		return
	}
	l.gen = gen
	l.state(&l.was)
}

func (l *levelIndex) state(s *levelState) {
	carry := s.carry[:0]
	if l.full {
		carry = append(carry, l.carry...)
	}
	*s = levelState{l.size, l.given, l.total, l.guess.mark(), l.guessEnds.mark(), l.full, l.entry, l.exit, l.n, carry}
}

// before is the state of a track in front of the last flush.
func (t *trackIndex) before(gen int) trackState {
	var s trackState
	if t.state(&s); t.gen == gen {
		s = t.was
	}
	for i := range t.sums {
		m := &t.sums[i]
		off := m.off
		if m.gen == gen {
			off = m.was
		}
		if s.windows>>i&1 == 0 {
			off = 0
		}
		s.sums = append(s.sums, off)
	}
	if n := bitLen(s.windows); len(s.sums) > n {
		s.sums = s.sums[:n]
	}
	levels := func(list []*levelIndex) (out []levelState) {
		for _, l := range list {
			var x levelState
			if l.state(&x); l.gen == gen {
				given := x.given
				x = l.was
				x.carry = slices.Clone(x.carry)
				x.given = x.given || given
			}
			out = append(out, x)
		}
		return out
	}
	if s.windows > 0 {
		s.bins, s.level = levels(t.bins), levels(t.level)
	}
	for len(s.level) > 0 && s.level[len(s.level)-1].total == 0 {
		s.level = s.level[:len(s.level)-1]
	}
	return s
}

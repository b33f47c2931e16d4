package zoomindex

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/farread/farread/formats/internal/varint"
	"github.com/farread/farread/formats/zoomcache"
)

// stateVersion is the version of the page of sectionState.
const stateVersion = 1

// A state is what a Builder knew in front of the last flush with samples, but for what its
// pages tell: with these, and the samples of that flush, it goes on as if it had not ended, but
// that parts of the index may come to lie elsewhere between the blocks.
type state struct {
	cut    int64 // where that flush begins
	coarse int
	sum    []byte // of the hash of what lies between the blocks in front of cut
	tracks []trackState
}

func bitLen(n int64) int { return bits.Len64(uint64(n)) }

// grows reports whether a series of this track can be gone on with.
func grows(t *zoomcache.Track) bool {
	return t.Codec.Width() == 1 && t.Codec.Kind != zoomcache.Unit
}

// remember makes the page of sectionState, at the end of the file. There is none if a track
// has no part in the index.
func (x *Builder) remember() error {
	if x.marks.cut <= 0 || x.against != nil {
		return nil
	}
	s := state{cut: x.marks.cut, coarse: x.coarse, sum: x.marks.before(&x.b)}
	for _, t := range x.tracks {
		if t.out || !grows(t.t) {
			return nil
		}
		b := t.before(x.marks.gen)
		if len(b.sums) < bitLen(b.windows) { // the file has no summaries
			return nil
		}
		s.tracks = append(s.tracks, b)
	}
	x.k.begin()
	x.k.raw = s.append(x.k.raw)
	x.k.mark()
	p, err := x.k.pack(&guess{})
	x.note = append([]byte(nil), p...)
	return err
}

func (s *state) append(p []byte) []byte {
	p = binary.AppendUvarint(p, stateVersion)
	p = binary.AppendUvarint(p, uint64(s.cut))
	p = binary.AppendUvarint(p, uint64(s.coarse))
	p = append(binary.AppendUvarint(p, uint64(len(s.sum))), s.sum...)
	p = binary.AppendUvarint(p, uint64(len(s.tracks)))
	for i := range s.tracks {
		p = s.tracks[i].append(p)
	}
	return p
}

func (t *trackState) append(p []byte) []byte {
	p = binary.AppendUvarint(p, uint64(t.windows))
	if t.windows == 0 {
		return p
	}
	p = t.runs.append(p)
	p = binary.AppendUvarint(p, uint64(len(t.joins)))
	for _, j := range t.joins {
		p = binary.AppendUvarint(p, uint64(j.size))
		p = appendFloat(p, j.usual)
		p = append(p, flag(j.any))
		p = binary.AppendVarint(p, j.last)
	}
	last := int64(0)
	for i, off := range t.sums { // higher levels wait for longer
		if t.windows>>i&1 != 0 {
			p = binary.AppendVarint(p, off-last)
			last = off
		}
	}
	for _, list := range [...][]levelState{t.bins, t.level} {
		p = binary.AppendUvarint(p, uint64(len(list)))
		for i := range list {
			p = list[i].append(p)
		}
	}
	return p
}

func (g guessMark) append(p []byte) []byte {
	for _, v := range [...]int{g.pages, g.fresh, g.age} {
		p = binary.AppendUvarint(p, uint64(v))
	}
	return p
}

func (l *levelState) append(p []byte) []byte {
	p = append(p, flag(l.given)|2*flag(l.full))
	p = binary.AppendUvarint(p, uint64(l.size))
	p = binary.AppendUvarint(p, uint64(l.total))
	p = l.ends.append(l.core.append(p))
	if !l.full {
		return p
	}
	p = binary.AppendVarint(p, l.entry)
	p = binary.AppendUvarint(p, uint64(l.exit)-uint64(l.entry))
	p = binary.AppendUvarint(p, uint64(l.n))
	for i := range l.carry {
		c := &l.carry[i]
		for _, v := range [...]uint64{uint64(c.n - c.valid), c.min, c.max, c.first, c.last} {
			p = binary.AppendUvarint(p, v)
		}
		p = appendFloat(appendFloat(p, c.sum), c.sq)
	}
	return p
}

func appendFloat(p []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(p, math.Float64bits(x))
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

const (
	mostJoins = 64
	mostBins  = 64
)

// parseState reads a decoded page of sectionState, of so many tracks.
func parseState(p []byte, tracks int) (*state, bool) {
	d := &metaParser{varint.Reader{P: p}}
	if d.uint() != stateVersion {
		return nil, false
	}
	s := &state{cut: d.uint(), coarse: int(min(d.uint(), math.MaxInt32))}
	s.sum = d.Bytes(uint64(d.uint()))
	if n := d.uint(); d.Bad || n != int64(tracks) {
		return nil, false
	}
	s.tracks = make([]trackState, tracks)
	for i := range s.tracks {
		if !s.tracks[i].parse(d) {
			return nil, false
		}
	}
	return s, !d.Bad && len(d.P) == 0
}

// most reads a number of at most n things.
func (d *metaParser) most(n int) int {
	v := d.uint()
	if v > int64(n) {
		d.Fail()
		return 0
	}
	return int(v)
}

func (d *metaParser) float() float64 {
	p := d.Bytes(uint64(8))
	if len(p) < 8 {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(p))
}

func (d *metaParser) byte() byte {
	if p := d.Bytes(uint64(1)); len(p) == 1 {
		return p[0]
	}
	return 0
}

func (t *trackState) parse(d *metaParser) bool {
	if t.windows = d.uint(); t.windows == 0 {
		return !d.Bad
	}
	t.runs = d.guess()
	for range d.most(mostJoins) {
		j := joinState{size: d.uint(), usual: d.float(), any: d.byte() == 1, last: d.Int()}
		d.Bad = d.Bad || !(j.usual >= 0 && j.usual <= math.MaxFloat64)
		t.joins = append(t.joins, j)
	}
	last := int64(0)
	for i := range bitLen(t.windows) {
		off := int64(0)
		if t.windows>>i&1 != 0 {
			off = last + d.Int()
			d.Bad = d.Bad || off <= 0
			last = off
		}
		t.sums = append(t.sums, off)
	}
	for range d.most(mostBins) {
		t.bins = append(t.bins, d.level())
	}
	for range d.most(zoomcache.MaxLevel) {
		t.level = append(t.level, d.level())
	}
	return !d.Bad
}

func (d *metaParser) guess() guessMark {
	g := guessMark{d.most(math.MaxInt32), d.most(math.MaxInt32), d.most(guessAge)}
	d.Bad = d.Bad || g.fresh > g.pages
	return g
}

func (d *metaParser) level() levelState {
	bits := d.byte()
	l := levelState{given: bits&1 != 0, full: bits&2 != 0, size: d.uint(), total: d.uint(), core: d.guess(), ends: d.guess()}
	if !l.full {
		return l
	}
	l.entry = d.Int()
	long := d.Uint()
	l.exit, l.n = int64(uint64(l.entry)+long), d.uint()
	c := stat{n: l.n}
	c.valid = l.n - d.uint()
	c.min, c.max, c.first, c.last = d.Uint(), d.Uint(), d.Uint(), d.Uint()
	c.sum, c.sq = d.float(), d.float()
	d.Bad = d.Bad || l.exit < l.entry || c.valid < 0 || l.n < 1
	l.carry = []stat{c}
	return l
}

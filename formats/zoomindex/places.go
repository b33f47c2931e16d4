package zoomindex

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// maxPlaces is how many stretches an index has, all tracks together: some 3 KB. A track
// that would get fewer than leastPlaces has none.
const (
	maxPlaces   = 256
	leastPlaces = 4
)

// mostPlaces is how many stretches each of so many tracks may have; 0: none.
func mostPlaces(tracks int) int {
	if n := maxPlaces / tracks; n >= leastPlaces {
		return n
	}
	return 0
}

// A stretch is a run of packets of a track. It tells their places to within a few
// bytes: a packet whose first offset is x begins near a line. The line goes from the
// first packet of this stretch, at (entry, off), to the first packet of the next one.
type stretch struct {
	entry, off int64
	down, up   int64 // greatest distance of a packet's start before and after the line
	step       int64 // greatest distance between the entries of successive packets; MaxInt64: that or more
	own        int64 // total bytes of the packets
}

// line is the value at x of the line from a to c, rounded down.
func line(a, c *stretch, x int64) int64 {
	x = min(max(x, a.entry), c.entry)
	span := uint64(c.entry) - uint64(a.entry)
	if span == 0 {
		return a.off
	}
	hi, lo := bits.Mul64(uint64(x)-uint64(a.entry), uint64(c.off-a.off))
	q, _ := bits.Div64(hi, lo, span) // x is at most span from a
	return a.off + int64(q)
}

// gap is the distance from one entry to a later one.
func gap(from, to int64) int64 {
	return int64(min(uint64(to)-uint64(from), math.MaxInt64))
}

// join makes one stretch of a and b, which c follows. The distance of b from the new
// line widens the band in which packets may lie.
func join(a, b, c *stretch) stretch {
	d := b.off - line(a, c, b.entry) // rounded up
	most := c.off - a.off
	return stretch{
		entry: a.entry, off: a.off, step: max(a.step, b.step), own: a.own + b.own,
		up:   min(max(a.up, b.up)+max(d, 0), most),
		down: min(max(a.down, b.down)+max(1-d, 0), most),
	}
}

// loose is how many unneeded bytes a reader reads if it knows only this stretch, which
// c follows.
func (s *stretch) loose(c *stretch) int64 {
	step := c.entry
	if s.step < gap(s.entry, c.entry) {
		step = s.entry + s.step
	}
	return s.down + s.up + line(s, c, step) - s.off
}

// places gathers stretches of packets and keeps only a few: it joins those whose
// joining costs readers least.
type places struct {
	list []stretch // the last stretch is the last packet
	most int
	cost []int64
	some []int64 // memory for costs in another order
}

func (p *places) add(r *packetRun) {
	if n := len(p.list); n > 0 {
		p.list[n-1].step = gap(p.list[n-1].entry, r.entry)
	}
	p.list = append(p.list, stretch{entry: r.entry, off: r.off, own: r.size()})
	if len(p.list) > 2*p.most {
		p.thin(p.most * 3 / 2)
	}
}

// end returns the stretches, and one more that has no packets: it begins where r,
// the last packet, ends.
func (p *places) end(r *packetRun) []stretch {
	last := stretch{entry: r.exit, off: r.end()}
	if r.exit < math.MaxInt64 {
		last.entry++
	}
	p.list[len(p.list)-1].step = gap(r.entry, last.entry)
	p.list = append(p.list, last)
	p.thin(p.most + 1)
	return p.list
}

// thin joins stretches until at most that many are left. The last one stays as it is.
func (p *places) thin(most int) {
	for most = max(most, 2); len(p.list) > most; {
		l := p.list
		p.cost = p.cost[:0]
		for i := 0; i+2 < len(l); i++ {
			s := join(&l[i], &l[i+1], &l[i+2])
			p.cost = append(p.cost, s.loose(&l[i+2]))
		}
		p.some = append(p.some[:0], p.cost...)
		limit := nth(p.some, len(p.some)/2)
		n, left := 0, len(l)
		for i := 0; i < len(l); n++ {
			if i+2 < len(l) && left > most && p.cost[i] <= limit {
				l[n] = join(&l[i], &l[i+1], &l[i+2])
				i, left = i+2, left-1
				continue
			}
			l[n] = l[i]
			i++
		}
		p.list = l[:n]
	}
}

// nth is number n of v in ascending order. It changes the order.
func nth(v []int64, n int) int64 {
	for len(v) > 12 {
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		mid := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(v)-1
		for i <= j {
			for v[i] < mid {
				i++
			}
			for v[j] > mid {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i, j = i+1, j-1
			}
		}
		switch { // v[:j+1] are at most mid, v[i:] at least; between them is mid
		case n <= j:
			v = v[:j+1]
		case n >= i:
			v, n = v[i:], n-i
		default:
			return mid
		}
	}
	slices.Sort(v)
	return v[n]
}

// places makes a page of stretches and of where they end.
func (k *packer) places(list []stretch) ([]byte, error) {
	k.begin()
	n := len(list) - 1
	put := func(col func(s *stretch) int64, n, order int) {
		var last, step int64
		for i := range list[:n] {
			v := col(&list[i])
			d := v - last
			last = v
			if order > 1 {
				d, step = d-step, d
			}
			k.raw = binary.AppendVarint(k.raw, d)
		}
		k.mark()
	}
	put(func(s *stretch) int64 { return s.entry }, n+1, 2)
	put(func(s *stretch) int64 { return s.off }, n+1, 2)
	put(func(s *stretch) int64 { return s.down }, n, 1)
	put(func(s *stretch) int64 { return s.up }, n, 1)
	put(func(s *stretch) int64 { return s.step }, n, 1)
	put(func(s *stretch) int64 { return s.own }, n, 1)
	return k.pack(&guess{})
}

// places reads a page of stretches of packets that lie in front of end.
func (u *unpacker) places(p []byte, pg *index.Page, end int64) ([]stretch, error) {
	if err := u.open(p); err != nil {
		return nil, err
	}
	if pg.Count < 1 || pg.Count > int64(len(u.p)/6) { // six numbers for each stretch
		return nil, damagedIndex()
	}
	n := int(pg.Count)
	list := make([]stretch, n+1)
	ok := true
	take := func(col func(s *stretch) *int64, n, order int) {
		var last, step int64
		for i := range list[:n] {
			d, good := u.int()
			ok = ok && good
			if order > 1 {
				step += d // wraps, as in the file
				d = step
			}
			last += d
			*col(&list[i]) = last
		}
	}
	take(func(s *stretch) *int64 { return &s.entry }, n+1, 2)
	take(func(s *stretch) *int64 { return &s.off }, n+1, 2)
	take(func(s *stretch) *int64 { return &s.down }, n, 1)
	take(func(s *stretch) *int64 { return &s.up }, n, 1)
	take(func(s *stretch) *int64 { return &s.step }, n, 1)
	take(func(s *stretch) *int64 { return &s.own }, n, 1)
	if !ok || len(u.p) > 0 || list[0].entry != pg.First || list[0].off < 0 || list[n].off > end || list[n].entry < pg.Last {
		return nil, damagedIndex()
	}
	for i := range list[:n] {
		s, next := &list[i], &list[i+1]
		if next.entry < s.entry || next.off < s.off || next.off-s.off < zoomcache.BlockHeaderLen {
			return nil, damagedIndex()
		}
		if room := next.off - s.off; s.down < 0 || s.down > room || s.up < 0 || s.up > room || s.step < 0 || s.own < 0 || s.own > room {
			return nil, damagedIndex()
		}
	}
	return list, nil
}

package zoomindex

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sort"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// mostByPlaces is how many bytes are read if it is not known which of them belong to
// the track. If there would be more, a request for the places of the track's packets
// pays off.
const mostByPlaces = 1 << 20

// A placedRead is a stretch of bytes that has all packets of a range, at places that
// are not known yet.
type placedRead struct {
	pieces []pull.Part[struct{}] // ranges of bytes between parts of the index
	total  int64
	// first is set if a packet of the track begins at first.off. Otherwise the first
	// packet to find is the last one whose entry is below from; its entry is at least
	// least, and it begins at or before latest.
	first  *stretch
	least  int64
	latest int64
	last   bool  // the range includes the last packet
	exit   int64 // exit of the last packet
	own    int64 // estimated bytes of the range's packets
}

// byPlaces says what to read for the range of the lister, by the rough places of
// packets. It is nil if that is of no use: the exact list was read with the directory,
// or the rough places were not. It reads nothing.
func (l *runLister) byPlaces(ctx context.Context) *placedRead {
	v := l.v
	s := v.section(sectionPlace, 0)
	if l.i >= l.j || v.ix.Held(l.s, l.i, l.j) || s == nil || len(s.Pages) != 1 || !v.ix.Held(s, 0, 1) {
		return nil
	}
	pages, err := v.ix.Pages(ctx, index.Parts{Section: s, I: 0, J: 1})
	if err != nil {
		return nil
	}
	list, err := v.u.places(pages[0], &s.Pages[0], v.ix.Trailer.Plain)
	if err != nil {
		return nil
	}
	return v.around(list, s.Pages[0].Last)
}

// short reports whether the read is small enough to be made.
func (r *placedRead) short(f *File) bool { return r.total <= min(mostByPlaces, f.Window()) }

// around says between which bytes the packets of the range lie, or nil if that is not
// known. exit is the exit of the track's last packet.
func (v *indexView) around(list []stretch, exit int64) *placedRead {
	n := len(list) - 1
	if v.from >= list[n].entry || v.to < list[0].entry {
		return nil
	}
	r := &placedRead{exit: exit}
	// The last packet with an entry below from is in stretch i.
	i := sort.Search(n, func(k int) bool { return list[k].entry >= v.from }) - 1
	lo := list[0].off
	if i >= 0 {
		s, next := &list[i], &list[i+1]
		r.least = s.entry
		if s.step < gap(s.entry, v.from) {
			r.least = v.from - s.step
		}
		lo = max(line(s, next, r.least)-s.down, s.off)
		r.latest = min(line(s, next, v.from)+1+s.up, next.off)
	}
	if i = max(i, 0); lo == list[i].off {
		r.first = &list[i]
	}
	// The first packet behind the range is in stretch k, or begins the next one.
	k := sort.Search(n, func(k int) bool { return list[k].entry > v.to }) - 1
	s, next := &list[k], &list[k+1]
	after := int64(math.MaxInt64)
	if s.step < gap(v.to, math.MaxInt64) {
		after = v.to + s.step
	}
	hi := min(line(s, next, after)+1+s.up, next.off)
	if r.last = k == n-1 && hi == list[n].off; !r.last {
		hi += zoomcache.BlockHeaderLen // include the header of the next packet
	}
	for m := i; m <= k; m++ {
		a, c := max(lo, list[m].off), min(hi, list[m+1].off)
		r.own += int64(float64(list[m].own) * float64(max(c-a, 0)) / float64(list[m+1].off-list[m].off))
	}
	if !r.cut(lo, hi, v.ix.Extents()) {
		return nil
	}
	return r
}

// cut makes pieces of [lo, hi), leaving out the parts of the index in it.
func (r *placedRead) cut(lo, hi int64, parts []index.Extent) bool {
	at := int64(0)
	for _, e := range parts {
		begin, end := e.Off-zoomcache.BlockHeaderLen, e.Off+e.Len
		if begin < at {
			return false
		}
		at = end
		switch {
		case end <= lo || begin >= hi:
			continue
		case begin > lo:
			r.pieces = append(r.pieces, pull.Part[struct{}]{Off: lo, Len: begin - lo})
		}
		lo = end
	}
	if hi > lo {
		r.pieces = append(r.pieces, pull.Part[struct{}]{Off: lo, Len: hi - lo})
	}
	for _, p := range r.pieces {
		r.total += p.Len
	}
	return len(r.pieces) > 0
}

// find finds the packets of the range. If the start of the first one is not known,
// find follows the chain of blocks from each candidate to behind the range. It
// succeeds only if one chain contains all candidates, since one of them must be
// right. So an index that is wrong inside its ends finds all packets, or none.
func (v *indexView) find(r *placedRead, spans []rangeio.Span) ([]placedPacket, bool) {
	starts := []int64{spans[0].Off}
	switch {
	case r.first == nil:
		starts = v.starts(r, spans)
	case r.first.off != spans[0].Off:
		return nil, false
	}
	if len(starts) == 0 {
		return nil, false
	}
	for len(spans) > 1 && starts[0] >= spans[1].Off {
		spans = spans[1:]
	}
	c := &packetChain{v: v, r: r, must: starts}
	for i := range spans {
		if more, ok := c.follow(&spans[i]); !more {
			return c.list, ok && len(c.must) == 0
		}
	}
	return c.list, r.last && c.exit == r.exit && len(c.must) == 0
}

// A placedPacket is a packet that was found.
type placedPacket struct {
	packetRun
	raw []byte
}

// starts lists the places that look like the start of the last packet before the range.
func (v *indexView) starts(r *placedRead, spans []rangeio.Span) (list []int64) {
	const most = 1 << 10 // beyond this number, packets are so short that the list is better
	for _, s := range spans {
		for at := 0; ; at++ {
			k := bytes.Index(s.P[at:], []byte(zoomcache.MarkerPacket))
			if at += k; k < 0 || s.Off+int64(at) > r.latest {
				break
			}
			b, err := v.f.ParseBlock(s.P[at:], s.Off+int64(at))
			if err != nil || b.Track != v.t.Number || b.Count == 0 || b.Entry < r.least || b.Entry >= v.from || b.Exit < b.Entry {
				continue
			}
			if list = append(list, b.Off); len(list) > most {
				return nil
			}
		}
	}
	return list
}

// A packetChain follows the blocks, one after another, and must meet a block at each
// place in must.
type packetChain struct {
	v    *indexView
	r    *placedRead
	list []placedPacket // packets of the range
	must []int64
	any  bool
	exit int64 // exit of the last packet
}

// follow goes through the blocks of a piece. The first block begins at the first place
// in must, or with the piece. more says that the chain goes on behind the piece;
// otherwise it has ended, and ok says whether it ended well.
func (c *packetChain) follow(s *rangeio.Span) (more, ok bool) {
	v, at := c.v, 0
	if !c.any && len(c.must) > 0 {
		at = int(c.must[0] - s.Off)
	}
	for at < len(s.P) {
		off := s.Off + int64(at)
		if len(c.must) > 0 && off >= c.must[0] {
			if off > c.must[0] {
				return false, false
			}
			c.must = c.must[1:]
		}
		k, err := v.f.ParseBlock(s.P[at:], off)
		if err != nil {
			return false, false
		}
		ours := !k.Summary && k.Track == v.t.Number && k.Count > 0
		if ours && (k.Exit < k.Entry || c.any && k.Entry < c.exit || !c.any && c.r.first != nil && k.Entry != c.r.first.entry) {
			return false, false
		}
		if ours && k.Entry > v.to {
			return false, true
		}
		size := k.Size()
		if size > int64(len(s.P)-at) {
			return false, false
		}
		if ours {
			if c.any, c.exit = true, k.Exit; k.Exit >= v.from {
				c.list = append(c.list, placedPacket{
					packetRun{entry: k.Entry, exit: k.Exit, count: int64(k.Count), off: off, len: k.Len}, s.P[at : at+int(size) : at+int(size)]})
			}
		} else if !c.any {
			return false, false // the piece begins with a packet of the track
		}
		at += int(size)
	}
	return true, false
}

// placed passes the packets of the range to x, if the index allows to read them in one
// read that is little larger than they are. done tells that placed has passed all of
// them, or failed. It passes none if the bytes look like two different packets, or if
// the file differs from the index.
func (v *indexView) placed(ctx context.Context, r *placedRead, x *packetTaker) (done bool, err error) {
	last := &r.pieces[len(r.pieces)-1]
	p := pull.Pull[struct{}]{From: v.f.r, Window: last.Off + last.Len - r.pieces[0].Off, // one read of all pieces
		Parts: pull.Of(r.pieces...), Failed: failedPackets[struct{}], Why: whyPackets[struct{}]}
	for w, err := range p.Windows(ctx) {
		if err != nil {
			return true, err
		}
		spans := make([]rangeio.Span, len(w.Parts))
		for i := range spans {
			spans[i] = rangeio.Span{Off: w.Parts[i].Off, P: w.Bytes(i)}
		}
		list, ok := v.find(r, spans)
		if !ok {
			return false, nil
		}
		for i, k := range list {
			if err := x.take(k.packetRun, k.raw); err != nil {
				_, caller := errors.AsType[callerError](err)
				return i > 0 || caller, err
			}
		}
	}
	return true, nil
}

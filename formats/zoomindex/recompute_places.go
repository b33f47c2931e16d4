package zoomindex

import (
	"github.com/farread/farread/formats/index"
)

// A placeCheck compares the packets of a track with the rough places in an index.
type placeCheck struct {
	c    *cursor
	list []stretch // nil: not read yet
	at   int       // the stretch of the last packet
	last packetRun
	own  int64 // bytes of the packets of the stretch so far
}

// placeCheck begins with a track's section. It is nil if there is none.
func (w *against) placeCheck(track int32) *placeCheck {
	c := w.cursor(index.Name{Kind: sectionPlace, Of: int64(track)})
	if c == nil {
		return nil
	}
	return &placeCheck{c: c}
}

// places compares the next packets of a track.
func (w *against) places(p *placeCheck, runs []packetRun) error {
	if p == nil || p.c.done {
		return nil
	}
	if p.list == nil {
		s := p.c.s
		if len(s.Pages) != 1 {
			w.tell(p.c, "the index has %d lists of about where packets lie", len(s.Pages))
			return nil
		}
		pages, err := w.read(index.Parts{Section: s, I: 0, J: 1})
		if err == nil {
			p.list, err = w.u.places(pages[0], &s.Pages[0], w.plain)
		}
		if err != nil {
			return w.damaged(p.c, err)
		}
		p.at = -1
	}
	for i := range runs {
		if !p.next(&runs[i]) {
			w.tell(p.c, "the index puts packets about elsewhere, from offset %d on", runs[i].entry)
			return nil
		}
	}
	return nil
}

// next reports whether a packet lies within its stretch.
func (p *placeCheck) next(r *packetRun) bool {
	n := len(p.list) - 1
	if p.at >= 0 && gap(p.last.entry, r.entry) > p.list[p.at].step {
		return false
	}
	if next := p.at + 1; r.off >= p.list[next].off {
		if next == n || p.at >= 0 && p.own != p.list[p.at].own || r.off != p.list[next].off || r.entry != p.list[next].entry {
			return false
		}
		p.at, p.own = next, 0
	}
	if p.at < 0 {
		return false
	}
	s, behind := &p.list[p.at], &p.list[p.at+1]
	at := line(s, behind, r.entry)
	p.last, p.own = *r, p.own+r.size()
	return r.entry <= behind.entry && r.off >= at-s.down && r.off <= at+1+s.up
}

// placesEnd compares the end of the list with the last packet.
func (w *against) placesEnd(p *placeCheck) {
	if p == nil || p.c.done || p.list == nil {
		return
	}
	n := len(p.list) - 1
	if end := &p.list[n]; p.at != n-1 || p.own != p.list[p.at].own || end.off != p.last.end() || end.entry < p.last.exit ||
		gap(p.last.entry, end.entry) > p.list[p.at].step {
		w.tell(p.c, "the index puts the last packet elsewhere")
		return
	}
	p.c.next = 1
}

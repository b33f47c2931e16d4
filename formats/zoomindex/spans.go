package zoomindex

import (
	"slices"

	"github.com/farread/farread/formats/zoomcache"
)

// A pace is the usual distance from the end of one span to the end of the next, for
// spans of one size. A longer distance between two samples is a gap, and no span goes
// across a gap. If there are many gaps they become usual, so that spans do not get too
// short.
type pace struct{ usual float64 } // offsets; 0: not known

const (
	// A pace moves by the paceUp-th or the paceDown-th part of a change. A single gap
	// counts as at most paceMost times the usual distance. So a rate that drops to a
	// thousandth becomes usual after some twenty spans, and one gap does not hide the
	// next.
	paceUp   = 8
	paceDown = 2
	paceMost = 4
)

// gap reports whether a distance between two samples is a gap.
func (p pace) gap(offsets float64) bool { return p.usual > 0 && offsets > p.usual }

// seen takes in the length of a span.
func (p *pace) seen(offsets float64) {
	if p.usual <= 0 {
		return
	}
	switch offsets = min(offsets, paceMost*p.usual); {
	case offsets < p.usual:
		p.usual -= float64((p.usual - offsets) / paceDown)
	default:
		p.usual += float64((offsets - p.usual) / paceUp)
	}
	p.usual = max(p.usual, 1)
}

// A joiner joins samples, or shorter spans, of a track of variable rate into spans of
// one size. A span has at most size samples, lies in one window, and does not go across
// a gap.
type joiner struct {
	l           *levelIndex // level of the bins; nil: level 1, which has whole windows, cut at gaps
	size        int64       // samples
	pace        pace
	entry, exit int64
	n           int64 // number of samples so far
	st          []stat
	last        int64 // end of the previous span
	any         bool  // there was a previous span
}

// joiners makes the joiners of a track: one for each size of bins, the finest first,
// and one for level 1.
func (t *trackIndex) joiners() {
	width := t.t.Codec.Width()
	for _, l := range t.bins {
		t.joins = append(t.joins, &joiner{l: l, size: l.size, st: make([]stat, width)})
	}
	t.joins = append(t.joins, &joiner{st: make([]stat, width)})
}

// full reports whether the span has no room for n more samples.
func (j *joiner) full(n int64) bool { return j.l != nil && j.n+n > j.size }

// pace is the least pace of joiner k and those after it, since bins may be longer than
// windows.
func (t *trackIndex) pace(k int) pace {
	p := t.joins[k].pace
	for _, j := range t.joins[k+1:] {
		p.usual = min(p.usual, j.pace.usual)
	}
	return p
}

// begin makes the joiners ready for a window.
func (t *trackIndex) begin(stamps []int64) {
	whole := t.joins[len(t.joins)-1]
	if n := int64(len(stamps)); n > whole.size {
		if whole.size > 0 {
			whole.pace.usual *= float64(n) / float64(whole.size)
		}
		whole.size = n
	}
	if whole.pace.usual > 0 {
		return
	}
	step := usualStep(stamps)
	for _, j := range t.joins {
		j.pace.usual = step * float64(j.size)
	}
}

// steps is how many distances between stamps of a window decide which distance is
// usual.
const steps = 1 << 10

// usualStep is the median of the positive distances between stamps. It is 0 if there
// are none.
func usualStep(stamps []int64) float64 {
	var list []float64
	for i, every := 1, len(stamps)/steps+1; i < len(stamps); i += every {
		if d := float64(stamps[i]) - float64(stamps[i-1]); d > 0 {
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// cut adds the spans of a window of variable rate, of n samples.
func (x *Builder) cut(t *trackIndex, stamps []int64, v *zoomcache.Values, n int) error {
	if t.joins == nil {
		t.joiners()
	}
	t.begin(stamps)
	width, fine := t.t.Codec.Width(), t.joins[0]
	for i := 0; i < n; {
		k := i + 1
		least := t.pace(0)
		for fine.n = 1; k < n && !fine.full(1) && !least.gap(float64(stamps[k])-float64(stamps[k-1])); k++ {
			fine.n++
		}
		for c := range fine.st {
			fine.st[c] = gather(v, c, width, i, k)
		}
		fine.entry, fine.exit = stamps[i], stamps[k-1]
		if err := x.joined(t, 0); err != nil {
			return err
		}
		i = k
	}
	for k, j := range t.joins {
		if j.n > 0 {
			if err := x.joined(t, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// joined passes on the span of joiner k, to its level and to the next joiner.
func (x *Builder) joined(t *trackIndex, k int) error {
	j := t.joins[k]
	if j.any {
		j.pace.seen((float64(j.exit) - float64(j.last)) * float64(j.size) / float64(j.n))
	}
	j.any, j.last = true, j.exit
	n := j.n
	j.n = 0
	if j.l == nil {
		return x.push(t, j.entry, j.exit, n, j.st)
	}
	j.l.save(x.marks.gen)
	if err := x.room(t, j.l); err != nil {
		return err
	}
	if j.l.total++; !j.l.given {
		j.l.sheet.add(j.entry, j.exit, n, j.st)
		x.grown(j.l)
	}
	up := t.joins[k+1]
	if up.n > 0 && (up.full(n) || t.pace(k+1).gap(float64(j.entry)-float64(up.exit))) {
		if err := x.joined(t, k+1); err != nil {
			return err
		}
	}
	if up.n == 0 {
		up.entry = j.entry
		copy(up.st, j.st)
	} else {
		for c := range up.st {
			up.st[c].join(&j.st[c])
		}
	}
	up.exit = j.exit
	up.n += n
	return nil
}

// same gives up bins that have as many spans as the next size, or as level 1: windows
// are too short for both.
func (x *Builder) same(t *trackIndex) {
	if !t.gaps {
		return
	}
	for k, l := range t.bins {
		next := t.level[0]
		if k+1 < len(t.bins) {
			next = t.bins[k+1]
		}
		if !l.given && l.total == next.total {
			l.given = true
			l.core.Drop()
		}
	}
}

// far reports whether there is a gap between two spans of levels[i], the first of
// which ends at exit: the distance is longer than spans of the level above.
func (t *trackIndex) far(i int, exit, entry int64) bool {
	if len(t.joins) == 0 || i >= zoomcache.MaxLevel-2 {
		return false
	}
	p := t.joins[len(t.joins)-1].pace
	for range i + 1 {
		p.usual *= 2
	}
	return p.gap(float64(entry) - float64(exit))
}

// push adds a span of level 1 and joins pairs into higher levels. If a gap lies between
// the two of a pair, the first goes up alone.
func (x *Builder) push(t *trackIndex, entry, exit, n int64, st []stat) error {
	return x.pushAt(t, 0, entry, exit, n, st, true)
}

// pushAt adds a span to level[i] of a track. grow allows a new level above.
func (x *Builder) pushAt(t *trackIndex, i int, entry, exit, n int64, st []stat, grow bool) error {
	for ; ; i++ {
		if i == len(t.level) {
			if !grow {
				return nil
			}
			x.addLevel(t)
		}
		l := t.level[i]
		l.save(x.marks.gen)
		if err := x.room(t, l); err != nil {
			return err
		}
		if l.total++; !l.given {
			l.sheet.add(entry, exit, n, st)
			x.grown(l)
		}
		switch {
		case !l.full:
			l.full, l.entry, l.exit, l.n = true, entry, exit, n
			copy(l.carry, st)
			return nil
		case t.far(i, l.exit, entry):
			for c := range st {
				l.carry[c], st[c] = st[c], l.carry[c]
			}
			l.entry, entry = entry, l.entry
			l.exit, exit = exit, l.exit
			l.n, n = n, l.n
			continue
		}
		l.full = false
		for c := range st {
			l.carry[c].join(&st[c])
			st[c] = l.carry[c]
		}
		entry, n = l.entry, l.n+n
	}
}

// addLevel begins one more level.
func (x *Builder) addLevel(t *trackIndex) {
	i := len(t.level)
	t.level = append(t.level, x.newLevel(t, levelName(i)))
	if len(t.bins)+i < x.coarse {
		x.give(t.level[i])
	}
}

// rise adds the spans that wait for a partner to the levels above, so that each level
// covers all samples.
func (x *Builder) rise(t *trackIndex) error {
	for i, l := range t.level {
		if !l.full {
			continue
		}
		l.full = false
		if err := x.pushAt(t, i+1, l.entry, l.exit, l.n, slices.Clone(l.carry), false); err != nil {
			return err
		}
	}
	return nil
}

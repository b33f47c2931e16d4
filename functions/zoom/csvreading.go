package zoom

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/farread/farread/functions/internal/kit"
)

// A candidate is a way to read the stamps, with what it makes of those so far.
type candidate struct {
	layout *layout // nil: as the table says
	clock  zoneClock
	span   csvSpan
}

// csvSpan is the result of the first reading of the stamps.
type csvSpan struct {
	first, last stamp
	low, high   int64
	digits      int
	finer       bool
	ahead, back int64 // stamps that go forward, and back
	backLine    int64 // line of the first of them
	backText    string
	behind      string // what stands before that
	backBy      int64  // how many seconds the first one goes back
	backLeast   int64  // and that which goes back least
	lastText    string
	early       stamp // the earliest stamp
	earlyLine   int64
	least, most int64 // shortest and longest step forward, in seconds; 0: none
}

// add takes in the stamp of a line, with its text if it has one.
func (s *csvSpan) add(at stamp, first bool, line int64, text string) {
	if first {
		s.first, s.last, s.low, s.high = at, at, at.sec, at.sec
	}
	if first || at.before(s.early) {
		s.early, s.earlyLine = at, line
	}
	if !first && s.last.before(at) {
		s.ahead++
	}
	if at.before(s.last) {
		if by := s.last.sec - at.sec; s.back == 0 || by < s.backLeast {
			s.backLeast = by
		}
		if s.back++; s.back == 1 {
			s.backLine, s.backText, s.behind, s.backBy = line, text, s.lastText, s.last.sec-at.sec
			if text == "" {
				s.backText, s.behind = at.time().Format(time.RFC3339Nano), s.last.time().Format(time.RFC3339Nano)
			}
		}
	}
	s.lastText = text
	if step := at.sec - s.last.sec; step > 0 {
		if s.least == 0 {
			s.least = step
		}
		s.least, s.most = min(s.least, step), max(s.most, step)
	}
	s.last = at
	s.low, s.high = min(s.low, at.sec), max(s.high, at.sec)
	s.digits = max(s.digits, at.digits())
	s.finer = s.finer || at.finer
}

// uneven is how many times the longest step is as long as the shortest one.
func (s *csvSpan) uneven() float64 {
	if s.least == 0 {
		return math.Inf(1)
	}
	return float64(s.most) / float64(s.least)
}

// stamp takes in a stamp. That of the first line decides in which ways all others may be
// read; those that do not fit it are dropped.
func (r *firstReading) stamp(text string, line int64) error {
	t := r.t
	first := t.about.Rows == 0
	if first {
		var err error
		if r.may, err = t.readings(text); err != nil {
			return err
		}
	}
	n, same := 0, false
	for _, c := range r.may {
		s, ok := t.time(c.layout, &c.clock, text)
		if !ok {
			continue
		}
		same = !first && s == c.span.last
		c.span.add(s, first, line, text)
		r.may[n] = c
		n++
	}
	t.doubt(text)
	switch {
	case n == 0:
		return kit.Corrupt("column %.60q: %.60q is %s", t.name, text, t.wrong(r.may[0].layout))
	case same:
		if err := t.again(); err != nil {
			return err
		}
	}
	r.may = r.may[:n]
	return nil
}

// readings lists the ways to read stamps like the first one.
func (t *table) readings(text string) ([]*candidate, error) {
	way := func(l *layout) *candidate { return &candidate{layout: l, clock: zoneClock{zone: t.zone}} }
	t.firstStamp = text
	if t.say.Format != "" {
		l, err := compile(t.say.Format)
		return []*candidate{way(l)}, err
	}
	if t.joined != "" {
		l, err := compile(t.joined)
		return []*candidate{way(l)}, err
	}
	if _, _, ok := parseISO(text); ok && (!t.sure || t.read.form == formDay) {
		t.iso = true
		return []*candidate{way(nil)}, nil
	}
	if err := t.guess(text); err != nil {
		return nil, err
	}
	var list []*candidate
	if _, ok := t.time(nil, &zoneClock{}, text); !ok && (!t.sure || t.read.form == formDay) {
		for _, l := range infer(text) {
			list = append(list, way(l))
		}
	}
	if len(list) == 0 {
		list = append(list, way(nil))
	}
	return list, nil
}

// falls reports whether the latest stamp comes first, as in many tables of prices: two go back
// at least, and none goes forward.
func (s *csvSpan) falls() bool { return s.back > 1 && s.ahead == 0 }

// restarts reports whether the table has several series below each other, as those of some
// countries or sensors: each begins again in the first half of all times.
func (s *csvSpan) restarts() bool {
	return s.back > 1 && s.ahead > s.back && s.backLeast > (s.high-s.low)/2
}

// decide takes the best of the ways to read the stamps: the one in which the least go
// against the others, then the one with far more even steps, then the likeliest. A remark says which, and
// which others there are.
func (t *table) decide(may []*candidate) *candidate {
	best := slices.MinFunc(may, func(a, b *candidate) int {
		if c := cmp.Compare(min(a.span.back, a.span.ahead), min(b.span.back, b.span.ahead)); c != 0 {
			return c
		}
		switch x, y := a.span.uneven(), b.span.uneven(); {
		case x*2 < y:
			return -1
		case y*2 < x:
			return 1
		}
		return 0
	})
	t.layout = best.layout
	if best.layout == nil || t.say.Format != "" {
		return best
	}
	others := ""
	for _, c := range may {
		if c != best {
			others += " or " + c.layout.text
		}
	}
	text := fmt.Sprintf("column %.60q: times such as %.60s are read as %s", t.name, t.firstStamp, best.layout.text)
	switch {
	case others == "" && t.marks != nil: // it has been told that columns were joined
		return best
	case others != "":
		text += ", and not as" + others[len(" or"):] + ", which fits all of them, too"
	case best.layout.clock:
		text += ", times of day without a date"
	}
	t.about.Warnings = append(t.about.Warnings, text+"; "+sayFormat+" says otherwise")
	return best
}

// order refuses times that go back, unless the rows are to be put in order, or go back in a way
// that a table of good times does.
func (t *table) order(c *candidate) error {
	span := &c.span
	t.about.begin = t.place(span.earlyLine)
	if span.back == 0 {
		return nil
	}
	const sorted = "rows are put in the order of their times"
	remark := ""
	switch {
	case span.falls():
		remark = "the latest time comes first: " + sorted
	case span.restarts():
		remark = fmt.Sprintf("times begin again %d times, first in %s, as in tables of several series below each other: %s", span.back, t.place(span.backLine), sorted)
	case t.say.Sort:
		t.asked = true
		remark = fmt.Sprintf("%s: %d go back, the first in %s", sorted, span.back, t.place(span.backLine))
	}
	if remark != "" {
		t.sorts, t.about.Back = true, t.place(span.backLine)
		t.about.Warnings = append(t.about.Warnings, remark)
		return nil
	}
	const hour = 3600
	why := ""
	if clocks := c.clock.remarks(); len(clocks) > 0 {
		why = "; " + strings.Join(clocks, "; ")
	} else if t.zone == nil && t.dated() && span.backBy <= hour && !strings.ContainsAny(span.backText, "Z+") {
		why = "; if clocks go back there, --tz ZONE says where"
	}
	return kit.Fail(t.about.Format, t.place(span.backLine), -1,
		kit.Unsupported("column %.60q: its times go back, %.60q comes behind %.60q (%d in all do so); %s puts the rows in order%s", t.name, span.backText, span.behind, span.back, saySort, why))
}

package zoom

import (
	"fmt"
	"strings"
	"time"

	"github.com/farread/farread/formats"
)

// ParseZone reads what is to be a CSVOptions.Zone: a name of the IANA list, such as
// Europe/Berlin, or an offset, such as +02:00. "" is UTC, for which the result is nil.
// If the machine knows no such zone, the error is formats.ErrUnsupported.
func ParseZone(text string) (*time.Location, error) {
	if text == "" || strings.EqualFold(text, "UTC") || text == "Z" {
		return nil, nil //nolint:nilnil // nil is UTC
	}
	if text[0] == '+' || text[0] == '-' {
		if sec, ok := offset(text); ok {
			return time.FixedZone(text, int(sec)), nil
		}
	}
	if !strings.EqualFold(text, "local") { // a file must not mean something else on another machine
		if loc, err := time.LoadLocation(text); err == nil {
			return loc, nil
		}
	}
	return nil, fmt.Errorf("%.60q is no time zone: want a name such as Europe/Berlin, or an offset such as +02:00: %w", text, formats.ErrUnsupported)
}

// A zoneClock turns the local times of a table, in their order, into UTC.
type zoneClock struct {
	zone       *time.Location // nil: UTC
	from, to   int64          // local seconds in which offset is the only one
	offset     int64
	last       stamp // the last time in UTC
	local      stamp // the last time as it stands there
	any        bool
	repeats    bool  // times repeat where no clock explains it, as those of several sensors do
	twice, non int64 // times in an hour that is there twice, and in one that is skipped
}

// utc returns a local time in UTC. Of an hour that is there twice, when clocks go back,
// the first one is meant, unless that would go back behind the time before, or would be the same as that in a
// table whose times do not repeat: of hours, the second 02:00 is an hour later. A time that
// clocks skip counts as if they had not yet gone forward.
func (z *zoneClock) utc(s stamp) stamp {
	if z.zone == nil {
		return s
	}
	local := s
	if s.sec >= z.from && s.sec < z.to {
		s.sec -= z.offset
	} else {
		s = z.look(s)
	}
	z.repeats = z.repeats || z.any && local == z.local && s == z.last
	z.last, z.local, z.any = s, local, true
	return s
}

// look finds the offset of a local time near a change of clocks, or in another part of
// the list.
func (z *zoneClock) look(s stamp) stamp {
	const day = 86400
	// No zone is more than a day from UTC, so the local time lies between these.
	early, late := offsetAt(z.zone, s.sec-day), offsetAt(z.zone, s.sec+day)
	first, second := s, s
	first.sec -= early
	second.sec -= late
	ok1, ok2 := offsetAt(z.zone, first.sec) == early, offsetAt(z.zone, second.sec) == late
	switch {
	case early == late:
		z.offset = early
		// Two days within, no other offset can be meant.
		z.from, z.to = -maxSeconds, maxSeconds
		start, end := time.Unix(first.sec, 0).In(z.zone).ZoneBounds()
		if !start.IsZero() {
			z.from = start.Unix() + 2*day
		}
		if !end.IsZero() {
			z.to = end.Unix() - 2*day
		}
		return first
	case ok1 && ok2:
		z.twice++
		if z.any && (first.before(z.last) || first == z.last && s == z.local && !z.repeats) {
			return second
		}
		return first
	case ok2:
		return second
	case !ok1:
		z.non++
	}
	return first
}

func offsetAt(zone *time.Location, utc int64) int64 {
	_, n := time.Unix(utc, 0).In(zone).Zone()
	return int64(n)
}

// remarks tells what was not certain.
func (z *zoneClock) remarks() []string {
	var out []string
	if z.twice > 0 {
		out = append(out, fmt.Sprintf("times in an hour that is there twice in %s, when clocks go back, taken in the order of the rows: %d", z.zone, z.twice))
	}
	if z.non > 0 {
		out = append(out, fmt.Sprintf("times that clocks skip in %s, counted on from before: %d", z.zone, z.non))
	}
	return out
}

package zoom

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread/functions/internal/kit"
)

// A unitRow is a first line of values that has none: it may be the units of the columns.
type unitRow struct {
	line  int64 // 0: none was seen
	cells []string
	is    bool   // it has the units
	times string // that of the times, if they count and it is not known
}

// maxUnit is how long a unit may be, in bytes.
const maxUnit = 32

// mayBeUnits keeps the first line below the header if no cell has a value.
func (r *firstReading) mayBeUnits(n int64, cells []string) bool {
	if r.unit.line != 0 {
		return false
	}
	r.unit.line = n
	if len(cells) != r.t.width {
		return false
	}
	var list []string
	for _, c := range cells {
		c = strings.TrimSpace(c)
		if !utf8.ValidString(c) {
			c = latin(c)
		}
		if _, is := truth(c); is || len(c) > maxUnit || !isMissing(c) && c != "1" && r.t.look(c) != lookOther {
			return false
		}
		list = append(list, c)
	}
	r.unit.cells = list
	return true
}

// units decides whether the line that was kept has the units: the next one has a number below some
// text. Else it is a line of values.
func (r *firstReading) units(next []string) error {
	u := &r.unit
	if u.cells == nil || u.is {
		return nil
	}
	for i, c := range u.cells {
		u.is = u.is || len(next) == len(u.cells) && !isMissing(c) && c != "1" && r.t.look(next[i]) == lookNumber
	}
	if l, err := compile(r.t.say.Format); err == nil {
		for _, c := range u.cells { // a time as the user says
			_, _, ok := l.parse(c)
			u.is = u.is && !ok
		}
	}
	if !u.is {
		return r.noUnits()
	}
	r.t.skip = u.line
	r.t.about.Warnings = append(r.t.about.Warnings, fmt.Sprintf("line %d is passed over, as units: %s", u.line, listed(u.cells)))
	return nil
}

// noUnits takes in the line that was kept, if it has no units.
func (r *firstReading) noUnits() error {
	u := &r.unit
	if u.cells == nil || u.is {
		return nil
	}
	cells := u.cells
	u.cells = nil
	err := r.values(u.line, cells, false)
	if unplaced(err) {
		err = kit.Fail(formatCSV, fmt.Sprintf("line %d", u.line), -1, err)
	}
	return err
}

// unitOfTimes takes the unit of the times, if these are numbers and neither their name nor
// the user tells one.
func (r *firstReading) unitOfTimes(cells []string) {
	t := r.t
	if !r.unit.is || t.sure || t.say.Format != "" || t.marks != nil || t.read != (reading{}) || unitSuffix(t.name) != "" || t.look(cells[t.times[0]]) != lookNumber {
		return
	}
	text := strings.ToLower(strings.Trim(r.unit.cells[t.times[0]], "()[]{} "))
	unit := ""
	for u, names := range map[string][]string{"s": {"s", "sec", "secs", "second", "seconds"}, "ms": {"ms", "msec", "millis", "millisecond", "milliseconds"},
		"us": {"us", "µs", "μs", "usec", "micros", "microsecond", "microseconds"}, "ns": {"ns", "nsec", "nanos", "nanosecond", "nanoseconds"},
		"min": {"min", "mins", "minute", "minutes"}, "h": {"h", "hr", "hrs", "hour", "hours"}, "d": {"d", "day", "days"}} {
		if called(text, names) {
			unit = u
		}
	}
	switch {
	case unit == "" && !isMissing(text):
		r.unit.times = text
	case unit != "" && unit != "s":
		t.read, t.sure = units()[unit], true
		t.remark(t.stampOf(cells), unit+", their unit")
	}
}

// unknownUnit refuses times that count nobody knows what.
func (r *firstReading) unknownUnit() error {
	t := r.t
	if r.unit.times == "" || t.dated() || t.since || t.epoch || r.may[0].layout != nil {
		return nil
	}
	return kit.Unsupported("column %.60q: its times count in %.60q, as line %d says: %s says what they are (s, ms, us, ns, min, h or d)", t.name, r.unit.times, r.unit.line, sayTimes)
}

// saysSeparator reports whether a line above the header says what is between cells, as those for Excel do:
// sep=;
func (t *table) saysSeparator(line string) (bool, error) {
	text := strings.Trim(strings.TrimRight(line, "\r\n"), `"`)
	if len(text) < len("sep=") || !strings.EqualFold(text[:len("sep=")], "sep=") {
		return false, nil
	}
	text = text[len("sep="):]
	if len(text) != 1 || !strings.Contains(",;\t|:~^ ", text) {
		return true, kit.Unsupported("%.60q: want sep= with one of , ; | : ~ ^, a space or a tab behind it; without this line the separator is found", strings.TrimSpace(line))
	}
	t.comma, t.said = text[0], true
	return true, nil
}

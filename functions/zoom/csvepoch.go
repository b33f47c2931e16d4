package zoom

import (
	"fmt"
	"strings"
	"time"
)

// Numbers of stamps from oldest, the first second of 2001, up to newest, in 2286, are counts of
// seconds since 1970: as seconds of another kind they would be 31 years and more. From early on, in
// 1973, they may be.
const (
	oldest = 978_307_200
	newest = 10_000_000_000
	early  = 100_000_000
)

// guessSince recognises counts since 1970 by their size, and returns whether the first stamp is
// one. Longer numbers count parts of a second, as other programs write them; whole ones of 12 digits
// and more always do. Names that say that they count from 1970 need no remark, if the unit is clear, too.
func (t *table) guessSince(text string) bool {
	number := whole(t.plain(text))
	shift, longer := t.read.shift, false
	if shift == 0 {
		shift = partsOf(number)
		longer = shift > 0 && allDigits(number)
	}
	first, ok := parseShifted(t.plain(text), shift)
	if !ok || !longer && (first.sec < oldest || first.sec >= newest) {
		return false
	}
	silent := t.read.shift == shift && t.epoch && !called(t.call, dateNames())
	t.read.shift, t.epoch, t.since = shift, true, true
	if silent {
		return true
	}
	what := fmt.Sprintf("%s since 1970, as %s", unitName(t.read.shift), first.time().Format(time.RFC3339))
	if t.read.shift > 0 || called(t.call, dateNames()) {
		t.remark(text, what)
		return true
	}
	t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q: stamps such as %.60s are taken for %s; --times s, or the metadata times of an upload, says that they are seconds from another time on", t.name, text, what))
	return true
}

// partsOf is which part of a second (10^-shift) numbers of so many digits count, if
// they count from 1970; 0 for numbers of seconds.
func partsOf(text string) (shift int) {
	digits, part, cut := strings.Cut(text, ".")
	digits = strings.TrimLeft(digits, "0")
	if !allDigits(digits) || cut && !allDigits(part) {
		return 0
	}
	switch n := len(digits); {
	case n < 12 || n > 19:
		return 0
	case n < 15:
		return 3
	case n < 18:
		return 6
	}
	return 9
}

// unitName is the name of 10^-shift seconds, for people.
func unitName(shift int) string {
	return map[int]string{0: "seconds", 3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}[shift]
}

// early adds a remark if numbers that may be counts since 1970 are taken for seconds from a time
// that nobody knows.
func (t *table) early() {
	if t.sure || t.dated() || t.layout != nil || t.read != (reading{}) || t.from < early || t.epoch && t.from >= oldest {
		return
	}
	t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q: stamps such as %.60s are taken for seconds; --time-format %%s, or the metadata time-format of an upload, says that they count from 1970", t.name, t.firstStamp))
}

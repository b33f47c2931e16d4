package zoom

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/formats"
)

// Times say which column of a CSV has the times, and what they count, if names and
// values of the columns do not tell. With the zero value they have to.
type Times struct {
	Column string // its name, in upper or lower case; "": found by its name, else the first
	// Unit is what a number there is: "s", "ms", "us", "ns", "min", "h", "d"; "date" for
	// 19580329 or 195803, "year" for 1958 and for 1958.2027, so much of that year in UTC;
	// "": found out. Stamps in ISO 8601 need none.
	Unit string
}

// A reading is how the number of a stamp is read.
type reading struct {
	shift int   // it counts 10^-shift of a second
	scale int64 // or so many seconds, where there is no shift
	form  form
}

// A form is how digits make a date; none: they count.
type form int

const (
	formCount form = iota
	formDay        // 19580329
	formMonth      // 195803
	formYear       // 1958, 1958.2027
)

func (f form) String() string {
	return [...]string{"counts", "dates (YYYYMMDD, UTC)", "months (YYYYMM, UTC)", "years (UTC)"}[f]
}

// units are what Times.Unit may be; "date" is formDay or formMonth, as the first is.
func units() map[string]reading {
	return map[string]reading{"s": {}, "ms": {shift: 3}, "us": {shift: 6}, "ns": {shift: 9},
		"min": {scale: 60}, "h": {scale: 3600}, "d": {scale: 86400}, "date": {form: formDay}, "year": {form: formYear}}
}

// ParseUnit checks what is to be a Times.Unit, and returns it. If text is no unit, the
// error is formats.ErrUnsupported.
func ParseUnit(text string) (string, error) {
	if _, ok := units()[text]; ok || text == "" {
		return text, nil
	}
	return "", fmt.Errorf("%.60q is no unit of times: want s, ms, us, ns, min, h, d, date (19580329, 195803) or year (1958, 1958.2027): %w", text, formats.ErrUnsupported)
}

// sayTimes is how the user says what stamps are.
const sayTimes = "--times UNIT, or the metadata times of an upload,"

// sayColumn is how the user says where they are.
const sayColumn = "--time-column, or the metadata time-column of an upload,"

// Names of columns of a calendar.
func yearNames() []string { return append(decimalNames(), "year", "years", "yr", "yyyy") }

// decimalNames are of columns of years with fractions, beside which another may have the
// year alone.
func decimalNames() []string {
	return []string{"decimal date", "decimal_date", "decimaldate", "decimal year", "decimal_year", "decimalyear", "year_decimal", "fractional year", "fractional_year", "year_fraction", "yearfrac"}
}

func dateNames() []string {
	return []string{"date", "dates", "datum", "datetime", "date_time", "ymd", "yyyymmdd", "yearmonth", "year_month", "yyyymm", "period"}
}

// partNames are of columns that may count, or tell a part of a date that others tell
// the rest of.
func partNames() []string {
	return []string{"month", "months", "quarter", "quarters", "week", "weeks", "day", "days", "hour", "hours", "hr", "hrs", "minute", "minutes"}
}

// secondNames are of columns whose numbers are seconds, whatever they look like.
func secondNames() []string {
	return []string{"seconds", "sec", "secs", "s", "time_s", "t_s", "time_sec", "time_seconds", "epoch", "unix", "timestamp", "ts", "utc"}
}

// unitSuffix finds units at the end of names such as "time (h)" and "t_min".
func unitSuffix(name string) (unit string) {
	name = strings.TrimRight(strings.ToLower(name), ")]")
	for _, u := range []struct {
		unit  string
		names []string
	}{{"min", []string{"min", "mins", "minutes"}}, {"h", []string{"h", "hr", "hrs", "hours"}}, {"d", []string{"d", "days"}}} {
		for _, n := range u.names {
			if rest, ok := strings.CutSuffix(name, n); ok && rest != "" && strings.ContainsAny(rest[len(rest)-1:], "_ -([/.") {
				return u.unit
			}
		}
	}
	return ""
}

// calendar reads digits as a form of dates has them.
func (f form) calendar(text string) (stamp, bool) {
	if whole, part, ok := strings.Cut(text, "."); f == formYear && ok {
		return partOfYear(whole, part)
	}
	if !allDigits(text) || len(text) != [...]int{0, 8, 6, 4}[f] {
		return stamp{}, false
	}
	year, _ := strconv.Atoi(text[:4])
	month, day := 1, 1
	if len(text) > 4 {
		month, _ = strconv.Atoi(text[4:6])
	}
	if len(text) > 6 {
		day, _ = strconv.Atoi(text[6:8])
	}
	const first, last = 1000, 2999
	if year < first || year > last || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return stamp{}, false
	}
	return stamp{sec: time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix()}, true
}

// partOfYear is where a fraction lies within the length of its year, which may have a leap
// day, to the nearest second: seven digits of it are 3 s.
func partOfYear(year, part string) (stamp, bool) {
	at, ok := formYear.calendar(year)
	if !ok || part == "" || !allDigits(part) {
		return stamp{}, false
	}
	n, _ := strconv.Atoi(year)
	length := time.Date(n+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - at.sec
	nano, _, _ := fraction(part) // of the year, and beyond these nine digits nothing is a second
	at.sec += (int64(nano)*length + 5e8) / 1e9
	return at, true
}

// likely says whether digits are a date that people write as digits, and not just any
// number.
func (f form) likely(text string) bool {
	const first, last = "1700", "2100"
	_, ok := f.calendar(text)
	return ok && allDigits(text) && text[:4] >= first && text[:4] <= last
}

// likelyForm is the form of dates that digits look like.
func likelyForm(text string) form {
	for _, f := range []form{formDay, formMonth, formYear} {
		if f.likely(text) {
			return f
		}
	}
	return formCount
}

// called says whether a name is one of a list, in any case.
func called(name string, list []string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return strings.EqualFold(n, name) })
}

// told takes what the user says of the unit.
func (t *table) told(unit string) error {
	if _, err := ParseUnit(unit); err != nil {
		return err
	}
	if unit != "" {
		t.read, t.sure, t.epoch = units()[unit], true, t.epoch && unit != "min" && unit != "h" && unit != "d"
	}
	return nil
}

// guess finds out by the name of the column and by its first stamp, which is no ISO 8601,
// what its numbers are. What may be several things is refused, and what is taken for
// more than seconds is told.
func (t *table) guess(text string) error {
	if t.sure && t.read.form == formDay && formMonth.likely(text) {
		t.read.form = formMonth
	}
	if t.sure || t.read.shift != 0 { // its name, or its user, says so
		return nil
	}
	f := likelyForm(text)
	first, ok := parseSeconds(t.plain(text))
	count := ok && first.sec >= oldest
	dated := func(name string) bool { return called(name, yearNames()) || called(name, dateNames()) }
	switch {
	case !ok: // no number, or of nanoseconds
		t.guessUnit(text)
		return nil
	case called(t.name, yearNames()):
		if _, ok := formYear.calendar(t.plain(text)); !ok {
			return t.refuse(text, "is no year such as 1958 or 1958.2027")
		}
		f = formYear
	case called(t.name, dateNames()):
		if year, _, part := strings.Cut(t.plain(text), "."); part && formYear.likely(year) {
			f = formYear
		}
		if f == formCount && !count {
			return t.refuse(text, "is no date such as 19580329, 195803 or 1958-03-29, and no count of seconds since 1970")
		}
	case called(t.name, partNames()):
		if f != formDay && f != formMonth {
			return t.refuse(text, "may count from anywhere, or be a part of a date")
		}
	case !count && slices.ContainsFunc(t.others, dated):
		return unsupported("column %.60q: %.60q may be seconds, but there is %s, too: %s says which has the times", t.name, text, listed(t.others), sayColumn)
	default:
		if u := unitSuffix(t.name); u != "" {
			t.read = units()[u]
			t.remark(text, map[string]string{"min": "minutes", "h": "hours", "d": "days"}[u])
			return nil
		}
		if !called(t.name, secondNames()) {
			t.maybe = f
		}
		f = formCount
	}
	switch {
	case f != formCount:
		t.read.form = f
		t.remark(text, f.String())
	case count && called(t.name, dateNames()) && first.sec < 1e11:
		t.remark(text, "seconds since 1970")
	default:
		t.guessUnit(text)
	}
	return nil
}

func (t *table) remark(text, what string) {
	t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q: stamps such as %.60s are taken for %s; %s says otherwise", t.name, text, what, sayTimes))
}

func (t *table) refuse(text, why string) error {
	return unsupported("column %.60q: %.60q %s: %s says what it is, or --time-column which other column to take", t.name, text, why, sayTimes)
}

// doubt remembers whether all stamps of a column that says nothing look like dates.
func (t *table) doubt(text string) {
	if t.maybe != formCount && !t.maybe.likely(text) {
		t.maybe = formCount
	}
}

// doubtful refuses numbers that are all dates to the eye, in a column that has no name of
// such: nobody could tell from the file that they were taken for seconds.
func (t *table) doubtful() error {
	if t.maybe == formCount {
		return nil
	}
	return fail("csv", fmt.Sprintf("line %d", t.firstLine), -1, unsupported("column %.60q: %.60q and all others may be %s or seconds: %s says which (%s or s)",
		t.name, t.firstStamp, t.maybe, sayTimes, map[form]string{formDay: "date", formMonth: "date", formYear: "year"}[t.maybe]))
}

// number reads a stamp that is no ISO 8601.
func (t *table) number(text string) (stamp, bool) {
	if t.read.form != formCount {
		return t.read.form.calendar(t.plain(text))
	}
	s, ok := parseShifted(t.plain(text), t.read.shift)
	if !ok || t.read.scale == 0 {
		return s, ok
	}
	return s.times(t.read.scale)
}

// times is a stamp of which each unit has n seconds, at most a day.
func (s stamp) times(n int64) (stamp, bool) {
	if abs(s.sec) > maxSeconds/n {
		return stamp{}, false
	}
	nano := int64(s.nano) * n
	s.sec = s.sec*n + nano/1e9
	s.nano = int32(nano % 1e9)
	return s, true
}

// wrong says what a stamp is not.
func (t *table) wrong() string {
	switch {
	case t.iso:
		return "no time in ISO 8601, as the first is"
	case t.read.form != formCount:
		return "none of the " + t.read.form.String()
	case t.read.shift > 0:
		return fmt.Sprintf("no time in 10^-%d s", t.read.shift)
	case t.about.Rows == 0:
		return "no time in seconds or ISO 8601 (2026-05-01T12:00:00Z); --time-column takes another column"
	}
	return "no time in seconds"
}

// fractions tells that numbers which may be parts of years, as 1959.25 is, were taken for
// seconds: of a column of which only the user can know.
func (t *table) fractions(span *csvSpan) {
	const first, last = 1700, 2100
	if t.iso || t.sure || t.epoch || t.unnamed || t.read != (reading{}) || called(t.name, secondNames()) || span.digits == 0 || span.low < first || span.high >= last {
		return
	}
	t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q: stamps such as %.60s are taken for seconds; --times year says that they are years", t.name, t.firstStamp))
}

// again refuses a year that two rows one behind the other have: something else says which
// part of it is meant.
func (t *table) again() error {
	if t.sure || t.iso || t.read.form != formYear {
		return nil
	}
	return unsupported("column %.60q: the same year as in the line before, so that it alone is no time: write one column of times, such as 1958-04-01 or 1958.25, or say --times year", t.name)
}

// orMeta takes what the metadata of an upload say, where nobody said it.
func (t Times) orMeta(meta map[string]string) Times {
	if t.Column == "" {
		t.Column = strings.TrimSpace(meta[MetaTimeColumn])
	}
	if t.Unit == "" {
		t.Unit = strings.TrimSpace(meta[MetaTimes])
	}
	return t
}

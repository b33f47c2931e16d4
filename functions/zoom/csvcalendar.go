package zoom

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/functions/internal/kit"
)

// A reading is a way to read the number of a stamp.
type reading struct {
	shift  int   // the number counts units of 10^-shift seconds
	scale  int64 // if shift is 0: the number counts units of scale seconds
	form   form
	serial bool // the number counts the days of a spreadsheet
}

// A form is the order of digits in a date. formCount is for numbers that count.
type form int

const (
	formCount  form = iota
	formDay         // 19580329
	formMonth       // 195803
	formYear        // 1958, 1958.2027
	formHour        // 1958032912
	formMinute      // 195803291200
	formSecond      // 19580329120000, 19580329120000.25
)

func (f form) String() string {
	return [...]string{"counts", "dates (YYYYMMDD, UTC)", "months (YYYYMM, UTC)", "years (UTC)",
		"dates and hours (YYYYMMDDhh, UTC)", "dates and times (YYYYMMDDhhmm, UTC)", "dates and times (YYYYMMDDhhmmss, UTC)"}[f]
}

// digits is how many digits a form has.
func (f form) digits() int { return [...]int{0, 8, 6, 4, 10, 12, 14}[f] }

// clock reports whether the form has a time of day. Numbers with as many digits
// are not seconds: the time would be absurd, or they would be milliseconds of
// another century.
func (f form) clock() bool { return f == formMinute || f == formSecond }

// units are the values of CSVOptions.Unit. "date" is any form except formYear; the first
// stamp decides.
func units() map[string]reading {
	return map[string]reading{"s": {}, "ms": {shift: 3}, "us": {shift: 6}, "ns": {shift: 9},
		"min": {scale: 60}, "h": {scale: 3600}, "d": {scale: 86400}, "date": {form: formDay}, "year": {form: formYear}, "excel": {serial: true}}
}

// yearNames are the names of columns that hold years.
func yearNames() []string { return append(decimalNames(), "year", "years", "yr", "yyyy") }

// decimalNames are the names of columns of years with fractions. Another column beside
// such a one may have the year alone.
func decimalNames() []string {
	return []string{"decimal date", "decimal_date", "decimaldate", "decimal year", "decimal_year", "decimalyear", "year_decimal", "fractional year", "fractional_year", "year_fraction", "yearfrac"}
}

func dateNames() []string {
	return []string{"date", "dates", "datum", "datetime", "date_time", "ymd", "yyyymmdd", "yearmonth", "year_month", "yyyymm", "period"}
}

// partNames are the names of columns that may be counts, or parts of a date whose rest
// is in other columns.
func partNames() []string {
	return []string{"month", "months", "quarter", "quarters", "week", "weeks", "day", "days", "hour", "hours", "hr", "hrs", "minute", "minutes"}
}

// secondNames are the names of columns whose numbers are seconds, whatever they look
// like.
func secondNames() []string {
	return []string{"seconds", "sec", "secs", "s", "time_s", "t_s", "time_sec", "time_seconds"}
}

// epochNames are the names of columns that count from 1970. If their numbers look like
// dates, a remark says so.
func epochNames() []string { return []string{"epoch", "unix", "unixtime", "unix_time"} }

// clockNames are the names of columns whose numbers may be dates with a time of day.
// For dates without one these names say too little.
func clockNames() []string { return []string{"time", "times", "timestamp", "ts", "utc"} }

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

// whole writes a whole number as its digits alone: +1958, 1958.0 and 1.958e3 become
// 1958. Other text stays.
func whole(text string) string {
	s := strings.TrimPrefix(text, "+")
	if strings.ContainsAny(s, "eE") && strings.Trim(s, "+-.0123456789eE") == "" {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			s = strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	if digits, part, ok := strings.Cut(s, "."); ok && strings.Trim(part, "0") == "" {
		s = digits
	}
	if !allDigits(s) {
		return text
	}
	return s
}

// calendar reads a number as a date of the form. A point without digits behind it is
// not part of a date.
func (f form) calendar(text string) (stamp, bool) {
	if strings.HasSuffix(text, ".") {
		return stamp{}, false
	}
	var out stamp
	text, part, ok := strings.Cut(whole(text), ".")
	switch {
	case f == formYear && ok:
		return partOfYear(text, part)
	case f == formSecond && ok && allDigits(part):
		out.nano, out.finer, _ = fraction(part)
	case ok:
		return stamp{}, false
	}
	if !allDigits(text) || len(text) != f.digits() {
		return stamp{}, false
	}
	year, _ := number(&text, 4)
	at := [...]int{1, 1, 0, 0, 0} // month, day, hour, minute, second
	for i := 0; text != ""; i++ {
		at[i], _ = number(&text, 2)
	}
	end := at[2] == 24 && at[3] == 0 && at[4] == 0 && out.nano == 0 && !out.finer // of a day
	const first, last = 1000, 2999
	if year < first || year > last || at[0] < 1 || at[0] > 12 || at[1] < 1 || at[1] > daysIn(year, at[0]) || !end && at[2] > 23 || at[3] > 59 || at[4] > 60 { // a leap second, as in ISO 8601
		return stamp{}, false
	}
	out.sec = time.Date(year, time.Month(at[0]), at[1], at[2], at[3], at[4], 0, time.UTC).Unix()
	return out, true
}

// partOfYear is the time of a fraction of a year, to the nearest second; the year may
// have a leap day. Seven digits of a fraction are 3 s.
func partOfYear(year, part string) (stamp, bool) {
	at, ok := formYear.calendar(year)
	if !ok || part == "" || !allDigits(part) {
		return stamp{}, false
	}
	n, _ := strconv.Atoi(year)
	length := time.Date(n+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - at.sec
	nano, _, _ := fraction(part) // fraction of the year; more than nine digits change less than a second
	at.sec += (int64(nano)*length + 5e8) / 1e9
	return at, true
}

// likely reports whether a number looks like a date that people write as
// digits.
func (f form) likely(text string) bool {
	first, last := "1700", "2100"
	switch f {
	case formHour: // below are seconds since 1970 up to 2030
		first, last = "1900", "2200"
	case formMinute, formSecond:
		first, last = "1500", "2200"
	case formCount, formYear, formMonth, formDay:
	}
	if text = whole(text); f != formSecond && !allDigits(text) {
		return false
	}
	_, ok := f.calendar(text)
	return ok && text[:4] >= first && text[:4] <= last
}

// likelyForm is the form of date that a number looks like.
func likelyForm(text string) form {
	for _, f := range []form{formDay, formMonth, formYear, formHour, formMinute, formSecond} {
		if f.likely(text) {
			return f
		}
	}
	return formCount
}

// called reports whether a name is in a list, as sameName compares them.
func called(name string, list []string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return sameName(n, name) })
}

// told takes the unit that the user names.
func (t *table) told(unit string) error {
	if _, err := ParseUnit(unit); err != nil {
		return err
	}
	if unit != "" {
		t.read, t.sure, t.epoch = units()[unit], true, t.epoch && !slices.Contains([]string{"min", "h", "d", "excel"}, unit)
	}
	return nil
}

// guess finds out what the numbers of the stamps are, by the name of the column and the
// first stamp, which is not ISO 8601. It refuses what may be several things. If it
// takes them for anything but seconds, a remark says so.
func (t *table) guess(text string) error {
	f := likelyForm(t.plain(text))
	switch {
	case t.sure: // the user has specified it
		if t.read.form == formDay && f != formCount && f != formYear {
			t.read.form = f
		}
		return nil
	case t.read.shift != 0: // the name of the column tells it
		if f.clock() {
			t.maybe = f
		}
		t.guessSince(text)
		return nil
	}
	first, ok := parseSeconds(t.plain(text))
	if !ok { // not a number, or nanoseconds in a form with too few digits
		if !strings.ContainsAny(text, "eE") {
			t.guessSince(text)
		}
		return nil
	}
	count := first.sec >= oldest
	f, err := t.guessForm(text, f, count)
	switch {
	case err != nil || t.read.scale != 0:
		return err
	case t.read.serial:
		t.remark(text, "days of a spreadsheet (excel), as "+t.spoken(text))
	case f != formCount:
		t.read.form = f
		t.remark(text, f.String())
	case t.guessSince(text) || !count || !called(t.call, dateNames()):
	case first.sec >= 1e11: // the year 5138, and with a fraction, else it has a unit
		return t.refuse(text, "is no date and no count of seconds since 1970")
	default:
		t.remark(text, "seconds since 1970")
	}
	return nil
}

// guessForm chooses the form of dates of the stamps, if they have one, by the name of
// their column and by f, the form that the first one looks like.
func (t *table) guessForm(text string, f form, count bool) (form, error) {
	dated := func(name string) bool { return called(name, yearNames()) || called(name, dateNames()) }
	switch {
	case called(t.call, yearNames()):
		if _, ok := formYear.calendar(t.plain(text)); !ok {
			return f, t.refuse(text, "is no year such as 1958 or 1958.2027")
		}
		return formYear, nil
	case called(t.call, dateNames()):
		if year, _, part := strings.Cut(t.plain(text), "."); part && formYear.likely(year) {
			return formYear, nil
		}
		if days, ok := parseSeconds(t.plain(text)); ok && f == formCount && days.sec >= firstSerial && days.sec < lastSerial {
			t.read.serial = true
			return f, nil
		}
		if f == formCount && !count {
			return f, t.refuse(text, "is no date such as 19580329, 195803 or 1958-03-29, and no count of seconds since 1970")
		}
		return f, nil
	case called(t.call, partNames()):
		if f == formCount || f == formYear {
			return f, t.refuse(text, "may count from anywhere, or be a part of a date")
		}
		return f, nil
	case !count && slices.ContainsFunc(t.others, dated):
		return f, kit.Unsupported("column %.60q: %.60q may be seconds, but there is %s, too: %s says which has the times", t.name, text, listed(t.others), sayColumn)
	case f.clock() && called(t.call, clockNames()):
		return f, nil
	}
	if u := unitSuffix(t.name); u != "" {
		t.read = units()[u]
		t.remark(text, map[string]string{"min": "minutes", "h": "hours", "d": "days"}[u])
		return formCount, nil
	}
	if f.clock() || !called(t.call, secondNames()) {
		t.maybe = f
	}
	return formCount, nil
}

func (t *table) remark(text, what string) {
	t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q: stamps such as %.60s are taken for %s; %s says otherwise", t.name, text, what, sayTimes))
}

func (t *table) refuse(text, why string) error {
	return kit.Unsupported("column %.60q: %.60q %s: %s says what it is, or --time which other column to take", t.name, text, why, sayTimes)
}

// doubt notes whether all stamps look like dates, in a column whose name says nothing.
func (t *table) doubt(text string) {
	if t.maybe != formCount && !t.maybe.likely(t.plain(text)) {
		t.maybe = formCount
	}
}

// doubtful refuses numbers that all look like dates, in a column whose name does not
// say so: nobody could see in the file that they were taken for seconds. If the name
// says that they count from 1970, they are taken for counts, and a remark says so.
func (t *table) doubtful() error {
	if t.maybe == formCount {
		return nil
	}
	date := "date"
	if t.maybe == formYear {
		date = "year"
	}
	unit := [2]string{unitName(t.read.shift), map[int]string{0: "s", 3: "ms", 6: "us", 9: "ns"}[t.read.shift]}
	if called(t.call, epochNames()) && !t.maybe.clock() {
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q: stamps such as %.60s are taken for %s; --times %s says that they are %s", t.name, t.firstStamp, unit[0], date, t.maybe))
		return nil
	}
	return kit.Fail(t.about.Format, t.place(t.firstLine), -1, kit.Unsupported("column %.60q: %.60q and all others may be %s or %s: %s says which (%s or %s)",
		t.name, t.firstStamp, t.maybe, unit[0], sayTimes, date, unit[1]))
}

// firstSerial and lastSerial bound numbers that are taken for days of a spreadsheet in
// columns called date: 1982 to 2064. If they counted from 1970, that would be from 2052 on.
const (
	firstSerial = 30000
	lastSerial  = 60000
)

// serial reads the days of a spreadsheet, to the nearest millisecond. There, 1900 has a
// leap day, so there is no day 60.
func serial(text string) (stamp, bool) {
	s, ok := parseSeconds(text)
	const last = 2_958_465 // the end of 9999
	if !ok || s.sec < 1 || s.sec > last || s.sec == 60 {
		return stamp{}, false
	}
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
	if s.sec < 60 {
		epoch += 86400
	}
	ms := (int64(s.nano)*86400 + 5e5) / 1e6
	return stamp{sec: epoch + s.sec*86400 + ms/1000, nano: int32(ms % 1000 * 1e6)}, true
}

// spoken is what a serial number means.
func (t *table) spoken(text string) string {
	s, _ := serial(t.plain(text))
	return s.time().Format("2006-01-02")
}

// time reads a stamp, by a layout if there is one. Local times become UTC.
func (t *table) time(l *layout, clock *zoneClock, text string) (s stamp, ok bool) {
	zoned := false
	switch {
	case l != nil:
		s, zoned, ok = l.parse(text)
		zoned = zoned || l.clock
	case t.iso:
		s, zoned, ok = parseISO(text)
	case t.read.form != formCount:
		s, ok = t.read.form.calendar(t.plain(text))
	case t.read.serial:
		s, ok = serial(t.plain(text))
	default:
		if s, ok = parseShifted(t.plain(text), t.read.shift); ok && t.read.scale != 0 {
			s, ok = s.times(t.read.scale)
		}
		return s, ok
	}
	if ok && !zoned {
		s = clock.utc(s)
	}
	return s, ok
}

// dated reports whether stamps are dates and do not count.
func (t *table) dated() bool {
	return t.iso || t.read.form != formCount || t.read.serial || t.layout != nil && !t.layout.clock
}

// times turns a stamp in a unit of n seconds, at most a day, into seconds.
func (s stamp) times(n int64) (stamp, bool) {
	if abs(s.sec) > maxSeconds/n {
		return stamp{}, false
	}
	nano := int64(s.nano) * n
	s.sec = s.sec*n + nano/1e9
	s.nano = int32(nano % 1e9)
	return s, true
}

// wrong returns the text of an error about a stamp, which none of the ways to read it
// takes.
func (t *table) wrong(l *layout) string {
	switch {
	case t.say.Format != "":
		return fmt.Sprintf("no time in the format %.60q", t.say.Format)
	case l != nil:
		return fmt.Sprintf("no time as %.60q, which is read as %s; --time-format says how to read them", t.firstStamp, l.text)
	case t.iso:
		return "no time in ISO 8601, as the first is"
	case t.read.form != formCount:
		return "none of the " + t.read.form.String()
	case t.read.serial:
		return "no number of days of a spreadsheet"
	case t.read.shift > 0:
		return fmt.Sprintf("no time in 10^-%d s", t.read.shift)
	case t.about.Rows == 0:
		return "no time in seconds or ISO 8601 (2026-05-01T12:00:00Z), and no date such as 19-Sep-03; --time takes another column, --time-format says how it is written"
	}
	return "no time in seconds"
}

// fractions adds a remark if numbers that may be years with fractions, such as 1959.25,
// were taken for seconds. Only the user can know what such a column is.
func (t *table) fractions(span *csvSpan) {
	if called(t.call, clockNames()) && !t.dated() && !t.sure && t.read == (reading{}) && span.digits > 0 && span.low >= firstSerial && span.high < lastSerial {
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q: stamps such as %.60s are taken for seconds; --times excel says that they are days of a spreadsheet", t.name, t.firstStamp))
	}
	const first, last = 1700, 2100
	if t.iso || t.layout != nil || t.sure || t.unnamed && !t.epoch || t.read != (reading{}) || called(t.call, secondNames()) || span.digits == 0 || span.low < first || span.high >= last {
		return
	}
	t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q: stamps such as %.60s are taken for seconds; --times year says that they are years", t.name, t.firstStamp))
}

// again refuses the same year in two successive rows: another column must say which
// part of the year each row means.
func (t *table) again() error {
	if t.sure || t.iso || t.read.form != formYear {
		return nil
	}
	return kit.Unsupported("column %.60q: the same year as in the row before, so that it alone is no time: --time A+B joins it with others (year+month), or say --times year", t.name)
}

package arraymeta

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/formats/dtype"
)

// A clock turns values into points in time: counts of a unit since an epoch, or months
// since 1970.
type clock struct {
	unit   int64 // nanoseconds
	months int64 // 0: unit counts
	epoch  time.Time
}

const day = 24 * time.Hour

// units of NumPy and of CF, by their names; nanoseconds are 1.
var units = map[string]time.Duration{
	"W": 7 * day, "D": day, "h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond,
}

var cfUnits = map[string]time.Duration{
	"day": day, "days": day, "d": day, "hour": time.Hour, "hours": time.Hour, "hr": time.Hour, "hrs": time.Hour, "h": time.Hour,
	"minute": time.Minute, "minutes": time.Minute, "min": time.Minute, "mins": time.Minute,
	"second": time.Second, "seconds": time.Second, "sec": time.Second, "secs": time.Second, "s": time.Second,
	"millisecond": time.Millisecond, "milliseconds": time.Millisecond, "msec": time.Millisecond, "ms": time.Millisecond,
	"microsecond": time.Microsecond, "microseconds": time.Microsecond, "us": time.Microsecond,
	"nanosecond": time.Nanosecond, "nanoseconds": time.Nanosecond, "ns": time.Nanosecond,
}

// clockOf returns the clock of a coordinate, nil if its values are no times, or of a
// calendar or a unit that is not known.
func clockOf(c Coord, d dtype.DType) *clock {
	if d.Kind() == dtype.DateTime {
		unit, count := d.Unit()
		n := int64(max(count, 1))
		epoch := time.Unix(0, 0).UTC()
		switch u, ok := units[unit]; {
		case ok && n <= 1<<20:
			return &clock{unit: int64(u) * n, epoch: epoch}
		case unit == "M" && n <= 1<<20:
			return &clock{months: n, epoch: epoch}
		case unit == "Y" && n <= 1<<20:
			return &clock{months: 12 * n, epoch: epoch}
		}
		return nil
	}
	switch d.Kind() {
	case dtype.Int, dtype.Uint, dtype.Float:
	default:
		return nil
	}
	unit, since, ok := strings.Cut(textOf(c.Attrs["units"]), " since ")
	u, known := cfUnits[strings.ToLower(strings.TrimSpace(unit))]
	if !ok || !known {
		return nil
	}
	switch strings.ToLower(textOf(c.Attrs["calendar"])) {
	case "", "standard", "gregorian", "proleptic_gregorian":
	default:
		return nil
	}
	epoch, ok := cfEpoch(since)
	if !ok {
		return nil
	}
	return &clock{unit: int64(u), epoch: epoch}
}

// cfEpoch reads the time of CF's units: 1900-1-1 0:0:0.0, 2000-01-01T12:00Z, with an
// offset such as +02:00.
var cfTime = regexp.MustCompile(`^(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[T ]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?)?\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?$`)

func cfEpoch(text string) (time.Time, bool) {
	g := cfTime.FindStringSubmatch(strings.TrimSpace(text))
	if g == nil {
		return time.Time{}, false
	}
	n := func(i int) int { v, _ := strconv.Atoi(g[i]); return v }
	frac, _ := strconv.Atoi((g[7] + "000000000")[:9])
	t, ok := civil(n(1), n(2), n(3), n(4), n(5), n(6), frac)
	if zone := strings.ReplaceAll(g[8], ":", ""); ok && zone != "" && zone[0] != 'Z' && zone[0] != 'U' {
		digits := zone[1:]
		if len(digits) < 3 {
			digits += "00"
		}
		v, err := strconv.Atoi(digits)
		off := time.Duration(v/100)*time.Hour + time.Duration(v%100)*time.Minute
		if zone[0] == '+' {
			off = -off
		}
		t, ok = t.Add(off), err == nil
	}
	return t, ok
}

// civil returns a time, if there is such a date.
func civil(y, mo, d, h, mi, s, ns int) (time.Time, bool) {
	t := time.Date(y, time.Month(mo), d, h, mi, s, ns, time.UTC)
	return t, y >= 1 && int(t.Month()) == mo && t.Day() == d && t.Hour() == h && t.Minute() == mi && t.Second() == s
}

var (
	billion = big.NewInt(1e9)
	yearOne = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	yearEnd = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
)

// at returns the time of a value, rounded to digits.
func (c *clock) at(v *big.Rat, digits time.Duration) (time.Time, bool) {
	if c.months > 0 {
		n := floor(v)
		if !n.IsInt64() || n.Int64() > 1e6 || n.Int64() < -1e6 {
			return time.Time{}, false
		}
		t := c.epoch.AddDate(0, int(n.Int64()*c.months), 0)
		return t, t.Year() >= 1 && t.Year() <= 9999
	}
	ns := new(big.Rat).Mul(v, new(big.Rat).SetInt64(c.unit))
	step := new(big.Rat).SetInt64(int64(digits))
	ns.Quo(ns, step).Add(ns, big.NewRat(1, 2))
	whole := new(big.Int).Mul(floor(ns), big.NewInt(int64(digits)))
	whole.Add(whole, nanos(c.epoch))
	sec, rest := new(big.Int).DivMod(whole, billion, new(big.Int))
	if !sec.IsInt64() || sec.Int64() < yearOne || sec.Int64() > yearEnd {
		return time.Time{}, false
	}
	return time.Unix(sec.Int64(), rest.Int64()).UTC(), true
}

// value returns the value that a time has, which may lie between two.
func (c *clock) value(t time.Time) *big.Rat {
	if c.months > 0 {
		n := int64(t.Year()-1970)*12 + int64(t.Month()) - 1
		begin := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
		length := begin.AddDate(0, 1, 0).Sub(begin)
		v := new(big.Rat).Add(new(big.Rat).SetInt64(n), big.NewRat(int64(t.Sub(begin)), int64(length)))
		return v.Quo(v, new(big.Rat).SetInt64(c.months))
	}
	ns := new(big.Int).Sub(nanos(t), nanos(c.epoch))
	return new(big.Rat).SetFrac(ns, big.NewInt(c.unit))
}

func nanos(t time.Time) *big.Int {
	n := new(big.Int).Mul(big.NewInt(t.Unix()), billion)
	return n.Add(n, big.NewInt(int64(t.Nanosecond())))
}

// floor returns the greatest integer that is not above v.
func floor(v *big.Rat) *big.Int {
	return new(big.Int).Div(v.Num(), v.Denom()) // the denominator is positive, so Div rounds down
}

// step returns a distance in the largest unit that counts it whole: "days", "6 hours".
func (c *clock) step(n float64) string {
	if c.months > 0 {
		if m := int64(n) * c.months; m%12 == 0 {
			return plural(m/12, "year")
		}
		return plural(int64(n)*c.months, "month")
	}
	ns := n * float64(c.unit)
	for _, u := range []struct {
		name string
		d    time.Duration
	}{{"day", day}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}, {"millisecond", time.Millisecond}} {
		k := ns / float64(u.d)
		if near := float64(int64(k + 0.5)); near >= 1 && k > 0 && (k-near)/near < 1e-6 && (near-k)/near < 1e-6 {
			return plural(int64(near), u.name)
		}
	}
	return ""
}

func plural(n int64, unit string) string {
	if n == 1 {
		return unit
	}
	return strconv.FormatInt(n, 10) + " " + unit + "s"
}

// isoTime is how people write a time: 2025, 2025-03, 2025-03-01, 2025-03-01T12, …:30, …:30:15, …:15.5, with a Z or not.
const isoTime = `\d{4}(?:-\d{2}(?:-\d{2}(?:[T ]\d{2}(?::\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?Z?)?)?)?`

var (
	onePoint = regexp.MustCompile(`^` + isoTime + `$`)
	twoTimes = regexp.MustCompile(`^(` + isoTime + `)?:(` + isoTime + `)?$`)
)

// A period is what a text of a time covers: all of a year, month, day, hour, minute or
// second, without its end; a text with a fraction of a second is a point, its own end.
type period struct{ from, to time.Time }

func parsePeriod(text string) (period, bool) {
	text = strings.TrimSuffix(strings.Replace(strings.TrimSpace(text), " ", "T", 1), "Z")
	for _, l := range []struct {
		layout string
		next   func(time.Time) time.Time
	}{
		{"2006", func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }},
		{"2006-01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }},
		{"2006-01-02", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
		{"2006-01-02T15", func(t time.Time) time.Time { return t.Add(time.Hour) }},
		{"2006-01-02T15:04", func(t time.Time) time.Time { return t.Add(time.Minute) }},
		{"2006-01-02T15:04:05", func(t time.Time) time.Time { return t.Add(time.Second) }},
	} {
		if len(text) == len(l.layout) {
			t, err := time.Parse(l.layout, text)
			return period{t, l.next(t)}, err == nil
		}
	}
	t, err := time.Parse("2006-01-02T15:04:05.999999999", text)
	return period{t, t}, err == nil
}

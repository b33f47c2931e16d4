package picture

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
)

// A beat is the distance of ticks on an axis in UTC: a round number of years, months,
// days, or a part of a day.
type beat struct {
	years, months, days int
	nanos               int64 // a part of a day that divides it, or of a second
}

// about is a beat's length in seconds.
func (b beat) about() float64 {
	const year = 365.2425 * day
	return float64(b.years)*year + float64(b.months)*year/12 + float64(b.days)*day + float64(b.nanos)/1e9
}

// beats returns the beats of at least some seconds, the shortest first.
func beats(least float64) iter.Seq[beat] {
	return func(yield func(beat) bool) {
		for s := range clock(max(least, 1e-9)) {
			if !yield(beat{nanos: int64(math.Round(s * 1e9))}) {
				return
			}
		}
		for _, b := range []beat{{days: 1}, {days: 2}, {days: 5}, {days: 10}, {months: 1}, {months: 2}, {months: 3}, {months: 6}} {
			if b.about() >= least*(1-1e-3) && !yield(b) {
				return
			}
		}
		for years := range niceSteps(max(least/beat{years: 1}.about()*(1-1e-3), 1)) {
			if years > farTime || !yield(beat{years: int(years)}) {
				return
			}
		}
	}
}

// utcTimes labels ticks with the time of the day or the date, and with the next
// greater part of the time if that changes. The name of the axis has the dates of both
// ends.
func utcTimes(from, to float64, origin time.Time, r room) times {
	first, last := after(origin, from), after(origin, to)
	t := times{name: "UTC, " + first.Format(time.DateOnly)}
	if !sameDay(first, last) {
		t.name += " to " + last.Format(time.DateOnly)
	}
	told := max(math.Abs(from), math.Abs(to)) * 0x1p-50 // the smallest difference that float64 has
	for b := range beats(max(r.step(), told)) {
		t.ticks = nil
		before := first
		for now := range b.between(first, last) {
			if len(t.ticks) == maxTicks {
				break
			}
			t.ticks = append(t.ticks, plot.Tick{Value: since(origin, now), Label: b.label(now, before)})
			before = now
		}
		if r.holds(t.ticks) {
			return t
		}
	}
	return t
}

// after is the time s seconds after t. A single Duration of 64 bits ends after three
// centuries.
func after(t time.Time, s float64) time.Time {
	whole := math.Floor(s)
	return time.Unix(t.Unix()+int64(whole), int64(t.Nanosecond())+int64(math.Round((s-whole)*1e9))).UTC()
}

// since is the opposite of after.
func since(origin, t time.Time) float64 {
	return float64(t.Unix()-origin.Unix()) + float64(t.Nanosecond()-origin.Nanosecond())/1e9
}

func sameDay(a, b time.Time) bool { return a.Year() == b.Year() && a.YearDay() == b.YearDay() }

// between returns the ticks from first to last.
func (b beat) between(first, last time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for t := b.from(first); !t.After(last); t = b.next(t) {
			if !t.Before(first) && !yield(t) {
				return
			}
		}
	}
}

// from returns a tick at or before t.
func (b beat) from(t time.Time) time.Time {
	switch {
	case b.years > 0:
		return time.Date(t.Year()-mod(t.Year(), b.years), 1, 1, 0, 0, 0, 0, time.UTC)
	case b.months > 0:
		m := int(t.Month()) - 1
		return time.Date(t.Year(), time.Month(m-m%b.months+1), 1, 0, 0, 0, 0, time.UTC)
	case b.days > 0:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	case b.nanos < int64(time.Second):
		return time.Unix(t.Unix(), int64(t.Nanosecond())/b.nanos*b.nanos).UTC()
	}
	step := b.nanos / int64(time.Second)
	s := t.Unix()
	return time.Unix(s-(s%step+step)%step, 0).UTC()
}

// next is the tick after one.
func (b beat) next(t time.Time) time.Time {
	switch {
	case b.years > 0:
		return t.AddDate(b.years, 0, 0)
	case b.months > 0:
		return t.AddDate(0, b.months, 0)
	case b.days > 0:
		// Days are counted from the first of each month, 1, 6, 11 …; a day close to
		// the next first is left out.
		month := time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		n := t.AddDate(0, 0, b.days)
		if left := month.Sub(n).Hours() / 24; left < 0.7*float64(b.days) {
			return month
		}
		return n
	}
	return t.Add(time.Duration(b.nanos))
}

func mod(a, b int) int { return (a%b + b) % b }

// label is a tick's label. Its second line has the parts of the time that changed
// since the tick before and are not in the first.
func (b beat) label(t, before time.Time) string {
	newYear, newDay := "", ""
	if t.Year() != before.Year() {
		newYear = "\n" + yearText(t)
	}
	if !sameDay(t, before) {
		newDay = "\n" + t.Format("Jan 2")
	}
	switch {
	case b.years > 0:
		return yearText(t)
	case b.months > 0:
		return t.Format("Jan") + newYear
	case b.days > 0:
		return t.Format("Jan 2") + newYear
	case b.nanos < int64(time.Second):
		return t.Format("15:04:05."+strings.Repeat("0", decimals(float64(b.nanos)/1e9))) + newDay
	case b.nanos < int64(time.Minute):
		return t.Format("15:04:05") + newDay
	}
	return t.Format("15:04") + newDay
}

func yearText(t time.Time) string { return strings.Replace(strconv.Itoa(t.Year()), "-", "−", 1) }

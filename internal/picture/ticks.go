package picture

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
)

// maxTicks bounds what odd numbers can make of the loops.
const maxTicks = 200

// niceStep is the least of 1, 2, 5, 10 … of some power of ten that is not below v.
func niceStep(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range [...]float64{1, 2, 5} {
		if m*p >= v*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// decimals is how many digits behind the point a step needs.
func decimals(step float64) int {
	return max(0, -int(math.Floor(math.Log10(step)+1e-9)))
}

// multiples lists the whole numbers k with lo <= k*step <= hi.
func multiples(lo, hi, step float64) []float64 {
	var out []float64
	if max(math.Abs(lo), math.Abs(hi)) > step*(1<<50) { // too far to tell them apart
		return nil
	}
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi+step*1e-9 && len(out) < maxTicks; k++ {
		out = append(out, k+0) // never -0
	}
	return out
}

// values are the axis of values.
type values struct {
	low, high float64 // of the axis, divided by unit
	unit      float64
	name      string
	ticks     []plot.Tick
}

// valueTicks is about how many labels the axis of values has.
const valueTicks = 7

// newValues is the axis of values from lo to hi; Inf and -Inf: there are none.
func newValues(lo, hi float64) values {
	v := values{unit: 1}
	if lo > hi {
		v.high = 1
		return v
	}
	if math.IsInf(hi-lo, 0) || max(math.Abs(lo), math.Abs(hi)) > math.MaxFloat64/4 {
		v.unit = 16 // so that differences stay finite
		lo, hi = lo/v.unit, hi/v.unit
	}
	room := (hi - lo) * 0.05
	if room < max(math.Abs(lo), math.Abs(hi))*1e-12 || room == 0 { // all the same
		room = max(math.Abs(lo), math.Abs(hi)) * 0.1
		if room == 0 {
			room = 1
		}
	}
	v.low, v.high = lo-room, hi+room
	step := niceStep((v.high - v.low) / valueTicks)
	if step == 0 || math.IsInf(step, 0) { // smaller or greater than floats are
		return v
	}
	top := math.Log10(max(math.Abs(v.low), math.Abs(v.high))) + math.Log10(v.unit)
	e := 0
	if top >= 7 || top < -3 {
		e = int(math.Floor(top/3)) * 3
		v.name = "× 10" + superscript(e)
	}
	scale := v.unit * math.Pow(10, -float64(e))
	if e < -300 { // a power of ten that is no float64
		scale, v.name = v.unit, ""
	}
	digits := decimals(step * scale)
	for _, k := range multiples(v.low, v.high, step) {
		v.ticks = append(v.ticks, plot.Tick{Value: k * step, Label: label(k*(step*scale), digits)})
	}
	return v
}

// label is a number with so many decimals, its thousands apart.
func label(f float64, digits int) string {
	if digits > 15 {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	text := strconv.FormatFloat(math.Abs(f), 'f', digits, 64)
	whole, rest := text, ""
	if i := strings.IndexByte(text, '.'); i >= 0 {
		whole, rest = text[:i], text[i:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if f < 0 && strings.Trim(text, "0.") != "" {
		whole = "−" + whole
	}
	return whole + rest
}

func superscript(n int) string {
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").Replace(strconv.Itoa(n))
}

// times are the axis of time.
type times struct {
	name  string
	ticks []plot.Tick
}

const (
	minute  = 60
	hour    = 60 * minute
	day     = 24 * hour
	farTime = 1e11 // seconds, beyond which there are no dates
)

// clockSteps are round on a clock.
func clockSteps() []float64 {
	return []float64{1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
		hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day}
}

// clockStep is the least round step that is not below s seconds.
func clockStep(s float64) float64 {
	if s <= 0.5 {
		return niceStep(s)
	}
	for _, c := range clockSteps() {
		if c >= s {
			return c
		}
	}
	return niceStep(s/day) * day
}

// newTimes is the axis of time over so many pixels.
func newTimes(from, to float64, origin time.Time, pixels int) times {
	utc := !origin.IsZero() && math.Abs(from) < farTime && math.Abs(to) < farTime
	// Labels that tell more are wider.
	step := 0.0
	for _, width := range [...]float64{80, 100, 125, 160} {
		step = clockStep((to - from) * width / float64(pixels))
		if labelWidth(step, to, utc) <= width {
			break
		}
	}
	if !(step > 0) || math.IsInf(step, 0) {
		return times{name: "seconds"}
	}
	if utc {
		return utcTimes(from, to, origin, step)
	}
	return elapsed(from, to, step)
}

// labelWidth is about how many pixels a label with some air takes.
func labelWidth(step, to float64, utc bool) float64 {
	chars := 8.0
	switch {
	case utc && step >= day:
		chars = 8
	case utc && step < 1:
		chars = 9 + float64(decimals(step))
	case !utc && step < minute && math.Abs(to) >= hour:
		chars = 9 + float64(decimals(min(step, 1)))
	case !utc && step < 1:
		chars = 3 + float64(decimals(step)) + math.Log10(max(math.Abs(to), 1))
	}
	return chars * 7.5
}

// counts tells offsets of samples, whole ones.
func counts(from, to float64, pixels int) times {
	t := times{name: "sample offsets"}
	chars := max(math.Log10(max(math.Abs(from), math.Abs(to), 1))*4/3, 4) // thousands apart
	step := max(niceStep((to-from)*(chars+4)*7.5/float64(pixels)), 1)
	for _, k := range multiples(from, to, step) {
		t.ticks = append(t.ticks, plot.Tick{Value: k * step, Label: label(k*step, 0)})
	}
	return t
}

// elapsed tells the time since the start of the series.
func elapsed(from, to, step float64) times {
	var t times
	far := max(math.Abs(from), math.Abs(to))
	if step >= day {
		t.name = "days"
		step = niceStep(step/day) * day
	}
	for _, k := range multiples(from, to, step) {
		s := k * step
		var text string
		switch {
		case step >= day:
			text = label(s/day, 0)
		case far < 2*minute || step < 1 && far < hour:
			t.name, text = "seconds", label(s, decimals(min(step, 1)))
		case far < hour:
			t.name, text = "min:s", sexagesimal(s, false, step)
		case step >= minute:
			t.name, text = "h:min", sexagesimal(s/minute, false, 1)
		default:
			t.name, text = "h:min:s", sexagesimal(s, true, step)
		}
		t.ticks = append(t.ticks, plot.Tick{Value: s, Label: text})
	}
	return t
}

// sexagesimal is s as minutes and seconds, or hours before them.
func sexagesimal(s float64, hours bool, step float64) string {
	sign := ""
	if s < 0 {
		sign, s = "−", -s
	}
	digits := 0
	if step < 1 {
		digits = decimals(step)
	}
	unit := math.Pow(10, float64(digits))
	s = math.Round(s*unit) / unit
	m := math.Floor(s / 60)
	wide := 2
	if digits > 0 {
		wide += 1 + digits
	}
	rest := fmt.Sprintf("%0*.*f", wide, digits, s-60*m)
	if !hours {
		return fmt.Sprintf("%s%.0f:%s", sign, m, rest)
	}
	h := math.Floor(m / 60)
	return fmt.Sprintf("%s%.0f:%02.0f:%s", sign, h, m-60*h, rest)
}

// utcTimes tells the time of the day, and the date where it changes.
func utcTimes(from, to float64, origin time.Time, step float64) times {
	origin = origin.UTC()
	midnight := origin.Truncate(24 * time.Hour)
	shift := origin.Sub(midnight).Seconds() // of second 0 in its day
	if step >= day {                        // whole days since 1970, so that weeks stay weeks
		midnight = time.Unix(0, 0).UTC()
		shift = float64(origin.Unix())
	}
	at := func(s float64) time.Time { // s counts from midnight
		whole := math.Floor(s)
		return time.Unix(midnight.Unix()+int64(whole), int64(math.Round((s-whole)*1e9))).UTC()
	}
	t := times{}
	first, last := at(from+shift), at(to+shift)
	t.name = "UTC, " + first.Format(time.DateOnly)
	if first.YearDay() != last.YearDay() || first.Year() != last.Year() {
		t.name += " to " + last.Format(time.DateOnly)
	}
	form := "15:04"
	switch {
	case step >= day:
		form = "Jan 2"
		if first.Year() != last.Year() {
			form = time.DateOnly
		}
	case step < 1:
		form = "15:04:05." + strings.Repeat("0", min(decimals(step), 9))
	case step < minute:
		form = "15:04:05"
	}
	before := first
	for _, k := range multiples(from+shift, to+shift, step) {
		s := k * step
		now := at(s)
		text := now.Format(form)
		if step < day && now.YearDay() != before.YearDay() {
			text += "\n" + now.Format("Jan 2")
		}
		before = now
		t.ticks = append(t.ticks, plot.Tick{Value: s - shift, Label: text})
	}
	return t
}

package picture

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
)

// times are the axis of time.
type times struct {
	name  string
	ticks []plot.Tick
}

const (
	minute  = 60
	hour    = 60 * minute
	day     = 24 * hour
	farTime = 1e11 // bound of seconds that have a date
)

// tickStyle is the style of the labels of ticks and of the names of axes.
func tickStyle() text.Style { return style(9, font.WeightNormal, themeOf(false).text) }

// A room is how far apart ticks have to be.
type room struct {
	from      float64 // the left end
	perSecond float64 // pixels
	least     float64 // pixels from one to the next, on average
	upright   bool    // the axis is vertical: labels have one line, and stand one above the other
}

// newRoom returns the room for ticks on an axis of the given pixels: about ten
// ticks, or fewer if they would be crowded.
func newRoom(from, to float64, pixels int) room {
	const tight, wide = 44, 72
	return room{from: from, perSecond: float64(pixels) / (to - from), least: min(max(float64(pixels)/11, tight), wide)}
}

// newUpright is newRoom for a vertical axis.
func newUpright(from, to float64, pixels int, upright bool) room {
	r := newRoom(from, to, pixels)
	if r.upright = upright; upright {
		r.least = 30
	}
	return r
}

// step is the least distance of ticks in seconds.
func (r room) step() float64 { return r.least / r.perSecond }

// holds reports whether no label touches the next.
func (r room) holds(list []plot.Tick) bool {
	const air = 14 // pixels, also for fonts that are wider than ours
	sty := tickStyle()
	end := math.Inf(-1)
	for _, t := range list {
		x, half := (t.Value-r.from)*r.perSecond, float64(sty.Width(t.Label)/pixel)/2
		if r.upright {
			half = 3 // and the air is the rest of a line
		}
		if x-half < end {
			return false
		}
		end = x + half + air
	}
	return true
}

// niceSteps returns 1, 2, 5, 10 … of powers of ten, from the first that is not below
// v.
func niceSteps(v float64) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		for range maxTicks {
			if v = niceStep(v); !(v > 0) || math.IsInf(v, 0) || !yield(v) {
				return
			}
			v *= 1.5
		}
	}
}

// clockSteps are the steps that are round on a clock.
func clockSteps() []float64 {
	return []float64{1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
		hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour}
}

// clock yields round steps of at least s seconds: decimals of a second, then
// minutes, hours and so on.
func clock(s float64) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		for v := range niceSteps(s) {
			if v >= 1 {
				break
			}
			if !yield(v) {
				return
			}
		}
		for _, v := range clockSteps() {
			if v >= s*(1-1e-9) && !yield(v) {
				return
			}
		}
	}
}

// newTimes returns a time axis of the given pixels, with the first round step
// whose labels have room.
func newTimes(from, to float64, origin time.Time, pixels int) times {
	return timesIn(from, to, origin, newRoom(from, to, pixels))
}

func timesIn(from, to float64, origin time.Time, r room) times {
	least := r.step()
	if !(least > 0) || math.IsInf(least, 0) {
		return times{name: "seconds"}
	}
	if origin.IsZero() {
		return elapsed(from, to, r)
	}
	// Dates end somewhere, and clocks count nanoseconds.
	if to-from < 3e-9 || math.Abs(from) >= farTime || math.Abs(to) >= farTime {
		t := elapsed(from, to, r)
		t.name += " since " + origin.UTC().Format(time.RFC3339Nano)
		return t
	}
	return utcTimes(from, to, origin.UTC(), r)
}

// inUTC is timesIn for any axis: a vertical one has labels of one line.
func inUTC(from, to float64, origin time.Time, r room) times {
	t := timesIn(from, to, origin, r)
	if r.upright {
		for i := range t.ticks {
			t.ticks[i].Label = strings.ReplaceAll(t.ticks[i].Label, "\n", " ")
		}
	}
	return t
}

// counts labels the axis with offsets of samples, whole numbers.
func counts(from, to float64, pixels int) times {
	t := times{name: "sample offsets"}
	r := newRoom(from, to, pixels)
	for step := range niceSteps(max(r.step(), 1)) {
		t.ticks = nil
		for _, k := range multiples(from, to, step) {
			t.ticks = append(t.ticks, tick(k*step, from, to, label(k*step, 0)))
		}
		if r.holds(t.ticks) {
			break
		}
	}
	return t
}

// elapsed labels the axis with the time since the start of the series.
func elapsed(from, to float64, r room) times {
	least := r.step()
	for step := range clock(least) {
		if t := clockTimes(from, to, step); r.holds(t.ticks) {
			return t
		}
	}
	t := times{name: "days"}
	for days := range niceSteps(max(least/day, 1)) {
		t.ticks = nil
		for _, k := range multiples(from, to, days*day) {
			t.ticks = append(t.ticks, tick(k*days*day, from, to, label(k*days, 0)))
		}
		if r.holds(t.ticks) {
			break
		}
	}
	return t
}

// clockTimes is elapsed for ticks that are less than a day apart.
func clockTimes(from, to, step float64) times {
	t := times{name: "seconds"}
	far := max(math.Abs(from), math.Abs(to))
	for _, k := range multiples(from, to, step) {
		s := place(k, step)
		var text string
		switch {
		case far < 2*minute || step < 1 && far < hour:
			t.name, text = "seconds", label(s, decimals(min(step, 1)))
		case far < hour:
			t.name, text = "min:s", sexagesimal(s, false, step)
		case step >= minute:
			t.name, text = "h:min", sexagesimal(s/minute, false, 1)
		default:
			t.name, text = "h:min:s", sexagesimal(s, true, step)
		}
		t.ticks = append(t.ticks, tick(s, from, to, text))
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

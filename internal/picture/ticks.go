package picture

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// maxTicks bounds the loops for odd numbers.
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

// place returns the k-th multiple of a step, correctly rounded: a step below 1 is 1
// divided by a whole number, which a float64 seldom holds exactly.
func place(k, step float64) float64 {
	if parts := math.Round(1 / step); step < 1 && parts*step > 1-1e-12 && parts*step < 1+1e-12 {
		return k / parts
	}
	return k * step
}

// tick returns a tick at v, moved into [lo, hi]: a rounded multiple of a step may lie
// slightly beyond an end, where it would not be drawn.
func tick(v, lo, hi float64, text string) plot.Tick {
	return plot.Tick{Value: min(max(v, lo), hi), Label: text}
}

// values are the axis of values.
type values struct {
	low, high float64 // ends of the axis, divided by unit
	unit      float64
	name      string
	ticks     []plot.Tick
}

// leastExponent is the least exponent of an axis: floats are multiplied by powers of
// ten up to 10^306.
const leastExponent = -306

// valueTicks is about how many labels an axis of values of so many pixels has.
func valueTicks(pixels int) int { return min(max(pixels/45, 3), 14) }

// newValues is the axis of values from lo to hi, with about n labels; Inf and -Inf mean
// that there are none.
func newValues(lo, hi float64, n int) values {
	v := values{unit: 1}
	if lo > hi {
		v.high = 1
		return v
	}
	if math.IsInf(hi-lo, 0) || max(math.Abs(lo), math.Abs(hi)) > math.MaxFloat64/4 {
		v.unit = 16 // keeps differences finite
		lo, hi = lo/v.unit, hi/v.unit
	}
	room := (hi - lo) * 0.05
	if room < max(math.Abs(lo), math.Abs(hi))*1e-12 || room == 0 { // all values are the same
		room = max(math.Abs(lo), math.Abs(hi)) * 0.1
		if room == 0 {
			room = 1
		}
	}
	v.low, v.high = lo-room, hi+room
	step := niceStep((v.high - v.low) / float64(n))
	if step == 0 || math.IsInf(step, 0) { // smaller or greater than floats are
		return v
	}
	top := math.Log10(max(math.Abs(v.low), math.Abs(v.high))) + math.Log10(v.unit)
	e := 0
	if top >= 7 || top < -3 {
		e = max(int(math.Floor(top/3))*3, leastExponent)
		v.name = "× 10" + superscript(e)
	}
	scale := v.unit * math.Pow(10, -float64(e))
	digits := decimals(step * scale)
	for _, k := range multiples(v.low, v.high, step) {
		v.ticks = append(v.ticks, tick(place(k, step), v.low, v.high, label(k*(step*scale), digits)))
	}
	return v
}

// label is a number with digits decimals, its thousands apart.
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

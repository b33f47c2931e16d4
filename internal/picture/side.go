package picture

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"

	"github.com/farread/farread/internal/human"
)

// A Side is an axis of an array: what it is called, and where its items lie.
type Side struct {
	Name string // with units, "lat [degrees_north]"
	// Values has the place of each item: seconds since 1970 if Time. Without Values item i
	// lies at First + i*Step.
	Values      []float64
	First, Step float64
	Time        bool
	Whole       bool // places are positions, whole numbers
	// Text is the label of an item. If it is not nil, items whose places do not rise or fall evenly have it.
	Text func(i int) string
	// Up lets the first item of a vertical axis be the lowest.
	Up bool
}

// positions is the axis of items that lie nowhere.
func positions() Side { return Side{Step: 1, Whole: true} }

// place is where item i lies, with half steps beyond the ends.
func (s *Side) place(i float64, n int) float64 {
	if s.Values == nil {
		return s.First + i*s.Step
	}
	if n == 1 {
		return s.Values[0]
	}
	k := min(max(int(math.Floor(i)), 0), n-2)
	a, b := s.Values[k], s.Values[k+1]
	return a + (i-float64(k))*(b-a)
}

// item is the opposite of place. places rise or fall strictly.
func (s *Side) item(v float64, n int) float64 {
	if s.Values == nil {
		return (v - s.First) / s.Step
	}
	if n == 1 {
		return 0
	}
	falls := s.Values[0] > s.Values[n-1]
	k := sort.Search(n, func(i int) bool { return (s.Values[i] >= v) != falls || s.Values[i] == v })
	k = min(max(k-1, 0), n-2)
	a, b := s.Values[k], s.Values[k+1]
	return float64(k) + (v-a)/(b-a)
}

// ordered reports whether places of n items rise or fall strictly.
func (s *Side) ordered(n int) bool {
	if s.Values == nil {
		return s.Step != 0 && !math.IsInf(s.place(float64(n), n), 0) && s.place(0, n) != s.place(1, n)
	}
	if len(s.Values) != n {
		return false
	}
	for i, v := range s.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) > math.MaxFloat64/4 {
			return false
		}
		if i > 0 && (v == s.Values[i-1] || (v > s.Values[i-1]) != (s.Values[1] > s.Values[0])) {
			return false
		}
	}
	return true
}

// even reports whether neighbours lie at about the same distance, as months do.
func (s *Side) even() bool {
	const most = 1.5
	low, high := math.Inf(1), 0.0
	for i := 1; i < len(s.Values); i++ {
		d := math.Abs(s.Values[i] - s.Values[i-1])
		low, high = min(low, d), max(high, d)
	}
	return high <= most*low || len(s.Values) < 2
}

// ticks are the ticks of an axis of n items that all have the same room, at the offsets of
// items: at round places or times, or where that is not possible at items.
func (s *Side) ticks(n, pixels int, upright bool) times {
	r := newUpright(-0.5, float64(n)-0.5, pixels, upright)
	if s.ordered(n) && s.even() && n > 1 {
		lo, hi := s.place(-0.5, n), s.place(float64(n)-0.5, n)
		t := s.round(min(lo, hi), max(lo, hi), pixels, upright)
		t.name = joined(s.Name, t.name)
		for i := range t.ticks {
			t.ticks[i].Value = min(max(s.item(t.ticks[i].Value, n), -0.5), float64(n)-0.5)
		}
		slices.SortFunc(t.ticks, func(a, b plot.Tick) int { return int(math.Copysign(1, a.Value-b.Value)) })
		if s.Time { // the ends are half an item beyond the first and the last
			a, b := s.place(0, n), s.place(float64(n-1), n)
			t.name = joined(s.Name, s.round(min(a, b), max(a, b), pixels, upright).name)
		}
		if len(t.ticks) > 1 && r.holds(t.ticks) {
			return t
		}
	}
	return times{name: s.Name, ticks: s.itemTicks(n, r)}
}

// round are ticks at round places, and what the name of the axis adds to the side's.
func (s *Side) round(lo, hi float64, pixels int, upright bool) times {
	r := newUpright(lo, hi, pixels, upright)
	if s.Time {
		return inUTC(lo, hi, time.Unix(0, 0), r)
	}
	return numbers(lo, hi, r, s.Whole)
}

// numbers are ticks at round numbers.
func numbers(lo, hi float64, r room, whole bool) times {
	least := r.step()
	if whole {
		least = max(least, 1)
	}
	if !(least > 0) || math.IsInf(least, 0) {
		return times{}
	}
	e, name := powerOf(lo, hi)
	var t times
	for step := range niceSteps(least) {
		t = times{name: name}
		scale := math.Pow(10, -float64(e))
		for _, k := range multiples(lo, hi, step) {
			t.ticks = append(t.ticks, tick(place(k, step), lo, hi, label(k*(step*scale), decimals(step*scale))))
		}
		if r.holds(t.ticks) {
			break
		}
	}
	return t
}

// powerOf is the power of ten of an axis from lo to hi, and its name; 0 for usual numbers.
func powerOf(lo, hi float64) (int, string) {
	top := math.Log10(max(math.Abs(lo), math.Abs(hi)))
	if top < 7 && top >= -3 || math.IsInf(top, 0) {
		return 0, ""
	}
	e := max(int(math.Floor(top/3))*3, leastExponent)
	return e, "× 10" + superscript(e)
}

// itemTicks are ticks at every k-th item, with its text.
func (s *Side) itemTicks(n int, r room) (list []plot.Tick) {
	const least = 12 // pixels
	for every := max(1, int(least/r.perSecond)); ; every += max(1, every/8) {
		list = nil
		for i := 0; i < n; i += every {
			list = append(list, plot.Tick{Value: float64(i), Label: s.text(i, n)})
		}
		if every >= n || len(list) <= maxTicks && r.holds(list) {
			return list
		}
	}
}

// text is the label of item i.
func (s *Side) text(i, n int) string {
	const most = 24
	if s.Text != nil {
		return human.Printable(human.Shorten(s.Text(i), most))
	}
	v := s.place(float64(i), n)
	if s.Time {
		return time.Unix(int64(v), 0).UTC().Format(time.DateOnly)
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', 6, 64), "-", "−", 1)
}

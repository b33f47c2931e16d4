package answers

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/internal/human"
)

// leastCurve is how many cells a curve has at least.
const leastCurve = 3

// WriteCurves draws, of answers along one axis, a line for each stat that is a number, as a
// terminal shows it below the table. It draws none of groups, which lie along no axis.
func WriteCurves(w io.Writer, a *analyze.Answers) error {
	if len(a.Shape) != 1 || a.Shape[0] < leastCurve || len(a.Axes) > 0 && strings.HasPrefix(a.Axes[0].Name, ".") {
		return nil
	}
	t := human.NewTable("STAT", "CURVE")
	for i := range a.Results {
		r := &a.Results[i]
		if len(r.Shape) != 1 || isArg(r) {
			continue
		}
		if list := values(r); slices.ContainsFunc(list, isFinite) {
			t.Add(r.Stat.Key(), curve(list))
		}
	}
	if t.Len() == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return t.Print(w)
}

// values returns the numbers of an answer, NaN for what no item has, or none if they are
// times or complex.
func values(r *analyze.Result) []float64 {
	size := r.Type.ItemSize()
	out := make([]float64, 0, len(r.Items)/size)
	for item := range slices.Chunk(r.Items, size) {
		v, ok := r.Type.Float(item)
		if !ok {
			return nil
		}
		if r.None != nil && r.None[len(out)] {
			v = math.NaN()
		}
		out = append(out, v)
	}
	return out
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// curve draws numbers as blocks whose height goes with the mean of those in it, and says
// between which means.
func curve(list []float64) string {
	width := (len(list) + mostBars - 1) / mostBars
	means := make([]float64, 0, mostBars)
	lo, hi := math.Inf(1), math.Inf(-1)
	for some := range slices.Chunk(list, width) {
		mean, n := 0.0, 0.0
		for _, v := range some {
			if isFinite(v) {
				n++
				mean += v/n - mean/n
			}
		}
		if n == 0 {
			mean = math.NaN()
		} else {
			lo, hi = min(lo, mean), max(hi, mean)
		}
		means = append(means, mean)
	}
	var out strings.Builder
	for _, v := range means {
		switch {
		case math.IsNaN(v):
			out.WriteByte(' ')
		case lo == hi:
			out.WriteRune('▄')
		default:
			out.WriteRune([]rune("▁▂▃▄▅▆▇█")[int(7*((v/2-lo/2)/(hi/2-lo/2)))])
		}
	}
	return fmt.Sprintf("%s %s to %s", out.String(), short(lo), short(hi))
}

func short(v float64) string { return fmt.Sprintf("%.6g", v) }

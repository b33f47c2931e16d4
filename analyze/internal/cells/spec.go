// Package cells reduces the items of an array to cells: one for each window of the axes
// that are reduced, and each index of those that are kept. A [Table] has the states of
// cells. It does not depend on the order in which items are added, nor on how tables are
// split and merged.
package cells

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// Limits of a text of stats.
const (
	maxStats = 64
	maxBins  = 1 << 20
	maxRanks = 1 << 10
)

// names are those of the stats, in the order that help gives.
var names = []string{"count", "nan", "min", "max", "argmin", "argmax", "sum", "mean", "std", "hist", "quantiles"}

// Names returns the names of all stats.
func Names() []string { return slices.Clone(names) }

// A Stat is what is asked of the items of a cell.
type Stat struct {
	Name  string   // one of Names
	Field string   // of structured items, names of members with dots between levels; else ""
	Bins  int      // of hist
	From  float64  // of hist
	To    float64  // of hist
	Ranks []string // of quantiles, as they were written
}

// Key is what the stat is called in a result: "mean", "mean(.temp)".
func (s Stat) Key() string {
	if s.Field == "" {
		return s.Name
	}
	return s.Name + "(." + s.Field + ")"
}

// String returns the stat as ParseStats reads it.
func (s Stat) String() string {
	var args []string
	if s.Field != "" {
		args = append(args, "."+s.Field)
	}
	if s.Name == "hist" {
		args = append(args, strconv.Itoa(s.Bins), strconv.FormatFloat(s.From, 'g', -1, 64)+":"+strconv.FormatFloat(s.To, 'g', -1, 64))
	}
	if args = append(args, s.Ranks...); len(args) == 0 {
		return s.Name
	}
	return s.Name + "(" + strings.Join(args, ",") + ")"
}

// ParseStats reads a list of stats, such as "mean,hist(64,-5:10),quantiles(.ms,0.5,0.99)".
func ParseStats(text string) ([]Stat, error) {
	var out []Stat
	for rest := text; ; {
		var s Stat
		end := strings.IndexAny(rest, ",(")
		args, has := "", false
		name := rest
		switch {
		case end >= 0 && rest[end] == '(':
			stop := end + strings.IndexByte(rest[end:], ')')
			if stop < end {
				return nil, fmt.Errorf("%q has no closing parenthesis", rest)
			}
			name, args, has, rest = rest[:end], rest[end+1:stop], true, rest[stop+1:]
			if rest != "" && rest[0] != ',' {
				return nil, fmt.Errorf("want a comma before %q", rest)
			}
		case end >= 0:
			name, rest = rest[:end], rest[end:]
		default:
			rest = ""
		}
		if s.Name = strings.TrimSpace(name); !slices.Contains(names, s.Name) {
			return nil, fmt.Errorf("stat %q: want some of %s", s.Name, strings.Join(names, ", "))
		}
		if err := s.parse(args, has); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		if slices.ContainsFunc(out, func(o Stat) bool { return o.Key() == s.Key() }) {
			return nil, fmt.Errorf("%s is there twice", s.Key())
		}
		if out = append(out, s); len(out) > maxStats {
			return nil, fmt.Errorf("more than %d stats", maxStats)
		}
		if rest == "" {
			return out, nil
		}
		rest = rest[1:]
	}
}

// parse reads what stands in parentheses.
func (s *Stat) parse(text string, has bool) error {
	var args []string
	if has {
		for a := range strings.SplitSeq(text, ",") {
			args = append(args, strings.TrimSpace(a))
		}
	}
	if len(args) > 0 && strings.HasPrefix(args[0], ".") {
		s.Field, args = args[0][1:], args[1:]
		if s.Field == "" {
			return fmt.Errorf("no name behind the dot")
		}
	}
	switch s.Name {
	case "hist":
		return s.parseHist(args)
	case "quantiles":
		return s.parseRanks(args)
	}
	if len(args) > 0 {
		return fmt.Errorf("takes no %q, only a member such as .temp", args[0])
	}
	return nil
}

func (s *Stat) parseHist(args []string) error {
	const want = "want the number of bins and their range, as in hist(64,-5:10)"
	if len(args) != 2 {
		return fmt.Errorf("%s", want)
	}
	from, to, ok := strings.Cut(args[1], ":")
	var err [3]error
	s.Bins, err[0] = strconv.Atoi(args[0])
	s.From, err[1] = strconv.ParseFloat(from, 64)
	s.To, err[2] = strconv.ParseFloat(to, 64)
	switch {
	case !ok || err[0] != nil || err[1] != nil || err[2] != nil:
		return fmt.Errorf("%s", want)
	case s.Bins < 1 || s.Bins > maxBins:
		return fmt.Errorf("%d bins: want 1 to %d", s.Bins, maxBins)
	case !(s.From < s.To) || math.IsInf(s.To-s.From, 0):
		return fmt.Errorf("range %s: want two finite numbers, the first one less", args[1])
	}
	for edges := s.edges(); len(edges) > 1; edges = edges[1:] {
		if !(edges[0] < edges[1]) {
			return fmt.Errorf("range %s: too narrow for %d bins", args[1], s.Bins)
		}
	}
	return nil
}

func (s *Stat) parseRanks(args []string) error {
	if len(args) == 0 {
		args = []string{"0.01", "0.5", "0.99"}
	}
	if len(args) > maxRanks {
		return fmt.Errorf("%d numbers: want at most %d", len(args), maxRanks)
	}
	for i, a := range args {
		if q, err := strconv.ParseFloat(a, 64); err != nil || !(q >= 0 && q <= 1) {
			return fmt.Errorf("%q: want a number from 0 to 1", a)
		}
		if slices.Contains(args[:i], a) {
			return fmt.Errorf("%s is there twice", a)
		}
	}
	s.Ranks = args
	return nil
}

// ranks returns the numbers of Ranks.
func (s *Stat) ranks() []float64 {
	out := make([]float64, len(s.Ranks))
	for i, r := range s.Ranks {
		out[i], _ = strconv.ParseFloat(r, 64)
	}
	return out
}

// edges returns the ends of the bins of hist, as NumPy's linspace does.
func (s *Stat) edges() []float64 {
	out := make([]float64, s.Bins+1)
	step := (s.To - s.From) / float64(s.Bins)
	for i := range out {
		out[i] = float64(float64(i)*step) + s.From
	}
	out[s.Bins] = s.To
	return out
}

// A class of types says how items are added.
type class byte

const (
	floats   class = iota + 1 // float64 holds each
	ints                      // int64 holds each
	unsigned                  // uint64
	times                     // int64, of which one is NaT
	pairs                     // complex
)

func classOf(d dtype.DType) (class, bool) {
	if d.Opaque() {
		return 0, false
	}
	switch d.Kind() {
	case dtype.Float:
		return floats, true
	case dtype.Uint:
		if d.ItemSize() == 8 {
			return unsigned, true
		}
		return ints, true
	case dtype.Bool, dtype.Int:
		return ints, true
	case dtype.DateTime, dtype.Duration:
		return times, true
	case dtype.Complex:
		return pairs, true
	default:
		return 0, false
	}
}

// check refuses what makes no sense of a type.
func (s *Stat) check(d dtype.DType) error {
	c, ok := classOf(d)
	if !ok {
		return fmt.Errorf("%s: items of type %s are not analyzed: %w", s.Key(), d, formats.ErrUnsupported)
	}
	only := names
	switch {
	case c == pairs:
		only = []string{"count", "nan", "sum", "mean"}
	case d.Kind() == dtype.DateTime:
		only = []string{"count", "nan", "min", "max", "argmin", "argmax"}
	case d.Kind() == dtype.Duration:
		only = []string{"count", "nan", "min", "max", "argmin", "argmax", "sum", "mean", "std"}
	}
	if !slices.Contains(only, s.Name) {
		return fmt.Errorf("%s: items of type %s have %s only: %w", s.Key(), d, strings.Join(only, ", "), formats.ErrUnsupported)
	}
	return nil
}

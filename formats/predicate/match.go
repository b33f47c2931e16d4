package predicate

import (
	"github.com/farread/farread/formats/internal/ordered"
	"github.com/farread/farread/formats/stats"
)

// A Match says how many items of a run match a Predicate.
type Match byte

// What Match says.
const (
	None Match = iota // no item matches
	Some              // it cannot be told: any number of items may match
	All               // each item matches
)

// String is the name of the constant.
func (m Match) String() string { return [...]string{"None", "Some", "All"}[m] }

// Match says how many items of a run match, by statistics of the run: s[i] is that of
// the column Columns()[i]. If it says None, the Mask of the run is empty, and if it says
// All, the Mask is full, whatever the items are; also if extremes are too wide. A run of
// no items is None. s has a Stat for each column, else Match panics.
func (p *Predicate) Match(s []stats.Stat) Match {
	for i := range p.columns {
		if s[i].Items == 0 {
			return None
		}
	}
	return p.root.match(s)
}

func (t *test) match(s []stats.Stat) Match {
	if t.kind == compare {
		return t.matchColumn(s[t.column])
	}
	// The kid that decides an and alone is None, that of an or is All.
	out, alone := All, None
	if t.kind == or {
		out, alone = None, All
	}
	for _, k := range t.kids {
		switch m := k.match(s); m {
		case alone:
			return alone
		case Some:
			out = Some
		default:
		}
	}
	return out
}

// matchColumn says how many items of a column are in the set.
func (t *test) matchColumn(s stats.Stat) Match {
	numbers := None
	if s.Ranged {
		numbers = t.in.over(s.Min, s.Max)
	}
	if s.NaN == 0 {
		return numbers
	}
	nans := None
	if _, hi := t.num.Domain(); t.num.Kind == ordered.Time && t.in.has(0) || t.num.Kind == ordered.Float && t.in.has(hi+1) {
		nans = All
	}
	if s.NaN < s.Items && numbers != nans {
		return Some
	}
	return nans
}

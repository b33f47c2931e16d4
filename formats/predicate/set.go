package predicate

import (
	"encoding/binary"
	"math"
	"math/big"
	"sort"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/internal/ordered"
)

// A span is the keys from lo to hi, both included.
type span struct{ lo, hi uint64 }

// A set is keys of items (see package ordered), those of NaN among them: disjoint spans
// in ascending order, with other keys between them. It has both zeros or none, and all
// keys of NaN or none, since it is made by comparisons. What and, or and not make of
// comparisons of one column is thus another set, and nothing is lost.
type set []span

// universe returns the last key that items can have.
func universe(t ordered.Type) uint64 {
	if t.Kind == ordered.Bool {
		return 1
	}
	return t.Mask()
}

// complement returns the keys up to last that are not in s.
func (s set) complement(last uint64) set {
	var out set
	next := uint64(0)
	for _, a := range s {
		if a.lo > next {
			out = append(out, span{next, a.lo - 1})
		}
		if a.hi == last {
			return out
		}
		next = a.hi + 1
	}
	return append(out, span{next, last})
}

// intersect returns the keys that are in both sets.
func (s set) intersect(t set) set {
	var out set
	for len(s) > 0 && len(t) > 0 {
		if lo, hi := max(s[0].lo, t[0].lo), min(s[0].hi, t[0].hi); lo <= hi {
			out = append(out, span{lo, hi})
		}
		if s[0].hi < t[0].hi {
			s = s[1:]
		} else {
			t = t[1:]
		}
	}
	return out
}

// find returns the number of the first span that does not end before key.
func (s set) find(key uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].hi >= key })
}

// has reports whether key is in the set.
func (s set) has(key uint64) bool {
	i := s.find(key)
	return i < len(s) && s[i].lo <= key
}

// over says how many of the keys from lo to hi are in the set.
func (s set) over(lo, hi uint64) Match {
	i := s.find(lo)
	switch {
	case i == len(s) || s[i].lo > hi:
		return None
	case s[i].lo <= lo && hi <= s[i].hi:
		return All
	default:
		return Some
	}
}

// A place is where a literal lies among the numbers of a type. The keys from first to
// last are equal to it; it lies between two numbers if last is first-1. If out is less
// than 0 it lies below all numbers, and if out is more than 0 above all; if nan is set it
// is not comparable.
type place struct {
	first, last uint64
	out         int
	nan         bool
}

// keys returns the keys of items that the comparison with a literal is true of.
func (o op) keys(t ordered.Type, at place) set {
	lo, hi := t.Domain()
	all := set{{lo, hi}}
	var below, same, above set
	switch {
	case at.nan:
	case at.out < 0:
		above = all
	case at.out > 0:
		below = all
	default:
		if at.first > lo {
			below = set{{lo, at.first - 1}}
		}
		if at.first <= at.last {
			same = set{{at.first, at.last}}
		}
		if at.last < hi {
			above = set{{at.last + 1, hi}}
		}
	}
	u := universe(t)
	switch o {
	case less:
		return below
	case lessEqual:
		return below.union(same, u)
	case greater:
		return above
	case greaterEqual:
		return same.union(above, u)
	case equal:
		return same
	default:
		return same.complement(u)
	}
}

// union returns the keys that are in one of the sets.
func (s set) union(t set, last uint64) set {
	return s.complement(last).intersect(t.complement(last)).complement(last)
}

// placeInteger places the number i, or one between i and i+1 if exact is not set, among
// integers.
func placeInteger(t ordered.Type, i *big.Int, exact bool) place {
	lo, hi := t.Domain()
	least, most := integer(t, lo), integer(t, hi)
	switch c := i.Cmp(most); {
	case i.Cmp(least) < 0:
		return place{out: -1}
	case c > 0 || c == 0 && !exact:
		return place{out: 1}
	}
	key := lo + new(big.Int).Sub(i, least).Uint64()
	if !exact {
		return place{first: key + 1, last: key}
	}
	return place{first: key, last: key}
}

// integer returns the number that has the key.
func integer(t ordered.Type, key uint64) *big.Int {
	i := new(big.Int).SetUint64(key)
	if t.Kind == ordered.Int || t.Kind == ordered.Time {
		i.Sub(i, new(big.Int).SetUint64(t.Sign()))
	}
	return i
}

// floorOf returns the greatest integer that is not above x, which is finite, and whether
// it is x.
func floorOf(x *big.Float) (i *big.Int, exact bool) {
	i, acc := x.Int(nil)
	if acc == big.Above { // rounded to zero, so x is negative
		i.Sub(i, big.NewInt(1))
	}
	return i, acc == big.Exact
}

// placeNumber places a number among those of a type; d is the same type.
func placeNumber(t ordered.Type, d dtype.DType, lit literal) (place, error) {
	x := lit.num
	switch {
	case x == nil:
		return place{nan: true}, nil
	case t.Kind != ordered.Float && x.IsInf():
		return place{out: x.Sign()}, nil
	case t.Kind != ordered.Float:
		i, exact := floorOf(x)
		return placeInteger(t, i, exact), nil
	}
	key, err := nearest(t, d, x)
	if err != nil {
		return place{}, err
	}
	value := float(t, key)
	c := x.Cmp(value)
	switch {
	case c == 0 || lit.kind == decimal && !value.IsInf():
		if key == t.Sign() { // and minus zero
			return place{first: key - 1, last: key}, nil
		}
		return place{first: key, last: key}, nil
	case c < 0:
		return place{first: key, last: key - 1}, nil
	default:
		return place{first: key + 1, last: key}, nil
	}
}

// nearest returns the key of a float of the type that no other lies between and x.
func nearest(t ordered.Type, d dtype.DType, x *big.Float) (uint64, error) {
	wide, err := dtype.Parse("<f8")
	if err != nil {
		return 0, err
	}
	f, _ := x.Float64()
	item := make([]byte, t.Size)
	err = wide.Convert(item, d, binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
	return t.Key(item), err
}

// float returns the number that has the key.
func float(t ordered.Type, key uint64) *big.Float {
	item := ordered.Type{Kind: ordered.Float, Size: t.Size}.Append(nil, key)
	switch t.Size {
	case 2:
		return big.NewFloat(float64(dtype.HalfToFloat(binary.LittleEndian.Uint16(item))))
	case 4:
		return big.NewFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(item))))
	default:
		return big.NewFloat(math.Float64frombits(binary.LittleEndian.Uint64(item)))
	}
}

// placeMoment places a time among counts of steps: of count units each, since 1970.
func placeMoment(t ordered.Type, unit string, count int, lit literal) place {
	if lit.kind == noMoment {
		return place{nan: true}
	}
	steps, rest := new(big.Int), new(big.Int)
	switch per := attosIn(unit); {
	case per != nil:
		steps.DivMod(lit.attos, per.Mul(per, big.NewInt(int64(count))), rest)
		return placeInteger(t, steps, rest.Sign() == 0)
	case unit == "Y":
		count *= 12
	}
	steps.DivMod(big.NewInt(lit.months), big.NewInt(int64(count)), rest)
	return placeInteger(t, steps, rest.Sign() == 0 && lit.newMonth)
}

// attosIn returns how many attoseconds a unit has, or nil for years and months.
func attosIn(unit string) *big.Int {
	n := big.NewInt(attosPerSecond)
	switch unit {
	case "W":
		return n.Mul(n, big.NewInt(7*86400))
	case "D":
		return n.Mul(n, big.NewInt(86400))
	case "h":
		return n.Mul(n, big.NewInt(3600))
	case "m":
		return n.Mul(n, big.NewInt(60))
	case "s":
		return n
	}
	for _, u := range []string{"ms", "us", "ns", "ps", "fs", "as"} {
		if n.Div(n, big.NewInt(1000)); u == unit {
			return n
		}
	}
	return nil
}

package arraymeta

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/farread/farread/formats/nd"
)

// A Selection is a parsed selection by coordinates, such as
// "time=2025-03-01:2025-04-01, lat=40:60, 5".
type Selection struct {
	text  string
	parts []part
}

// A part selects along one axis.
type part struct {
	dim  string // "": the part is a position or a range of positions
	text string
}

// maxSelection bounds the text of a selection.
const maxSelection = 64 << 10

// HasLabels reports whether the text of a slice selects by coordinates.
func HasLabels(text string) bool { return strings.Contains(text, "=") }

// ParseSelection reads parts between commas. NAME=LABEL selects along a dimension by its coordinate; a
// name, or a text for a label, in which a comma or an equals sign stands is put in quotes, 'a=b'=5.
// NAME=FROM:TO all items between two labels, ends included, whichever way the
// axis runs; one of the two may be left out. Other parts are positions as nd.ParseSlice reads them,
// for the axes without a name in their order. Text that is none of
// these matches nd.ErrSyntax.
func ParseSelection(text string) (Selection, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("slice %.200q: %s: %w", text, fmt.Sprintf(format, args...), nd.ErrSyntax)
	}
	if len(text) > maxSelection {
		return Selection{}, fmt.Errorf("slice of %d characters: %w", len(text), nd.ErrSyntax)
	}
	t := strings.TrimSpace(text)
	if strings.HasPrefix(t, "[") && strings.HasSuffix(t, "]") {
		t = strings.TrimSpace(t[1 : len(t)-1])
	}
	s := Selection{text: text}
	if t == "" {
		return s, nil
	}
	rest := []string{}
	for p, more, ok := cutPlain(strings.TrimSuffix(t, ","), ','); ; p, more, ok = cutPlain(more, ',') {
		p = strings.TrimSpace(p)
		last := !ok
		name, label, ok := cutPlain(p, '=')
		if !ok {
			s.parts = append(s.parts, part{text: p})
			rest = append(rest, p)
			if last {
				break
			}
			continue
		}
		x := part{dim: unquoted(strings.TrimSpace(name)), text: strings.Trim(strings.TrimSpace(label), `'"`)}
		if x.dim == "" || x.text == "" {
			return Selection{}, bad("%q: want NAME=LABEL or NAME=FROM:TO", clip(p))
		}
		if slices.ContainsFunc(s.parts, func(o part) bool { return o.dim == x.dim }) {
			return Selection{}, bad("%s twice", x.dim)
		}
		s.parts = append(s.parts, x)
		if last {
			break
		}
	}
	if len(s.parts) > nd.MaxDims+1 {
		return Selection{}, bad("%d axes", len(s.parts))
	}
	if _, err := nd.ParseSlice(strings.Join(rest, ",")); len(rest) > 0 && err != nil {
		return Selection{}, err
	}
	return s, nil
}

// Dims returns the names in the selection.
func (s Selection) Dims() []string {
	var names []string
	for _, p := range s.parts {
		if p.dim != "" {
			names = append(names, p.dim)
		}
	}
	return names
}

// Slice returns the positions of the selection in an array with dimensions of such names. axis returns
// the axis of a dimension by its number, or why there is none. If nearest is true, a single label selects the
// nearest item, else the one that is equal; of a time such as 2025-03 all items in it, if they are
// several. An error that matches nd.ErrIndex says which values the axis has.
func (s Selection) Slice(dims []string, axis func(i int) (Axis, error), nearest bool) (nd.Slice, error) {
	texts := make([]string, len(dims))
	for _, p := range s.parts {
		if p.dim == "" {
			continue
		}
		i := slices.Index(dims, p.dim)
		if i < 0 {
			have := "no dimension has a name"
			if len(dims) > 0 {
				names := make([]string, len(dims))
				for i, d := range dims {
					names[i] = spelled(d)
				}
				have = "dimensions are " + strings.Join(names, ", ")
			}
			return nd.Slice{}, fmt.Errorf("%s: %s: %w", clip(p.dim), have, nd.ErrSyntax)
		}
		a, err := axis(i)
		if err != nil {
			return nd.Slice{}, fmt.Errorf("%s: %w", p.dim, err)
		}
		if texts[i], err = a.positions(p.text, nearest); err != nil {
			return nd.Slice{}, fmt.Errorf("%s=%s: %w", p.dim, clip(p.text), err)
		}
	}
	if err := s.fill(texts); err != nil {
		return nd.Slice{}, err
	}
	return nd.ParseSlice(strings.Join(texts, ","))
}

// fill puts the parts that are positions into the axes without a label.
func (s Selection) fill(texts []string) error {
	var free []int
	for i, t := range texts {
		if t == "" {
			free, texts[i] = append(free, i), ":"
		}
	}
	var rest []string
	for _, p := range s.parts {
		if p.dim == "" {
			rest = append(rest, p.text)
		}
	}
	dots := slices.IndexFunc(rest, func(t string) bool { return t == "..." || strings.EqualFold(t, "ellipsis") })
	if dots >= 0 {
		gap := len(free) - (len(rest) - 1)
		if gap >= 0 {
			rest = slices.Replace(rest, dots, dots+1, slices.Repeat([]string{":"}, gap)...)
		}
	}
	if len(rest) > len(free) {
		return fmt.Errorf("slice %.200q: %d positions for %d axes without a label: %w", s.text, len(rest), len(free), nd.ErrSyntax)
	}
	for i, t := range rest {
		texts[free[i]] = t
	}
	return nil
}

// A target is a label in the values of an axis: what it covers from its first to its last
// value, both ends included unless open.
type target struct {
	from, to *big.Rat
	open     bool // to does not belong to it
}

// before reports whether t ends before o begins.
func (t *target) before(o *target) bool {
	c := t.to.Cmp(o.from)
	return c < 0 || t.open && c == 0
}

// positions returns the text of positions for a label or a range of labels.
func (a Axis) positions(text string, nearest bool) (string, error) {
	if a.isText() {
		return a.named(text)
	}
	from, to, two := a.cut(text)
	if !two {
		t, err := a.target(from)
		if err != nil {
			return "", err
		}
		return a.single(t, nearest)
	}
	bounds := make([]*target, 2)
	for i, b := range []string{from, to} {
		if b = strings.TrimSpace(b); b == "" {
			continue
		}
		t, err := a.target(b)
		if err != nil {
			return "", err
		}
		bounds[i] = &t
	}
	order := a.order()
	if order == 0 {
		return "", fmt.Errorf("the axis is neither ascending nor descending: select single labels, or positions: %w", nd.ErrSyntax)
	}
	lo, hi := bounds[0], bounds[1]
	if lo != nil && hi != nil && hi.before(lo) || order < 0 && (lo == nil) != (hi == nil) {
		lo, hi = hi, lo // of half a range, FROM is where the axis begins
	}
	i, n := a.between(lo, hi, order)
	if n == 0 {
		return "", a.none()
	}
	return fmt.Sprintf("%d:%d", i, i+n), nil
}

// cut splits a range at its colon: a time has colons, too.
func (a Axis) cut(text string) (from, to string, two bool) {
	if a.clock != nil {
		if g := twoTimes.FindStringSubmatch(text); g != nil {
			return g[1], g[2], true
		}
		if onePoint.MatchString(text) {
			return text, "", false
		}
	}
	return strings.Cut(text, ":")
}

// target reads a label.
func (a Axis) target(label string) (target, error) {
	label = strings.TrimSpace(label)
	if a.clock != nil {
		p, ok := parsePeriod(label)
		if !ok {
			return target{}, fmt.Errorf("%q is no time such as 2025-03-01 or 2025-03-01T12:30: %w", clip(label), nd.ErrSyntax)
		}
		return target{a.near(a.clock.value(p.from)), a.near(a.clock.value(p.to)), p.to.After(p.from)}, nil
	}
	f, err := strconv.ParseFloat(label, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return target{}, fmt.Errorf("%q is no number: %w", clip(label), nd.ErrSyntax)
	}
	v := new(big.Rat).SetFloat64(f)
	if n, err := strconv.ParseInt(label, 10, 64); err == nil {
		v.SetInt64(n)
	}
	v = a.near(v)
	return target{from: v, to: v}, nil
}

// near rounds to what the axis can hold, so that 40.1 is the item that was made of 40.1.
func (a Axis) near(v *big.Rat) *big.Rat {
	if a.isWhole() {
		return v
	}
	f, _ := v.Float64()
	if size := a.d.ItemSize(); size < 8 {
		p := make([]byte, size)
		putFloat(p, f)
		if g, ok := a.d.Float(p); ok {
			f = g
		}
	}
	if math.IsInf(f, 0) {
		return v
	}
	return new(big.Rat).SetFloat64(f)
}

// rat returns item i; nil if it is no number.
func (a Axis) rat(i int64) *big.Rat {
	if a.isWhole() {
		return new(big.Rat).SetInt64(a.whole(i))
	}
	return new(big.Rat).SetFloat64(a.value(i)) // nil unless it is finite
}

// order returns 1 for an ascending axis, -1 for a descending one, and 0 for any other.
func (a Axis) order() int {
	if a.raw == nil {
		if strings.HasPrefix(a.c.Step.String(), "-") {
			return -1
		}
		return 1
	}
	up, down := true, true
	for i := range a.n {
		if v := a.value(i); math.IsNaN(v) || math.IsInf(v, 0) {
			return 0
		}
		if i == 0 {
			continue
		}
		switch {
		case a.isWhole() && a.whole(i) < a.whole(i-1), !a.isWhole() && a.value(i) < a.value(i-1):
			up = false
		case a.isWhole() && a.whole(i) > a.whole(i-1), !a.isWhole() && a.value(i) > a.value(i-1):
			down = false
		}
	}
	switch {
	case up:
		return 1
	case down:
		return -1
	}
	return 0
}

// between returns the first item and the number of those from lo to hi; nil is no bound.
func (a Axis) between(lo, hi *target, order int) (first, n int64) {
	in := func(i int64) (below, above bool) {
		v := a.rat(i)
		below = lo != nil && v.Cmp(lo.from) < 0
		if hi != nil {
			c := v.Cmp(hi.to)
			above = c > 0 || hi.open && c == 0
		}
		return below, above
	}
	search := func(f func(i int64) bool) int64 {
		return int64(sort.Search(int(a.n), func(i int) bool { return f(int64(i)) }))
	}
	if order > 0 {
		first = search(func(i int64) bool { below, _ := in(i); return !below })
		return first, search(func(i int64) bool { _, above := in(i); return above }) - first
	}
	first = search(func(i int64) bool { _, above := in(i); return !above })
	return first, search(func(i int64) bool { below, _ := in(i); return below }) - first
}

// single selects the items that a label covers: one alone as a position, several as a
// range.
func (a Axis) single(t target, nearest bool) (string, error) {
	if a.n == 0 {
		return "", a.none()
	}
	order := a.order()
	if order == 0 {
		return a.scan(t, nearest)
	}
	i, n := a.between(&t, &t, order)
	switch {
	case n == 1 && a.rat(i).Cmp(t.from) == 0:
		return strconv.FormatInt(i, 10), nil
	case n > 0 && !nearest:
		return fmt.Sprintf("%d:%d", i, i+n), nil
	case !nearest:
		return "", a.missing(i)
	}
	best := int64(-1)
	for k := max(i-1, 0); k < min(i+2, a.n); k++ {
		if best < 0 || a.distance(k, t).Cmp(a.distance(best, t)) < 0 {
			best = k
		}
	}
	return strconv.FormatInt(best, 10), nil
}

// scan is single for an axis in no order.
func (a Axis) scan(t target, nearest bool) (string, error) {
	best := int64(-1)
	for i := range a.n {
		v := a.rat(i)
		if v == nil {
			continue
		}
		if v.Cmp(t.from) == 0 {
			return strconv.FormatInt(i, 10), nil
		}
		if best < 0 || a.distance(i, t).Cmp(a.distance(best, t)) < 0 {
			best = i
		}
	}
	if !nearest || best < 0 {
		return "", a.none()
	}
	return strconv.FormatInt(best, 10), nil
}

func (a Axis) distance(i int64, t target) *big.Rat {
	v := a.rat(i)
	return v.Sub(v, t.from).Abs(v)
}

// named selects the item of a text.
func (a Axis) named(text string) (string, error) {
	at := func(name string) int64 {
		for i := range a.n {
			if a.Text(i) == name {
				return i
			}
		}
		return -1
	}
	if i := at(text); i >= 0 {
		return strconv.FormatInt(i, 10), nil
	}
	if from, to, ok := strings.Cut(text, ":"); ok {
		i, j := at(strings.TrimSpace(from)), at(strings.TrimSpace(to))
		if from == "" {
			i = 0
		}
		if to == "" {
			j = a.n - 1
		}
		if i >= 0 && j >= 0 {
			return fmt.Sprintf("%d:%d", min(i, j), max(i, j)+1), nil
		}
	}
	return "", a.none()
}

// Range describes the axis: "2025-01-01 … 2025-12-31".
func (a Axis) Range() string {
	switch a.n {
	case 0:
		return "nothing"
	case 1:
		return a.Text(0)
	}
	return a.Text(0) + " … " + a.Text(a.n-1)
}

// none is the error for labels that no item has.
func (a Axis) none() error {
	return fmt.Errorf("no such item: the axis has %s: %w", a.Range(), nd.ErrIndex)
}

// missing is none for a label that would stand before item i.
func (a Axis) missing(i int64) error {
	if i <= 0 || i >= a.n {
		return a.none()
	}
	return fmt.Errorf("no such item: it lies between %s and %s; the axis has %s: %w", a.Text(i-1), a.Text(i), a.Range(), nd.ErrIndex)
}

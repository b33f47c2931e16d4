package cells

import (
	"fmt"
	"slices"
	"strings"

	"github.com/farread/farread/analyze/internal/exact"
	"github.com/farread/farread/analyze/internal/sketch"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// A Plan is a layout and what is asked of each cell. It is immutable and safe for
// concurrent use.
type Plan struct {
	*Layout
	Stats   []Stat
	item    int
	columns []*column
}

// A column is items, or members of items, of which something is asked.
type column struct {
	field string
	off   int
	typ   dtype.DType
	class class

	order, arg, sum, squares bool // what is needed
	hist, ranks              *Stat
	edges                    []float64
}

// NewPlan checks stats against the type of the items.
func NewPlan(l *Layout, list []Stat, d dtype.DType) (*Plan, error) {
	p := &Plan{Layout: l, Stats: slices.Clone(list), item: d.ItemSize()}
	for i := range p.Stats {
		s := &p.Stats[i]
		c, err := p.column(s, d)
		if err != nil {
			return nil, err
		}
		if err := s.check(c.typ); err != nil {
			return nil, err
		}
		c.need(s)
	}
	return p, nil
}

func (c *column) need(s *Stat) {
	switch s.Name {
	case "min", "max":
		c.order = true
	case "argmin", "argmax":
		c.order, c.arg = true, true
	case "sum", "mean":
		c.sum = true
	case "std":
		c.sum, c.squares = true, true
	case "hist":
		c.hist, c.edges = s, s.edges()
	case "quantiles":
		c.ranks = s
	}
}

// column returns the column of a stat, and makes it if it is new.
func (p *Plan) column(s *Stat, d dtype.DType) (*column, error) {
	c, err := find(d, s.Field)
	if s.Name == "count" && s.Field == "" && d.Kind() == dtype.Struct {
		c = &column{}
		c.typ, err = dtype.Parse("|u1") // the first byte of an item, which is not NaN
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Key(), err)
	}
	for _, has := range p.columns {
		if has.field == s.Field {
			return has, nil
		}
	}
	c.class, _ = classOf(c.typ)
	p.columns = append(p.columns, c)
	return c, nil
}

// find finds a member by names with dots between them.
func find(d dtype.DType, field string) (*column, error) {
	c := &column{field: field, typ: d}
	for rest := field; rest != ""; {
		f, used := dtype.Field{}, 0
		for end := len(rest); end > 0; end = strings.LastIndexByte(rest[:end], '.') { // names may have dots
			if m, ok := c.typ.Field(rest[:end]); ok {
				f, used = m, end
				break
			}
		}
		if used == 0 {
			return nil, fmt.Errorf("items of type %s have no member %q: %w", c.typ, rest, formats.ErrNoEntry)
		}
		if f.Shape != nil {
			return nil, fmt.Errorf("member %q is a sub-array: %w", rest[:used], formats.ErrUnsupported)
		}
		c.off, c.typ = c.off+f.Off, f.Type
		rest = strings.TrimPrefix(rest[used:], ".")
	}
	if c.typ.Kind() == dtype.Struct {
		list := make([]string, 0, 8)
		for i, f := range c.typ.Fields() {
			if i == 8 {
				list = append(list, "…")
				break
			}
			list = append(list, "."+f.Name)
		}
		return nil, fmt.Errorf("items have members: name one, %s: %w", strings.Join(list, " or "), formats.ErrUnsupported)
	}
	return c, nil
}

// CellBytes returns about how many bytes of memory a cell takes.
func (p *Plan) CellBytes() int64 {
	n := int64(0)
	for _, c := range p.columns {
		n += 32
		if c.arg {
			n += 16
		}
		for _, is := range []bool{c.sum, c.sum && c.class == pairs, c.squares} {
			if is {
				n += 160
			}
		}
		if c.hist != nil {
			n += 8 * int64(c.hist.Bins)
		}
		if c.ranks != nil {
			n += 4 << 10
		}
	}
	return n
}

// ByStats reports whether statistics of chunks answer all that is asked.
func (p *Plan) ByStats() bool {
	for _, c := range p.columns {
		if c.arg || c.sum || c.hist != nil || c.ranks != nil {
			return false
		}
	}
	return true
}

// A Table has the states of the cells of a region. It must not be used concurrently.
type Table struct {
	plan *Plan
	Region
	states []state
}

// A state is that of all cells of a table, for one column. Lists that are not needed are
// nil.
type state struct {
	count, nan   []int64  // items that are not NaN, and those that are
	lo, hi       []uint64 // keys of the extremes, if count > 0
	argLo, argHi []int64  // places of the extremes in the box
	sum, imag    []exact.Sum
	squares      []exact.Sum
	hist         []int64 // bins of one cell after the other
	sketch       []sketch.Sketch
}

// NewTable makes the table of no items.
func (p *Plan) NewTable(r Region) *Table { return p.newTable(r, int(r.Cells())) }

// newTable makes a table of n cells.
func (p *Plan) newTable(r Region, n int) *Table {
	t := &Table{plan: p, Region: r, states: make([]state, len(p.columns))}
	for i, c := range p.columns {
		s := &t.states[i]
		s.count, s.nan = make([]int64, n), make([]int64, n)
		if c.order {
			s.lo, s.hi = make([]uint64, n), make([]uint64, n)
		}
		if c.arg {
			s.argLo, s.argHi = make([]int64, n), make([]int64, n)
		}
		if c.sum {
			s.sum = make([]exact.Sum, n)
			if c.class == pairs {
				s.imag = make([]exact.Sum, n)
			}
		}
		if c.squares {
			s.squares = make([]exact.Sum, n)
		}
		if c.hist != nil {
			s.hist = make([]int64, n*c.hist.Bins)
		}
		if c.ranks != nil {
			s.sketch = make([]sketch.Sketch, n)
		}
	}
	return t
}

// Merge adds the states of o, a table of the same plan whose region t has, and leaves o
// without a meaning.
func (t *Table) Merge(o *Table) {
	t.each(o.Region, func(in, of int64) {
		for i := range t.states {
			t.states[i].merge(&o.states[i], in, of)
		}
	})
}

// merge adds cell j of o to cell i.
func (s *state) merge(o *state, i, j int64) {
	s.nan[i] += o.nan[j]
	if o.count[j] == 0 {
		return
	}
	if s.lo != nil {
		s.extreme(i, o.lo[j], o.hi[j], func() (int64, int64) { return o.argLo[j], o.argHi[j] })
	}
	s.count[i] += o.count[j]
	if s.sum != nil {
		s.sum[i].Merge(&o.sum[j])
	}
	if s.imag != nil {
		s.imag[i].Merge(&o.imag[j])
	}
	if s.squares != nil {
		s.squares[i].Merge(&o.squares[j])
	}
	if s.hist != nil {
		bins := int64(len(s.hist) / len(s.count))
		for k, n := range o.hist[j*bins : (j+1)*bins] {
			s.hist[i*bins+int64(k)] += n
		}
	}
	if s.sketch != nil {
		s.sketch[i].Merge(&o.sketch[j])
	}
}

// extreme widens the extremes of cell i, whose count is not raised yet. args tells the
// first places of lo and hi; it is not called if they are not needed.
func (s *state) extreme(i int64, lo, hi uint64, args func() (argLo, argHi int64)) {
	first := s.count[i] == 0
	if s.argLo != nil && (first || lo <= s.lo[i] || hi >= s.hi[i]) {
		a, b := args()
		if first || lo < s.lo[i] || lo == s.lo[i] && a < s.argLo[i] {
			s.argLo[i] = a
		}
		if first || hi > s.hi[i] || hi == s.hi[i] && b < s.argHi[i] {
			s.argHi[i] = b
		}
	}
	if first || lo < s.lo[i] {
		s.lo[i] = lo
	}
	if first || hi > s.hi[i] {
		s.hi[i] = hi
	}
}

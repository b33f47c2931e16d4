// Package groups reduces items to cells that are called by keys: values of fields of the
// items, such as JSON has them. A [Table] grows as keys are found. It does not depend on
// the order in which items are added, nor on how tables are split and merged.
package groups

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/farread/farread/analyze/internal/cells"
	"github.com/farread/farread/analyze/internal/fields"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/predicate"
)

// A Plan is what is asked of items. It is immutable and safe for concurrent use.
type Plan struct {
	Keys  [][]string // paths of the fields whose values are the key
	Stats []cells.Stat
	cells *cells.Plan
	paths [][]string // of the columns; nil: items
	most  int64      // bytes of a table
}

// NewPlan makes a plan. A table of it takes about most bytes of memory, or less.
func NewPlan(keys []string, list []cells.Stat, most int64) (*Plan, error) {
	p := &Plan{most: most}
	for _, k := range keys {
		path, err := fields.Parse(k)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(p.Keys, func(has []string) bool { return slices.Equal(has, path) }) {
			return nil, fmt.Errorf("%s is there twice", fields.Spelt(path))
		}
		p.Keys = append(p.Keys, path)
	}
	p.Stats = slices.Clone(list)
	var err error
	if p.cells, err = cells.NewKeyed(p.Stats); err != nil {
		return nil, err
	}
	for _, f := range p.cells.Fields() {
		var path []string
		if f != "" {
			if path, err = fields.Parse(f); err != nil {
				return nil, err
			}
		}
		p.paths = append(p.paths, path)
	}
	return p, nil
}

// Columns returns the path of the numbers of each column; nil is that of items.
func (p *Plan) Columns() [][]string { return p.paths }

// ofKey is about how many bytes the place of a key takes, besides its text.
const ofKey = 96

// GroupBytes returns about how many bytes of memory a group takes at least.
func (p *Plan) GroupBytes() int64 { return p.cells.KeyedBytes() + ofKey }

// A Table has the states of groups. It must not be used concurrently.
type Table struct {
	plan   *Plan
	cells  *cells.Table
	at     map[string]int64
	keys   []string
	text   int64  // bytes of keys
	steps  int64  // since the memory was looked at
	parts  []bool // of columns: a number had a fraction, or was beyond int64
	Others int64  // items that were passed over
}

// NewTable makes the table of no items.
func (p *Plan) NewTable() *Table {
	return &Table{plan: p, cells: p.cells.NewKeyedTable(), at: map[string]int64{}, parts: make([]bool, len(p.paths))}
}

// group returns the cell of a key.
func (t *Table) group(key []byte) int64 {
	if cell, ok := t.at[string(key)]; ok {
		return cell
	}
	cell := t.cells.Grow()
	k := string(key)
	t.at[k] = cell
	t.keys = append(t.keys, k)
	t.text += int64(len(k))
	return cell
}

// Add adds an item: its key, which is the values that AppendKey appended for each of the
// plan's Keys, its number, and for each column its value.
func (t *Table) Add(key []byte, item int64, columns []*predicate.Value) error {
	cell := t.group(key)
	for i, v := range columns {
		switch {
		case v == nil:
			t.cells.AddItem(cell, i)
		case v.Kind == predicate.Whole:
			t.cells.AddWhole(cell, i, item, v.Whole)
		case v.Kind == predicate.Float:
			t.cells.AddNumber(cell, i, item, v.Float) // which counts NaN apart
			t.parts[i] = t.parts[i] || v.Float == v.Float
		default:
			t.cells.AddNone(cell, i)
		}
	}
	return t.look(1)
}

// look looks at the memory of the table, after some steps: not more often than its groups
// take to be looked at.
func (t *Table) look(steps int64) error {
	const often = 1 << 12
	if t.steps += steps; t.steps < max(often, int64(len(t.keys))) {
		return nil
	}
	t.steps = 0
	return t.check()
}

func (t *Table) check() error {
	n := int64(len(t.keys))
	need := n*t.plan.GroupBytes() + t.text + t.cells.SketchBytes()
	if need <= t.plan.most {
		return nil
	}
	return fmt.Errorf("%d groups take about %d bytes, and %d are allowed: %w", n, need, t.plan.most, formats.ErrTooLarge)
}

// Shift adds to the numbers of all items that were added.
func (t *Table) Shift(by int64) { t.cells.Shift(by) }

// Merge adds the groups of o, a table of the same plan, and leaves it without a meaning.
func (t *Table) Merge(o *Table) error {
	t.Others += o.Others
	for i, is := range o.parts {
		t.parts[i] = t.parts[i] || is
	}
	for j, k := range o.keys {
		t.cells.MergeCell(o.cells, t.group([]byte(k)), int64(j))
		if err := t.look(1); err != nil {
			return err
		}
	}
	return t.check()
}

// An Axis is what the groups are called by one field.
type Axis struct {
	Name   string
	Labels []string
}

// Answers returns the answers in the order of the keys, and what the groups are called by
// each field of the key. Without keys there is one cell, also of no items. It leaves the
// table without a meaning.
func (t *Table) Answers() ([]cells.Result, []Axis, error) {
	if len(t.plan.Keys) == 0 {
		t.group(nil)
	}
	type group struct {
		cell   int64
		values []predicate.Value
	}
	list := make([]group, 0, len(t.keys))
	for i, k := range t.keys {
		v, ok := values(k, len(t.plan.Keys))
		if !ok {
			return nil, nil, fmt.Errorf("a key of no group: %w", formats.ErrCorrupt)
		}
		list = append(list, group{int64(i), v})
	}
	slices.SortFunc(list, func(a, b group) int {
		for i := range a.values {
			if c := predicate.CompareValues(&a.values[i], &b.values[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	order := make([]int64, 0, len(list))
	for _, g := range list {
		order = append(order, g.cell)
	}
	var axes []Axis
	for i, path := range t.plan.Keys {
		column := make([]*predicate.Value, 0, len(list))
		for k := range list {
			column = append(column, &list[k].values[i])
		}
		axes = append(axes, Axis{fields.Spelt(path), labels(column)})
	}
	whole := make([]bool, len(t.parts))
	for i, is := range t.parts {
		whole[i] = !is
	}
	out, err := t.cells.KeyedResults(order, len(t.plan.Keys) > 0, whole)
	return out, axes, err
}

// stored is a Table as JSON.
type stored struct {
	Others int64 `json:",omitempty"`
	Parts  []bool
	Keys   [][]byte
	Cells  json.RawMessage
}

// MarshalJSON returns the table without loss.
func (t *Table) MarshalJSON() ([]byte, error) {
	out := stored{Others: t.Others, Parts: t.parts, Keys: make([][]byte, 0, len(t.keys))}
	for _, k := range t.keys {
		out.Keys = append(out.Keys, []byte(k))
	}
	var err error
	if out.Cells, err = t.cells.MarshalJSON(); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// ParseTable reads what Table.MarshalJSON wrote for a table of the same plan. What cannot
// be one matches formats.ErrCorrupt.
func (p *Plan) ParseTable(text []byte) (*Table, error) {
	bad := fmt.Errorf("no groups of this plan: %w", formats.ErrCorrupt)
	var in stored
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", err, formats.ErrCorrupt)
	}
	c, err := p.cells.ParseTable(in.Cells)
	if err != nil {
		return nil, err
	}
	if in.Others < 0 || len(in.Parts) != len(p.paths) || c.Lo[0] != 0 || c.N[0] != int64(len(in.Keys)) {
		return nil, bad
	}
	t := &Table{plan: p, cells: c, at: map[string]int64{}, parts: in.Parts, Others: in.Others}
	for i, key := range in.Keys {
		k := string(key)
		if _, ok := values(k, len(p.Keys)); !ok {
			return nil, bad
		}
		if _, twice := t.at[k]; twice {
			return nil, bad
		}
		t.at[k], t.keys, t.text = int64(i), append(t.keys, k), t.text+int64(len(k))
	}
	return t, nil
}

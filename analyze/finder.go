package analyze

import (
	"github.com/farread/farread/analyze/internal/fields"
	"github.com/farread/farread/analyze/internal/groups"
	"github.com/farread/farread/formats/predicate"
)

// A finder finds the fields of items that are asked about.
type finder struct {
	scan    *fields.Scanner
	where   *predicate.Values
	whereAt []int // slots of Where's paths
	keyAt   []int
	colAt   []int          // -1: that of items
	names   map[string]int // slots of paths of one name
	key     []byte
	columns []*predicate.Value
}

func newFinder(p *groups.Plan, where *predicate.Values) *finder {
	f := &finder{scan: fields.NewScanner(), where: where, names: map[string]int{}}
	if where != nil {
		for _, path := range where.Paths() {
			f.whereAt = append(f.whereAt, f.slot(path))
		}
	}
	for _, path := range p.Keys {
		f.keyAt = append(f.keyAt, f.slot(path))
	}
	for _, path := range p.Columns() {
		at := -1
		if path != nil {
			at = f.slot(path)
		}
		f.colAt = append(f.colAt, at)
	}
	f.columns = make([]*predicate.Value, len(f.colAt))
	return f
}

// slot returns the number of a field among the values.
func (f *finder) slot(path []string) int {
	at := f.scan.Slot(path)
	if len(path) == 1 {
		f.names[path[0]] = at
	}
	return at
}

// set sets the value of the field of a name, if it is asked about.
func (f *finder) set(values []predicate.Value, name string, v predicate.Value) {
	if at, ok := f.names[name]; ok {
		values[at] = v
	}
}

// add adds item i to a table, if it matches.
func (f *finder) add(t *groups.Table, i int64, p []byte) error {
	var values []predicate.Value
	if f.scan.Fields() > 0 {
		var ok bool
		if values, ok = f.scan.Scan(p); !ok {
			t.Others++
			return nil
		}
	}
	return f.take(t, i, values)
}

// take adds the values of item i to a table, if they match.
func (f *finder) take(t *groups.Table, i int64, values []predicate.Value) error {
	if f.where != nil && !f.where.Match(values, f.whereAt) {
		return nil
	}
	f.key = f.key[:0]
	for _, at := range f.keyAt {
		f.key = groups.AppendKey(f.key, &values[at])
	}
	for k, at := range f.colAt {
		if f.columns[k] = nil; at >= 0 {
			f.columns[k] = &values[at]
		}
	}
	return ofGroups(t.Add(f.key, i, f.columns))
}

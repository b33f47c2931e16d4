package cells

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/analyze/internal/exact"
	"github.com/farread/farread/analyze/internal/sketch"
	"github.com/farread/farread/formats"
)

// storedTable is a Table as JSON.
type storedTable struct {
	Lo, N   []int64
	Columns []storedState
}

type storedState struct {
	Count   []int64
	NaN     []int64        `json:",omitempty"`
	Lo      []uint64       `json:",omitempty"`
	Hi      []uint64       `json:",omitempty"`
	ArgLo   []int64        `json:",omitempty"`
	ArgHi   []int64        `json:",omitempty"`
	Sum     []*exact.Sum   `json:",omitempty"`
	Imag    []*exact.Sum   `json:",omitempty"`
	Squares []*exact.Sum   `json:",omitempty"`
	Hist    []int64        `json:",omitempty"`
	Sketch  []sketch.State `json:",omitempty"`
}

// MarshalJSON returns the table without loss.
func (t *Table) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedTable{Lo: t.Lo, N: t.N, Columns: t.stored()})
}

func (t *Table) stored() []storedState {
	out := make([]storedState, 0, len(t.states))
	for i := range t.states {
		s := &t.states[i]
		st := storedState{Count: s.count, NaN: s.nan, Lo: s.lo, Hi: s.hi, ArgLo: s.argLo, ArgHi: s.argHi, Hist: s.hist,
			Sum: pointers(s.sum), Imag: pointers(s.imag), Squares: pointers(s.squares)}
		for k := range s.sketch {
			st.Sketch = append(st.Sketch, s.sketch[k].State())
		}
		out = append(out, st)
	}
	return out
}

func pointers(list []exact.Sum) []*exact.Sum {
	out := make([]*exact.Sum, 0, len(list))
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

// ParseTable reads what Table.MarshalJSON wrote for a table of the same plan. What cannot
// be one matches formats.ErrCorrupt.
func (p *Plan) ParseTable(text []byte) (*Table, error) {
	var in storedTable
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", err, formats.ErrCorrupt)
	}
	bad := fmt.Errorf("no table of this plan: %w", formats.ErrCorrupt)
	r := Region{in.Lo, in.N}
	if len(in.Lo) != len(p.along) || len(in.N) != len(p.along) {
		return nil, bad
	}
	for i, n := range p.along {
		if r.Lo[i] < 0 || r.N[i] < 0 || r.N[i] > n || r.Lo[i] > n-r.N[i] {
			return nil, bad
		}
	}
	n := r.Cells()
	if n > math.MaxInt32 {
		return nil, bad
	}
	return p.parseStates(in.Columns, int(n), r)
}

// parseStates makes the table of n cells whose states were stored.
func (p *Plan) parseStates(in []storedState, n int, r Region) (*Table, error) {
	bad := fmt.Errorf("no states of this plan: %w", formats.ErrCorrupt)
	if len(in) != len(p.columns) {
		return nil, bad
	}
	for _, c := range in {
		if len(c.Count) != n {
			return nil, bad // before anything is allocated
		}
	}
	t := p.newTable(r, n)
	for i := range t.states {
		if err := t.states[i].take(&in[i]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// take takes what was stored. Lists must have the lengths that s has.
func (s *state) take(in *storedState) error {
	ok := take(s.count, in.Count) && take(s.nan, in.NaN) && take(s.lo, in.Lo) && take(s.hi, in.Hi) &&
		take(s.argLo, in.ArgLo) && take(s.argHi, in.ArgHi) && take(s.hist, in.Hist) &&
		takeSums(s.sum, in.Sum) && takeSums(s.imag, in.Imag) && takeSums(s.squares, in.Squares) && len(s.sketch) == len(in.Sketch)
	less := func(n int64) bool { return n < 0 }
	if !ok || slices.ContainsFunc(s.count, less) || slices.ContainsFunc(s.nan, less) || slices.ContainsFunc(s.hist, less) {
		return fmt.Errorf("the lists of a column do not fit: %w", formats.ErrCorrupt)
	}
	for k := range in.Sketch {
		one, err := sketch.Restore(in.Sketch[k])
		if err != nil {
			return err
		}
		s.sketch[k] = *one
	}
	return nil
}

func take[N any](dst, src []N) bool {
	return copy(dst, src) == len(dst) && len(src) == len(dst)
}

func takeSums(dst []exact.Sum, src []*exact.Sum) bool {
	for i, s := range src {
		if s == nil || i >= len(dst) {
			return false
		}
		dst[i].Merge(s)
	}
	return len(dst) == len(src)
}

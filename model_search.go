package farread

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/stats"
)

// A Searcher is an array that finds its items by their values: a b2nd.
type Searcher interface {
	Slicer
	// Search calls fn with the items of a box that match a predicate, in row-major order
	// and some thousand at a time. The predicate must be bound to DType(). What cannot
	// match by the statistics of the array is not read; see b2nd.Array.Search. An error of
	// fn is returned as it is.
	Search(ctx context.Context, box b2nd.Box, p *predicate.Predicate, o b2nd.SearchOptions, fn func(h b2nd.Hit) error) (b2nd.SearchReport, error)
	// ExplainSearch plans Search. Plan.Size is -1. It reads statistics for it.
	ExplainSearch(ctx context.Context, box b2nd.Box, p *predicate.Predicate, o b2nd.SearchOptions) (Plan, b2nd.SearchReport, error)
	// StatColumns returns the columns of the items that have an order, or nothing if they
	// have no numbers. Predicate.Columns and Statistics number them.
	StatColumns() []stats.Column
	// Statistics returns what is known of the values of chunks and blocks, or nil if
	// nothing is; see b2nd.Array.Statistics.
	Statistics(ctx context.Context) (*b2nd.Statistics, error)
}

func (s frameSlices) Search(ctx context.Context, box b2nd.Box, p *predicate.Predicate, o b2nd.SearchOptions, fn func(h b2nd.Hit) error) (b2nd.SearchReport, error) {
	return s.x.a.Search(ctx, box, p, o, fn)
}

func (s frameSlices) ExplainSearch(ctx context.Context, box b2nd.Box, p *predicate.Predicate, o b2nd.SearchOptions) (Plan, b2nd.SearchReport, error) {
	requests, r, err := s.x.a.ExplainSearch(ctx, box, p, o)
	plan, err := s.x.plan(-1, requests, err)
	return plan, r, err
}

func (s frameSlices) StatColumns() []stats.Column { return s.x.a.StatColumns() }

func (s frameSlices) Statistics(ctx context.Context) (*b2nd.Statistics, error) {
	return s.x.a.Statistics(ctx)
}

// ArrayStatistics say what the index of an array knows of the values of its items.
type ArrayStatistics struct {
	Bytes   int64         `json:"bytes"`   // bytes of the statistics in the index; 0: there are none of use
	Blocks  bool          `json:"blocks"`  // there are statistics of blocks, not of chunks alone
	Columns []ColumnRange `json:"columns"` // one for each column that has statistics
	// Fill is the fill value, as a slice has it, with which the statistics were made; nil: zero.
	Fill   json.RawMessage `json:"fill_value,omitempty"`
	Unused string          `json:"unused,omitempty"`
}

// A ColumnRange sums up a column: the items of an array, or a member of them. Min and Max
// may be too wide.
type ColumnRange struct {
	Name  string `json:"name"`  // of the member; "": the items themselves
	Items int64  `json:"items"` // number of items
	NaN   int64  `json:"nan"`   // how many of them are NaN or NaT
	// Zeros is how many are zero, and Fill how many are equal to ArrayStatistics.Fill. One of
	// them is known: Fill if the array has a fill value other than zero.
	Zeros *int64 `json:"zeros,omitempty"`
	Fill  *int64 `json:"fill,omitempty"`
	// Min and Max are JSON, as a slice has the numbers. They are missing if there is no
	// number that is not NaN, or the numbers are complex.
	Min json.RawMessage `json:"min,omitempty"`
	Max json.RawMessage `json:"max,omitempty"`
}

// Ranges returns what the index of the array says of all of its items, or nil if it has no
// statistics. It looks for an index beside the array as UsedIndex does, and reads some ten
// bytes for each column if they did not come with the index.
func (a *Array) Ranges(ctx context.Context) (*ArrayStatistics, error) {
	if x, err := a.Source.UsedIndex(ctx); err != nil || x.Bytes == 0 {
		return nil, err // why an index is not used is said with it
	}
	out, err := a.ranges(ctx)
	if errors.Is(err, index.ErrUnusable) {
		return &ArrayStatistics{Columns: []ColumnRange{}, Unused: index.Reason(err)}, nil
	}
	return out, err
}

func (a *Array) ranges(ctx context.Context) (*ArrayStatistics, error) {
	s, err := a.Statistics(ctx)
	if s == nil || err != nil {
		return nil, err
	}
	cols := make([]int, s.Columns())
	for i := range cols {
		cols[i] = i
	}
	all, err := s.All(ctx, cols)
	if err != nil {
		return nil, err
	}
	out := &ArrayStatistics{Bytes: s.Bytes(), Blocks: s.HasBlocks()}
	fill := s.Fill()
	if fill != nil {
		out.Fill = a.DType().AppendJSON(nil, fill)
	}
	for i, c := range a.StatColumns()[:len(cols)] {
		r := ColumnRange{Name: c.Name(), Items: all[i].Items, NaN: all[i].NaN}
		if r.Zeros = &all[i].Fill; fill != nil {
			r.Zeros, r.Fill = nil, &all[i].Fill
		}
		r.Min, r.Max = c.ExtremesJSON(&all[i])
		out.Columns = append(out.Columns, r)
	}
	return out, nil
}

package cframe

import (
	"context"
	"errors"

	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
)

// badStats is why the statistics of an index are not used.
type badStats struct{ err error }

// Stats returns the statistics in the index of the frame, or nil if there are none. of
// says what data they must be about. It looks for an index beside the frame as Index
// does, and makes no other request. If there are statistics, or an index, that cannot be
// used, the error matches index.ErrUnusable; it is that of DropStats after that was called. Other
// errors are those of Index.
func (f *Frame) Stats(ctx context.Context, of frameindex.StatsOf) (*frameindex.Stats, error) {
	info, err := f.Index(ctx)
	if err != nil {
		return nil, err
	}
	if bad := f.heads.bad.Load(); bad != nil {
		return nil, bad.err
	}
	ix := f.heads.used()
	if ix == nil {
		return nil, info.Unused
	}
	return ix.Stats(of, f.table.n)
}

// StatsFill returns the item whose number the statistics in the index of the frame count; see
// frameindex.StatsOf. It is nil for zeros, or if there are no statistics. It looks for an
// index as Index does, and reads nothing else unless the index was opened with too short an
// end. Errors are those of Stats.
func (f *Frame) StatsFill(ctx context.Context) ([]byte, error) {
	if _, err := f.Index(ctx); err != nil {
		return nil, err
	}
	ix := f.heads.used()
	if ix == nil {
		return nil, nil
	}
	fill, err := ix.StatsFill(ctx)
	if err != nil && !errors.Is(err, index.ErrUnusable) {
		err = wrap("index", -1, err)
	}
	return fill, err
}

// DropStats gives up statistics that proved to be wrong. reason must match
// index.ErrUnusable.
func (f *Frame) DropStats(reason error) { f.heads.bad.CompareAndSwap(nil, &badStats{reason}) }

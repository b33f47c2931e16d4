package bloscpack

import (
	"context"

	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// ExplainItems lists the requests that AppendItem or Each would make for the chunks
// [i, j). It reads the part of the table that it needs, and no chunks. A request is
// Estimated if its length, or whether another one follows, depends on bytes of the
// chunks.
func (f *File) ExplainItems(ctx context.Context, i, j int64) ([]rangeio.Planned, error) {
	if err := f.checkRange(i, j); err != nil {
		return nil, err
	}
	if !f.usesTable() && (i > 0 || j < f.h.Chunks) {
		return f.explainFollowed(i, j), nil
	}
	var plan pull.Plan
	s := f.source(i, j)
	s.r = plan.Over(f.r, "")
	err := s.each(ctx, nil)
	return plan.Requests(), err
}

// why names the chunks that a request fetches. The second result is true if the
// request is an estimate.
func (f *File) why(parts []pull.Part[place]) (string, bool) {
	first, last, unsure := parts[0].For.i, parts[0].For.i, false
	for _, p := range parts {
		first, last = min(first, p.For.i), max(last, p.For.i)
		unsure = unsure || !p.For.sure
	}
	why := f.h.Part(first)
	if last > first {
		why += " to " + f.h.Part(last)
	}
	return why, unsure
}

// explainFollowed is ExplainItems for a file without a table. The places of chunks are
// unknown until the chunks are read one after another, so it assumes that all chunks are
// equally long.
func (f *File) explainFollowed(i, j int64) []rangeio.Planned {
	if i >= j {
		return nil
	}
	n := f.size - f.body
	share := func(k int64) int64 { return int64(float64(n) * (float64(k) / float64(f.h.Chunks))) }
	return []rangeio.Planned{
		{Phase: 1, Off: f.body, Len: share(j), Why: "headers of chunks, followed for want of a table", Estimated: true},
		{Phase: 2, Off: f.body + share(i), Len: share(j) - share(i), Why: f.h.Part(i), Estimated: true},
	}
}

package zoomcache

import (
	"context"

	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// With returns the file with another Reader of the same bytes. Both share what Open
// has read.
func (f *File) With(r rangeio.Reader) *File {
	g := *f
	g.r = r
	return &g
}

// ExplainPackets lists the requests that EachPacket would make, without making them.
// ExplainPackets parses the bytes that Open has read; damage in them is an error as in
// EachPacket. Requests are Estimated if the pass may end before them.
func (f *File) ExplainPackets(ctx context.Context, track int32, from, to int64) ([]rangeio.Planned, error) {
	var plan pull.Plan
	err := f.With(plan.Over(f.r, "")).EachPacket(ctx, track, from, to, func(*Packet) error { return nil })
	return plan.Requests(), err
}

// ExplainSummaries is ExplainPackets for the method EachSummary.
func (f *File) ExplainSummaries(ctx context.Context, track int32, level int, from, to int64) ([]rangeio.Planned, error) {
	var plan pull.Plan
	err := f.With(plan.Over(f.r, "")).EachSummary(ctx, track, level, from, to, func(*Summary) error { return nil })
	return plan.Requests(), err
}

// ExplainBlocks is ExplainPackets for the method EachBlock.
func (f *File) ExplainBlocks(ctx context.Context) ([]rangeio.Planned, error) {
	var plan pull.Plan
	err := f.With(plan.Over(f.r, "")).EachBlock(ctx, func(Block, *Track, []byte) error { return nil })
	return plan.Requests(), err
}

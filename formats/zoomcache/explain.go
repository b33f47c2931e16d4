package zoomcache

import (
	"context"

	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// With gives the file as read through another Reader of the same bytes. What Open has
// read is that of both.
func (f *File) With(r rangeio.Reader) *File {
	g := *f
	g.r = r
	return &g
}

// ExplainPackets lists the requests that EachPacket would make, without making them. What
// Open has read is gone through, and damage in it is an error as in EachPacket. Requests
// are Estimated if the pass may end before them.
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

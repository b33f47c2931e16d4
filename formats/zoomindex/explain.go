package zoomindex

import (
	"context"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// dry is a copy of the file that plans reads without making them. It shares the index
// with f.
func (f *File) dry() *File {
	plan := &pull.Plan{}
	r := plan.Over(f.r, "")
	return &File{File: f.With(r), r: r, ix: f.ix, plan: plan}
}

// ExplainView lists the requests that View would make. It makes none of them, but reads
// what it needs to know them: the directory of the index, and lists of packets.
// Requests for the index beside the file have index.Suffix as their Object. Without an
// index it lists one pass over the whole file, or two if the range has no bounds. A
// request is Estimated if View may do without it.
func (f *File) ExplainView(ctx context.Context, track int32, from, to int64, width int) ([]rangeio.Planned, error) {
	dry := f.dry()
	_, err := dry.View(ctx, track, from, to, width)
	list := dry.plan.Requests()
	for i := range list { // there may be nothing between the bound that is given and the other one
		half := from != zoomcache.FirstOffset && to == zoomcache.LastOffset
		list[i].Estimated = list[i].Estimated || half && list[i].Phase > 1
	}
	return list, err
}

// ExplainPackets does the same for EachPacket.
func (f *File) ExplainPackets(ctx context.Context, track int32, from, to int64) ([]rangeio.Planned, error) {
	dry := f.dry()
	err := dry.EachPacket(ctx, track, from, to, func(*zoomcache.Packet) error { return nil })
	return dry.plan.Requests(), err
}

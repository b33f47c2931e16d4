package zoomindex

import (
	"context"
	"errors"
	"fmt"

	"github.com/farread/farread/rangeio"
)

// A PlannedRead is a range of bytes that View or Samples would read.
type PlannedRead struct {
	Off, Len int64
	Beside   bool   // of the index beside the file, not of the file
	Why      string // "pages of level 5", "bins of 100", "packets", "blocks" of a pass over the file
}

// PlanView lists the final reads of View without making them. The reads needed to
// know them are made: the directory of the index, and the places of packets.
// Without an index it lists one pass over the whole file, which View may end early
// and, if the range has no bounds, makes twice.
func (f *File) PlanView(ctx context.Context, track int32, from, to int64, width int) ([]PlannedRead, error) {
	p := &readPlan{}
	_, err := f.view(ctx, track, from, to, width, p)
	if errors.Is(err, errPlanned) {
		err = nil
	}
	return p.list, err
}

// PlanSamples does the same for Samples, with the packets of all its windows.
// Without an index it lists one pass over the whole file, an upper bound.
func (f *File) PlanSamples(ctx context.Context, track int32, from, to int64) ([]PlannedRead, error) {
	t, err := f.Track(track)
	if err != nil || from > to {
		return nil, err
	}
	p := &readPlan{}
	v, err := f.packetsByIndex(ctx, t, from, to)
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		p.scan(f)
		return p.list, nil
	}
	return p.list, p.packets(rangeio.OnePhase(ctx), v.lister())
}

// errPlanned ends a reading at what was only to be planned.
var errPlanned = errors.New("planned, not read")

// A readPlan collects what is not to be read.
type readPlan struct {
	list   []PlannedRead
	beside bool
	why    string
}

// scan adds a pass over the file.
func (p *readPlan) scan(f *File) {
	for _, w := range f.Windows() {
		p.list = append(p.list, PlannedRead{Off: w.Off, Len: w.Len, Why: "blocks"})
	}
}

// packets adds all packets of a list, or the bytes that they lie in.
func (p *readPlan) packets(ctx context.Context, l *runLister) error {
	if r := l.byPlaces(ctx); r != nil && r.short(l.v.f) {
		for _, x := range r.pieces {
			p.list = append(p.list, PlannedRead{Off: x.Off, Len: x.Len, Why: "packets"})
		}
		return nil
	}
	for {
		runs, err := l.next(ctx)
		if err != nil || len(runs) == 0 {
			return err
		}
		for _, r := range runs {
			p.list = append(p.list, PlannedRead{Off: r.off, Len: r.size(), Why: "packets"})
		}
	}
}

// pages makes what is read of an index under the returned context part of the
// plan.
func (p *readPlan) pages(ctx context.Context, v *indexView, level int, bin int64) context.Context {
	p.beside = v.ix.beside
	if p.why = fmt.Sprintf("pages of level %d", level); bin > 0 {
		p.why = fmt.Sprintf("bins of %d", bin)
	}
	return context.WithValue(ctx, planKey{}, p)
}

type planKey struct{}

// A plannable Reader reads nothing under a context of readPlan.pages.
type plannable struct{ rangeio.Reader }

func (r plannable) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	p, ok := ctx.Value(planKey{}).(*readPlan)
	if !ok {
		return r.Reader.ReadRanges(ctx, spans)
	}
	for _, s := range spans {
		p.list = append(p.list, PlannedRead{Off: s.Off, Len: int64(len(s.P)), Beside: p.beside, Why: p.why})
	}
	return errPlanned
}

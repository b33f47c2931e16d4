package npy

import (
	"bytes"
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/rangeio"
)

// Format is the name of this format in errors.
const Format = "npy"

// Sniff says whether an object that begins with head claims to be a .npy.
func Sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// ExplainBox lists the requests that ReadBox would make for a box, without making them. It
// allocates as much as ReadBox, and refuses boxes of more than 2 GiB.
func (h Header) ExplainBox(ctx context.Context, r rangeio.Reader, base int64, box nd.Box) ([]rangeio.Planned, error) {
	if box.Dims() != len(h.Shape) {
		return nil, fail("box", fmt.Errorf("%d axes of %d: %w", box.Dims(), len(h.Shape), formats.ErrTooLarge))
	}
	if box.Empty() {
		return nil, nil
	}
	cover := box.CoverBox()
	n, err := cover.Items()
	if err != nil || n > maxBox/int64(max(h.DType.ItemSize(), 1)) {
		return nil, fail("box", fmt.Errorf("%d items to gather from: %w", n, formats.ErrTooLarge))
	}
	p := planner{Reader: r}
	err = h.readRuns(ctx, &p, base, make([]byte, n*int64(h.DType.ItemSize())), cover)
	return p.plan, err
}

// A planner notes reads instead of making them. Each is a phase.
type planner struct {
	rangeio.Reader
	plan  []rangeio.Planned
	phase int
}

func (p *planner) ReadRanges(_ context.Context, spans []rangeio.Span) error {
	p.phase++
	for _, r := range rangeio.PlanOf(p.Reader, spans) {
		p.plan = append(p.plan, rangeio.Planned{Phase: p.phase, Off: r.Off, Len: r.Len, Why: "items"})
	}
	return nil
}

func (p *planner) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	if err := p.ReadRanges(ctx, spans); err != nil || done == nil {
		return err
	}
	for i := range spans {
		if err := done(i); err != nil {
			return err
		}
	}
	return nil
}

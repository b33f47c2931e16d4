package b2nd

import (
	"context"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/rangeio"
)

// ExplainSlice lists the requests that ReadSlice would make for a box, by the same code,
// without those for the places of blocks, which it makes itself. A cache counts as empty.
// See cframe.Frame.ExplainConcurrent.
func (a *Array) ExplainSlice(ctx context.Context, box Box) ([]rangeio.Planned, error) {
	n, err := a.SizeOf(box)
	if err != nil || n == 0 {
		return nil, err
	}
	var out []rangeio.Planned
	err = newReading(a, nil, box, 0, a.g.item).each(ctx, func(ctx context.Context, wants []cframe.Want) error {
		list, err := a.f.ExplainConcurrent(ctx, wants)
		out = append(out, list...)
		return err
	})
	return out, err
}

package b2nd

import (
	"context"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/rangeio"
)

// ExplainSlice lists the requests that ReadSlice would make for a box, by the code of
// ReadSlice. It makes the requests for the places of blocks itself and does not list
// them. It plans as if the cache were empty. See cframe.Frame.ExplainConcurrent.
func (a *Array) ExplainSlice(ctx context.Context, box Box) ([]rangeio.Planned, error) {
	n, err := a.SizeOf(box)
	if err != nil || n == 0 {
		return nil, err
	}
	var out []rangeio.Planned
	err = newSliceRead(a, nil, box, 0, a.g.item).each(ctx, func(ctx context.Context, wants []cframe.Want) error {
		list, err := a.f.ExplainConcurrent(ctx, wants)
		out = append(out, list...)
		return err
	})
	return out, err
}

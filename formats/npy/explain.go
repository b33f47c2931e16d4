package npy

import (
	"bytes"
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// Format is the name of this format in errors.
const Format = "npy"

// Sniff says whether an object that begins with head claims to be a .npy.
func Sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// ExplainBox lists the requests that ReadBox would make for a box, without making them. It
// allocates memory for the longest run of the box, and refuses boxes of more than 2 GiB.
func (h Header) ExplainBox(ctx context.Context, r rangeio.Reader, base int64, box nd.Box) ([]rangeio.Planned, error) {
	if box.Dims() != len(h.Shape) {
		return nil, fail("box", fmt.Errorf("%d axes of %d: %w", box.Dims(), len(h.Shape), formats.ErrTooLarge))
	}
	if box.Empty() {
		return nil, nil
	}
	cover, _, err := h.cover(box)
	if err != nil {
		return nil, err
	}
	var p pull.Plan
	rs := h.runsOf(cover)
	run := make([]byte, rs.n) // stands for each run alone; it is never touched
	err = rs.pull(ctx, p.Over(r, ""), base, func(group) []byte { return run })
	return p.Requests(), err
}

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/objstore"
)

// maxBeside bounds the bytes of a coordinate that is an array beside, and is read for a slice.
const maxBeside = 4 << 20

// boxOf resolves the parameters s and nearest: positions as in NumPy, or coordinates as of the
// command's slice. Of coordinates it names the positions for the ETag, since they may lie in another
// object, and returns them; else at is "".
func (s *Server) boxOf(ctx context.Context, c *call, a farread.Slicer) (box b2nd.Box, at string, err error) {
	text, nearest := c.query.Get("s"), false
	if word := c.query.Get("nearest"); word != "" {
		if nearest, err = strconv.ParseBool(word); err != nil {
			return box, "", badf("nearest", "nearest %q: want 1 or 0", clip(word))
		}
	}
	if !arraymeta.HasLabels(text) {
		if nearest {
			return box, "", badf("nearest", "nearest goes with coordinates, such as s=lat=52.1")
		}
		parsed, err := b2nd.ParseSlice(text)
		if err != nil {
			return box, "", err
		}
		box, err = parsed.Resolve(a.Shape())
		return box, "", err
	}
	parsed, err := arraymeta.ParseSelection(text)
	if err != nil {
		return box, "", err
	}
	l, ok := a.(farread.Labeler)
	if !ok {
		return box, "", badf("slice", "this has no coordinates: select by position")
	}
	m, err := l.Meaning(ctx)
	if err != nil {
		return box, "", err
	}
	positions, err := parsed.Slice(m.Dims, func(i int) (arraymeta.Axis, error) { return s.axis(ctx, c, m, i, a.Shape()) }, nearest)
	if err != nil {
		return box, "", err
	}
	if box, err = positions.Resolve(a.Shape()); err == nil {
		at = ranges(box)
		c.part = at
	}
	return box, at, err
}

// axis returns the coordinate of axis i.
func (s *Server) axis(ctx context.Context, c *call, m arraymeta.Meta, i int, shape []int64) (arraymeta.Axis, error) {
	if i >= len(shape) {
		return arraymeta.Axis{}, nd.ErrSyntax
	}
	k, ok := m.Coord(m.Dims[i])
	if !ok {
		return arraymeta.Axis{}, fmt.Errorf("it has no coordinate, select it by position: %w", nd.ErrSyntax)
	}
	if k.Inline() {
		x, err := k.Axis(shape[i])
		if errors.Is(err, formats.ErrUnsupported) { // an axis that grew, which its text says
			err = refusef(http.StatusUnprocessableEntity, "unsupported", "%s", err)
		}
		return x, err
	}
	return s.axisBeside(ctx, c, k, shape[i])
}

// axisBeside reads a coordinate that is an array beside the one of the call. It is opened and kept as any
// dataset, and answers of a version do not go by it, since it is none of that version.
func (s *Server) axisBeside(ctx context.Context, c *call, k arraymeta.Coord, n int64) (x arraymeta.Axis, err error) {
	bad := func(why string) error {
		return badf("slice", "%s: its coordinate is the array %q, %s: select it by position", clip(k.Dim), clip(k.Array), why)
	}
	switch {
	case c.version != "":
		return x, bad("which is not of this version")
	case c.key == "":
		return x, bad("which is not served")
	}
	of := &call{r: c.r, of: c, target: target{verb: c.verb, root: c.root, key: path.Join(path.Dir(c.key), k.Array)}}
	if of.at, err = s.place(ctx, of.target); err != nil {
		return x, err
	}
	of.place = of.at.URI
	h, err := s.dataset(ctx, of)
	if errors.Is(err, objstore.ErrNotFound) {
		return x, bad("which is not there")
	}
	if err != nil {
		return x, fmt.Errorf("coordinate %q: %w", k.Dim, err)
	}
	a, ok := h.d.(farread.Slicer)
	if !ok || !slices.Equal(a.Shape(), []int64{n}) {
		return x, bad("which does not fit the axis")
	}
	box := b2nd.Whole(a.Shape())
	size, err := a.SizeOf(box)
	if err != nil {
		return x, err
	}
	if size > maxBeside {
		return x, beyondf("coordinate %s of %d bytes, %d allowed: select it by position", clip(k.Dim), size, maxBeside)
	}
	loan, err := s.memory.take(ctx, 3*size, s.c.Wait) // its stored bytes, its items, and these in their byte order
	if err != nil {
		return x, err
	}
	defer loan.release()
	p := make([]byte, size)
	if err := a.ReadSlice(ctx, p, box); err != nil {
		if errors.Is(err, objstore.ErrChanged) {
			s.open.drop(of.place, h)
		}
		return x, fmt.Errorf("coordinate %q: %w", k.Dim, err)
	}
	x, err = k.AxisOf(n, a.DType(), p)
	if errors.Is(err, formats.ErrUnsupported) {
		err = bad("of a type that no coordinate has")
	}
	return x, err
}

// ranges are the positions of a box as a slice, with a range for each axis.
func ranges(box b2nd.Box) string {
	parts := make([]string, len(box.Start))
	for i := range parts {
		from, to, step := box.Start[i], box.Stop[i], box.Step[i]
		parts[i] = fmt.Sprintf("%d:%d", from, to)
		if step < 0 && to < 0 {
			parts[i] = fmt.Sprintf("%d:", from)
		}
		if step != 1 {
			parts[i] += fmt.Sprintf(":%d", step)
		}
	}
	return strings.Join(parts, ",")
}

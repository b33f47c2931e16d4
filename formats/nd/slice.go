package nd

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxText bounds the text of a slice: 64 axes of three 20-digit numbers.
const maxText = 8 << 10

type axisKind uint8

const (
	axisRange axisKind = iota
	axisIndex
	axisEllipsis
)

// axis is one comma-separated part. The bounds of a range are nil if they are left
// out.
type axis struct {
	kind              axisKind
	start, stop, step *int64
}

// A Slice is a parsed selection. The zero value selects everything.
type Slice struct {
	axes []axis
}

// ParseSlice reads NumPy's spelling of basic indexing: integers, start:stop:step
// with each part optional and negative ones counted from the end, and one
// ellipsis; spaces, underscores between digits as in Python, a trailing comma and
// a pair of brackets around the whole are allowed. Empty text selects everything.
// Other text matches ErrSyntax; what NumPy knows beyond that (None, lists, masks)
// is refused by name.
func ParseSlice(text string) (Slice, error) {
	if len(text) > maxText {
		return Slice{}, fmt.Errorf("slice of %d characters: %w", len(text), ErrSyntax)
	}
	t := strings.TrimSpace(text)
	if strings.HasPrefix(t, "[") && strings.HasSuffix(t, "]") {
		t = strings.TrimSpace(t[1 : len(t)-1])
	}
	if t == "" {
		return Slice{}, nil
	}
	var s Slice
	parts := strings.Split(t, ",")
	if last := len(parts) - 1; last > 0 && strings.TrimSpace(parts[last]) == "" {
		parts = parts[:last]
	}
	if len(parts) > MaxDims+1 {
		return Slice{}, fmt.Errorf("%d axes: %w", len(parts), ErrSyntax)
	}
	ellipsis := false
	for _, p := range parts {
		a, err := parseAxis(strings.TrimSpace(p))
		if err != nil {
			return Slice{}, fmt.Errorf("slice %q: %w", text, err)
		}
		if a.kind == axisEllipsis {
			if ellipsis {
				return Slice{}, fmt.Errorf("slice %q: two ellipses: %w", text, ErrSyntax)
			}
			ellipsis = true
		}
		s.axes = append(s.axes, a)
	}
	return s, nil
}

func parseAxis(p string) (axis, error) {
	switch low := strings.ToLower(p); {
	case p == "..." || low == "ellipsis":
		return axis{kind: axisEllipsis}, nil
	case p == "":
		return axis{}, fmt.Errorf("nothing between two commas: %w", ErrSyntax)
	case low == "none" || low == "newaxis" || low == "np.newaxis":
		return axis{}, fmt.Errorf("%s: new axes are not supported: %w", p, ErrSyntax)
	case low == "true" || low == "false":
		return axis{}, fmt.Errorf("%s: boolean masks are not supported: %w", p, ErrSyntax)
	case strings.ContainsAny(p, "[]()"):
		return axis{}, fmt.Errorf("%s: lists and masks of indexes are not supported: %w", p, ErrSyntax)
	}
	fields := strings.Split(p, ":")
	if len(fields) > 3 {
		return axis{}, fmt.Errorf("%s: %w", p, ErrSyntax)
	}
	var v [3]*int64
	for i, f := range fields {
		if f = strings.TrimSpace(f); f == "" {
			continue
		}
		n, err := parseInt(f)
		if err != nil {
			return axis{}, err
		}
		v[i] = &n
	}
	if len(fields) == 1 {
		return axis{kind: axisIndex, start: v[0]}, nil
	}
	if v[2] != nil && *v[2] == 0 {
		return axis{}, fmt.Errorf("%s: step 0: %w", p, ErrSyntax)
	}
	return axis{start: v[0], stop: v[1], step: v[2]}, nil
}

// parseInt parses a decimal integer of Python. An integer beyond int64 becomes the
// nearest int64: no axis is that long, so the result is the same.
func parseInt(f string) (int64, error) {
	digits := strings.TrimLeft(f, "+-")
	if len(f)-len(digits) > 1 || digits == "" || strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") || strings.Contains(digits, "__") {
		return 0, fmt.Errorf("%s: %w", f, ErrSyntax)
	}
	for _, c := range digits {
		if c != '_' && (c < '0' || c > '9') {
			return 0, fmt.Errorf("%s: %w", f, ErrSyntax)
		}
	}
	n, err := strconv.ParseInt(f[:len(f)-len(digits)]+strings.ReplaceAll(digits, "_", ""), 10, 64)
	if err != nil { // out of range: n is the nearer end
		return n, nil //nolint:nilerr // only the range can be wrong here
	}
	return n, nil
}

// Resolve fits the selection to an array. Axes without a part of the text are
// selected whole. If an integer is outside of its axis, the error matches
// ErrIndex; if the text has more axes than the array, it matches ErrSyntax.
func (s Slice) Resolve(shape []int64) (Box, error) {
	named := 0
	for _, a := range s.axes {
		if a.kind != axisEllipsis {
			named++
		}
	}
	if named > len(shape) {
		return Box{}, fmt.Errorf("%d indexes for an array of %d axes: %w", named, len(shape), ErrSyntax)
	}
	if _, err := Prod(shape); err != nil {
		return Box{}, err
	}
	b := Whole(shape)
	b.OutShape = b.OutShape[:0]
	i := 0
	for _, a := range s.axes {
		if a.kind == axisEllipsis {
			for range len(shape) - named {
				b.OutShape = append(b.OutShape, shape[i])
				i++
			}
			continue
		}
		if err := b.setAxis(i, a, shape[i]); err != nil {
			return Box{}, err
		}
		i++
	}
	b.OutShape = append(b.OutShape, shape[i:]...)
	return b, nil
}

func (b *Box) setAxis(i int, a axis, n int64) error {
	if a.kind == axisIndex {
		x := *a.start
		if x < -n || x >= n {
			return fmt.Errorf("index %d for axis %d of length %d: %w", x, i, n, ErrIndex)
		}
		if x < 0 {
			x += n
		}
		b.Start[i], b.Stop[i], b.Step[i] = x, x+1, 1
		return nil
	}
	step := int64(1)
	if a.step != nil {
		step = max(*a.step, -math.MaxInt64)
	}
	lo, hi := int64(0), n // bounds are clipped to these
	if step < 0 {
		lo, hi = -1, n-1
	}
	start, stop := lo, hi
	if step < 0 {
		start, stop = hi, lo
	}
	if a.start != nil {
		start = clip(*a.start, n, lo, hi)
	}
	if a.stop != nil {
		stop = clip(*a.stop, n, lo, hi)
	}
	b.Start[i], b.Stop[i], b.Step[i] = start, stop, step
	b.OutShape = append(b.OutShape, b.Count(i))
	if b.Count(i) == 0 { // every empty range gets the same bounds
		b.Start[i], b.Stop[i], b.Step[i] = 0, 0, 1
	}
	return nil
}

func clip(x, n, lo, hi int64) int64 {
	if x < 0 {
		x += n
	}
	return min(max(x, lo), hi)
}

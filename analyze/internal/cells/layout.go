package cells

import (
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
)

// A Layout says which cell each item of a box is in. It is immutable and safe for
// concurrent use.
type Layout struct {
	Box   nd.Box
	Shape []int64 // of the result: cells along the axes that remain
	Cells int64   // product of Shape
	// Windows are the items of a cell along each axis of the result of the box; 0: all.
	Windows []int64

	counts []int64 // items along each axis of the array
	window []int64 // items of a cell along each axis of the array, but for the last cell
	along  []int64 // cells along each axis of the array
}

// NewLayout makes the layout of a reduction. over are the axes of the result of the box
// that are reduced, counted from the end if negative; nil means all. every[i] is the length
// of windows along the axis over[i], which then remains, with an index for each window.
// Axes for which there is none are reduced as a whole.
func NewLayout(box nd.Box, over []int, every []int64) (*Layout, error) {
	dims := len(box.OutShape)
	if over == nil {
		for i := range dims {
			over = append(over, i)
		}
	}
	if len(every) > len(over) {
		return nil, fmt.Errorf("windows of %d axes, %d are reduced", len(every), len(over))
	}
	windows := make([]int64, dims) // 0: kept, -1: whole
	for i, axis := range over {
		if axis < -dims || axis >= dims {
			return nil, fmt.Errorf("axis %d of %d", axis, dims)
		}
		if axis < 0 {
			axis += dims
		}
		if windows[axis] != 0 {
			return nil, fmt.Errorf("axis %d is reduced twice", axis)
		}
		windows[axis] = -1
		if i < len(every) {
			if every[i] < 1 {
				return nil, fmt.Errorf("windows of %d items", every[i])
			}
			windows[axis] = every[i]
		}
	}
	return layout(box, windows)
}

func layout(box nd.Box, windows []int64) (*Layout, error) {
	l := &Layout{Box: box, Shape: []int64{}, Windows: make([]int64, len(box.OutShape)), counts: box.Counts()}
	next := 0 // axis of the result
	for _, n := range l.counts {
		w, keep := max(n, 1), false
		// An axis that an integer took away has one item, and so has no window to be found.
		if next < len(box.OutShape) && box.OutShape[next] == n {
			switch windows[next] {
			case -1:
			case 0:
				w, keep = 1, true
			default:
				w, keep = windows[next], true
			}
			if keep {
				l.Windows[next] = w
			}
			next++
		}
		cells := n / w
		if n%w != 0 {
			cells++
		}
		if !keep {
			cells = 1
		} else {
			l.Shape = append(l.Shape, cells)
		}
		l.window, l.along = append(l.window, w), append(l.along, cells)
	}
	var err error
	if l.Cells, err = nd.Prod(l.Shape); err != nil || l.Cells > math.MaxInt32 {
		return nil, fmt.Errorf("a result of shape %v: %w", l.Shape, formats.ErrTooLarge)
	}
	return l, nil
}

// Region returns the cells that have some of the n[i] items from out[i] on along each axis.
func (l *Layout) Region(out, n []int64) Region {
	r := Region{Lo: make([]int64, len(out)), N: make([]int64, len(out))}
	for i := range out {
		r.Lo[i] = out[i] / l.window[i]
		if n[i] > 0 {
			r.N[i] = (out[i]+n[i]-1)/l.window[i] - r.Lo[i] + 1
		}
	}
	return r
}

// All returns all cells.
func (l *Layout) All() Region {
	return Region{Lo: make([]int64, len(l.along)), N: slices.Clone(l.along)}
}

// Place returns the row-major number in the box of the item with index at.
func (l *Layout) place(at []int64) int64 {
	p := int64(0)
	for i, k := range at {
		p = p*l.counts[i] + k
	}
	return p
}

// A Region is a box of cells: N[i] from Lo[i] on along each axis of the array.
type Region struct{ Lo, N []int64 }

// Cells returns the number of cells.
func (r Region) Cells() int64 {
	n, err := nd.Prod(r.N)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// Join returns the smallest region that has both.
func (r Region) Join(o Region) Region {
	if r.Lo == nil {
		return o
	}
	out := Region{slices.Clone(r.Lo), slices.Clone(r.N)}
	for i := range out.Lo {
		out.Lo[i] = min(r.Lo[i], o.Lo[i])
		out.N[i] = max(r.Lo[i]+r.N[i], o.Lo[i]+o.N[i]) - out.Lo[i]
	}
	return out
}

// each calls f with the number of each cell of o in r and in o; r must have all of o.
func (r Region) each(o Region, f func(in, of int64)) {
	total := o.Cells()
	at := make([]int64, len(o.N))
	for of := range total {
		in := int64(0)
		for i, k := range at {
			in = in*r.N[i] + o.Lo[i] + k - r.Lo[i]
		}
		f(in, of)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < o.N[i] {
				break
			}
			at[i] = 0
		}
	}
}

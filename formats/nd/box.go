package nd

import "slices"

// A Box selects items of an array: along axis i the items Start[i], Start[i] +
// Step[i], and so on, before Stop[i]. It is inside the array that it was
// resolved for. Steps may be negative; Stop is then -1 if item 0 is included.
// OutShape is the shape of the result: Counts without the axes that an integer
// index removes.
//
// A Box must not be changed. Its methods may be called concurrently.
type Box struct {
	Start, Stop, Step []int64
	OutShape          []int64
}

// Whole selects every item of an array.
func Whole(shape []int64) Box {
	b := Box{Start: make([]int64, len(shape)), Stop: slices.Clone(shape), Step: make([]int64, len(shape)), OutShape: slices.Clone(shape)}
	for i := range b.Step {
		b.Step[i] = 1
	}
	return b
}

// Sub returns the box of the items [start[i], stop[i]) along each axis i. It
// does not check bounds.
func Sub(start, stop []int64) Box {
	n := len(start)
	all := make([]int64, 4*n)
	b := Box{Start: all[:n:n], Stop: all[n : 2*n : 2*n], Step: all[2*n : 3*n : 3*n], OutShape: all[3*n:]}
	copy(b.Start, start)
	copy(b.Stop, stop)
	for i := range b.Step {
		b.Step[i] = 1
		b.Stop[i] = max(b.Stop[i], b.Start[i])
		b.OutShape[i] = b.Stop[i] - b.Start[i]
	}
	return b
}

// Dims is the number of axes of the array, not of the result.
func (b Box) Dims() int { return len(b.Start) }

// Count is the number of items selected along axis i.
func (b Box) Count(i int) int64 {
	switch step := b.Step[i]; {
	case step > 0 && b.Stop[i] > b.Start[i]:
		return (b.Stop[i]-b.Start[i]-1)/step + 1
	case step < 0 && b.Stop[i] < b.Start[i]:
		// Divided before it is negated: -step overflows for the least int64.
		return (b.Stop[i]-b.Start[i]+1)/step + 1
	}
	return 0
}

// Counts returns Count of every axis: OutShape with the axes that were taken
// away kept as 1. Results are stored in this shape.
func (b Box) Counts() []int64 {
	n := make([]int64, len(b.Start))
	for i := range n {
		n[i] = b.Count(i)
	}
	return n
}

// Items is the number of selected items; it matches ErrOverflow beyond int64.
func (b Box) Items() (int64, error) { return Prod(b.OutShape) }

// Empty reports whether nothing is selected.
func (b Box) Empty() bool { return slices.Contains(b.OutShape, 0) }

// Unit reports whether every step that matters is 1, so that the result is a
// dense box of the array.
func (b Box) Unit() bool {
	for i, step := range b.Step {
		if step != 1 && b.Count(i) > 1 {
			return false
		}
	}
	return true
}

// Cover returns the smallest interval [lo, hi) of axis i that has all selected
// items. lo == hi if nothing is selected.
func (b Box) Cover(i int) (lo, hi int64) {
	first, step, n := b.ascending(i)
	if n == 0 {
		return b.Start[i], b.Start[i]
	}
	return first, first + (n-1)*step + 1
}

// CoverBox returns the smallest box with steps of 1 that has all selected
// items.
func (b Box) CoverBox() Box {
	lo, hi := make([]int64, len(b.Start)), make([]int64, len(b.Start))
	for i := range lo {
		lo[i], hi[i] = b.Cover(i)
	}
	return Sub(lo, hi)
}

// ascending describes axis i from its lowest selected item upwards. The step
// of a single item is 1, so that no multiple of it overflows.
func (b Box) ascending(i int) (first, step, n int64) {
	n = b.Count(i)
	first, step = b.Start[i], b.Step[i]
	if n <= 1 {
		return first, 1, n
	}
	if step < 0 {
		first, step = first+(n-1)*step, -step
	}
	return first, step, n
}

// A Part is the overlap of a Box and a cell. Along axis i it has N[i] items; the
// first one is item At[i] of the cell, and item Out[i] of the result. In the
// cell, the next items follow by the Box's step.
type Part struct {
	Out, At, N []int64
}

// Part finds what b selects inside [lo, hi). It reuses p's slices. False means
// that there is nothing, and p is not to be used.
func (b Box) Part(p *Part, lo, hi []int64) bool {
	d := len(b.Start)
	p.Out, p.At, p.N = resize(p.Out, d), resize(p.At, d), resize(p.N, d)
	for i := range d {
		first, step, n := b.ascending(i)
		from := max(0, ceilDiv(lo[i]-first, step))
		to := min(n, ceilDiv(hi[i]-first, step))
		if from >= to {
			return false
		}
		p.N[i] = to - from
		if b.Step[i] < 0 && n > 1 {
			p.Out[i] = n - to
			p.At[i] = first + (to-1)*step - lo[i]
		} else {
			p.Out[i] = from
			p.At[i] = first + from*step - lo[i]
		}
	}
	return true
}

// ceilDiv is a/b rounded up, for b > 0, and 0 if a is not positive.
func ceilDiv(a, b int64) int64 {
	if a <= 0 {
		return 0
	}
	return (a-1)/b + 1
}

func resize(s []int64, n int) []int64 {
	if cap(s) < n {
		return make([]int64, n)
	}
	return s[:n]
}

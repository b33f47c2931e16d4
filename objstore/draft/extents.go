package draft

import "slices"

// extents are runs of changed bytes, sorted, apart from each other.
type extents []extent

type extent struct{ from, to int64 }

// run returns how many bytes from at on, at most to to, are all changed or all unchanged.
func (x extents) run(at, to int64) (n int64, changed bool) {
	i, _ := slices.BinarySearchFunc(x, at, func(e extent, at int64) int {
		if e.to <= at {
			return -1
		}
		return 1
	})
	switch {
	case i == len(x):
		return to - at, false
	case x[i].from <= at:
		return min(x[i].to, to) - at, true
	default:
		return min(x[i].from, to) - at, false
	}
}

// add makes the bytes [from, to) changed.
func (x *extents) add(from, to int64) {
	if from >= to {
		return
	}
	s := *x
	i := 0
	for i < len(s) && s[i].to < from {
		i++
	}
	j := i
	for j < len(s) && s[j].from <= to {
		from, to = min(from, s[j].from), max(to, s[j].to)
		j++
	}
	*x = slices.Replace(s, i, j, extent{from, to})
}

// cut makes the bytes from size on unchanged.
func (x *extents) cut(size int64) {
	s := *x
	for len(s) > 0 && s[len(s)-1].from >= size {
		s = s[:len(s)-1]
	}
	if n := len(s); n > 0 {
		s[n-1].to = min(s[n-1].to, size)
	}
	*x = s
}

package cells

import "sort"

// A Sweep is a run over the chunks of an array in the order of the items of a box. It tells
// which cells have items of the chunks up to one, and which of later ones. It is immutable
// and safe for concurrent use.
type Sweep struct {
	l     *Layout
	chunk []int   // items of a chunk along each axis
	rest  []int64 // cells along the axes after each
}

// NewSweep makes the Sweep over chunks of a shape.
func NewSweep(l *Layout, chunk []int) *Sweep {
	s := &Sweep{l: l, chunk: chunk, rest: make([]int64, len(chunk))}
	n := int64(1)
	for i := len(chunk) - 1; i >= 0; i-- {
		s.rest[i] = n
		n *= l.along[i]
	}
	return s
}

// at returns the place along axis i of the chunk that has item out of the box: chunks are
// counted from that of item 0.
func (s *Sweep) at(i int, out int64) int64 {
	first, k := s.l.Box.Start[i], int64(s.chunk[i])
	p := (first+out*s.l.Box.Step[i])/k - first/k
	return max(p, -p)
}

// Place returns the place of the chunk that has the item out of the box.
func (s *Sweep) Place(out []int64) []int64 {
	p := make([]int64, len(out))
	for i, o := range out {
		p[i] = s.at(i, o)
	}
	return p
}

// first and last are the places along axis i of the first and the last chunk with items of
// cells whose index is k.
func (s *Sweep) first(i int, k int64) int64 { return s.at(i, k*s.l.window[i]) }

func (s *Sweep) last(i int, k int64) int64 {
	return s.at(i, min(k*s.l.window[i]+s.l.window[i], s.l.counts[i])-1)
}

// A corner is Sweep.first or Sweep.last, which ascend with k.
type corner func(i int, k int64) int64

// equal returns the range of indexes of cells along axis i whose corner is p.
func (s *Sweep) equal(c corner, i int, p int64) (lo, hi int64) {
	n := int(s.l.along[i])
	lo = int64(sort.Search(n, func(k int) bool { return c(i, int64(k)) >= p }))
	hi = int64(sort.Search(n, func(k int) bool { return c(i, int64(k)) > p }))
	return lo, hi
}

// upTo returns how many cells have their corner at a place or before.
func (s *Sweep) upTo(c corner, place []int64) int64 {
	n, equal := int64(0), int64(1)
	for i, p := range place {
		lo, hi := s.equal(c, i, p)
		n += equal * lo * s.rest[i]
		equal *= hi - lo
	}
	return n + equal
}

// Touched returns how many cells may have items of the chunks up to a place, and Closed how
// many have none of those behind it.
func (s *Sweep) Touched(place []int64) int64 { return s.upTo(s.first, place) }

// Closed is explained at Touched.
func (s *Sweep) Closed(place []int64) int64 { return s.upTo(s.last, place) }

// LastClosed returns the number of the last cell that has no items behind a place, or -1.
func (s *Sweep) LastClosed(place []int64) int64 {
	best := int64(0) // of no axes
	for i := len(place) - 1; i >= 0; i-- {
		switch lo, hi := s.equal(s.last, i, place[i]); {
		case best >= 0 && hi > lo:
			best += (hi - 1) * s.rest[i]
		case lo > 0:
			best = lo*s.rest[i] - 1
		default:
			best = -1
		}
	}
	return best
}

// FirstOpen returns the number of the first cell that has items behind a place, or that of
// all cells.
func (s *Sweep) FirstOpen(place []int64) int64 {
	best := int64(-1)
	for i := len(place) - 1; i >= 0; i-- {
		switch lo, hi := s.equal(s.last, i, place[i]); {
		case best >= 0 && hi > lo:
			best += lo * s.rest[i]
		case hi < s.l.along[i]:
			best = hi * s.rest[i]
		default:
			best = -1
		}
	}
	if best < 0 {
		return s.l.Cells
	}
	return best
}

// compare compares the corner of a cell with a place in the order of the run.
func (s *Sweep) compare(c corner, cell, place []int64) int {
	for i, p := range place {
		if k := c(i, cell[i]); k != p {
			if k < p {
				return -1
			}
			return 1
		}
	}
	return 0
}

// before reports whether all chunks with items of a cell are up to a place.
func (s *Sweep) before(cell, place []int64) bool { return s.compare(s.last, cell, place) <= 0 }

// within reports whether all chunks with items of a cell are from a place on to another.
func (s *Sweep) within(cell, from, to []int64) bool {
	return s.compare(s.first, cell, from) >= 0 && s.before(cell, to)
}

// index returns the index of a cell by its number.
func (l *Layout) index(dst []int64, cell int64) []int64 {
	for i := len(l.along) - 1; i >= 0; i-- {
		dst[i] = cell % l.along[i]
		cell /= l.along[i]
	}
	return dst
}

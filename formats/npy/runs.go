package npy

import (
	"context"
	"iter"

	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// A Run is a piece of an array's bytes: N bytes from byte Off after the header.
type Run struct {
	Off, N int64
}

// RunsOf yields the runs of bytes that hold the items that box covers (steps are
// taken as 1), in ascending order and as long as can be. The box was resolved
// against h.Shape.
func (h Header) RunsOf(box nd.Box) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		rs := h.runsOf(box)
		for c := rs.from(0); c.k < rs.total && yield(Run{c.off, rs.n}); {
			c.next()
		}
	}
}

// fileOrder lists the axes with the slowest first.
func (h Header) fileOrder() []int {
	axes := make([]int, len(h.Shape))
	for i := range axes {
		axes[i] = i
		if h.Fortran {
			axes[i] = len(axes) - 1 - i
		}
	}
	return axes
}

// runs are the runs of a box. They have the same length and lie at the points of a
// grid.
type runs struct {
	n               int64   // bytes of each run
	off             int64   // offset of the first run, after the header
	total           int64   // number of runs
	counts, strides []int64 // counts and strides of the grid, the slowest axis first
}

// runsOf gives the runs of a box. The last axes in the file, as long as all of their items
// are taken, make one run.
func (h Header) runsOf(box nd.Box) *runs {
	axes := h.fileOrder()
	stride := int64(h.DType.ItemSize())
	rs := &runs{n: stride, total: 1, counts: make([]int64, len(axes)), strides: make([]int64, len(axes))}
	outer, whole := 0, true
	for i := len(axes) - 1; i >= 0; i-- {
		from, to := box.Cover(axes[i])
		rs.counts[i], rs.strides[i] = to-from, stride
		rs.off += from * stride
		if whole {
			rs.n, outer = (to-from)*stride, i
			whole = to-from == h.Shape[axes[i]]
		}
		stride *= h.Shape[axes[i]]
	}
	for i, n := range rs.counts {
		if i < outer || n == 0 {
			rs.total *= n
		}
	}
	rs.counts, rs.strides = rs.counts[:outer], rs.strides[:outer]
	return rs
}

// from returns a cursor at run k.
func (rs *runs) from(k int64) cursor {
	c := cursor{runs: rs, k: k, off: rs.off, at: make([]int64, len(rs.counts))}
	for i := len(c.at) - 1; i >= 0 && k > 0; i-- {
		c.at[i] = k % rs.counts[i]
		k /= rs.counts[i]
		c.off += c.at[i] * rs.strides[i]
	}
	return c
}

// A cursor stands at a run.
type cursor struct {
	*runs
	k   int64   // the number of the run
	off int64   // offset of the run, after the header
	at  []int64 // index of the run in the grid, by axis
}

// next goes to the run after it.
func (c *cursor) next() {
	c.k++
	for i := len(c.at) - 1; i >= 0; i-- {
		c.at[i]++
		c.off += c.strides[i]
		if c.at[i] < c.counts[i] {
			return
		}
		c.off -= c.at[i] * c.strides[i]
		c.at[i] = 0
	}
}

const (
	// maxGap is how many bytes between two runs are read along: copying a page of a
	// local file costs less than another system call.
	maxGap = 4 << 10
	// maxGroup bounds a group of runs that is read as one span.
	maxGroup = 1 << 20
	// window bounds the groups of one planned read, and mostGroups their number.
	window     = 9 << 20
	mostGroups = 1 << 12
)

// A group is runs that are read together since they lie close to each other.
type group struct {
	first, n int64 // the number of the first run, and how many there are
}

// read fills dst with the runs, one after another; the array begins at byte base of r.
func (rs *runs) read(ctx context.Context, r rangeio.Reader, base int64, dst []byte) error {
	if rs.total == 1 { // a row, a whole array: there is nothing to put in order
		return r.ReadRanges(ctx, []rangeio.Span{{Off: base + rs.off, P: dst}})
	}
	return rs.pull(ctx, r, base, func(g group) []byte { return dst[g.first*rs.n : (g.first+g.n)*rs.n] })
}

// pull is one Pull of the groups; of returns the memory for the runs of a group. A run
// that is alone in its group goes straight there; the others are copied as the groups
// come.
func (rs *runs) pull(ctx context.Context, r rangeio.Reader, base int64, of func(group) []byte) error {
	p := pull.Pull[group]{
		From: r, Window: window, Memory: 2*window + maxGroup, Most: mostGroups, Near: 1,
		Parts: func(_ context.Context, add func(pull.Part[group]) error) error {
			return rs.eachGroup(func(g group, off, n int64) error {
				p := pull.Part[group]{Off: base + off, Len: n, For: g}
				if g.n == 1 {
					p.More = window / mostGroups // two windows at a time of these, too
				}
				return add(p)
			})
		},
		Into: func(g group) []byte {
			if g.n > 1 {
				return nil
			}
			return of(g)
		},
		Why: func([]pull.Part[group]) (string, bool) { return "items", false },
	}
	if rangeio.Local(r) {
		p.Window = maxGroup // its bytes are still in a processor's cache when they are copied
	}
	return p.Each(ctx, func(p pull.Part[group], b []byte) error {
		if p.For.n > 1 {
			rs.gather(of(p.For), p.For.first, b)
		}
		return nil
	})
}

// eachGroup yields the groups, and where the bytes of each lie, in ascending order.
func (rs *runs) eachGroup(yield func(g group, off, n int64) error) error {
	for c := rs.from(0); c.k < rs.total; {
		first, off, end := c.k, c.off, c.off
		for c.k < rs.total && (c.k == first || c.off-end <= maxGap && c.off+rs.n-off <= maxGroup) {
			end = c.off + rs.n
			c.next()
		}
		if err := yield(group{first, c.k - first}, off, end-off); err != nil {
			return err
		}
	}
	return nil
}

// gather fills dst with runs from number first on, out of the bytes from the first
// to the last of them.
func (rs *runs) gather(dst []byte, first int64, b []byte) {
	c := rs.from(first)
	for off := c.off; len(dst) > 0; dst = dst[rs.n:] {
		copy(dst[:rs.n], b[c.off-off:])
		c.next()
	}
}

package blosc

import (
	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/filter"
)

// CutAxes is the number of axes of a Cut, besides the bytes of a row.
const CutAxes = 3

// A Cut says which bytes of a decoded block are wanted, and where: rows of Len bytes each,
// N[0] x N[1] x N[2] of them. The first row lies at From in the block and goes to To in Dst;
// the next one along axis i is FromStep[i] bytes behind it there, and ToStep[i] here. Each N
// is 1 or more, and no number is negative.
type Cut struct {
	Dst              []byte
	To, From, Len    int
	N                [CutAxes]int
	ToStep, FromStep [CutAxes]int
}

// inside reports whether all rows lie in a block of n bytes, and in Dst.
func (c *Cut) inside(n int) bool {
	if c.To < 0 || c.From < 0 || c.Len < 0 {
		return false
	}
	to, from := len(c.Dst)-c.Len, n-c.Len // room for what lies before the last row
	for i, k := range c.N {
		if k < 1 || c.ToStep[i] < 0 || c.FromStep[i] < 0 {
			return false
		}
		if k == 1 {
			continue
		}
		if c.ToStep[i] > max(to, 0)/(k-1) || c.FromStep[i] > max(from, 0)/(k-1) {
			return false
		}
		to, from = to-(k-1)*c.ToStep[i], from-(k-1)*c.FromStep[i]
	}
	return c.To <= to && c.From <= from
}

// whole reports whether all rows begin and end between two elements of width bytes.
func (c *Cut) whole(width int) bool {
	odd := c.From%width + c.Len%width
	for i := range c.N {
		odd += c.FromStep[i] % width
	}
	return odd == 0
}

// take copies all rows from a decoded block.
func (c *Cut) take(block []byte) {
	c.each(func(dst []byte, from int) { copy(dst, block[from:]) })
}

// gather merges all rows from the planes of a block.
func (c *Cut) gather(planes *[filter.MaxPlanes][]byte, width int) {
	c.each(func(dst []byte, from int) {
		rows := *planes
		for j := range width {
			rows[j] = rows[j][from/width:]
		}
		filter.Gather(dst, &rows, width)
	})
}

func (c *Cut) each(row func(dst []byte, from int)) {
	for i := range c.N[0] {
		for j := range c.N[1] {
			to := c.To + i*c.ToStep[0] + j*c.ToStep[1]
			from := c.From + i*c.FromStep[0] + j*c.FromStep[1]
			for range c.N[2] {
				row(c.Dst[to:to+c.Len:to+c.Len], from)
				to, from = to+c.ToStep[2], from+c.FromStep[2]
			}
		}
	}
}

// DecodeCut decodes block i as DecodeBlock does, and copies only the bytes that c wants to
// where it wants them. The planes of a shuffle are merged there, row by row, so the other
// bytes of the block are never written. All of the block is decoded, and what is wrong with
// it is found, whichever bytes are wanted. It returns ErrCorrupt if a row lies outside the
// block or outside Dst. Chunks of blocks of variable length are ErrUnsupported.
func (o DecodeOptions) DecodeCut(x *Index, i int, src, first, dict []byte, c Cut) error {
	h := &x.h
	switch {
	case h.VL:
		return unsupported("block", "a part of a block of variable length")
	case i < 0 || i >= h.Blocks():
		return fail("block", -1, formats.ErrNoEntry, "block %d of %d", i, h.Blocks())
	case !c.inside(h.blockLen(i)):
		return corrupt("block", -1, "rows of block %d that it does not have", i)
	}
	if done, err := o.cutPlanes(x, i, src, first, dict, &c); done || err != nil {
		return inBlock(err, i, -1)
	}
	dst := bufpool.Get(h.blockLen(i))
	defer bufpool.Put(dst)
	if err := o.DecodeBlock(dst, x, i, src, first, dict); err != nil {
		return err
	}
	c.take(dst)
	return nil
}

// cutPlanes is DecodeCut for blocks whose streams are planes. done is false for others.
func (o *DecodeOptions) cutPlanes(x *Index, i int, src, first, dict []byte, c *Cut) (done bool, err error) {
	h := &x.h
	n, streams := h.blockLen(i), h.streams(i)
	if h.plain() || n < streams || n%streams != 0 || !c.whole(streams) {
		return false, nil
	}
	p, err := newPipeline(h, o)
	if err != nil || !p.gathers(streams) {
		return false, err
	}
	if err := x.checkBlock(n, i, src, first, dict); err != nil {
		return false, err
	}
	p.dict = dict
	w := getWorker()
	defer w.release()
	var planes [filter.MaxPlanes][]byte
	if _, err := w.planes(&planes, src, &p, streams, n/streams, n/streams); err != nil {
		return false, err
	}
	c.gather(&planes, streams)
	return true, nil
}

package gulp

import "sort"

// Numbered returns a Chunk by which the frames from to to-1 of this one can be read, as
// far as there are such: frames count over all ids, in file order. They are the frames
// of the only id of that Chunk, "", and keep their numbers:
//
//	n, err := c.Numbered(20_000, 20_100)
//	jpegs, err := n.AppendFrames(ctx, nil, "", 20_000, 20_100, 1)
//
// Numbered makes no request. The first call computes 8 bytes an id, which are kept.
func (c *Chunk) Numbered(from, to int) (*Chunk, error) {
	c.count.Do(func() {
		c.starts = make([]int, len(c.items))
		n := 0
		for k := range c.items {
			c.starts[k] = n
			n += c.items[k].count()
		}
	})
	total := int(c.totals.Frames)
	from = min(max(from, 0), total)
	to = min(max(to, from), total)
	e := Excerpt{Frames: total, From: from, Known: make([]FrameInfo, 0, to-from)}
	for k := sort.SearchInts(c.starts, from+1) - 1; from < to; k++ {
		it, at := &c.items[k], from-c.starts[k]
		n := min(it.count()-at, to-from)
		if n > 0 {
			if err := it.holds(at, at+n-1); err != nil {
				return nil, err
			}
			for _, f := range it.frames[at-it.before : at-it.before+n] {
				e.Known = append(e.Known, f.public())
			}
			from += n
		}
	}
	return NewExcerpt(c.data, e, c.o)
}

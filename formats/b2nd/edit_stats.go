package b2nd

import (
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/stats"
)

// An editStats gives the editor of the frame the statistics of chunks; see cframe.Summer.
type editStats struct {
	e    *Editor
	was  *geometry // of the last commit
	list []stats.Stat
	zero []stats.Stat // those of a chunk of zeros that has so many items
	size []int64
	of   frameindex.StatsOf // what Of has told last
}

// Of says what the statistics of the array are about, as Array.Statistics does.
func (s *editStats) Of() (frameindex.StatsOf, bool) {
	e := s.e
	if e.g.chunkBytes == 0 {
		return frameindex.StatsOf{}, false
	}
	for _, m := range e.ed.Metalayers() {
		if m.Name != e.layer {
			continue
		}
		now, err := ParseMeta(m.Data)
		if err != nil || !now.equal(e.meta) { // somebody else has changed it
			break
		}
		d, err := e.meta.itemType(e.g.item)
		if err != nil {
			break
		}
		vl, err := e.ed.VLMetalayers()
		if err != nil {
			break
		}
		s.of, err = e.g.statsOf(m.Data, d, e.g.fillOf(slices.Concat(vl, e.ed.Metalayers()), d, formats.Limits{}.WithDefaults()))
		return s.of, err == nil && len(s.of.Columns) > 0
	}
	return frameindex.StatsOf{}, false
}

// Kept reports whether a chunk has the items that it had: none of its padding has become an
// item, and no item padding.
func (s *editStats) Kept(was, i int, list []stats.Stat) bool {
	size := s.e.g.size(int64(i))
	if !slices.Equal(size, s.was.size(int64(was))) {
		return false
	}
	items := int64(1)
	for _, n := range size {
		items *= n
	}
	n := min(len(s.of.Columns), frameindex.MaxColumns)
	for c := range n { // a reader finds statistics of other counts of no use
		have := int64(0)
		for k := c; k < len(list); k += n {
			have += list[k].Items
		}
		if have != items {
			return false
		}
	}
	return n > 0
}

// Sum decodes chunk i and sums it up.
func (s *editStats) Sum(i int) ([]stats.Stat, error) {
	e := s.e
	kind, err := e.fetch(i)
	if err != nil {
		return nil, err
	}
	size := e.g.size(int64(i))
	if kind == blosc.Zeros && slices.Equal(size, s.size) {
		return s.zero, nil
	}
	chunk, zero, err := e.decoded(i)
	if err != nil {
		return nil, err
	}
	s.list = e.g.summer(&s.of).sum(s.list, int64(i), chunk)
	if zero {
		s.zero, s.size = slices.Clone(s.list), size
	}
	return s.list, nil
}

// Committed takes the present shape for that of the last commit.
func (s *editStats) Committed() { s.was, s.size = s.e.g, nil }

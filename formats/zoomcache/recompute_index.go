package zoomcache

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/farread/farread/formats/index"
)

// A checker compares an index with what an Indexer makes of the samples.
type checker struct {
	x    *Indexer
	f    *File
	w    *against
	told map[int32]*trackMeta
	low  []int64
}

// against is the index that the pages of an Indexer are compared with, in place of
// being kept.
type against struct {
	r       *Recomputed
	ix      *index.Index
	plain   int64
	read    func(index.Parts) ([][]byte, error)
	cursors []*cursor
	u       unpacker
}

// A cursor goes through the pages of one section.
type cursor struct {
	s    *index.Section
	next int
	from int // pages are the ones from it on
	page [][]byte
	done bool // what is wrong is told once
}

// cursorPages is how many pages are read at a time.
const cursorPages = 64

func newChecker(ctx context.Context, f *File, ix *openIndex, r *Recomputed) *checker {
	w := &against{r: r, ix: ix.Index, plain: ix.Trailer.Plain, read: func(p index.Parts) ([][]byte, error) { return ix.Read(ctx, p) }}
	x := NewIndexer(f.h.Tracks, IndexOptions{MaxMemory: math.MaxInt64 / 2})
	x.against, x.decoded = w, true
	for _, t := range x.tracks {
		if told := ix.tracks[t.t.Number]; told != nil && told.part {
			t.gaps = told.gaps && t.t.Variable
		}
	}
	return &checker{x: x, f: f, w: w, told: ix.tracks}
}

// packet shows a packet to the Indexer, as BuildIndex does.
func (c *checker) packet(b *Block, t *Track, p *Packet) error {
	if b.Count == 0 {
		return c.x.Packet(b)
	}
	w := Window{Track: t, Entry: p.Offset(0), Exit: p.Offset(int(p.Count) - 1), Values: p.Values, Stamps: p.Stamps}
	if told := c.told[b.Track]; told != nil && told.part && p.Values.Kind == Integer && t.Codec.Kind == Int {
		// The index is of integers of 64 bits, the differences of which may have wrapped.
		c.low = c.low[:0]
		for _, v := range p.Values.Big {
			c.low = append(c.low, v.Int64())
		}
		w.Values = Values{Kind: Int, N: p.Values.N, I64: c.low}
	}
	if w.Entry != b.Entry || w.Exit != b.Exit {
		c.x.drop(c.x.track(b.Track))
		return c.x.Packet(b)
	}
	if err := c.x.Window(&w); err != nil {
		return err
	}
	return c.x.Packet(b)
}

// end compares what is left.
func (c *checker) end() error {
	for _, t := range c.x.tracks {
		if t.out || !t.any {
			continue
		}
		if err := c.x.last(t); err != nil {
			return err
		}
		c.w.placesEnd(t.place)
	}
	for _, t := range c.x.tracks {
		if told := c.told[t.t.Number]; told != nil && t.onlySummaries() {
			t.any, t.out = told.part, false // there is nothing to compare it with
		}
	}
	if !bytes.Equal(c.x.meta(), c.w.ix.Meta) {
		c.w.r.wrong(Mismatch{Off: -1}, "the index lists other tracks, or other counts of them")
	}
	for i := range c.w.ix.Sections {
		s := &c.w.ix.Sections[i]
		if s.Kind < sectionLevel || s.Kind > sectionPlace || len(s.Pages) == 0 {
			continue
		}
		if t := c.x.track(int32(s.Of)); t != nil && t.onlySummaries() && s.Kind < sectionRuns { //nolint:gosec // as the builder was given it
			continue
		}
		k := slices.IndexFunc(c.w.cursors, func(c *cursor) bool { return c.s == s })
		if k < 0 || c.w.cursors[k].next < len(s.Pages) && !c.w.cursors[k].done {
			c.w.r.wrong(mismatchOf(s), "the index tells of more than there is")
		}
	}
	return nil
}

// onlySummaries says whether the file has summaries of a track and no samples.
func (t *trackIndex) onlySummaries() bool { return t.count.Samples == 0 && len(t.count.Levels) > 0 }

func mismatchOf(s *index.Section) Mismatch {
	m := Mismatch{Off: -1, Track: int32(s.Of)} //nolint:gosec // as the builder was given it
	switch s.Kind {
	case sectionLevel, sectionEnds:
		m.Level = int(s.Level)
	case sectionBins:
		m.Bin = s.Level
	}
	return m
}

// cursor begins with a section; nil: there is none.
func (w *against) cursor(n index.Name) *cursor {
	s := w.ix.Section(n)
	if s == nil || len(s.Pages) == 0 {
		return nil
	}
	c := &cursor{s: s}
	w.cursors = append(w.cursors, c)
	return c
}

// bins lists the sizes of bins of a track, each a multiple of the one before.
func (w *against) bins(track int32) []int64 {
	var sizes []int64
	for i := range w.ix.Sections {
		if s := &w.ix.Sections[i]; s.Kind == sectionBins && s.Of == int64(track) && s.Level > 0 {
			sizes = append(sizes, s.Level)
		}
	}
	slices.Sort(sizes)
	out := sizes[:0]
	for _, b := range sizes {
		if len(out) == 0 || b%out[len(out)-1] == 0 && b > out[len(out)-1] {
			out = append(out, b)
		}
	}
	return out
}

// full says how many things the next page has.
func (c *cursor) full() int {
	if c.next >= len(c.s.Pages) {
		return math.MaxInt
	}
	return int(max(c.s.Pages[c.next].Count, 1))
}

// take gives the next page and its content, or nil where there is none that is of
// [first, last] and of n things.
func (w *against) take(c *cursor, first, last int64, n int) (*index.Page, []byte, error) {
	if c.done {
		return nil, nil, nil
	}
	if c.next >= len(c.s.Pages) {
		w.tell(c, "the index ends before offset %d", first)
		return nil, nil, nil
	}
	pg := &c.s.Pages[c.next]
	if pg.First != first || pg.Last != last || pg.Count != int64(n) {
		w.tell(c, "a page is of %d spans at %d to %d, it should be of %d at %d to %d", pg.Count, pg.First, pg.Last, n, first, last)
		return nil, nil, nil
	}
	if c.next >= c.from+len(c.page) {
		var err error
		end := min(c.next+cursorPages, len(c.s.Pages))
		if c.page, err = w.read(index.Parts{Section: c.s, I: c.next, J: end}); err != nil {
			return nil, nil, w.damaged(c, err)
		}
		c.from = c.next
	}
	c.next++
	w.r.Spans += int64(n)
	return pg, c.page[c.next-1-c.from], nil
}

func (w *against) tell(c *cursor, format string, a ...any) {
	c.done = true
	w.r.wrong(mismatchOf(c.s), format, a...)
}

// damaged tells of damage, which is no error of reading.
func (w *against) damaged(c *cursor, err error) error {
	if errors.Is(err, index.ErrUnusable) {
		w.tell(c, "a page of the index is damaged")
		return nil
	}
	return wrapRead(-1, err)
}

// sheet compares the page that a sheet would become.
func (w *against) sheet(c *cursor, k *packer, s *sheet, ends bool) error {
	pg, theirs, err := w.take(c, s.first, s.last, s.n)
	if theirs == nil || err != nil {
		return err
	}
	ours, err := k.page(s, &guess{})
	if ends {
		ours, err = k.ends(s, &guess{})
	}
	if err != nil || bytes.Equal(ours, theirs) {
		return err
	}
	a, b := &cells{width: s.l.width}, &cells{width: s.l.width}
	read := func(p []byte, c *cells) error {
		if !ends {
			return w.u.page(s.l, p, pg, c)
		}
		for range s.n {
			c.add(0, 0, 0)
		}
		return w.u.ends(s.l, p, c, s.n)
	}
	if err := read(ours, a); err != nil {
		return err
	}
	if read(theirs, b) != nil {
		return w.damaged(c, index.ErrUnusable)
	}
	for i := range s.n {
		if a.entry[i] != b.entry[i] || a.exit[i] != b.exit[i] || a.n[i] != b.n[i] {
			w.tell(c, "span %d of the page at offset %d is another", i, s.first)
			return nil
		}
		for ch := range a.at(i) {
			if x, y := &a.at(i)[ch], &b.at(i)[ch]; !x.near(y) {
				w.tell(c, "the index tells of other samples in span %d of the page at offset %d", i, s.first)
				return nil
			}
		}
	}
	return nil
}

// near says whether two stats are the same but for the rounding of their sums.
func (s *stat) near(t *stat) bool {
	if s.n != t.n || s.valid != t.valid || s.min != t.min || s.max != t.max || s.first != t.first || s.last != t.last {
		return false
	}
	alike := func(a, b, scale float64) bool {
		return a == b || a != a && b != b || math.Abs(a-b) <= 1e-3*scale
	}
	_, r := s.means()
	size := math.Abs(r) * float64(s.n)
	return alike(s.sum, t.sum, size) && alike(s.sq, t.sq, math.Abs(r)*size)
}

// runs compares a page of packets.
func (w *against) runs(c *cursor, run []packetRun) error {
	pg, theirs, err := w.take(c, run[0].entry, run[len(run)-1].exit, len(run))
	if theirs == nil || err != nil {
		return err
	}
	list, err := w.u.runs(theirs, pg, w.plain)
	if err != nil {
		return w.damaged(c, err)
	}
	if !slices.Equal(list, run) {
		w.tell(c, "the index puts packets elsewhere, from offset %d on", run[0].entry)
	}
	return nil
}

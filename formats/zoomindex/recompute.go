package zoomindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// Recomputed is the result of Recompute.
type Recomputed struct {
	zoomcache.Recomputed
	Indexed bool  // the file has an index
	Spans   int64 // number of compared spans of the index, and of packets that it lists
}

func (r *Recomputed) wrong(x zoomcache.Mismatch, format string, a ...any) {
	x.Text = fmt.Sprintf(format, a...)
	r.Add(x)
}

// Recompute computes all summaries again from the samples, as a Writer does, and the
// index if there is one. It compares them with those of the file, since a file without
// damage may still have summaries of other samples. A mismatch is not an error. Damage
// is an error, even with Options.Resync. Recompute makes one pass like EachBlock, and
// reads each byte of the index twice. It calls progress with the number of bytes of the
// file that it has read.
func (f *File) Recompute(ctx context.Context, progress formats.Progress) (Recomputed, error) {
	var r Recomputed
	ix, err := f.ix.open(ctx, f)
	if err != nil {
		return r, err
	}
	c := &checker{f: f, r: &r}
	if ix != nil {
		r.Indexed = true
		c.begin(ctx, ix)
	}
	if err := f.RecomputeSummaries(ctx, &r.Recomputed, c, progress); err != nil {
		return r, err
	}
	if ix != nil {
		if err = c.end(); err == nil { //nolint:contextcheck // it packs and compares what is there, and waits for nothing
			err = c.hash(ctx, ix.Index)
		}
	}
	if err == nil && (ix == nil || ix.Trailer.Off == 0) {
		err = c.spoilt(ctx)
	}
	return r, err
}

// A checker sees the blocks of a file. It compares the index, if there is one, with the
// one that a Builder makes of the samples.
type checker struct {
	f     *File
	r     *Recomputed
	extra [2]zoomcache.Block // the last two blocks of undeclared tracks

	x    *Builder // nil: there is no index
	w    *against
	told map[int32]*trackMeta
	low  []int64
}

// begin starts the comparison with an index.
func (c *checker) begin(ctx context.Context, ix *openIndex) {
	c.told = ix.tracks
	c.w = &against{r: c.r, ix: ix.Index, plain: ix.Trailer.Plain, read: func(p index.Parts) ([][]byte, error) { return ix.Pages(ctx, p) }}
	c.x = NewBuilder(c.f.Header().Tracks, WriteOptions{MaxMemory: math.MaxInt64 / 2})
	c.x.against, c.x.decoded = c.w, true
	for _, t := range c.x.tracks {
		if told := ix.tracks[t.t.Number]; told != nil && told.part {
			t.gaps = told.gaps && t.t.Variable
		}
	}
}

// Window implements zoomcache.Watcher.
func (c *checker) Window(w *zoomcache.Window) error {
	if c.x == nil {
		return nil
	}
	if told := c.told[w.Track.Number]; told != nil && told.part && w.Values.Kind == zoomcache.Integer && w.Track.Codec.Kind == zoomcache.Int {
		// The index has integers of 64 bits, and their differences may have wrapped.
		c.low = c.low[:0]
		for _, v := range w.Values.Big {
			c.low = append(c.low, v.Int64())
		}
		w.Values = zoomcache.Values{Kind: zoomcache.Int, N: w.Values.N, I64: c.low}
	}
	return c.x.Window(w)
}

// Packet implements zoomcache.Watcher.
func (c *checker) Packet(b *zoomcache.Block) error {
	if c.undeclared(b) || c.x == nil {
		return nil
	}
	return c.x.Packet(b)
}

// SummaryBlock implements zoomcache.Watcher.
func (c *checker) SummaryBlock(b *zoomcache.Block) error {
	if c.undeclared(b) || c.x == nil {
		return nil
	}
	return c.x.SummaryBlock(b)
}

// undeclared notes a block of a track that the header does not declare.
func (c *checker) undeclared(b *zoomcache.Block) bool {
	_, err := c.f.Track(b.Track)
	if err != nil {
		c.extra = [2]zoomcache.Block{c.extra[1], *b}
	}
	return err != nil
}

// hash compares the whole index with the hash in its trailer.
func (c *checker) hash(ctx context.Context, ix *index.Index) error {
	err := ix.Verify(ctx)
	switch {
	case errors.Is(err, index.ErrUnusable):
		c.r.wrong(zoomcache.Mismatch{Off: ix.Trailer.Off}, "%s", err)
	case err != nil:
		return wrapRead(-1, err)
	}
	return nil
}

// spoilt finds an index in the file that reads ignore because it is damaged: the last
// packets, of a track that is not in the header, are the index and its trailer.
func (c *checker) spoilt(ctx context.Context) error {
	for _, b := range c.extra {
		const enough = 8
		if b.Summary || b.Len < enough {
			continue
		}
		var p bytes.Buffer
		off := b.Off + zoomcache.BlockHeaderLen
		if err := c.f.copyTo(ctx, &p, off, off+enough); err != nil {
			return err
		}
		if index.Begins(p.Bytes()) {
			c.r.wrong(zoomcache.Mismatch{Off: b.Off, Track: b.Track}, "the index in the file is damaged, and readings go without it")
			return nil
		}
	}
	return nil
}

// against is an index to compare with. A Builder's pages are compared with it instead
// of being kept.
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
	from int // number of the first page in pages
	page [][]byte
	done bool // a mismatch was reported
}

// cursorPages is how many pages are read at a time.
const cursorPages = 64

// end compares the rest.
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
			t.any, t.out = told.part, false // there is no section to compare with
		}
	}
	if !bytes.Equal(c.x.meta(), c.w.ix.Meta) {
		c.w.r.wrong(zoomcache.Mismatch{Off: -1}, "the index lists other tracks, or other counts of them")
	}
	for i := range c.w.ix.Sections {
		s := &c.w.ix.Sections[i]
		if s.Kind < sectionLevel || s.Kind > sectionPlace || len(s.Pages) == 0 {
			continue
		}
		if t := c.x.track(int32(s.Of)); t != nil && t.onlySummaries() && s.Kind < sectionRuns {
			continue
		}
		k := slices.IndexFunc(c.w.cursors, func(c *cursor) bool { return c.s == s })
		if k < 0 || c.w.cursors[k].next < len(s.Pages) && !c.w.cursors[k].done {
			c.w.r.wrong(mismatchOf(s), "the index tells of more than there is")
		}
	}
	return nil
}

// onlySummaries reports whether the file has summaries of a track and no
// samples.
func (t *trackIndex) onlySummaries() bool { return t.count.Samples == 0 && len(t.count.Levels) > 0 }

func mismatchOf(s *index.Section) zoomcache.Mismatch {
	m := zoomcache.Mismatch{Off: -1, Track: int32(s.Of)}
	switch s.Kind {
	case sectionLevel, sectionEnds:
		m.Level = int(s.Level)
	case sectionBins:
		m.Bin = s.Level
	}
	return m
}

// cursor begins at a section's first page. It is nil if there is no such section.
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

// full is how many entries the next page has.
func (c *cursor) full() int {
	if c.next >= len(c.s.Pages) {
		return math.MaxInt
	}
	return int(max(c.s.Pages[c.next].Count, 1))
}

// take returns the next page and its content. They are nil if the page does not
// cover [first, last] with n entries.
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

// damaged reports damage, which is not an error of reading.
func (w *against) damaged(c *cursor, err error) error {
	if errors.Is(err, index.ErrUnusable) {
		w.tell(c, "a page of the index is damaged")
		return nil
	}
	return wrapRead(-1, err)
}

// sheet compares a page with the one that a sheet would become.
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

// near reports whether two stats are equal, apart from the rounding of their
// sums.
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

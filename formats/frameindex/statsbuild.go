package frameindex

import (
	"context"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/stats"
)

// statsRoom is up to how many bytes statistics lie in the trailer of a frame, with what
// lies there besides them. More would push the offsets, which each reader needs, out of
// the few KiB that some read of the end of a frame.
const statsRoom = 12 << 10

// sectionBooks is about how many bytes of the directory a section takes.
const sectionBooks = 24

// A statsBuilder makes the sections of statistics.
type statsBuilder struct {
	of     StatsOf
	b      *index.Builder
	all    []stats.Stat
	chunk  []statColumn
	block  []statColumn // empty: blocks have none
	chunks int
	copied []*index.SectionBuilder // instead of all, if the statistics are copied
}

// A statColumn is the section of a column, and the Stats of its next page.
type statColumn struct {
	s    *index.SectionBuilder
	of   stats.Column
	per  int // Stats of a page
	page []stats.Stat
	next int64 // position of the first Stat of the page
	buf  []byte
}

// Stats says that AddStats will be called for each chunk. Call it once, before.
func (b *Builder) Stats(of StatsOf) {
	n := of.columns()
	if n == 0 || of.Blocks < 1 || len(of.Fill) > maxFill {
		return
	}
	s := &statsBuilder{of: of, b: &b.b, all: make([]stats.Stat, n)}
	column := func(kind int64, i, per int) statColumn {
		return statColumn{s: b.b.Section(index.Name{Kind: kind, Of: int64(i), Level: of.About}), of: of.Columns[i], per: per}
	}
	for i := range n {
		s.chunk = append(s.chunk, column(sectionStatsChunks, i, chunksAPage))
		if of.hasBlocks() {
			s.block = append(s.block, column(sectionStatsBlocks, i, blocksAPage))
		}
	}
	b.stats = s
}

// CopyStats copies the statistics of x as they are, all of which it reads. It is for an index of
// the same chunks, all of which have been added, and takes the place of Stats and AddStats. A damaged page is
// index.ErrUnusable: then nothing is copied.
func (b *Builder) CopyStats(ctx context.Context, x *Index) error {
	s := &statsBuilder{b: &b.b, chunks: b.chunks}
	for i := range x.ix.Sections {
		from := &x.ix.Sections[i]
		if from.Kind < sectionStatsAll || from.Kind > sectionStatsFill {
			continue
		}
		to := b.b.Section(from.Name)
		err := x.ix.Each(ctx, x.r, index.Parts{Section: from, J: len(from.Pages)}, "statistics", func(k int, page []byte) error {
			p := &from.Pages[k]
			to.Add(p.First, p.Last, p.Count, page)
			return nil
		})
		if err != nil {
			return err
		}
		switch from.Kind {
		case sectionStatsAll, sectionStatsFill:
			s.copied = append(s.copied, to)
		case sectionStatsChunks:
			s.chunk = append(s.chunk, statColumn{s: to})
		case sectionStatsBlocks:
			s.block = append(s.block, statColumn{s: to})
		}
	}
	if len(s.copied) > 0 {
		b.stats = s
	}
	return nil
}

// AddStats adds the statistics of the next chunk: list has those of all columns of
// StatsOf, or of the first MaxColumns, of the first block, then those of the second block,
// and so on. It keeps nothing of list. It does nothing if Stats was not called.
func (b *Builder) AddStats(list []stats.Stat) {
	s := b.stats
	if s == nil {
		return
	}
	n := s.of.columns()
	for c := range n {
		var sum stats.Stat
		for k := c; k < len(list); k += n {
			sum = sum.Merge(list[k])
			if len(s.block) > 0 {
				s.block[c].add(list[k])
			}
		}
		s.all[c] = s.all[c].Merge(sum)
		s.chunk[c].add(sum)
	}
	s.chunks++
}

func (c *statColumn) add(s stats.Stat) {
	if c.page = append(c.page, s); len(c.page) == c.per {
		c.end()
	}
}

// end ends the page.
func (c *statColumn) end() {
	n := int64(len(c.page))
	if n == 0 {
		return
	}
	c.buf, _ = c.of.AppendPage(c.buf[:0], c.page) // a page has less than the limit
	c.s.Add(c.next, c.next+n-1, n, c.buf)
	c.page, c.next = c.page[:0], c.next+n
}

// end ends all pages. Statistics that do not have all chunks are dropped.
func (s *statsBuilder) end(chunks int) (ok bool) {
	for _, list := range [][]statColumn{s.chunk, s.block} {
		for i := range list {
			list[i].end()
		}
	}
	return s.chunks == chunks && chunks > 0
}

// endStats ends the pages of statistics, and drops what is not whole.
func (b *Builder) endStats() {
	if b.stats != nil && !b.stats.end(b.chunks) {
		b.dropStats()
	}
}

// DropStats forgets the statistics.
func (b *Builder) DropStats() {
	if b.stats != nil {
		b.dropStats()
	}
}

// HasStats reports whether the index will have statistics, of a chunk or more.
func (b *Builder) HasStats() bool { return b.stats != nil && b.stats.chunks > 0 }

func (b *Builder) dropStats() {
	dropAll(b.stats.chunk)
	dropAll(b.stats.block)
	b.stats = nil
}

func dropAll(list []statColumn) {
	for i := range list {
		list[i].s.Drop()
	}
}

// statsLen returns about the number of bytes of the statistics.
func (b *Builder) statsLen() (n int64) {
	if b.stats == nil {
		return 0
	}
	for _, list := range [][]statColumn{b.stats.chunk, b.stats.block} {
		for i := range list {
			n += list[i].s.Len() + sectionBooks
		}
	}
	return n + int64(len(b.stats.all)+len(b.stats.copied))*(sectionBooks+32) + int64(len(b.stats.of.Fill))
}

// Trim drops statistics, those of blocks first, if the index would take more than most
// bytes. It returns false if even the heads alone take more. Call it after the last chunk.
func (b *Builder) Trim(most int64) bool {
	b.endStats()
	if b.stats != nil && b.Len()+b.statsLen() > most {
		dropAll(b.stats.block)
		b.stats.block = nil
	}
	if b.stats != nil && b.Len()+b.statsLen() > most {
		b.dropStats()
	}
	return b.Len() <= most
}

// spillStats writes the pages of statistics in front of the index if they take more than
// room.
func (b *Builder) spillStats(room int64, write func(pieces ...[]byte) (off int64, err error)) error {
	if b.endStats(); b.stats == nil || b.statsLen() <= min(room, statsRoom) {
		return nil
	}
	for _, list := range [][]statColumn{b.stats.block, b.stats.chunk} {
		for i := range list {
			if err := list[i].s.Spill(write); err != nil {
				return err
			}
		}
	}
	return nil
}

// statSections returns the sections of statistics of blocks and chunks, in their order in
// the index.
func (b *Builder) statSections() (list []*index.SectionBuilder) {
	if b.endStats(); b.stats == nil {
		return nil
	}
	for _, columns := range [][]statColumn{b.stats.block, b.stats.chunk} {
		for i := range columns {
			list = append(list, columns[i].s)
		}
	}
	return list
}

// statTotals returns the sections of statistics of all items.
func (b *Builder) statTotals() (list []*index.SectionBuilder) {
	if b.stats == nil {
		return nil
	}
	list = append(list, b.stats.copied...)
	for i, s := range b.stats.all {
		all := b.b.Section(index.Name{Kind: sectionStatsAll, Of: int64(i), Level: b.stats.of.About})
		page, _ := b.stats.of.Columns[i].AppendPage(nil, []stats.Stat{s}) // one Stat is below the limit
		all.Add(0, 0, 1, page)
		list = append(list, all)
	}
	if of := &b.stats.of; of.Fill != nil {
		fill := b.b.Section(index.Name{Kind: sectionStatsFill, Level: of.About})
		fill.Add(0, 0, 1, of.Fill)
		list = append(list, fill)
	}
	return list
}

package frameindex

import (
	"context"
	"sort"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/stats"
	"github.com/farread/farread/rangeio"
)

// Kinds of the sections of statistics. Name.Of is the number of a column, and
// Name.Level is StatsOf.About.
const (
	sectionStatsAll    = 10 // of all items: one page
	sectionStatsChunks = 11
	sectionStatsBlocks = 12
	sectionStatsFill   = 13 // StatsOf.Fill: one page; missing if it is nil
)

// maxFill is the most bytes of a fill value.
const maxFill = 1 << 12

const (
	// MaxColumns is how many columns of an array have statistics: the first ones.
	MaxColumns = 64
	// maxStatBlocks is how many blocks a chunk has at most, if they have statistics.
	maxStatBlocks = 1 << 14
	chunksAPage   = 1024
	blocksAPage   = 2048
)

// StatsOf says what the statistics of a frame are about. A reader and a writer that mean
// the same data give the same StatsOf.
type StatsOf struct {
	Columns []stats.Column // the columns of the items; only the first MaxColumns have statistics
	Blocks  int            // number of blocks in a chunk
	// About identifies the type and the order of the items, which the Sum of the frame
	// does not tell, and Fill if that is not nil.
	About int64
	// Fill is the item with which Stat.Fill counts, at most 4 KiB; nil: zeros. The Columns are
	// made with it.
	Fill []byte
}

// columns returns the number of columns with statistics.
func (of *StatsOf) columns() int { return min(len(of.Columns), MaxColumns) }

// hasBlocks reports whether blocks have statistics of their own.
func (of *StatsOf) hasBlocks() bool { return of.Blocks > 1 && of.Blocks <= maxStatBlocks }

// Stats are the statistics in an index. They are safe for concurrent use. What they say is
// not compared with the data: they may be hostile. A list of Stats has one for each
// column that the caller names, in that order.
type Stats struct {
	x      *Index
	of     StatsOf
	chunks int
	all    []*index.Section // by column; those of chunks and blocks have the same page bounds for all columns
	chunk  []*index.Section
	block  []*index.Section // nil: blocks have none
	kept   map[pageKey][]byte
}

// Stats returns the statistics in the index, or nil if it has none. It makes no request.
// If they are about other data, or their pages do not cover all chunks, the error matches
// index.ErrUnusable.
func (x *Index) Stats(of StatsOf, chunks int) (*Stats, error) {
	s := &Stats{x: x, of: of, chunks: chunks}
	n := of.columns()
	if n == 0 || !x.hasStats() {
		return nil, nil //nolint:nilnil // the index has none, which is no error
	}
	s.all = x.statSections(sectionStatsAll, n, of.About)
	s.chunk = x.statSections(sectionStatsChunks, n, of.About)
	if of.hasBlocks() {
		s.block = x.statSections(sectionStatsBlocks, n, of.About)
	}
	if s.all == nil || s.chunk == nil {
		return nil, unusable("its statistics are about items of another type or order")
	}
	if err := covers(s.all, 1, 1); err != nil {
		return nil, err
	}
	if err := covers(s.chunk, int64(chunks), 1); err != nil {
		return nil, err
	}
	if s.block != nil {
		if err := covers(s.block, int64(chunks), int64(of.Blocks)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// HasStats reports whether the index that ends r has statistics, whichever frame, and whatever
// version of it, it is about. It costs as much as Open, whose errors it has.
func HasStats(ctx context.Context, r rangeio.Reader, limits formats.Limits) (bool, error) {
	ix, err := index.Open(ctx, r, index.Options{Limits: limits, Any: true})
	if err != nil {
		return false, err
	}
	return (&Index{ix: ix}).hasStats(), nil
}

// StatsFill returns StatsOf.Fill of the statistics in the index, or nil. It reads a page that
// usually came with the directory. If it is damaged, the error matches index.ErrUnusable.
func (x *Index) StatsFill(ctx context.Context) ([]byte, error) {
	for i := range x.ix.Sections {
		s := &x.ix.Sections[i]
		if s.Kind != sectionStatsFill {
			continue
		}
		if len(s.Pages) != 1 || s.Pages[0].Len() > maxFill+64 {
			return nil, unusable("the fill value of its statistics")
		}
		pages, err := x.ix.Pages(ctx, index.Parts{Section: s, I: 0, J: 1})
		if err != nil {
			return nil, err
		}
		return append([]byte{}, pages[0]...), nil
	}
	return nil, nil
}

// hasStats reports whether any section has statistics.
func (x *Index) hasStats() bool {
	for i := range x.ix.Sections {
		if k := x.ix.Sections[i].Kind; k == sectionStatsAll || k == sectionStatsChunks {
			return true
		}
	}
	return false
}

// statSections returns the sections of n columns, or nil if one is missing.
func (x *Index) statSections(kind int64, n int, about int64) []*index.Section {
	list := make([]*index.Section, n)
	for i := range list {
		if list[i] = x.ix.Section(index.Name{Kind: kind, Of: int64(i), Level: about}); list[i] == nil {
			return nil
		}
	}
	return list
}

// covers checks that the pages of each column have each of n times per positions once, and
// the same positions as those of the first column.
func covers(list []*index.Section, n, per int64) error {
	first := list[0]
	for _, s := range list {
		if len(s.Pages) != len(first.Pages) {
			return unusable("its statistics of column %d have %d pages, not %d", s.Of, len(s.Pages), len(first.Pages))
		}
		next := int64(0)
		for i := range s.Pages {
			p, q := &s.Pages[i], &first.Pages[i]
			if p.First != next || p.Last < p.First || p.Count != p.Last-p.First+1 || p.Count > stats.MaxPage || p.Last != q.Last || p.Len() > 64+longestStat*p.Count {
				return unusable("page %d of its statistics has the positions %d to %d", i, p.First, p.Last)
			}
			next = p.Last + 1
		}
		if next/per != n || next%per != 0 {
			return unusable("its statistics have %d positions, for %d chunks", next, n)
		}
	}
	return nil
}

// longestStat is the most bytes that a Stat takes in a page: five numbers, as varints.
const longestStat = 50

// Fill returns StatsOf.Fill.
func (s *Stats) Fill() []byte { return s.of.Fill }

// HasBlocks reports whether there are statistics of blocks.
func (s *Stats) HasBlocks() bool { return s.block != nil }

// Columns returns the number of columns that have statistics.
func (s *Stats) Columns() int { return len(s.chunk) }

// Bytes returns the number of bytes that they take in the index.
func (s *Stats) Bytes() (n int64) {
	for _, list := range [][]*index.Section{s.all, s.chunk, s.block} {
		for _, sec := range list {
			for i := range sec.Pages {
				n += sec.Pages[i].Len()
			}
		}
	}
	return n
}

// All returns the statistics of all items of the frame. It reads pages of some ten bytes,
// which usually came with the directory. If one is damaged, the error matches
// index.ErrUnusable, here as in the other methods.
func (s *Stats) All(ctx context.Context, cols []int) ([]stats.Stat, error) {
	var out []stats.Stat
	err := s.each(ctx, s.all, 1, cols, []int{0}, func(_ int, list []stats.Stat) error {
		out = append(out, list...)
		return nil
	})
	return out, err
}

// Chunks calls fn with the statistics of each chunk of a list, in order: i is the index
// in the list. chunks must ascend and exist. list is valid during the call only. Pages
// that are not in memory are read by one planned read for some MiB of them, all in one
// phase. If fn returns an error, Chunks returns the same error.
func (s *Stats) Chunks(ctx context.Context, cols, chunks []int, fn func(i int, list []stats.Stat) error) error {
	return s.each(ctx, s.chunk, 1, cols, chunks, fn)
}

// Blocks is Chunks for the blocks of each chunk: list has the Stats of the columns of the
// first block, those of the second one, and so on. HasBlocks must be true.
func (s *Stats) Blocks(ctx context.Context, cols, chunks []int, fn func(i int, list []stats.Stat) error) error {
	return s.each(ctx, s.block, s.of.Blocks, cols, chunks, fn)
}

// Held reports whether all pages of chunks, and of blocks if there are some, are in memory.
func (s *Stats) Held(cols, chunks []int) bool {
	return s.held(s.chunk, 1, cols, chunks) && (s.block == nil || s.held(s.block, s.of.Blocks, cols, chunks))
}

// Keep reads the statistics of all blocks, or of all chunks if blocks have none, into memory:
// who writes over the index has them afterwards. That is one planned read of what is not in
// memory, and takes Bytes of memory. Call it before other methods.
func (s *Stats) Keep(ctx context.Context) error {
	sections, per := s.chunk, 1
	if s.block != nil {
		sections, per = s.block, s.of.Blocks
	}
	cols, chunks := make([]int, len(sections)), make([]int, s.chunks)
	for i := range cols {
		cols[i] = i
	}
	for i := range chunks {
		chunks[i] = i
	}
	pages, err := s.pages(ctx, sections, per, cols, chunks)
	s.kept = pages
	return err
}

func (s *Stats) held(sections []*index.Section, per int, cols, chunks []int) bool {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	for _, c := range chunks {
		i, j := over(sections[0], c, per)
		for k := i; k < j; k++ {
			for _, col := range cols {
				_, kept := s.x.stats.Peek(pageKey{sections[col], k})
				if !kept && !s.x.ix.Held(sections[col], k, k+1) {
					return false
				}
			}
		}
	}
	return true
}

// over returns the range of pages that have the positions of a chunk.
func over(s *index.Section, chunk, per int) (i, j int) {
	return s.Over(int64(chunk)*int64(per), int64(chunk+1)*int64(per)-1)
}

// each reads pages of sections, which have per positions for each chunk, some MiB at a
// time, and calls fn for each chunk.
func (s *Stats) each(ctx context.Context, sections []*index.Section, per int, cols, chunks []int, fn func(i int, list []stats.Stat) error) error {
	list := make([]stats.Stat, per*len(cols))
	for from := 0; from < len(chunks); {
		to, size, next := from, int64(0), -1 // next: the first page that is not counted yet
		for ; to < len(chunks); to++ {
			i, j := over(sections[0], chunks[to], per)
			for k := max(i, next); k < j; k++ {
				for _, c := range cols {
					size += sections[c].Pages[k].Len()
				}
			}
			if next = max(next, j); size > readPages && to > from {
				break
			}
		}
		if err := s.window(ctx, sections, per, cols, chunks[from:to], list, func(i int) error { return fn(from+i, list) }); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// window reads the pages of chunks, and sets list to the statistics of each.
func (s *Stats) window(ctx context.Context, sections []*index.Section, per int, cols, chunks []int, list []stats.Stat, fn func(i int) error) error {
	pages, err := s.pages(ctx, sections, per, cols, chunks)
	if err != nil {
		return err
	}
	now, parsed := -1, make([][]stats.Stat, len(cols)) // the page that is parsed
	for i, c := range chunks {
		for k := range per {
			at := int64(c)*int64(per) + int64(k)
			if now < 0 || at > sections[0].Pages[now].Last {
				now, _ = sections[0].Over(at, at)
				for n, col := range cols {
					if parsed[n], err = s.parse(sections[col], now, pages[pageKey{sections[col], now}], parsed[n][:0], col); err != nil {
						return err
					}
				}
			}
			for n := range cols {
				list[k*len(cols)+n] = parsed[n][at-sections[0].Pages[now].First]
			}
		}
		if err := fn(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stats) parse(sec *index.Section, k int, page []byte, dst []stats.Stat, col int) ([]stats.Stat, error) {
	dst, err := s.of.Columns[col].ParsePage(dst, page, sec.Pages[k].Count)
	if err != nil {
		return nil, unusable("page %d of its statistics of column %d: %s", k, col, err)
	}
	return dst, nil
}

// pages returns the pages that have the chunks. It reads those that are not in memory by
// one planned read, and keeps them.
func (s *Stats) pages(ctx context.Context, sections []*index.Section, per int, cols, chunks []int) (map[pageKey][]byte, error) {
	out := map[pageKey][]byte{}
	var parts []index.Parts
	s.x.mu.Lock()
	for _, col := range cols {
		done := 0
		for _, c := range chunks {
			i, j := over(sections[col], c, per)
			for k := max(i, done); k < j; k++ {
				at := pageKey{sections[col], k}
				if p, ok := s.kept[at]; ok {
					out[at] = p
				} else if p, ok := s.x.stats.Get(at); ok {
					out[at] = p
				} else {
					parts = append(parts, index.Parts{Section: sections[col], I: k, J: k + 1})
				}
			}
			done = max(done, j)
		}
	}
	s.x.mu.Unlock()
	if len(parts) == 0 {
		return out, nil
	}
	pages, err := s.x.ix.Pages(ctx, joined(parts)...)
	if err != nil {
		return nil, err
	}
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	for n, p := range pages {
		at := pageKey{parts[n].Section, parts[n].I}
		if out[at] = p; !s.x.ix.Held(at.s, at.k, at.k+1) {
			s.x.stats.Put(at, append([]byte(nil), p...), int64(len(p)))
		}
	}
	return out, nil
}

// joined joins parts of one section that follow each other, so that they are one span.
func joined(parts []index.Parts) (out []index.Parts) {
	sort.SliceStable(parts, func(i, j int) bool {
		return parts[i].Of < parts[j].Of || parts[i].Of == parts[j].Of && parts[i].I < parts[j].I
	})
	for _, p := range parts {
		if n := len(out); n > 0 && out[n-1].Section == p.Section && out[n-1].J == p.I {
			out[n-1].J = p.J
			continue
		}
		out = append(out, p)
	}
	return out
}

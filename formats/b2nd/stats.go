package b2nd

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/stats"
)

// statsOf says what the statistics of an array are about. layer is its metalayer, so that
// statistics of items of another type or in another order are never taken for its own. fill is
// the item that they count, or nil for zeros.
func (g *geometry) statsOf(layer []byte, d dtype.DType, fill []byte) (frameindex.StatsOf, error) {
	cols, err := stats.Columns(d, fill)
	sum := sha256.Sum256(slices.Concat(layer, fill))
	return frameindex.StatsOf{Columns: cols, Blocks: int(g.blocks.Total), About: int64(binary.BigEndian.Uint64(sum[:])), Fill: fill}, err
}

// fillOf returns the item of the fill value that the metalayers of an array tell, or nil for
// zeros, or if they tell none that an item can have.
func (g *geometry) fillOf(layers []cframe.Metalayer, d dtype.DType, l formats.Limits) []byte {
	m, _ := Meaning(layers, g.shape, l)
	if m.Fill == nil {
		return nil
	}
	fill, err := arraymeta.FillItem(m.Fill, d)
	if err != nil || !slices.ContainsFunc(fill, func(b byte) bool { return b != 0 }) {
		return nil
	}
	return fill
}

// A summer sums up the blocks of chunks.
type summer struct {
	g    *geometry
	cols []stats.Column // those that have statistics
}

func (g *geometry) summer(of *frameindex.StatsOf) *summer {
	return &summer{g, of.Columns[:min(len(of.Columns), frameindex.MaxColumns)]}
}

// sum returns the Stats of each block of chunk n, of all columns for one block after the
// other. p is the decoded chunk. Padding does not count. It uses the memory of dst.
func (s *summer) sum(dst []stats.Stat, n int64, p []byte) []stats.Stat {
	g := s.g
	dst = append(dst[:0], make([]stats.Stat, g.blocks.Total*int64(len(s.cols)))...)
	g.eachBlock(g.size(n), func(k int64, _, valid []int64) {
		s.block(dst[k*int64(len(s.cols)):], p[k*int64(g.blockBytes):][:g.blockBytes], valid)
	})
	return dst
}

// block sets dst to the Stats of the first valid items along each axis of a block.
func (s *summer) block(dst []stats.Stat, p []byte, valid []int64) {
	for c := range s.cols {
		dst[c] = s.cols[c].OfBox(p, s.g.block, valid)
	}
}

// size returns the number of items along each axis of chunk n that are in the array.
func (g *geometry) size(n int64) []int64 {
	size, origin := make([]int64, len(g.shape)), make([]int64, len(g.shape))
	g.origin(origin, n)
	g.end(size, origin)
	for i := range size {
		size[i] -= origin[i]
	}
	return size
}

// validOf returns the number of items along each axis of block k of a chunk that are in the
// array, of which the chunk has size. It is nil if there are none.
func (g *geometry) validOf(k int64, size []int64) []int64 {
	at := make([]int64, len(size))
	g.blockOrigin(at, make([]int64, len(size)), k)
	for i := range at {
		if at[i] = min(g.block[i], size[i]-at[i]); at[i] <= 0 {
			return nil
		}
	}
	return at
}

// lossy reports whether a pipeline changes the items that it encodes. Their statistics are
// then those of what a reader decodes.
func lossy(filters []blosc.Filter) bool {
	for _, f := range filters {
		if f.ID == blosc.TruncPrec || f.ID == blosc.IntTrunc {
			return true
		}
	}
	return false
}

// StatColumns returns the columns of the items, which predicate.Predicate.Columns numbers:
// see stats.Columns. It is empty if the items have no numbers.
func (a *Array) StatColumns() []stats.Column {
	cols, _ := stats.Columns(a.dtype, nil) // the fill value is of the right size
	return cols
}

// Statistics are the statistics of an array, out of the index of its frame. They are safe
// for concurrent use. Pages are read when they are needed, and kept up to 4 MiB. Numbers
// of items are compared with the shapes of the array; extremes are taken for true, and
// only Verify compares them with the items.
type Statistics struct {
	a  *Array
	s  *frameindex.Stats
	of frameindex.StatsOf
}

// Statistics returns the statistics of the array, or nil if it has none. It may look for an
// index beside the array, as cframe.Frame.Index does, and makes no other request. If there
// are some that cannot be used, the error matches index.ErrUnusable: then the array can be
// read without them.
func (a *Array) Statistics(ctx context.Context) (*Statistics, error) {
	fill, err := a.f.StatsFill(ctx)
	if err != nil {
		return nil, err
	}
	b, _ := layer(a.f)
	of, err := a.g.statsOf(b, a.dtype, fill)
	if errors.Is(err, formats.ErrUnsupported) {
		return nil, fmt.Errorf("the fill value of its statistics: %w: %w", err, index.ErrUnusable)
	}
	if err != nil || len(of.Columns) == 0 {
		return nil, err
	}
	s, err := a.f.Stats(ctx, of)
	if s == nil || err != nil {
		return nil, err
	}
	return &Statistics{a, s, of}, nil
}

// Fill returns the item whose number the statistics count as Stat.Fill: the fill value that
// the array had when they were made. It is nil for zeros.
func (s *Statistics) Fill() []byte { return s.of.Fill }

// Columns returns how many of StatColumns have statistics: the first ones.
func (s *Statistics) Columns() int { return s.s.Columns() }

// HasBlocks reports whether single blocks have statistics.
func (s *Statistics) HasBlocks() bool { return s.s.HasBlocks() }

// Bytes returns the number of bytes of the statistics in the index.
func (s *Statistics) Bytes() int64 { return s.s.Bytes() }

// All returns the Stat of all items for each of the columns cols. It costs no request if
// the end of the index was read when it was opened, as usual.
func (s *Statistics) All(ctx context.Context, cols []int) ([]stats.Stat, error) {
	list, err := s.s.All(ctx, cols)
	if err == nil {
		err = fits(list, s.a.g.items, "the array")
	}
	return list, s.judged(err)
}

// Chunks calls fn with the Stat of each chunk of a list, for each of the columns cols, in
// order: i is the index in the list. chunks must ascend and exist. list is valid during the
// call only. Pages are read in one phase, some MiB at a time. If fn returns an error,
// Chunks returns the same error. If a page is damaged or wrong, the error matches
// index.ErrUnusable, and the statistics are not used again.
func (s *Statistics) Chunks(ctx context.Context, cols, chunks []int, fn func(i int, list []stats.Stat) error) error {
	g := s.a.g
	return s.judged(s.s.Chunks(ctx, cols, chunks, func(i int, list []stats.Stat) error {
		n := int64(1)
		for _, k := range g.size(int64(chunks[i])) {
			n *= k
		}
		if err := fits(list, n, chunkName(int64(chunks[i]))); err != nil {
			return err
		}
		return fn(i, list)
	}))
}

// Blocks is Chunks for the blocks of each chunk: list has the Stats of cols of the first
// block, then those of the second one, and so on. HasBlocks must be true.
func (s *Statistics) Blocks(ctx context.Context, cols, chunks []int, fn func(i int, list []stats.Stat) error) error {
	g := s.a.g
	want := make([]int64, g.blocks.Total)
	return s.judged(s.s.Blocks(ctx, cols, chunks, func(i int, list []stats.Stat) error {
		clear(want)
		g.eachBlock(g.size(int64(chunks[i])), func(k int64, _, valid []int64) {
			want[k] = 1
			for _, n := range valid {
				want[k] *= n
			}
		})
		for k, n := range want {
			if err := fits(list[k*len(cols):][:len(cols)], n, chunkName(int64(chunks[i]))); err != nil {
				return err
			}
		}
		return fn(i, list)
	}))
}

// fits checks that Stats are of n items.
func fits(list []stats.Stat, n int64, of string) error {
	for i := range list {
		if list[i].Items != n {
			return fmt.Errorf("its statistics of %s have %d items, not %d: %w", of, list[i].Items, n, index.ErrUnusable)
		}
	}
	return nil
}

// judged gives up statistics that proved to be wrong.
func (s *Statistics) judged(err error) error {
	if errors.Is(err, index.ErrUnusable) {
		s.a.f.DropStats(err)
	}
	return err
}

// BuildIndex makes an index as cframe.Frame.BuildIndex does, with the statistics of all
// columns. It reads the whole array once, and then the first bytes of each chunk. If the
// items have no numbers, there are no statistics, and the array is not read.
func (a *Array) BuildIndex(ctx context.Context, etag string, progress formats.Progress) ([]byte, error) {
	b, _ := layer(a.f)
	vl, err := a.f.VLMetalayers(ctx)
	if err != nil {
		return nil, err
	}
	of, err := a.g.statsOf(b, a.dtype, a.g.fillOf(slices.Concat(vl, a.f.Metalayers()), a.dtype, a.limits))
	if err != nil {
		return nil, err
	}
	n := a.f.Chunks()
	if len(of.Columns) == 0 || a.f.Info().Sparse || index.Weakness("", etag) != "" {
		return a.f.BuildIndex(ctx, etag, progress)
	}
	var ix frameindex.Builder
	ix.Stats(of)
	sum := a.g.summer(&of)
	var list []stats.Stat
	err = a.f.Each(ctx, 0, n, func(chunk, _ int, p []byte) error {
		if len(p) != a.g.chunkBytes {
			return corrupt(chunkName(int64(chunk)), "%d bytes, want %d", len(p), a.g.chunkBytes)
		}
		list = sum.sum(list, int64(chunk), p)
		ix.AddStats(list)
		progress.Tell(int64(chunk), int64(n))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.f.BuildIndexWith(ctx, etag, &ix, nil)
}

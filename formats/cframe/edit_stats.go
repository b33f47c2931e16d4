package cframe

import (
	"bytes"
	"context"

	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/stats"
)

// A Summer gives an Editor the statistics of chunks, which it does not understand itself, so
// that commits keep those in the index of the frame. Package b2nd has one for arrays. An Editor
// calls its methods in KeepStats and in Commit.
type Summer interface {
	// Of says what the statistics of the frame with all changes are about. ok is false if
	// it cannot have any.
	Of() (of frameindex.StatsOf, ok bool)
	// Kept reports whether statistics of the last commit hold for chunk i: its bytes are
	// still those of chunk was of that commit. list has the Stats of all columns, of the first block,
	// then of the second one, and so on; or those of the chunk, if blocks have none.
	Kept(was, i int, list []stats.Stat) bool
	// Sum returns the statistics of chunk i as Writer.AddStats takes them. They are valid
	// until the next call.
	Sum(i int) ([]stats.Stat, error)
	// Committed is called after a commit.
	Committed()
}

// KeepStats lets commits keep the statistics in the index of the frame: old ones of chunks
// that stay as they are, and those that s sums up of all others. If the frame has no
// statistics of use, or none with the fill value that it has at a commit, the commit makes all of them if all is set; else there are none.
// They are dropped with the index, if they would take more than that may, and if
// s fails. Call it before the first change: a draft reads the old statistics then.
func (e *Editor) KeepStats(ctx context.Context, s Summer, all bool) {
	if e.index == nil || e.err != nil {
		return
	}
	if e.findStats(ctx, s); e.index.stats != nil || all {
		e.summer, e.allStats = s, all
	}
}

// findStats sets the statistics of the index that commits keep.
func (e *Editor) findStats(ctx context.Context, s Summer) {
	x := e.index
	of, ok := s.Of()
	if !ok || x.ix == nil {
		return
	}
	kept, err := x.ix.Stats(of, len(x.was))
	if err == nil && kept != nil && e.o.Draft { // new chunks are written over the pages of the index
		err = kept.Keep(ctx)
	}
	if err == nil {
		x.stats = kept
	}
}

// addStats adds the statistics of all chunks to b, whose heads it has. If that fails, there
// are none: they only make searches shorter.
func (e *Editor) addStats(b *frameindex.Builder) {
	if e.summer == nil {
		return
	}
	of, ok := e.summer.Of()
	if !ok {
		e.summer = nil
		return
	}
	old := e.index.stats
	if old != nil && !bytes.Equal(old.Fill(), of.Fill) { // they count other items
		if old = nil; !e.allStats {
			e.summer = nil
			return
		}
	}
	if old != nil && !old.HasBlocks() {
		of.Blocks = 1 // those of chunks go on alone
	}
	b.Stats(of)
	for i := 0; i < len(e.offs); {
		n, err := e.addRun(b, old, i)
		if err != nil {
			e.summer = nil
			b.DropStats()
			return
		}
		i += n
	}
}

// addRun adds the statistics of chunk i, and of those behind it that the old index has in a
// row. It returns the number of chunks.
func (e *Editor) addRun(b *frameindex.Builder, old *frameindex.Stats, i int) (int, error) {
	sum := func(i int) error {
		list, err := e.summer.Sum(i)
		b.AddStats(list)
		return err
	}
	run := e.index.run(i)
	if old == nil || len(run) == 0 {
		return 1, sum(i)
	}
	cols := make([]int, old.Columns())
	for c := range cols {
		cols[c] = c
	}
	each := old.Chunks
	if old.HasBlocks() {
		each = old.Blocks
	}
	return len(run), each(context.Background(), cols, run, func(k int, list []stats.Stat) error { // a local file
		if !e.summer.Kept(run[k], i+k, list) {
			return sum(i + k)
		}
		b.AddStats(list)
		return nil
	})
}

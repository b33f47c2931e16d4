package zoomindex

import (
	"bytes"
	"context"

	"github.com/farread/farread/formats/index"
)

// track brings a track of the Builder to where it was in front of the cut.
func (z *resumption) track(ctx context.Context, t *trackIndex, s *trackState, runs []packetRun) error {
	if len(runs) == 0 {
		return nil
	}
	x := z.x
	t.any, t.last = true, runs[len(runs)-1].exit
	x.plan(t, int(runs[0].count))
	for _, off := range s.sums {
		t.sums = append(t.sums, sumMark{off: off})
	}
	if len(t.bins) != len(s.bins) {
		return noResume("its bins have other sizes")
	}
	for i, l := range t.bins {
		if l.size != s.bins[i].size {
			return noResume("its bins have other sizes")
		}
		if err := z.level(ctx, t, l, &s.bins[i]); err != nil {
			return err
		}
	}
	for i := range s.level {
		x.addLevel(t)
		if err := z.level(ctx, t, t.level[i], &s.level[i]); err != nil {
			return err
		}
	}
	if t.gaps {
		t.joiners()
	}
	if len(t.joins) != len(s.joins) {
		return noResume("its spans are of another kind")
	}
	for i, j := range t.joins {
		is := s.joins[i]
		j.pace.usual, j.any, j.last = is.usual, is.any, is.last
		if j.l == nil {
			j.size = is.size
		}
	}
	return z.packets(ctx, t, s, runs)
}

// packets restores the list of packets.
func (z *resumption) packets(ctx context.Context, t *trackIndex, s *trackState, runs []packetRun) error {
	sec := z.ix.Section(t.runs.Name())
	done := len(runs) / t.full
	if err := z.keep(ctx, t.runs, sec, done, t.full); err != nil {
		return err
	}
	err := z.guess(ctx, &t.guess, s.runs, sec, done, func(raw []byte, n int) ([]column, bool) { return runColumns(raw, n) })
	if err != nil {
		return err
	}
	old := runs[:done*t.full]
	if t.at.most > 0 && len(old) > 0 {
		for i := range old {
			t.at.add(&old[i])
		}
		t.end = old[len(old)-1]
	}
	t.seen = int64(len(old))
	t.run = append(t.run, runs[len(old):]...)
	return nil
}

// level restores a level or bins.
func (z *resumption) level(ctx context.Context, t *trackIndex, l *levelIndex, s *levelState) error {
	l.total = s.total
	if s.full && l.size == 0 {
		l.full, l.entry, l.exit, l.n = true, s.entry, s.exit, s.n
		copy(l.carry, s.carry)
	}
	if s.given {
		if !l.given {
			z.x.give(l)
		}
		return nil
	}
	if l.given {
		return noResume("its index has other levels")
	}
	if s.total == 0 {
		return nil
	}
	done := int((s.total - 1) / int64(t.page)) // a full page is made when the next one begins
	rest := int(s.total - int64(done)*int64(t.page))
	if err := z.spans(ctx, t, l, l.core, &l.guess, s.core, done, rest); err != nil || l.ends == nil {
		return err
	}
	return z.spans(ctx, t, l, l.ends, &l.guessEnds, s.ends, done, rest)
}

// spans restores a section of spans: done pages, and rest spans of the next one.
func (z *resumption) spans(ctx context.Context, t *trackIndex, l *levelIndex, to *index.SectionBuilder, g *guess, m guessMark, done, rest int) error {
	sec := z.ix.Section(to.Name())
	if sec == nil || len(sec.Pages) <= done || sec.Pages[done].Count < int64(rest) {
		return noResume("its index has other levels")
	}
	cut := func(raw []byte, n int) ([]column, bool) { return spanColumns(raw, l.l, n) }
	if to == l.ends {
		cut = func(raw []byte, n int) ([]column, bool) { return endColumns(raw, l.l, n) }
	}
	if err := z.keep(ctx, to, sec, done, t.page); err != nil {
		return err
	}
	if err := z.guess(ctx, g, m, sec, done, cut); err != nil {
		return err
	}
	cols, _, err := z.columns(ctx, sec, done, cut)
	if err != nil {
		return err
	}
	if to == l.ends {
		l.sheet.fillEnds(cols, rest)
	} else if !l.sheet.fill(cols, &sec.Pages[done], rest) {
		return damagedIndex()
	}
	return nil
}

// keep keeps the first n pages of a section, each of so many entries.
func (z *resumption) keep(ctx context.Context, to *index.SectionBuilder, sec *index.Section, n, each int) error {
	if sec == nil || len(sec.Pages) < n {
		return noResume("its index has other levels")
	}
	for k := range n {
		if sec.Pages[k].Count != int64(each) {
			return noResume("its index has other pages")
		}
	}
	return to.Keep(sec, n, z.s.cut, func(k int) ([]byte, error) { return z.page(ctx, sec, k) })
}

// columns reads page k of a section.
func (z *resumption) columns(ctx context.Context, sec *index.Section, k int, cut func(raw []byte, n int) ([]column, bool)) ([]column, []byte, error) {
	p, err := z.page(ctx, sec, k)
	if err != nil {
		return nil, nil, err
	}
	if err := z.u.open(p); err != nil {
		return nil, nil, err
	}
	if n := sec.Pages[k].Count; n < 1 || n > int64(len(z.u.p)) {
		return nil, nil, damagedIndex()
	}
	cols, ok := cut(z.u.p, int(sec.Pages[k].Count))
	if !ok {
		return nil, nil, damagedIndex()
	}
	return cols, p, nil
}

// guess makes the guess that a section was packed with, after done pages.
func (z *resumption) guess(ctx context.Context, g *guess, m guessMark, sec *index.Section, done int, cut func(raw []byte, n int) ([]column, bool)) error {
	switch {
	case m.pages != done:
		return noResume("its index has other pages")
	case m.fresh == 0:
		g.pages = done
		return nil
	}
	cols, p, err := z.columns(ctx, sec, m.fresh-1, cut)
	if err != nil {
		return err
	}
	same, err := z.x.k.again(cols, g)
	if err != nil {
		return err
	}
	if !bytes.Equal(same, p) {
		return noResume("its index was packed by another version")
	}
	g.pages, g.fresh, g.age = done, m.fresh, m.age
	return nil
}

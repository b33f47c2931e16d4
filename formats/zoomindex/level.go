package zoomindex

import (
	"runtime"
	"slices"
	"sync"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/par"
)

// A levelIndex gathers the spans of one level, or of one size of bins.
type levelIndex struct {
	l         layout
	core      *index.SectionBuilder
	ends      *index.SectionBuilder // nil: bins
	sheet     *sheet
	guess     guess
	guessEnds guess
	size      int64 // size of bins
	total     int64 // spans
	given     bool  // the level was given up
	check     *cursor
	checkEnds *cursor
	// The first summary of a pair, which waits for the second.
	carry       []stat
	full        bool
	entry, exit int64
	n           int64
	was         levelState // what was so in front of flush gen
	gen         int
}

// mostLast is how many packers make the last pages. Each may have 2 MiB of memory.
const mostLast = 4

// levelName is the name of level[i] of a track.
func levelName(i int) index.Name { return index.Name{Kind: sectionLevel, Level: int64(i + 1)} }

// newLevel begins the section of that name for a track.
func (x *Builder) newLevel(t *trackIndex, name index.Name) *levelIndex {
	c := t.t.Codec
	name.Of = int64(t.t.Number)
	l := &levelIndex{l: layout{kind: indexKind(c), width: c.Width(), bin: name.Kind == sectionBins}}
	l.core = x.b.Section(name)
	if l.l.bin {
		l.size = name.Level
	} else {
		l.carry = make([]stat, l.l.width)
		if l.l.kind.Numeric() {
			name.Kind = sectionEnds
			l.ends = x.b.Section(name)
		}
	}
	l.sheet = newSheet(l.l, l.ends != nil)
	if x.against == nil {
		return l
	}
	if l.ends != nil {
		l.checkEnds = x.against.cursor(name)
		name.Kind = sectionLevel
	}
	if l.check = x.against.cursor(name); l.check == nil {
		x.give(l)
	}
	return l
}

// finest is the finest size of bins that was not given up.
func (t *trackIndex) finest() *levelIndex {
	for _, l := range t.bins {
		if !l.given {
			return l
		}
	}
	return nil
}

// binSizes lists how many samples the bins have in windows of n. The finest bins have
// rawView bytes of samples. Each further size is twice the one before, or four times if
// spans are so small that a view may read four for each point. At variable rate it is
// always four times, since stamps take more than most values.
func binSizes(t *zoomcache.Track, n int) []int64 {
	c := t.Codec
	size, step := int64(c.Size()), int64(2)
	if size < 0 {
		size = 4 // most small integers take less than half of it
	}
	if size <= 2*int64(c.Width()) || t.Variable {
		step = 4
	}
	if t.Variable {
		size += stampBytes
		n = max(n, zoomcache.DefaultWatermark) * 5 / 8 // the first bin may end early, at a gap
	}
	var out []int64
	for b := rawView / max(size, 1); b > 0 && b <= int64(n)*4/5; b *= step {
		out = append(out, b)
		if int64(n) <= b*step {
			break
		}
	}
	return out
}

// bin adds the bins of a window and the summary of the whole window.
func (x *Builder) bin(t *trackIndex, fine *levelIndex, entry int64, v *zoomcache.Values, n int) error {
	width, size := fine.l.width, int(fine.size)
	x.fine = slices.Grow(x.fine[:0], (n+size-1)/size*width)[:(n+size-1)/size*width]
	gatherBins(x.fine, v, width, size, n)
	st := x.fine
	for _, l := range t.bins {
		if l.given || l.size < fine.size {
			continue
		}
		st = joinBins(st, width, int(l.size)/size)
		size = int(l.size)
		err := x.fill(t, l, (n+size-1)/size, func(i, j int) {
			at := i * size
			l.sheet.addBins(entry+int64(at), size, min(j*size, n)-at, st[i*width:j*width])
		})
		if err != nil {
			return err
		}
	}
	joinBins(st, width, len(st)/width)
	copy(x.whole, st[:width])
	return nil
}

// banded adds the bins of windows that are gathered already, which it joins, and the summaries
// of the windows. The first of them begins at entry.
func (x *Builder) banded(t *trackIndex, entry int64, ch channels) error {
	b := &ch[0]
	for _, l := range t.bins {
		if l.given || int(l.size) < b.size {
			continue
		}
		ch.join(int(l.size) / b.size)
		err := x.fill(t, l, len(b.lo), func(i, j int) { l.sheet.addBands(entry, ch, i, j, &x.parts) })
		if err != nil {
			return err
		}
	}
	n := int64(b.n)
	for w := range b.first {
		x.whole = x.whole[:0]
		for c := range ch {
			x.whole = append(x.whole, ch[c].whole(w))
		}
		if err := x.push(t, entry, entry+n-1, n, x.whole); err != nil {
			return err
		}
		entry += n
	}
	return nil
}

// fill calls add for so many bins, as many at a time as the page has room for.
func (x *Builder) fill(t *trackIndex, l *levelIndex, bins int, add func(i, j int)) error {
	l.save(x.marks.gen)
	l.total += int64(bins)
	for i := 0; i < bins; {
		if err := x.room(t, l); err != nil {
			return err
		}
		if l.given { // room has just given it up
			return nil
		}
		m := min(bins-i, l.spans(t)-l.sheet.n)
		add(i, i+m)
		x.grown(l)
		i += m
	}
	return nil
}

// joinBins joins every step bins into one, in place.
func joinBins(st []stat, width, step int) []stat {
	if step <= 1 {
		return st
	}
	n := 0
	for i := 0; i < len(st); i += step * width {
		end := min(i+step*width, len(st))
		for c := range width {
			to := &st[n*width+c]
			*to = st[i+c]
			for k := i + width + c; k < end; k += width {
				to.join(&st[k])
			}
		}
		n++
	}
	return st[:n*width]
}

// room makes a page if there are enough spans for one. If the memory is used up, and there are no
// checkpoints, it gives up the finest level.
func (x *Builder) room(t *trackIndex, l *levelIndex) error {
	if l.given || l.sheet.n < l.spans(t) {
		return nil
	}
	if err := x.flush(l); err != nil {
		return err
	}
	if !x.checks {
		x.fit()
	}
	return nil
}

// fit gives up the finest levels until the others fit into the memory; it allows a quarter more
// than the size at which pages are spilled.
func (x *Builder) fit() {
	for x.tight() && x.coarsen() {
		continue
	}
}

func (x *Builder) tight() bool { return x.held() > max(x.o.MaxMemory/4*5, x.grace) }

// grown counts the memory of an unfinished page that has grown.
func (x *Builder) grown(l *levelIndex) {
	if s := l.sheet; s.n > s.room {
		x.sheets -= s.held()
		s.room = max(roundUp(s.n), firstSpans)
		x.sheets += s.held()
	}
}

// spans is how many spans fill a page.
func (l *levelIndex) spans(t *trackIndex) int {
	if l.check != nil {
		return l.check.full()
	}
	return t.page
}

// flush makes a page of the spans of a level.
func (x *Builder) flush(l *levelIndex) error {
	if l.given || l.sheet.n == 0 {
		return nil
	}
	if x.against != nil {
		return x.compare(l)
	}
	core, ends, err := x.k.pages(l)
	if err == nil {
		l.add(core, ends)
	}
	return err
}

// pages packs the spans of a level, and their ends if they are kept. The results are valid until
// the next call.
func (k *packer) pages(l *levelIndex) (core, ends []byte, err error) {
	if core, err = k.page(l.sheet, &l.guess); err != nil || l.ends == nil {
		return core, nil, err
	}
	k.core = append(k.core[:0], core...)
	ends, err = k.ends(l.sheet, &l.guessEnds)
	return k.core, ends, err
}

// add adds the packed spans of a level, and empties the sheet.
func (l *levelIndex) add(core, ends []byte) {
	s := l.sheet
	l.core.Add(s.first, s.last, int64(s.n), core)
	if l.ends != nil {
		l.ends.Add(s.first, s.last, int64(s.n), ends)
	}
	s.reset()
}

// flushAll flushes levels, mostLast of them side by side if the Builder may use several
// processors: the last pages of short series take a tenth of the time, since each level makes a
// code for its own.
func (x *Builder) flushAll(list []*levelIndex) error {
	list = slices.DeleteFunc(slices.Clone(list), func(l *levelIndex) bool { return l.given || l.sheet.n == 0 })
	if !x.o.Behind || x.against != nil {
		for _, l := range list {
			if err := x.flush(l); err != nil {
				return err
			}
		}
		return nil
	}
	type pages struct{ core, ends []byte }
	made := make([]pages, len(list))
	var packers sync.Pool
	err := par.Each(len(list), min(mostLast, runtime.GOMAXPROCS(0)), func(i int) error {
		k, _ := packers.Get().(*packer)
		if k == nil {
			k = &packer{}
		}
		defer packers.Put(k)
		core, ends, err := k.pages(list[i])
		made[i] = pages{slices.Clone(core), slices.Clone(ends)}
		return err
	})
	if err != nil {
		return err
	}
	for i, l := range list {
		l.add(made[i].core, made[i].ends)
	}
	return nil
}

// compare compares the spans of a level with the page that they should be.
func (x *Builder) compare(l *levelIndex) error {
	if err := x.against.sheet(l.check, &x.k, l.sheet, false); err != nil {
		return err
	}
	if l.checkEnds != nil {
		if err := x.against.sheet(l.checkEnds, &x.k, l.sheet, true); err != nil {
			return err
		}
	}
	l.sheet.reset()
	return nil
}

// coarsen gives up the finest level. It returns false if there was none left.
func (x *Builder) coarsen() bool {
	left := false
	for _, t := range x.tracks {
		all := slices.Concat(t.bins, t.level)
		if x.coarse+1 < len(all) { // keep the coarsest level
			x.give(all[x.coarse])
			left = true
		}
	}
	if left {
		x.coarse++
	}
	return left
}

// give drops a level: it frees the memory of the level and leaves it out of the
// index.
func (x *Builder) give(l *levelIndex) {
	l.given = true
	l.core.Drop()
	if l.ends != nil {
		l.ends.Drop()
	}
	x.sheets -= l.sheet.held()
	l.sheet = &sheet{}
}

package zoomcache

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/farread/farread/formats"
)

// Recomputed is the result of RecomputeSummaries.
type Recomputed struct {
	Samples   int64 // the values of all channels at one offset are one sample
	Summaries int64 // number of summaries compared
	// Skipped counts summaries that were compared only in part or not at all: of
	// tracks without packets; of floats that are stored as differences, which loses
	// bits; and with means that are not finite, since builds of the original differ
	// in them.
	Skipped int64
	// Wrong counts the mismatches; First are the first 100 of them.
	Wrong int64
	First []Mismatch
}

// A Mismatch is a summary, or a part of an index, that contradicts the samples.
type Mismatch struct {
	Off   int64 // offset of a summary, or of an index that is wrong as a whole; -1: a part of an index is wrong, or a summary is missing
	Track int32
	Level int   // level of the summary or span; 0: bins or packets
	Bin   int64 // samples of a bin
	Text  string
}

// maxMismatches bounds the list of mismatches.
const maxMismatches = 100

// RecomputeSummaries computes all summaries again from the samples, as a Writer does.
// It compares them with those of the file, since a file without damage may still have
// summaries of other samples, and adds the result to r. A mismatch is not an error.
// Damage is an error, even with Options.Resync. If w is not nil, it gets the blocks as
// in Watch, but with Integer values for tracks that show as Int; it may add mismatches
// to r. progress is called with the number of bytes of the file that were read.
// RecomputeSummaries makes one pass like EachBlock.
func (f *File) RecomputeSummaries(ctx context.Context, r *Recomputed, w Watcher, progress formats.Progress) error {
	m := &remaker{f: f, r: r, watch: w, tracks: map[int32]*remade{}}
	for i := range f.h.Tracks {
		m.tracks[f.h.Tracks[i].Number] = newRemade(&f.h.Tracks[i])
	}
	strict := *f
	strict.o.Resync = false
	err := strict.walk(ctx, &walker{pos: f.body, want: all, fn: func(b Block, t *Track, content []byte) (bad, err error) {
		progress.Tell(b.Off+b.Size(), f.Size())
		switch {
		case t == nil && w != nil:
			return nil, b.showTo(w)
		case t == nil:
			return nil, nil
		case b.Summary:
			return m.summary(&b, t, content)
		default:
			return m.packet(&b, t, content)
		}
	}})
	if err != nil {
		return err
	}
	m.endGroup()
	for i := range f.h.Tracks {
		m.tracks[f.h.Tracks[i].Number].ends(r)
	}
	return nil
}

// Add adds a mismatch.
func (r *Recomputed) Add(m Mismatch) {
	if r.Wrong++; len(r.First) < maxMismatches {
		r.First = append(r.First, m)
	}
}

func (r *Recomputed) wrong(x Mismatch, format string, a ...any) {
	x.Text = fmt.Sprintf(format, a...)
	r.Add(x)
}

// A remaker makes the summaries of a file anew.
type remaker struct {
	f         *File
	r         *Recomputed
	watch     Watcher // nil: no Watcher
	tracks    map[int32]*remade
	last      int32 // the track of the last packet of this flush
	any       bool  // last is set
	summaries bool  // this flush has summaries
	p         Packet
	win       Window
	stored    Summary
	made      Summary
}

// remade is a track whose summaries are made anew.
type remade struct {
	t        *Track
	as       Track          // the track as its packets are decoded
	tries    []*TrackWriter // one writer for each codec that the track may have had, since headers do not distinguish all codecs
	cut      *TrackWriter   // the one of tries whose values are cut to 32 bits
	lossy    bool
	samples  int64
	here     int  // samples in this flush
	finished bool // the last summaries were made
	matched  int  // summaries in this flush
}

func newRemade(t *Track) *remade {
	m := &remade{t: t, as: *t, lossy: t.deltas() && t.Codec.Kind.Float()}
	kinds := []Kind{t.Codec.Kind}
	switch {
	case t.Codec.Kind == Int && t.Codec.PCM, t.Codec.Kind == I32 && t.Codec.PCM:
		kinds = []Kind{Int, I32}
		if t.deltas() {
			kinds = append(kinds, Int)
		}
	case t.Codec.Kind == Int, t.Codec.Kind == Integer:
		kinds = []Kind{Int, Integer}
		m.as.Codec.Kind = Integer
	}
	for _, k := range kinds {
		w := &TrackWriter{t: *t}
		w.t.Codec.Kind = k
		w.lane = newLane(w)
		m.tries = append(m.tries, w)
	}
	if len(m.tries) == 3 {
		m.cut = m.tries[2]
	}
	return m
}

// packet adds the samples of a packet.
func (m *remaker) packet(b *Block, t *Track, content []byte) (bad, err error) {
	if m.summaries || m.any && b.Track <= m.last {
		m.endGroup()
	}
	m.any, m.last = true, b.Track
	x := m.tracks[b.Track]
	p := &m.p
	if bad := x.as.DecodePacket(p, *b, content, m.f.o.Limits); bad != nil {
		return bad, nil
	}
	n := int(p.Count)
	if x.here = n; n > 0 {
		x.samples += int64(n)
		m.r.Samples += int64(n)
		for _, w := range x.tries {
			w.entry, w.exit = p.Offset(0), p.Offset(n-1)
			v := &p.Values
			if w == x.cut {
				v = v.cut()
			}
			w.lane.load(v, p.Stamps)
			w.lane.push()
		}
	}
	if m.watch == nil {
		return nil, nil
	}
	return nil, p.showTo(m.watch, t, &m.win)
}

// summary compares a stored summary with the one made anew.
func (m *remaker) summary(b *Block, t *Track, content []byte) (bad, err error) {
	m.summaries = true
	if m.watch != nil {
		if err := m.watch.SummaryBlock(b); err != nil {
			return nil, err
		}
	}
	x := m.tracks[b.Track]
	if bad := t.DecodeSummary(&m.stored, *b, content); bad != nil {
		return bad, nil
	}
	if x.lossy || x.samples == 0 {
		m.r.Skipped++
		return nil, nil
	}
	if x.here == 0 && !x.finished {
		x.finished = true
		for _, w := range x.tries {
			w.lane.finish()
		}
	}
	x.matched++
	m.r.Summaries++
	var text string
	var left []*TrackWriter
	for _, w := range x.tries {
		var part bool
		if text, part, err = m.compare(w, b); err != nil {
			return nil, err
		}
		if text == "" {
			if left = append(left, w); part {
				m.r.Skipped++
			}
		}
	}
	if len(left) == 0 {
		m.r.wrong(Mismatch{Off: b.Off, Track: b.Track, Level: int(b.Level)}, "%s", text)
		return nil, nil
	}
	x.tries = left
	return nil, nil
}

// compare describes how the stored summary differs from the recomputed one. part
// tells that some fields cannot be compared.
func (m *remaker) compare(w *TrackWriter, b *Block) (text string, part bool, err error) {
	p := w.lane.made().at(b.Level)
	if p == nil {
		return "there is no summary of this level here", false, nil
	}
	made, err := ParseBlock(p, b.Off, m.f.o.Limits)
	if err != nil {
		return "", false, err
	}
	if made.Entry != b.Entry || made.Exit != b.Exit {
		return fmt.Sprintf("it is of offsets %d to %d, the samples are of %d to %d", b.Entry, b.Exit, made.Entry, made.Exit), false, nil
	}
	t := *m.tracks[b.Track].t
	if err := t.DecodeSummary(&m.made, made, p[BlockHeaderLen:]); err != nil {
		return "", false, err
	}
	for c := range m.made.Channels {
		text, vague := differs(t.Codec.Kind.Float(), &m.stored.Channels[c], &m.made.Channels[c])
		if text != "" {
			return text, false, nil
		}
		part = part || vague
	}
	return "", part, nil
}

// differs describes the first difference of two summaries. vague tells that two
// means of floats differ and are not finite, so they cannot be compared.
func differs(floats bool, a, b *Stats) (text string, vague bool) {
	for _, x := range [...]struct {
		name string
		a, b Number
	}{{"first", a.First, b.First}, {"last", a.Last, b.Last}, {"minimum", a.Min, b.Min}, {"maximum", a.Max, b.Max}} {
		if !x.a.Equal(x.b) {
			return fmt.Sprintf("%s is %v, of the samples it is %v", x.name, x.a, x.b), false
		}
	}
	for _, x := range [...]struct {
		name string
		a, b float64
	}{{"mean", a.Mean, b.Mean}, {"rms", a.RMS, b.RMS}, {"expected", a.Expected, b.Expected}} {
		switch {
		case x.a == x.b, x.a != x.a && x.b != x.b:
		case floats && x.b-x.b != 0: // not finite
			vague = true
		default:
			return fmt.Sprintf("%s is %v, of the samples it is %v", x.name, x.a, x.b), false
		}
	}
	if a.Count != b.Count {
		return fmt.Sprintf("count is %d, of the samples it is %d", a.Count, b.Count), false
	}
	return "", vague
}

// endGroup ends a flush.
func (m *remaker) endGroup() {
	for i := range m.f.h.Tracks {
		x := m.tracks[m.f.h.Tracks[i].Number]
		if n := len(x.tries[0].lane.made().ends); !x.lossy && x.samples > 0 && x.matched < n {
			m.r.wrong(Mismatch{Off: -1, Track: x.t.Number}, "%d summaries are missing up to offset %d", n-x.matched, x.tries[0].exit)
		}
		x.here, x.matched = 0, 0
		for _, w := range x.tries {
			w.lane.made().reset()
			w.lane.clear()
		}
	}
	m.any, m.summaries = false, false
}

// ends checks that the last summaries of the track are in the file.
func (x *remade) ends(r *Recomputed) {
	if x.finished || x.samples == 0 || x.lossy {
		return
	}
	x.tries[0].lane.finish()
	if n := len(x.tries[0].lane.made().ends); n > 0 {
		r.wrong(Mismatch{Off: -1, Track: x.t.Number}, "the last %d summaries are missing", n)
	}
}

// load replaces the values of the window by v.
func (l *typedLane[T]) load(v *Values, stamps []int64) {
	v.slice(&l.cur)
	l.curAt = stamps
}

// cut returns the low 32 bits of Int.
func (v *Values) cut() *Values {
	c := &Values{Kind: Int, N: v.N, I64: slices.Clone(v.I64)}
	for i, x := range v.I64 {
		c.I64[i] = int64(int32(x))
	}
	return c
}

// slice sets *p, a slice, to the values of v. It is the inverse of lend.
func (v *Values) slice(p any) {
	switch p := p.(type) {
	case *[]struct{}:
		*p = make([]struct{}, v.N)
	case *[]bool:
		*p = v.Bool
	case *[]float32:
		*p = v.F32
	case *[]float64:
		*p = v.F64
	case *[]int8:
		*p = v.I8
	case *[]int16:
		*p = v.I16
	case *[]int32:
		if *p = v.I32; v.Kind == Int { // PCM of 32 bits
			*p = make([]int32, len(v.I64))
			for i, x := range v.I64 {
				(*p)[i] = int32(x)
			}
		}
	case *[]int64:
		switch *p = v.I64; v.Kind {
		case Integer: // the low 64 bits
			*p = make([]int64, len(v.Big))
			for i, x := range v.Big {
				(*p)[i] = x.Int64()
			}
		case I32:
			*p = make([]int64, len(v.I32))
			for i, x := range v.I32 {
				(*p)[i] = int64(x)
			}
		default:
		}
	case *[]uint8:
		*p = v.U8
	case *[]uint16:
		*p = v.U16
	case *[]uint32:
		*p = v.U32
	case *[]uint64:
		*p = v.U64
	case *[]*big.Int:
		*p = v.Big
	}
}

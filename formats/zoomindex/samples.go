package zoomindex

import (
	"context"
	"errors"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// firstWindow is the size of the first read of many packets, which may be enough. Reads
// double up to Options.Window.
const firstWindow = 1 << 20

// EachPacket is EachPacket of zoomcache.File, but reads less if an index knows the
// track and the range is not the whole track. Then it reads only the packets in the
// range, and short gaps between them, in one phase of windows of up to Options.Window.
// This takes one phase more if the read that found the index did not read the list of
// packets, or a rough list. To find the index costs as much as for the first View. If
// the index proves to be wrong, or a packet is damaged, EachPacket continues from there
// by a pass over the file. Calls under one rangeio.OnePhase share their phases.
func (f *File) EachPacket(ctx context.Context, track int32, from, to int64, fn func(p *zoomcache.Packet) error) error {
	t, err := f.Track(track)
	if err != nil || from > to {
		return err
	}
	v, err := f.packetsByIndex(ctx, t, from, to)
	switch {
	case err != nil:
		return err
	case v != nil:
		ctx, _ = rangeio.Steps(ctx) // one phase, that of the caller if it has begun one
		return v.samples(ctx, v.lister(), fn)
	}
	return f.File.EachPacket(ctx, track, from, to, fn)
}

// packetsByIndex returns the view that finds the packets of a track in [from, to]. It
// is nil if a pass over the file is better: there is no index of the track, the whole
// track is wanted, or Open has read the whole range.
func (f *File) packetsByIndex(ctx context.Context, t *zoomcache.Track, from, to int64) (*indexView, error) {
	if from == zoomcache.FirstOffset && to == zoomcache.LastOffset || f.HeadHolds(t, to) {
		return nil, nil
	}
	ix, err := f.ix.open(ctx, f)
	if err != nil {
		return nil, err
	}
	if m := ix.about(t); m == nil || !m.part {
		return nil, nil
	}
	v := &indexView{f: f, t: t, ix: ix, from: from, to: to}
	if v.section(sectionRuns, 0) == nil {
		return nil, nil
	}
	return v, nil
}

// size is the size of the whole packet.
func (r *packetRun) size() int64 { return r.end() - r.off }

// samples calls fn with the samples in the range, packet by packet, at the places in
// the index. If a place is wrong or the file is damaged, samples continues with a pass
// over the file, which tells which of the two it is.
func (v *indexView) samples(ctx context.Context, l *runLister, fn func(p *zoomcache.Packet) error) error {
	x := &packetTaker{v: v, fn: fn, next: v.f.Body()}
	done, err := false, error(nil)
	if r := l.byPlaces(ctx); r != nil && r.short(v.f) {
		_, data := rangeio.Steps(ctx)
		done, err = v.placed(data, r, x)
	}
	if !done {
		err = v.eachPacket(ctx, l, x)
	}
	var of callerError
	switch {
	case errors.As(err, &of):
		return of.error
	case !errors.Is(err, index.ErrUnusable):
		return err
	}
	v.f.ix.drop(v.ix)
	return v.f.SamplesFrom(ctx, x.next, v.t.Number, v.from, v.to, fn)
}

// A packetTaker calls fn with the samples of packets in the range. It ends at the first
// packet that differs from the index.
type packetTaker struct {
	v    *indexView
	fn   func(p *zoomcache.Packet) error
	p    zoomcache.Packet
	next int64 // end of the last good packet
}

func (x *packetTaker) take(r packetRun, raw []byte) error {
	if !x.v.decode(&x.p, r, raw) {
		return damagedIndex()
	}
	x.next = r.end()
	if x.p.Cut(x.v.t.Codec.Width(), x.v.from, x.v.to); x.p.Count == 0 {
		return nil
	}
	if err := x.fn(&x.p); err != nil {
		return callerError{err}
	}
	return nil
}

// eachPacket takes the packets of a list.
func (v *indexView) eachPacket(ctx context.Context, l *runLister, x *packetTaker) error {
	for w, err := range v.reading(l).Windows(ctx) {
		if err != nil {
			return err
		}
		for i := range w.Parts {
			if err := x.take(w.Parts[i].For, w.Bytes(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// reading is the pull.Pull for the packets of a list.
func (v *indexView) reading(l *runLister) *pull.Pull[packetRun] {
	return &pull.Pull[packetRun]{From: v.f.r, Window: v.f.Window(), First: firstWindow, Ahead: 1,
		Parts: func(ctx context.Context, add func(pull.Part[packetRun]) error) error {
			for {
				runs, err := l.next(ctx)
				if err != nil || len(runs) == 0 {
					return err
				}
				for _, r := range runs {
					if err := add(pull.Part[packetRun]{Off: r.off, Len: r.size(), For: r}); err != nil {
						return err
					}
				}
			}
		},
		Failed: failedPackets[packetRun],
		Why:    whyPackets[packetRun],
	}
}

func failedPackets[T any](parts []pull.Part[T], err error) error { return wrapRead(parts[0].Off, err) }

func whyPackets[T any]([]pull.Part[T]) (string, bool) { return "packets", false }

// A callerError is an error of the caller's function, which takes packets.
type callerError struct{ error }

func (e callerError) Unwrap() error { return e.error }

// decode decodes the packet that should be at r, and says whether it is.
func (v *indexView) decode(p *zoomcache.Packet, r packetRun, raw []byte) bool {
	b, err := zoomcache.ParseBlock(raw, r.off, v.f.Limits())
	if err != nil || b.Summary || b.Track != v.t.Number || b.Entry != r.entry || b.Exit != r.exit || int64(b.Count) != r.count || b.Len != r.len {
		return false
	}
	return v.t.DecodePacket(p, b, raw[zoomcache.BlockHeaderLen:], v.f.Limits()) == nil
}

// runPages is how many pages of packet places are read together.
const runPages = 8

// A runLister lists the packets of a range in their order. It reads under a
// context of rangeio.OnePhase.
type runLister struct {
	v    *indexView
	s    *index.Section
	i, j int // pages left to read
	runs []packetRun
}

func (v *indexView) lister() *runLister {
	l := &runLister{v: v, s: v.section(sectionRuns, 0)}
	l.i, l.j = l.s.Over(v.from, v.to)
	return l
}

// next returns the packets of some more pages, and none at the end.
func (l *runLister) next(ctx context.Context) ([]packetRun, error) {
	for len(l.runs) == 0 && l.i < l.j {
		if err := l.more(ctx); err != nil {
			return nil, err
		}
	}
	runs := l.runs
	l.runs = nil
	return runs, nil
}

// below reports whether all packets together take at most limit bytes. It reads
// no more than it needs to tell.
func (l *runLister) below(ctx context.Context, limit int64) (bool, error) {
	total := int64(0)
	for i := 0; ; i++ {
		for i == len(l.runs) {
			if l.i == l.j {
				return true, nil
			}
			if err := l.more(ctx); err != nil {
				return false, err
			}
		}
		if total += l.runs[i].size(); total > limit {
			return false, nil
		}
	}
}

// more reads some more pages.
func (l *runLister) more(ctx context.Context) error {
	v, end := l.v, min(l.i+runPages, l.j)
	pages, err := v.ix.Pages(ctx, index.Parts{Section: l.s, I: l.i, J: end})
	if err != nil {
		return v.wrap(err)
	}
	for k, page := range pages {
		list, err := v.u.runs(page, &l.s.Pages[l.i+k], v.ix.Trailer.Plain)
		if err != nil {
			return err
		}
		for _, r := range list {
			if r.entry <= v.to && r.exit >= v.from {
				l.runs = append(l.runs, r)
			}
		}
	}
	l.i = end
	return nil
}

// extent is the number of bytes from the first packet of the range to the last. It is 0
// if only a request could tell.
func (l *runLister) extent(ctx context.Context) (int64, error) {
	if !l.v.ix.Held(l.s, l.i, l.j) {
		if r := l.byPlaces(ctx); r != nil {
			return r.total, nil
		}
		return 0, nil
	}
	for l.i < l.j {
		if err := l.more(ctx); err != nil {
			return 0, err
		}
	}
	if n := len(l.runs); n > 0 {
		return l.runs[n-1].end() - l.runs[0].off, nil
	}
	return 0, nil
}

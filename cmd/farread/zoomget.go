package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/render"
)

// A zoomSelection is the samples of one track.
type zoomSelection struct {
	timeRange

	t      *zoomContent
	k      *zoomcache.Track
	stamps bool
	format string // csv or npy; "": by the name of OUT
	npy    bool
}

var _ selection = (*zoomSelection)(nil)

// pictureWidth is how many points a picture of a series has if --width does not say it.
const pictureWidth = 1000

// pick selects a track and a time.
func (t *zoomContent) pick(ctx context.Context, s selector) (selection, error) {
	if s.viewing() {
		return t.pickView(ctx, s)
	}
	if s.plot && s.drawn {
		s.width = pictureWidth
		return t.pickWidth(ctx, s)
	}
	if s.plot {
		return nil, usagef("missing --width W, how many points, --level L, stored summaries, or --open, the page")
	}
	if err := s.only(zoomcache.Format, "track", "from", "to", "stamps", "bignum", "format", "resync"); err != nil {
		return nil, err
	}
	k, err := t.track(s)
	if err != nil {
		return nil, err
	}
	x := &zoomSelection{t: t, k: k, stamps: s.stamps, format: s.format}
	if f := s.format; f != "" && f != "csv" && f != "npy" {
		return nil, usagef("--format %q: want csv or npy", f)
	}
	x.timeRange, err = t.within(ctx, k, s)
	return x, err
}

func (x *zoomSelection) total() int64 { return -1 }

// sink makes the file OUT: a .npy, or CSV.
func (x *zoomSelection) sink(out string) (sink.Sink, error) {
	switch ext := strings.ToLower(filepath.Ext(out)); {
	case x.format == "npy" || x.format == "" && isNpy(out):
		x.npy = true
		if x.k.Codec.Kind == zoomcache.Unit && !x.stamps {
			return nil, usagef("track %d has events without values: ask for their offsets with --stamps", x.k.Number)
		}
		if x.k.Codec.Kind == zoomcache.Integer && !x.stamps {
			return nil, usagef("integers of any length have no place in a .npy: take .csv, or leave --bignum out")
		}
	case x.format == "" && out != "-" && ext != ".csv" && ext != ".txt" && ext != "":
		return nil, usagef("samples are written as .csv or .npy, not as %s", human.Printable(ext))
	}
	return x.t.a.byteSink(out)
}

// copy writes the samples packet by packet.
func (x *zoomSelection) copy(ctx context.Context, s sink.Sink, b bar) error {
	o := render.SampleOptions{Npy: x.npy, Stamps: x.stamps, Wrote: b.add}
	if f, ok := s.(*sink.File); ok {
		o.Again = f.Again()
	}
	return render.Samples(s, x.k, o, func(fn func(p *zoomcache.Packet) error) error { return x.samples(ctx, fn) })
}

// samples reads the samples. If there are no samples because the time lies outside the
// track, it returns an error.
func (x *zoomSelection) samples(ctx context.Context, fn func(p *zoomcache.Packet) error) error {
	some := false
	err := x.t.v.EachPacket(ctx, x.k.Number, x.first, x.last, func(p *zoomcache.Packet) error {
		some = true
		return fn(p)
	})
	if err == nil && !some {
		err = x.t.beside(ctx, x.k, x.timeRange)
	}
	return err
}

// plan notes the requests that copy would make. Without an index the plan is an upper
// bound, since a pass ends after the last packet of the range.
func (x *zoomSelection) plan(ctx context.Context) error {
	p, err := x.t.v.ExplainPackets(ctx, x.k.Number, x.first, x.last)
	x.t.follow(p)
	return err
}

package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/render"
)

// A wideView is a view of a track, of about width points.
type wideView struct {
	zoomView
	width int
	bits  int  // bits of a number of a waveform
	told  bool // --bits was given
}

var _ selection = (*wideView)(nil)

// pickWidth selects a view of about s.width points.
func (t *zoomContent) pickWidth(ctx context.Context, s selector) (selection, error) {
	if err := s.only(zoomcache.Format, "track", "from", "to", "width", "format", "bignum", "bits", "resync"); err != nil {
		return nil, err
	}
	k, err := t.track(s)
	if err != nil {
		return nil, err
	}
	if s.width < 1 || s.width > zoomindex.MaxWidth {
		return nil, usagef("--width %d: want 1 to %d", s.width, zoomindex.MaxWidth)
	}
	if s.bits != 8 && s.bits != 16 {
		return nil, usagef("--bits %d: want 8 or 16", s.bits)
	}
	x := &wideView{zoomView: zoomView{t: t, k: k, format: s.format}, width: s.width, bits: s.bits, told: s.has("bits")}
	x.timeRange, err = t.within(ctx, k, s)
	return x, err
}

func (x *wideView) sink(out string) (sink.Sink, error) {
	if x.format == "" && out != "-" {
		x.format = strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
		if !slices.Contains(render.Views(), x.format) {
			return nil, usagef("%s: want a name in .json, .csv, .npy, .dat, .png or .svg, or --format %s", human.Printable(out), strings.Join(render.Views(), ", "))
		}
	}
	if x.format == "" {
		x.format = render.Text
	}
	if x.told && x.format != render.Dat && x.format != render.Peaks {
		return nil, usagef("--bits goes with .dat and --format %s", render.Peaks)
	}
	switch x.format {
	case render.Dat, render.Peaks:
		if _, err := render.PeakRate(x.k); err != nil {
			return nil, usagef("%s", err)
		}
		fallthrough
	case render.PNG, render.SVG, render.Npy:
		if k := x.k.Codec.Kind; k == zoomcache.Unit {
			return nil, usagef("track %d has events without values: they are written as .json or .csv", x.k.Number)
		}
	}
	return x.t.a.byteSink(out)
}

func (x *wideView) copy(ctx context.Context, s sink.Sink, _ bar) error {
	v, err := x.t.v.View(ctx, x.k.Number, x.first, x.last, x.width)
	if err == nil && len(v.Points) == 0 {
		err = x.t.beside(ctx, x.k, x.timeRange)
	}
	if err != nil {
		return err
	}
	err = render.View(ctx, s, x.t.v, &v, render.ViewOptions{Format: x.format, Track: x.k, First: x.first, Last: x.last, Width: x.width, Bits: x.bits})
	if room, ok := errors.AsType[*render.RoomError](err); ok {
		return usagef("%s; take --format %s, or more points", room, render.Peaks)
	}
	return err
}

// plan notes the requests that copy would make. Without an index the plan is an upper
// bound.
func (x *wideView) plan(ctx context.Context) error {
	p, err := x.t.v.ExplainView(ctx, x.k.Number, x.first, x.last, x.width)
	x.t.follow(p)
	return err
}

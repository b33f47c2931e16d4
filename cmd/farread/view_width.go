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
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/render"
)

// A wideView is a view of a track, of about width points.
type wideView struct {
	zoomView
	width int
	bits  int         // bits of a number of a waveform
	told  bool        // --bits was given
	more  []*wideView // other tracks of the picture
	title string      // of the picture of several tracks
}

var _ selection = (*wideView)(nil)

// pickWidth selects a view of about s.width points.
func (t *zoomContent) pickWidth(ctx context.Context, s selector) (selection, error) {
	if err := s.only(zoomcache.Format, "track", "tracks", "from", "to", "width", "format", "bignum", "bits", "resync"); err != nil {
		return nil, err
	}
	if s.has("tracks") {
		return t.pickTracks(ctx, s)
	}
	k, err := t.track(s)
	if err != nil {
		return nil, err
	}
	return t.wide(ctx, k, s)
}

// wide makes the view of a track.
func (t *zoomContent) wide(ctx context.Context, k *zoomcache.Track, s selector) (x *wideView, err error) {
	if s.width < 1 || s.width > zoomindex.MaxWidth {
		return nil, usagef("--width %d: want 1 to %d", s.width, zoomindex.MaxWidth)
	}
	if s.bits != 8 && s.bits != 16 {
		return nil, usagef("--bits %d: want 8 or 16", s.bits)
	}
	x = &wideView{zoomView: zoomView{t: t, k: k, format: s.format, look: s.look}, width: s.width, bits: s.bits, told: s.has("bits")}
	x.timeRange, err = t.within(ctx, k, s)
	return x, err
}

// pickTracks selects several tracks for one picture.
func (t *zoomContent) pickTracks(ctx context.Context, s selector) (selection, error) {
	if len(s.tracks) > render.MaxTracks {
		return nil, usagef("--tracks: %d in a picture, at most %d", len(s.tracks), render.MaxTracks)
	}
	var all []*wideView
	for _, name := range s.tracks {
		k, err := t.called(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(x *wideView) bool { return x.k.Number == k.Number }) {
			return nil, usagef("--tracks: %s twice", human.Printable(name))
		}
		x, err := t.wide(ctx, k, s)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	if len(all) == 0 {
		return nil, usagef("--tracks: want numbers or names of %s", listTracks(t.v.Header().Tracks))
	}
	all[0].more, all[0].title = all[1:], lastName(t.uri)
	return all[0], nil
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
	if err := x.look.only(x.format); err != nil {
		return nil, err
	}
	if len(x.more) > 0 && x.format != render.PNG && x.format != render.SVG {
		return nil, usagef("--tracks goes with .png and .svg: others have one --track")
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
		for _, y := range append([]*wideView{x}, x.more...) {
			if y.k.Codec.Kind == zoomcache.Unit {
				return nil, usagef("track %d has events without values: they are written as .json or .csv", y.k.Number)
			}
			if timed(y.k) != timed(x.k) {
				return nil, usagef("--tracks: of tracks %d and %d one has no rate, and so no place beside the other", x.k.Number, y.k.Number)
			}
		}
	}
	return x.t.a.byteSink(out)
}

// timed reports whether samples of a track have times.
func timed(k *zoomcache.Track) bool { return k.Rate.Num != 0 && k.Rate.Den != 0 }

// points makes the points of the track.
func (x *wideView) points(ctx context.Context) (zoomindex.View, error) {
	v, err := x.t.v.View(ctx, x.k.Number, x.first, x.last, x.width)
	if err == nil && len(v.Points) == 0 {
		err = x.t.beside(ctx, x.k, x.timeRange)
	}
	return v, err
}

func (x *wideView) copy(ctx context.Context, s sink.Sink, _ bar) error {
	v, err := x.points(ctx)
	if err != nil {
		return err
	}
	o := render.ViewOptions{Format: x.format, Track: x.k, First: x.first, Last: x.last, Width: x.width, Bits: x.bits,
		Look: render.Look{Height: x.look.height, Dark: x.look.dark}}
	texts := []string{x.look.titled(x.title), x.k.Name}
	for _, y := range x.more {
		texts = append(texts, y.k.Name)
	}
	x.t.a.boxes(x.t.uri, x.format, texts...)
	if title := texts[0]; title != "" || len(x.more) > 0 || slices.Contains(changed(x.look.flags), "title") {
		o.Look.Title = &title
	}
	o.More = make([]render.TrackView, len(x.more))
	// The first view has read the index, the others need only their pages.
	err = par.Do(ctx, len(x.more), 4, func(ctx context.Context, i int) error {
		y := x.more[i]
		v, err := y.points(ctx)
		o.More[i] = render.TrackView{Track: y.k, Points: v.Points, First: y.first, Last: y.last}
		return err
	})
	if err != nil {
		return err
	}
	err = render.View(ctx, s, x.t.v, &v, o)
	if room, ok := errors.AsType[*render.RoomError](err); ok {
		return usagef("%s; take --format %s, or more points", room, render.Peaks)
	}
	return err
}

// plan notes the requests that copy would make. Without an index the plan is an upper
// bound.
func (x *wideView) plan(ctx context.Context) error {
	for _, y := range append([]*wideView{x}, x.more...) {
		p, err := y.t.v.ExplainView(ctx, y.k.Number, y.first, y.last, y.width)
		if y.t.follow(p); err != nil {
			return err
		}
	}
	return nil
}

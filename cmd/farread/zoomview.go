package main

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/render"
)

// A zoomView is the stored summaries of one level of a track.
type zoomView struct {
	timeRange

	t      *zoomContent
	k      *zoomcache.Track
	level  int
	format string
	look   lookFlags
}

var _ selection = (*zoomView)(nil)

// pickView selects summaries.
func (t *zoomContent) pickView(ctx context.Context, s selector) (selection, error) {
	if given := changed(s.picture.flags); len(given) > 0 {
		return nil, usagef("--%s goes with arrays", given[0])
	}
	if s.has("width") {
		return t.pickWidth(ctx, s)
	}
	for _, name := range []string{"bits", "tracks"} {
		if s.has(name) {
			return nil, usagef("--%s goes with --width", name)
		}
	}
	if err := s.only(zoomcache.Format, "track", "from", "to", "level", "format", "bignum", "resync"); err != nil {
		return nil, err
	}
	k, err := t.track(s)
	if err != nil {
		return nil, err
	}
	if s.level < 1 {
		return nil, usagef("--level %d: 1 is the finest", s.level)
	}
	x := &zoomView{t: t, k: k, level: s.level, format: s.format, look: s.look}
	x.timeRange, err = t.within(ctx, k, s)
	return x, err
}

func (x *zoomView) total() int64 { return -1 }

func (x *zoomView) sink(out string) (sink.Sink, error) {
	if x.format == "" {
		x.format = render.Text
		if out != "-" {
			x.format = strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
		}
		if !slices.Contains(render.Summaries(), x.format) {
			return nil, usagef("%s: want a name in .json or .csv, or --format %s", human.Printable(out), strings.Join(render.Summaries(), ", "))
		}
	}
	if !slices.Contains(render.Summaries(), x.format) {
		return nil, usagef("--format %q: want %s", x.format, strings.Join(render.Summaries(), ", "))
	}
	if err := x.look.only(x.format); err != nil {
		return nil, err
	}
	return x.t.a.byteSink(out)
}

func (x *zoomView) copy(ctx context.Context, s sink.Sink, b bar) error {
	return render.Points(s, x.t.v.Header(), x.k, x.level, x.format, func(put func(p *zoomindex.Point) error) error {
		some := false
		err := x.t.v.EachSummary(ctx, x.k.Number, x.level, x.first, x.last, func(s *zoomcache.Summary) error {
			some = true
			b.add(s.Size())
			return put(&zoomindex.Point{Entry: s.Entry, Exit: s.Exit, Count: -1, Channels: s.Channels})
		})
		if err == nil && !some {
			err = x.nothing(ctx)
		}
		return err
	})
}

// nothing returns the error for a view without summaries: the track has none of this
// level, or none in this time. It returns nil if the track has no samples either, or if
// the time lies in a gap.
func (x *zoomView) nothing(ctx context.Context) error {
	list, err := x.t.known(ctx)
	if err != nil {
		return err
	}
	c, ok := countOf(x.k, list)
	if !ok {
		return nil
	}
	var levels []string
	for i, n := range c.Levels {
		if n > 0 {
			levels = append(levels, strconv.Itoa(i+1))
		}
	}
	switch n := len(levels); {
	case n == 0:
		return usagef("--level %d: track %d has no stored summaries; --width makes points of its samples", x.level, x.k.Number)
	case slices.Contains(levels, strconv.Itoa(x.level)):
		return x.t.outside(x.k, x.timeRange, list)
	case n > 2 && levels[n-1] == strconv.Itoa(n):
		return usagef("--level %d: track %d has none; its levels: 1 to %d", x.level, x.k.Number, n)
	}
	return usagef("--level %d: track %d has none; its levels: %s", x.level, x.k.Number, strings.Join(levels, ", "))
}

// plan notes the requests that copy would make, as an upper bound, since stored
// summaries lie all over the file.
func (x *zoomView) plan(ctx context.Context) error {
	p, err := x.t.v.ExplainSummaries(ctx, x.k.Number, x.level, x.first, x.last)
	x.t.follow(p)
	return err
}

package gateway

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/render"
)

const (
	maxWidth     = 65_536
	defaultWidth = 1_000
	pointMemory  = 512 // of a point of a channel, while a view is made
)

// planView plans a view of a series.
func planView(_ context.Context, s *Server, c *call, h *handle) (*job, error) {
	v, ok := h.d.(farread.Viewer)
	if !ok {
		return nil, wrongKind(h.d, "series")
	}
	o, err := viewOf(c, v)
	if err != nil {
		return nil, err
	}
	n := 2 * int64(o.Width+8) * int64(max(o.Track.Codec.Channels, 1))
	size := n * viewSize(o.Format)
	return &job{media: medias[o.Format], text: o.Format != render.PNG, size: min(size, s.c.MaxResponse), work: n*pointMemory + viewMemory, read: -1,
		head: map[string]string{"X-Track": strconv.Itoa(int(o.Track.Number))},
		cost: func(ctx context.Context) (farread.Cost, error) {
			p, err := v.ExplainView(ctx, o.Track.Number, o.First, o.Last, o.Width)
			return p.Cost(), err
		},
		make: func(ctx context.Context) ([]byte, error) {
			view, err := v.View(ctx, o.Track.Number, o.First, o.Last, o.Width)
			if err != nil {
				return nil, err
			}
			out := newPage(firstPage, s.c.MaxResponse)
			err = render.View(ctx, out, v, &view, *o)
			return out.Bytes(), err
		}}, nil
}

// viewMemory is what a picture takes besides its points.
const viewMemory = 16 << 20

// viewSize is about the most bytes of a point of a channel in a format.
func viewSize(format string) int64 {
	switch format {
	case render.JSON, render.CSV:
		return 320
	case render.SVG, render.PNG:
		return 128
	}
	return 64
}

// viewOf reads the parameters of a view.
func viewOf(c *call, v farread.Viewer) (*render.ViewOptions, error) {
	q := c.query
	o := &render.ViewOptions{Format: q.Get("format"), Width: defaultWidth, Bits: 16}
	if o.Format == "" {
		o.Format = render.JSON
	}
	if o.Format == render.Text || !slices.Contains(render.Views(), o.Format) {
		return nil, badf("format", "format %q: want json, csv, npy, dat, peaks, png or svg", clip(o.Format))
	}
	var err error
	if o.Track, err = trackOf(v.Header(), q.Get("track")); err != nil {
		return nil, err
	}
	if text := q.Get("width"); text != "" {
		if o.Width, err = strconv.Atoi(text); err != nil || o.Width < 1 || o.Width > maxWidth {
			return nil, badf("width", "width %q: want 1 to %d", clip(text), maxWidth)
		}
	}
	if text := q.Get("bits"); text != "" {
		if o.Bits, err = strconv.Atoi(text); err != nil || o.Bits != 8 && o.Bits != 16 || o.Format != render.Dat && o.Format != render.Peaks {
			return nil, badf("bits", "bits %q: want 8 or 16, with format dat or peaks", clip(text))
		}
	}
	if err := fits(o); err != nil {
		return nil, err
	}
	var from, to *zoomcache.Moment
	for _, b := range []struct {
		name string
		at   **zoomcache.Moment
	}{{"from", &from}, {"to", &to}} {
		if text := q.Get(b.name); text != "" {
			m, err := zoomcache.ParseMoment(text)
			if err != nil {
				return nil, badf("time", "%s %q: want seconds, a duration or UTC", b.name, clip(text))
			}
			*b.at = &m
		}
	}
	if o.First, o.Last, err = v.Header().Offsets(o.Track, from, to); err != nil {
		return nil, badf("time", "from and to: %s", err)
	}
	return o, nil
}

// fits refuses formats that a track cannot have.
func fits(o *render.ViewOptions) error {
	switch o.Format {
	case render.Dat, render.Peaks:
		if _, err := render.PeakRate(o.Track); err != nil {
			return badf("format", "%s", err)
		}
		fallthrough
	case render.PNG, render.SVG, render.Npy:
		if o.Track.Codec.Kind == zoomcache.Unit {
			return badf("format", "track %d has events without values: want json or csv", o.Track.Number)
		}
	}
	return nil
}

// trackOf finds a track by its number or its name. A file of one track needs neither.
func trackOf(h *zoomcache.Header, text string) (*zoomcache.Track, error) {
	if text == "" && len(h.Tracks) == 1 {
		return &h.Tracks[0], nil
	}
	if text == "" {
		return nil, badf("track", "which of %d tracks?", len(h.Tracks))
	}
	n, err := strconv.ParseInt(text, 10, 32)
	for i := range slices.Backward(h.Tracks) {
		if k := &h.Tracks[i]; err == nil && int64(k.Number) == n || k.Name == text {
			return k, nil
		}
	}
	return nil, refusef(http.StatusNotFound, "no-entry", "no track %q", clip(text))
}

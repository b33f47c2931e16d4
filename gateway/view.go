package gateway

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/picture"
	"github.com/farread/farread/internal/render"
)

const (
	maxWidth     = 65_536
	defaultWidth = 1_000
	pointMemory  = 512 // of a point of a channel, while a view is made
)

// planView plans a view of a series, in about width points or in pixels of so many
// samples.
func planView(ctx context.Context, s *Server, c *call, h *handle) (*job, error) {
	v, ok := h.d.(farread.Viewer)
	if !ok {
		return nil, wrongKind(h.d, "series")
	}
	o, err := viewOf(c, v)
	if err != nil {
		return nil, err
	}
	if o.Samples > 0 {
		if o.Width, err = pixels(ctx, v, o.ViewOptions); err != nil {
			return nil, err
		}
	}
	all := o.all
	n := int64(0)
	for _, x := range o.all {
		n += int64(o.Width+8) * int64(max(x.Track.Codec.Channels, 1))
	}
	j := &job{media: medias[o.Format], text: o.Format != render.PNG, size: min(n*viewSize(o.Format), s.c.MaxResponse), work: n*pointMemory + viewMemory, read: -1,
		head: map[string]string{"X-Track": strconv.Itoa(int(o.Track.Number))}}
	if utc, ok := v.Header().Origin.UTC(); ok {
		j.head["X-Utc-Origin"] = utc.Format(time.RFC3339Nano) // which other formats than JSON have no place for
	}
	if o.Format == render.PNG {
		j.work += picture.SeriesMemory(o.Width, o.Look.Height)
	}
	// A plan takes as long as the view. Of a file that may be read as a whole nothing has to be
	// planned, and little is held at a time.
	if one, ok := h.d.(farread.Ranger); ok && one.Object().Local() && h.source.Size > 0 && h.source.Size <= s.c.MaxRead {
		j.read, j.hold = h.source.Size*int64(len(o.all)), localWindows
	}
	j.cost = func(ctx context.Context) (all farread.Cost, err error) {
		for _, x := range o.all {
			one, err := costOf(ctx, v, x)
			if err != nil {
				return all, err
			}
			all.Requests, all.Bytes, all.Phases, all.Estimated = all.Requests+one.Requests, all.Bytes+one.Bytes, all.Phases+one.Phases, all.Estimated || one.Estimated
		}
		return all, nil
	}
	j.make = func(ctx context.Context) ([]byte, error) {
		view, err := s.sums(ctx, v, o.ViewOptions)
		if err != nil {
			return nil, err
		}
		o := *o.ViewOptions // a job may be made again
		o.More = make([]render.TrackView, len(all)-1)
		err = par.Do(ctx, len(o.More), viewTracks, func(ctx context.Context, i int) error {
			x := all[i+1]
			view, err := s.sums(ctx, v, x)
			o.More[i] = render.TrackView{Track: x.Track, Points: view.Points, First: x.First, Last: x.Last}
			return err
		})
		if err != nil {
			return nil, err
		}
		out := newPage(min(j.size, viewPage), s.c.MaxResponse)
		err = render.View(ctx, out, v, &view, o)
		return out.Bytes(), err
	}
	return j, nil
}

// viewTracks is how many tracks of a picture are read side by side.
const viewTracks = 4

func costOf(ctx context.Context, v farread.Viewer, o *render.ViewOptions) (farread.Cost, error) {
	var p farread.Plan
	var err error
	if o.Samples > 0 {
		p, err = v.ExplainPixels(ctx, o.Track.Number, o.First, o.Last, o.Samples, zoomindex.PixelOptions{MaxPixels: o.Width})
	} else {
		p, err = v.ExplainView(ctx, o.Track.Number, o.First, o.Last, o.Width)
	}
	return p.Cost(), err
}

func (s *Server) sums(ctx context.Context, v farread.Viewer, o *render.ViewOptions) (zoomindex.View, error) {
	if o.Samples > 0 {
		return v.Pixels(ctx, o.Track.Number, o.First, o.Last, o.Samples, zoomindex.PixelOptions{MaxRead: s.c.MaxRead, MaxPixels: o.Width})
	}
	return v.View(ctx, o.Track.Number, o.First, o.Last, o.Width)
}

// pixels is the most pixels that a view has, which an index tells, or else the range.
func pixels(ctx context.Context, v farread.Viewer, o *render.ViewOptions) (int, error) {
	first, last := o.First, o.Last
	list, ok, err := v.Totals(ctx)
	if err != nil {
		return 0, err
	}
	for i := range list {
		if k := &list[i]; ok && k.Track == o.Track.Number {
			first, last = max(first, k.Entry), min(last, k.Exit)
		}
	}
	if first > last {
		return 1, nil
	}
	n := uint64(last-first)/uint64(o.Samples) + 2 // a grid may begin before the samples
	if n > maxWidth && (ok || first != zoomcache.FirstOffset && last != zoomcache.LastOffset) {
		return 0, refusef(http.StatusRequestEntityTooLarge, "too-large", "%d pixels of %d samples, %d allowed", n, o.Samples, maxWidth)
	}
	return int(min(n, maxWidth)), nil
}

// localWindows is what views hold of the bytes of a file: pages of an index, and windows of
// samples.
const localWindows = 8 << 20

// viewMemory is what a view takes besides its points.
const viewMemory = 1 << 20

// viewPage is the room for a view before it grows.
const viewPage = 1 << 20

// viewSize is about the most bytes of a point of a channel in a format.
func viewSize(format string) int64 {
	switch format {
	case render.JSON, render.CSV:
		return 320
	case render.SVG, render.PNG:
		return 128
	}
	return 72
}

// viewOptions are a view of a track, and if it is a picture of several those of all.
type viewOptions struct {
	*render.ViewOptions

	all []*render.ViewOptions // the first is ViewOptions
}

// viewOf reads the parameters of a view.
func viewOf(c *call, v farread.Viewer) (*viewOptions, error) {
	names, err := tracksOf(c)
	if err != nil {
		return nil, err
	}
	o := &viewOptions{}
	for _, name := range names {
		x, err := viewOfTrack(c, v, name)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(o.all, func(y *render.ViewOptions) bool { return y.Track.Number == x.Track.Number }); i >= 0 {
			return nil, badf("track", "track %d twice", x.Track.Number)
		}
		if o.all = append(o.all, x); timed(x.Track) != timed(o.all[0].Track) {
			return nil, badf("track", "of tracks %d and %d one has no rate, and so no place beside the other", o.all[0].Track.Number, x.Track.Number)
		}
	}
	o.ViewOptions = o.all[0]
	look, given, err := lookOf(c)
	switch draws := o.Format == render.PNG || o.Format == render.SVG; {
	case err != nil:
		return nil, err
	case !draws && given != "":
		return nil, badf("query", "%s goes with format=png or svg", given)
	case !draws && len(o.all) > 1:
		return nil, badf("track", "tracks go with format=png or svg: others have one track")
	}
	if o.Look = look; look.Title == nil && len(o.all) > 1 {
		name := c.title()
		o.Look.Title = &name
	}
	return o, nil
}

// timed reports whether samples of a track have times.
func timed(k *zoomcache.Track) bool { return k.Rate.Num != 0 && k.Rate.Den != 0 }

// tracksOf are the names or numbers of tracks that a request wants, one at least.
func tracksOf(c *call) ([]string, error) {
	text := c.query.Get("tracks")
	switch names := strings.Split(text, ","); {
	case text == "":
		return []string{c.query.Get("track")}, nil
	case c.query.Get("track") != "":
		return nil, badf("track", "track and tracks: only one of them")
	case slices.Contains(names, ""):
		return nil, badf("track", "tracks %q: want names or numbers, such as 1,2", clip(text))
	case len(names) > render.MaxTracks:
		return nil, beyondf("%d tracks in a picture, %d allowed", len(names), render.MaxTracks)
	default:
		return names, nil
	}
}

// viewOfTrack reads the parameters of a view of a track.
func viewOfTrack(c *call, v farread.Viewer, track string) (*render.ViewOptions, error) {
	q := c.query
	o := &render.ViewOptions{Format: q.Get("format"), Width: defaultWidth, Bits: 16}
	if o.Format == "" {
		o.Format = render.JSON
	}
	if o.Format == render.Text || !slices.Contains(render.Views(), o.Format) {
		return nil, badf("format", "format %q: want json, csv, npy, dat, peaks, png or svg", clip(o.Format))
	}
	var err error
	if o.Track, err = trackOf(v.Header(), track); err != nil {
		return nil, err
	}
	if text := q.Get("width"); text != "" {
		if o.Width, err = between("width", text, 1, maxWidth); err != nil {
			return nil, err
		}
	}
	if text := q.Get("samples_per_pixel"); text != "" {
		if o.Samples, err = strconv.ParseInt(text, 10, 64); err != nil || o.Samples < 1 {
			return nil, badf("samples_per_pixel", "samples_per_pixel %q: want a number from 1 on", clip(text))
		}
		switch {
		case q.Get("width") != "":
			return nil, badf("width", "width and samples_per_pixel: only one of them")
		case o.Track.Variable:
			return nil, badf("samples_per_pixel", "track %d has no constant rate: want width", o.Track.Number)
		case o.Format == render.PNG || o.Format == render.SVG:
			return nil, badf("samples_per_pixel", "pictures are drawn by width")
		case o.Format == render.Dat && o.Samples > math.MaxInt32:
			return nil, badf("samples_per_pixel", "%s", &render.RoomError{Samples: o.Samples})
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
	if from != nil && to != nil && o.First > o.Last && o.First-o.Last > 1 {
		return nil, badf("time", "to lies before from")
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

package render

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/picture"
)

// Views are the formats that View writes.
func Views() []string { return append(Summaries(), Npy, Peaks, Dat, PNG, SVG) }

// ViewOptions are options for writing a view.
type ViewOptions struct {
	Format      string
	Track       *zoomcache.Track
	First, Last int64 // offsets that were asked for
	Width       int   // points that were asked for
	Samples     int64 // if the view was made by Pixels: the samples of a pixel
	Bits        int   // bits of a number in a waveform: 8 or 16
	Look        Look  // of a picture
	// More are tracks that a picture has besides Track, each with its view.
	More []TrackView
}

// A Look is how a picture looks.
type Look struct {
	Title  *string // nil: the track's name
	Height int     // pixels of the area of the data; 0: as usual
	Dark   bool
}

// MaxTracks is how many tracks a picture has at most.
const MaxTracks = picture.MaxLines

// A TrackView is a view of a track in [First, Last], offsets that were asked for.
type TrackView struct {
	Track       *zoomcache.Track
	Points      []zoomindex.Point
	First, Last int64
}

// A Series is what views are made of.
type Series interface {
	Header() *zoomcache.Header
	View(ctx context.Context, track int32, from, to int64, width int) (zoomindex.View, error)
	Pixels(ctx context.Context, track int32, from, to, span int64, o zoomindex.PixelOptions) (zoomindex.View, error)
}

// View writes a view of a track of f. Peaks may need another view of the same samples.
func View(ctx context.Context, w io.Writer, f Series, v *zoomindex.View, o ViewOptions) error {
	switch o.Format {
	case PNG, SVG:
		return o.plot(w, f, v)
	case Npy, Dat, Peaks:
	default:
		return Points(w, f.Header(), o.Track, v.Level, o.Format, func(put func(p *zoomindex.Point) error) error {
			for i := range v.Points {
				if err := put(&v.Points[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var p []byte
	var err error
	if o.Format == Npy {
		p, err = o.npy(v.Points)
	} else {
		p, err = o.peaks(ctx, f, v)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(p)
	return err
}

// plot draws points: the band of each channel, and the line of its means.
func (o *ViewOptions) plot(w io.Writer, f Series, v *zoomindex.View) error {
	s := picture.OfView(f.Header(), o.Track, v.Points, o.First, o.Last, o.Width)
	if s.Title = TrackName(o.Track); len(o.More) > 0 {
		s.Channels = ofTrack(s.Channels, s.Title)
		for _, m := range o.More {
			other := picture.OfView(f.Header(), m.Track, m.Points, m.First, m.Last, o.Width)
			other.Channels = ofTrack(other.Channels, TrackName(m.Track))
			if s.Untimed != other.Untimed {
				return fmt.Errorf("tracks %d and %d in one picture, one of them without a rate: %w", o.Track.Number, m.Track.Number, formats.ErrUnsupported)
			}
			s = s.With(other)
		}
		s.Title = ""
	}
	if o.Look.Title != nil {
		s.Title = human.Printable(human.Shorten(*o.Look.Title, MaxTitle))
	}
	s.Height, s.Dark = o.Look.Height, o.Look.Dark
	var b bytes.Buffer // write nothing if the plot fails
	draw := s.PNG
	if o.Format == SVG {
		draw = s.SVG
	}
	if err := draw(&b); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// MaxTitle is how many characters a title has at most.
const MaxTitle = 200

// TrackName is the name of a track in a picture, its number if it has none.
func TrackName(k *zoomcache.Track) string {
	if name := human.Printable(human.Shorten(k.Name, 60)); name != "" {
		return name
	}
	return fmt.Sprintf("track %d", k.Number)
}

// ofTrack names the lines of a track among others.
func ofTrack(list []picture.Channel, track string) []picture.Channel {
	for i := range list {
		if len(list) == 1 {
			list[i].Name = track
			continue
		}
		list[i].Name = track + ", " + list[i].Name
	}
	return list
}

// npyHead is the room for the header of an array.
const npyHead = 128

// npy makes an array of the numbers in points. A count that is not known is NaN.
func (o *ViewOptions) npy(points []zoomindex.Point) ([]byte, error) {
	d, err := dtype.Parse("<f8")
	if err != nil {
		return nil, err
	}
	const columns = 9
	shape := []int64{int64(len(points)), int64(max(o.Track.Codec.Channels, 1)), columns}
	p, err := npy.AppendHeader(make([]byte, 0, npyHead+len(points)*int(shape[1])*columns*8), npy.Header{DType: d, Shape: shape})
	if err != nil {
		return nil, err
	}
	for i := range points {
		at := &points[i]
		for c := range at.Channels {
			s := &at.Channels[c]
			lo, hi := picture.Bounds(s)
			n := math.NaN()
			if at.Count >= 0 {
				n = float64(at.Count)
			}
			for _, f := range [columns]float64{o.Track.Rate.Seconds(at.Entry), o.Track.Rate.Seconds(at.Exit), lo, hi, s.Mean, n, s.RMS, float64(at.Entry), float64(at.Exit)} {
				p = binary.LittleEndian.AppendUint64(p, math.Float64bits(f))
			}
		}
	}
	return p, nil
}

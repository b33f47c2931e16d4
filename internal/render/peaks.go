package render

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/picture"
)

// PeakRate is the rate of a track in samples a second. peaks.js needs a whole number.
func PeakRate(k *zoomcache.Track) (int64, error) {
	r := k.Rate
	if r.Den == 0 || k.Variable {
		return 0, fmt.Errorf("track %d has no constant rate: peaks of sound have one", k.Number)
	}
	n := math.Round(float64(r.Num) / float64(r.Den))
	if n < 1 || n > math.MaxInt32 {
		return 0, fmt.Errorf("track %d: a rate of %g Hz is none of sound", k.Number, float64(r.Num)/float64(r.Den))
	}
	return int64(n), nil
}

// A RoomError tells that the number of samples per pixel does not fit into a
// .dat.
type RoomError struct{ Samples int64 }

func (e *RoomError) Error() string {
	return fmt.Sprintf("%d samples a pixel: a .dat has room for %d", e.Samples, math.MaxInt32)
}

// peakScale turns values into numbers of 16 bits.
func peakScale(k zoomcache.Kind) (scale, shift float64) {
	switch k {
	case zoomcache.F32, zoomcache.F64:
		return 32768, 0
	case zoomcache.I8:
		return 256, 0
	case zoomcache.U8:
		return 256, -32768
	case zoomcache.U16:
		return 1, -32768
	case zoomcache.I32:
		return 1.0 / 65536, 0
	case zoomcache.Bool:
		return 32767, 0
	default:
		return 1, 0
	}
}

// Waveform is the JSON of audiowaveform, version 2.
type Waveform struct {
	Version  int     `json:"version"`
	Channels int     `json:"channels"`
	Rate     int64   `json:"sample_rate"`
	Samples  int64   `json:"samples_per_pixel"`
	Bits     int     `json:"bits"`
	Length   int     `json:"length"`
	Data     []int16 `json:"data"`
}

// A grid divides offsets into pixels of one length.
type grid struct {
	first, last, span int64
}

func (g grid) pixel(off int64) int64 { return (min(max(off, g.first), g.last) - g.first) / g.span }

// holds reports whether no point lies in two pixels.
func (g grid) holds(points []zoomindex.Point) bool {
	for i := range points {
		if g.pixel(points[i].Entry) != g.pixel(points[i].Exit) {
			return false
		}
	}
	return true
}

// gridOf divides the samples of points into at most width pixels. A pixel has a
// multiple of step samples.
func (o *ViewOptions) gridOf(points []zoomindex.Point, step int64) grid {
	g := grid{first: points[0].Entry, last: points[len(points)-1].Exit}
	if step == 1 { // points of samples may be cut anywhere
		g.first, g.last = max(o.First, g.first), min(o.Last, g.last)
	}
	g.span = (g.last-g.first)/int64(o.Width) + 1
	g.span += (step - g.span%step) % step
	return g
}

// How many samples a waveform takes one by one: if the view was made of samples, and
// if it was made of bins, which begin anew with each packet and fit no pixels.
const (
	maxSamples = 1 << 19
	maxBinned  = 1 << 17
	maxAnew    = 16 << 20 // stored bytes of a second view, if spans are wanted
)

// align finds pixels of one length that each have their own points. If the spans of a
// view lie across such pixels, it makes the view anew: in pixels of whole spans, or else
// of samples. Points stay as they are if that would be too many, or if spans have lengths
// of all kinds.
func (o *ViewOptions) align(ctx context.Context, f Series, v *zoomindex.View) (grid, []zoomindex.Point, error) {
	old := o.gridOf(v.Points, 1)
	if old.holds(v.Points) {
		return old, v.Points, nil
	}
	g, samples := old, old.last-old.first+1
	if v.Bin > 0 && samples > maxBinned {
		return old, v.Points, nil
	}
	if v.Level > 0 {
		step := int64(0)
		for _, p := range v.Points[:len(v.Points)-1] {
			step = gcd(step, p.Exit-p.Entry+1)
		}
		if step < 1 {
			return old, v.Points, nil
		}
		g = o.gridOf(v.Points, step)
	}
	again, err := f.Pixels(ctx, o.Track.Number, g.first, g.last, g.span, zoomindex.PixelOptions{MaxRead: maxAnew})
	if errors.Is(err, formats.ErrTooLarge) || err == nil && len(again.Points) == 0 {
		return old, v.Points, nil
	}
	if err != nil {
		return old, nil, err
	}
	g.first, g.last = again.Start, again.Points[len(again.Points)-1].Exit
	return g, again.Points, nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// peaks makes a waveform of pixels of one length. Each pixel has the bounds of every
// point that touches it, so that none is lost.
func (o *ViewOptions) peaks(ctx context.Context, f Series, v *zoomindex.View) ([]byte, error) {
	rate, err := PeakRate(o.Track)
	if err != nil {
		return nil, err
	}
	w := Waveform{Version: 2, Channels: max(o.Track.Codec.Channels, 1), Rate: rate, Samples: 1, Bits: o.Bits, Data: []int16{}}
	if len(v.Points) > 0 {
		points := v.Points
		g := grid{v.Start, points[len(points)-1].Exit, o.Samples}
		if o.Samples == 0 {
			g, points, err = o.align(ctx, f, v)
		}
		if err != nil {
			return nil, err
		}
		w.Samples = g.span
		w.Length = int(g.pixel(g.last)) + 1
		w.Data = make([]int16, 2*w.Length*w.Channels)
		seen := make([]bool, w.Length)
		for i := range points {
			p := &points[i]
			for k := g.pixel(p.Entry); k <= g.pixel(p.Exit); k++ {
				w.add(int(k), p.Channels, o.Track.Codec.Kind, seen[k])
				seen[k] = true
			}
		}
	}
	if o.Format == Peaks {
		p, err := json.Marshal(w)
		return append(p, '\n'), err
	}
	return w.binary()
}

// binary is the .dat of a waveform: six numbers of 32 bits, the second of which says
// whether there are 8 bits, then least and greatest of each channel, pixel by pixel.
func (w *Waveform) binary() ([]byte, error) {
	if w.Samples > math.MaxInt32 {
		return nil, &RoomError{w.Samples}
	}
	flags := uint32(0)
	if w.Bits == 8 {
		flags = 1
	}
	var p []byte
	for _, v := range []uint32{uint32(w.Version), flags, uint32(w.Rate), uint32(w.Samples), uint32(w.Length), uint32(w.Channels)} {
		p = binary.LittleEndian.AppendUint32(p, v)
	}
	for _, v := range w.Data {
		if p = append(p, byte(v)); w.Bits == 16 {
			p = append(p, byte(v>>8))
		}
	}
	return p, nil
}

// add widens pixel k by the bounds of a point.
func (w *Waveform) add(k int, channels []zoomcache.Stats, kind zoomcache.Kind, seen bool) {
	scale, shift := peakScale(kind)
	for c := range channels {
		lo, hi := picture.Bounds(&channels[c])
		if lo != lo || hi != hi {
			continue
		}
		d := w.Data[2*(k*w.Channels+c):]
		unit := math.Ldexp(1, 16-w.Bits)
		most := 32768/unit - 1
		a := int16(min(max(math.Floor((lo*scale+shift)/unit), -most-1), most))
		b := int16(min(max(math.Ceil((hi*scale+shift)/unit), -most-1), most))
		if seen {
			a, b = min(a, d[0]), max(b, d[1])
		}
		d[0], d[1] = a, b
	}
}

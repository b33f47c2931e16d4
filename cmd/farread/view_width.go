package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
)

// Further forms of points of some width.
const (
	viewNpy   = "npy"
	viewDat   = "dat"
	viewPeaks = "peaks"
	viewPNG   = "png"
	viewSVG   = "svg"
)

// A wideView is about width points of a track.
type wideView struct {
	zoomView
	width int
}

var _ selection = (*wideView)(nil)

// pickWidth selects a view of some width.
func (t *zoomContent) pickWidth(s selector) (selection, error) {
	if err := s.only(zoomcache.Format, "track", "from", "to", "width", "format"); err != nil {
		return nil, err
	}
	k, err := t.track(s)
	if err != nil {
		return nil, err
	}
	if s.width < 1 || s.width > zoomcache.MaxWidth {
		return nil, usagef("--width %d: want 1 to %d", s.width, zoomcache.MaxWidth)
	}
	x := &wideView{zoomView: zoomView{t: t, k: k, format: s.format}, width: s.width}
	if x.first, x.last, err = t.f.Header().Offsets(k, s.fromTime, s.toTime); err != nil {
		return nil, usagef("--from and --to: %s", err)
	}
	return x, nil
}

func (x *wideView) sink(out string) (sink, error) {
	if x.format == "" && out != "-" {
		x.format = strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
		if !slices.Contains(viewFormats(true), x.format) {
			return nil, usagef("%s: want a name in .json, .csv, .npy, .dat, .png or .svg, or --format %s", printable(out), strings.Join(viewFormats(true), ", "))
		}
	}
	if x.format == "" {
		x.format = viewText
	}
	switch x.format {
	case viewDat, viewPeaks:
		if _, err := x.peakRate(); err != nil {
			return nil, err
		}
		fallthrough
	case viewPNG, viewSVG, viewNpy:
		if k := x.k.Codec.Kind; k == zoomcache.Unit {
			return nil, usagef("track %d has events without values: they are written as .json or .csv", x.k.Number)
		}
	}
	return x.t.a.byteSink(out)
}

func (x *wideView) copy(ctx context.Context, to sink, _ bar) error {
	s, ok := to.(byteSink)
	if !ok {
		return errNoBytes
	}
	v, err := x.t.f.View(ctx, x.k.Number, x.first, x.last, x.width)
	if err != nil {
		return err
	}
	var p []byte
	switch x.format {
	case viewNpy:
		p, err = x.npy(v.Points)
	case viewDat, viewPeaks:
		p, err = x.peaks(v.Points)
	case viewPNG, viewSVG:
		p, err = x.plot(&v)
	default:
		return x.write(s, &v)
	}
	if err != nil {
		return err
	}
	_, err = s.Write(p)
	return err
}

// write writes points as JSON, CSV or a table.
func (x *wideView) write(s byteSink, v *zoomcache.View) error {
	w := bufio.NewWriterSize(s, fileBuffer)
	p := newPointWriter(w, x.format, x.k, v.Level)
	if err := p.begin(); err != nil {
		return err
	}
	for i := range v.Points {
		o := &v.Points[i]
		if err := p.point(viewPoint{o.Entry, o.Exit, o.Count, o.Channels}); err != nil {
			return err
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	return w.Flush()
}

// bounds are minimum and maximum; of Bool, where it was never or always true.
func bounds(s *zoomcache.Stats) (lo, hi float64) {
	if !s.Min.Present() {
		return math.Floor(s.Mean), math.Ceil(s.Mean)
	}
	return s.Min.Float(), s.Max.Float()
}

// npy makes an array of the numbers of points.
func (x *wideView) npy(points []zoomcache.Point) ([]byte, error) {
	d, err := dtype.Parse("<f8")
	if err != nil {
		return nil, err
	}
	const columns = 8
	shape := []int64{int64(len(points)), columns}
	if n := x.k.Codec.Channels; n > 0 {
		shape = []int64{int64(len(points)), int64(n), columns}
	}
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape})
	if err != nil {
		return nil, err
	}
	for i := range points {
		o := &points[i]
		for c := range o.Channels {
			s := &o.Channels[c]
			lo, hi := bounds(s)
			for _, f := range [columns]float64{x.k.Rate.Seconds(o.Entry), x.k.Rate.Seconds(o.Exit), lo, hi, s.Mean, s.RMS, float64(o.Entry), float64(o.Exit)} {
				p = binary.LittleEndian.AppendUint64(p, math.Float64bits(f))
			}
		}
	}
	return p, nil
}

// peakRate is the rate of a track in whole samples a second, which peaks.js needs.
func (x *wideView) peakRate() (int64, error) {
	r := x.k.Rate
	if r.Den == 0 || x.k.Variable {
		return 0, usagef("track %d has no constant rate: peaks of sound have one", x.k.Number)
	}
	n := math.Round(float64(r.Num) / float64(r.Den))
	if n < 1 || n > math.MaxInt32 {
		return 0, usagef("track %d: a rate of %g Hz is none of sound", x.k.Number, float64(r.Num)/float64(r.Den))
	}
	return int64(n), nil
}

// peakScale turns values into those of 16 bits.
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

// waveform is the JSON of audiowaveform, version 2.
type waveform struct {
	Version  int     `json:"version"`
	Channels int     `json:"channels"`
	Rate     int64   `json:"sample_rate"`
	Samples  int64   `json:"samples_per_pixel"`
	Bits     int     `json:"bits"`
	Length   int     `json:"length"`
	Data     []int16 `json:"data"`
}

// peaks makes a waveform of pixels of one length: each has the bounds of every
// point that touches it, so that none is lost.
func (x *wideView) peaks(points []zoomcache.Point) ([]byte, error) {
	rate, err := x.peakRate()
	if err != nil {
		return nil, err
	}
	w := waveform{Version: 2, Channels: max(x.k.Codec.Channels, 1), Rate: rate, Samples: 1, Bits: 16, Data: []int16{}}
	if n := len(points); n > 0 {
		first := max(x.first, points[0].Entry)
		last := min(x.last, points[n-1].Exit)
		w.Samples = (last-first)/int64(x.width) + 1
		w.Length = int((last-first)/w.Samples) + 1
		w.Data = make([]int16, 2*w.Length*w.Channels)
		seen := make([]bool, w.Length)
		for i := range points {
			o := &points[i]
			lo, hi := (max(o.Entry, first)-first)/w.Samples, (min(o.Exit, last)-first)/w.Samples
			for k := lo; k <= hi; k++ {
				w.add(int(k), o.Channels, x.k.Codec.Kind, seen[k])
				seen[k] = true
			}
		}
	}
	if x.format == viewPeaks {
		p, err := json.Marshal(w)
		return append(p, '\n'), err
	}
	var b bytes.Buffer
	head := []int32{int32(w.Version), 0, int32(rate), int32(min(w.Samples, math.MaxInt32)), int32(w.Length), int32(w.Channels)}
	if err := binary.Write(&b, binary.LittleEndian, head); err != nil {
		return nil, err
	}
	err = binary.Write(&b, binary.LittleEndian, w.Data)
	return b.Bytes(), err
}

// add widens pixel k by the bounds of a point.
func (w *waveform) add(k int, channels []zoomcache.Stats, kind zoomcache.Kind, seen bool) {
	scale, shift := peakScale(kind)
	for c := range channels {
		lo, hi := bounds(&channels[c])
		if lo != lo || hi != hi {
			continue
		}
		d := w.Data[2*(k*w.Channels+c):]
		a := int16(min(max(math.Floor(lo*scale+shift), math.MinInt16), math.MaxInt16))
		b := int16(min(max(math.Ceil(hi*scale+shift), math.MinInt16), math.MaxInt16))
		if seen {
			a, b = min(a, d[0]), max(b, d[1])
		}
		d[0], d[1] = a, b
	}
}

package main

import (
	"bufio"
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
	"github.com/farread/farread/internal/picture"
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
	bits  int  // of a waveform
	told  bool // that many
}

var _ selection = (*wideView)(nil)

// pickWidth selects a view of some width.
func (t *zoomContent) pickWidth(s selector) (selection, error) {
	if err := s.only(zoomcache.Format, "track", "from", "to", "width", "format", "bignum", "bits"); err != nil {
		return nil, err
	}
	k, err := t.track(s)
	if err != nil {
		return nil, err
	}
	if s.width < 1 || s.width > zoomcache.MaxWidth {
		return nil, usagef("--width %d: want 1 to %d", s.width, zoomcache.MaxWidth)
	}
	if s.bits != 8 && s.bits != 16 {
		return nil, usagef("--bits %d: want 8 or 16", s.bits)
	}
	x := &wideView{zoomView: zoomView{t: t, k: k, format: s.format}, width: s.width, bits: s.bits, told: s.has("bits")}
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
	if x.told && x.format != viewDat && x.format != viewPeaks {
		return nil, usagef("--bits goes with .dat and --format %s", viewPeaks)
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

// plan notes the requests that copy would make; without an index at most. Then a range
// without bounds takes a pass over the file to find these, and another one.
func (x *wideView) plan(ctx context.Context) error {
	reads, err := x.t.f.PlanView(ctx, x.k.Number, x.first, x.last, x.width)
	if err != nil {
		return err
	}
	early := x.last != zoomcache.LastOffset && !x.k.Variable
	next := int64(1)
	if len(reads) > 0 && reads[0].Why == zoomBlocks && (x.first == zoomcache.FirstOffset || x.last == zoomcache.LastOffset) {
		x.t.planned(reads, next, false)
		next, early = next+1, early || x.first != zoomcache.FirstOffset // there may be nothing in it
	}
	x.t.planned(reads, next, early)
	return nil
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
			lo, hi := picture.Bounds(s)
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
	w := waveform{Version: 2, Channels: max(x.k.Codec.Channels, 1), Rate: rate, Samples: 1, Bits: x.bits, Data: []int16{}}
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
	return w.binary()
}

// binary is the .dat of a waveform: six numbers of 32 bits, of which the second says
// that there are 8 bits, then least and greatest of each channel, pixel by pixel.
func (w *waveform) binary() ([]byte, error) {
	if w.Samples > math.MaxInt32 {
		return nil, usagef("%d samples a pixel: a .dat has room for %d; take --format %s, or more points", w.Samples, math.MaxInt32, viewPeaks)
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
func (w *waveform) add(k int, channels []zoomcache.Stats, kind zoomcache.Kind, seen bool) {
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

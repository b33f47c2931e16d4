package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
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
	told  bool // --bits was given
}

var _ selection = (*wideView)(nil)

// pickWidth selects a view of some width.
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

func (x *wideView) copy(ctx context.Context, s sink.Sink, _ bar) error {
	v, err := x.t.f.View(ctx, x.k.Number, x.first, x.last, x.width)
	if err == nil && len(v.Points) == 0 {
		err = x.t.beside(ctx, x.k, x.timeRange)
	}
	if err != nil {
		return err
	}
	var p []byte
	switch x.format {
	case viewNpy:
		p, err = x.npy(v.Points)
	case viewDat, viewPeaks:
		p, err = x.peaks(ctx, &v)
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

// plan notes the requests that copy would make. Without an index that is an upper
// bound.
func (x *wideView) plan(ctx context.Context) error {
	plan, err := x.t.f.ExplainView(ctx, x.k.Number, x.first, x.last, x.width)
	x.t.planned(plan)
	return err
}

// write writes points as JSON, CSV or a table.
func (x *wideView) write(s sink.Sink, v *zoomindex.View) error {
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

// npy makes an array of the numbers in points.
func (x *wideView) npy(points []zoomindex.Point) ([]byte, error) {
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

package zoom_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/zoom"
)

// TestCodec: samples are stored as another type if they fit.
func TestCodec(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, codec string
		v          any
		want       []string // nil: refused
	}{
		{"<i2", "f32", []int16{1, -2}, []string{"1", "-2"}},
		{"<i2", "pcm-f64", []int16{1, -2}, []string{"1", "-2"}},
		{"<u8", "f64", []uint64{1, 1 << 63}, []string{"1", "9.223372036854776e+18"}},
		{"<f8", "f32", []float64{0.1, 1e300}, []string{"0.1", "+Inf"}},
		{"<i8", "i16", []int64{1, -32768}, []string{"1", "-32768"}},
		{"<i8", "i16", []int64{1, 32768}, nil},
		{"<i8", "u8", []int64{0, 255}, []string{"0", "255"}},
		{"<i8", "u64", []int64{0, -1}, nil},
		{"<u8", "i64", []uint64{0, 1 << 63}, nil},
		{"<u2", "int", []uint16{0, 65535}, []string{"0", "65535"}},
		{"<i8", "pcm-int", []int64{-1 << 31, 1<<31 - 1}, []string{"-2147483648", "2147483647"}},
		{"<i8", "pcm-int", []int64{0, 1 << 31}, nil},
		{"<u2", "word", []uint16{0, 65535}, []string{"0", "65535"}},
		{"<i4", "pcm-i16", []int32{5, -5}, []string{"5", "-5"}},
		{"|u1", "i16", []uint8{0, 255}, []string{"0", "255"}},
		{"<u4", "i64", []uint32{0, 1<<32 - 1}, []string{"0", "4294967295"}},
		{"<u4", "u16", []uint32{0, 1 << 16}, nil},
		{"<f4", "i16", []float32{1, 2}, nil},
		{"|b1", "u8", []uint8{1, 0}, nil},
		{"|b1", "bool", []uint8{1, 0}, []string{"true", "false"}},
	} {
		s, err := series(t, "x", npyOf(t, c.typ, false, packed(binary.LittleEndian, c.v), 2), nil)
		if err != nil {
			t.Fatal(err)
		}
		codec, err := zoomcache.ParseCodec(c.codec)
		if err != nil {
			t.Fatal(err)
		}
		o := zoom.WriteOptions{Codec: &codec, Zlib: true, Delta: true}
		if c.want == nil {
			if _, err := zoom.Write(t.Context(), &bytes.Buffer{}, s, o); !errors.Is(err, formats.ErrUnsupported) {
				t.Errorf("%s as %s: %v", c.typ, c.codec, err)
			}
			continue
		}
		f, list := written(t, s, o)
		if d := diff(c.want, list[0].Values); d != "" || list[0].Codec != c.codec {
			t.Errorf("%s as %s: %s %s", c.typ, c.codec, list[0].Codec, d)
		}
		if tr := f.Header().Tracks[0]; !tr.Zlib || tr.Delta != (tr.Codec.Kind.Signed() && c.codec != "pcm-int") {
			t.Errorf("%s as %s: flags %+v", c.typ, c.codec, tr)
		}
		f, _ = written(t, s, zoom.WriteOptions{Codec: &codec})
		if tr := f.Header().Tracks[0]; tr.Zlib || tr.Delta {
			t.Errorf("%s as %s: flags %+v, and nobody asked for any", c.typ, c.codec, tr)
		}
	}
}

// TestWatermark: it may be chosen, but not without bounds.
func TestWatermark(t *testing.T) {
	t.Parallel()
	s, err := series(t, "x", npyOf(t, "<i2", false, make([]byte, 2000), 1000), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := written(t, s, zoom.WriteOptions{Watermark: 100})
	n := 0
	if err := f.EachBlock(t.Context(), func(b zoomcache.Block, _ *zoomcache.Track, _ []byte) error {
		if !b.Summary && b.Count == 100 {
			n++
		}
		return nil
	}); err != nil || n != 10 {
		t.Errorf("%d packets, %v", n, err)
	}
	two, err := series(t, "x", npyOf(t, "<i2", false, make([]byte, 2000), 500, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s         zoom.Series
		watermark int
		is        error
	}{
		{s, 1 << 30, formats.ErrTooLarge}, {s, -1, formats.ErrTooLarge}, {s, 1<<22 + 1, formats.ErrTooLarge}, {s, 1 << 22, nil},
		{two, 1<<21 + 1, formats.ErrTooLarge}, {two, 1 << 21, nil},
	} {
		if _, err := zoom.Write(t.Context(), &bytes.Buffer{}, c.s, zoom.WriteOptions{Watermark: c.watermark}); !errors.Is(err, c.is) {
			t.Errorf("%d: %v", c.watermark, err)
		}
	}
}

// TestProgress: whatever the source, what is told ends with all of it.
func TestProgress(t *testing.T) {
	t.Parallel()
	for name, p := range map[string][]byte{
		"wav":     small(),
		"rows":    npyOf(t, "<f8", false, make([]byte, 3*8*1000), 1000, 3),
		"columns": npyOf(t, "<f8", true, make([]byte, 3*8*100_000), 100_000, 3),
		"x.csv":   []byte("time,a\n0,1\n1,2\n"),
	} {
		s, err := series(t, name, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		var last, calls int64
		written(t, s, zoom.WriteOptions{Progress: func(done, total int64) {
			if calls++; done <= last || done > total || total != s.About().Bytes {
				t.Errorf("%s: %d of %d bytes after %d", name, done, total, last)
			}
			last = done
		}})
		if last != s.About().Bytes || name == "columns" && calls < 2 {
			t.Errorf("%s: %d of %d bytes in %d calls", name, last, s.About().Bytes, calls)
		}
	}
}

// TestMostTracks: as many tracks as MaxTracks says, and not one more.
func TestMostTracks(t *testing.T) {
	t.Parallel()
	for n, is := range map[int]error{zoom.MaxTracks: nil, zoom.MaxTracks + 1: formats.ErrTooLarge} {
		for _, file := range [][]byte{
			npyOf(t, "|i1", false, make([]byte, n), 1, int64(n)),
			wav("RIFF", form(binary.LittleEndian, 1, uint16(n), uint16(n), 8), data(make([]byte, n))),
		} {
			if s, err := series(t, "x", file, nil); !errors.Is(err, is) || err == nil && len(s.About().Tracks) != n {
				t.Errorf("%d tracks of a %.4q: %v", n, file, err)
			}
		}
	}
}

// TestParseRate: what is a rate, and fits into one.
func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]zoomcache.Rate{
		"1000": {Num: 1000, Den: 1}, "0.1": {Num: 1, Den: 10}, "30000/1001": {Num: 30000, Den: 1001}, "1e3": {Num: 1000, Den: 1}, "2.5e-1": {Num: 1, Den: 4},
		"9223372036854775807": {Num: math.MaxInt64, Den: 1}, "1/9223372036854775807": {Num: 1, Den: math.MaxInt64},
		"9223372036854775808": {}, "1/9223372036854775808": {}, "0": {}, "-1": {}, "1/0": {}, "": {}, "fast": {}, "1e19": {}, "1e-19": {}, "1e999": {}, "0x10": {},
	} {
		got, err := zoom.ParseRate(text)
		if got != want || (err == nil) != (want.Den != 0) || err != nil && !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// TestWriteEnds: where the context ends between two blocks, or the output fails, Write returns
// that error, with an index that is made beside it, too.
func TestWriteEnds(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	body := make([]byte, 4<<20)
	for i := range body {
		body[i] = byte(uint32(i) * 2654435761 >> 24)
	}
	for _, channels := range []uint16{1, 2} {
		s, err := series(t, "x.wav", wav("RIFF", form(le, 1, channels, 2*channels, 16), data(body)), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, parallel := range []int{1, 2} {
			ctx, cancel := context.WithCancel(t.Context())
			var out bytes.Buffer
			_, err = zoom.Write(ctx, &out, s, zoom.WriteOptions{Parallel: parallel, Progress: func(done, _ int64) {
				if done > 1<<21 {
					cancel()
				}
			}})
			cancel()
			if !errors.Is(err, context.Canceled) || out.Len() > len(body) {
				t.Errorf("%d channels, cancelled: error %v behind %d bytes", channels, err, out.Len())
			}
			if _, err = zoom.Write(t.Context(), brokenPipe{}, s, zoom.WriteOptions{Parallel: parallel}); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%d channels, a broken output: error %v", channels, err)
			}
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

//go:build peers

package peers

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
)

// A source is a file that a series is packed from, and what its tracks must be.
type source struct {
	name string
	file []byte
	args []string
	want []*series
}

// tracksOf are n series of a codec, numbered and named.
func tracksOf(n int, codec string, rate zoomcache.Rate, name func(i int) string) []*series {
	c, _ := zoomcache.ParseCodec(codec)
	list := make([]*series, n)
	for i := range list {
		list[i] = &series{track: zoomcache.Track{Number: int32(i + 1), Codec: c, Rate: rate, Name: name(i)}}
	}
	return list
}

// add holds one value more.
func (s *series) add(v zoomcache.Values, stamps ...int64) {
	v.Kind, v.N = s.track.Codec.Kind, 1
	s.hold(&v, stamps)
}

// wav is a recording of so many channels and rows.
func (r random) wav(codec string, channels, rows int) source {
	form := map[string]struct {
		tag  uint16
		bits int
	}{"u8": {1, 8}, "pcm-i16": {1, 16}, "i32": {1, 24}, "pcm-f32": {3, 32}, "pcm-f64": {3, 64}}[codec]
	want := tracksOf(channels, codec, zoomcache.Rate{Num: 8000, Den: 1}, func(i int) string { return fmt.Sprintf("channel %d", i+1) })
	var data []byte
	for range rows {
		for _, s := range want {
			switch codec {
			case "u8":
				v := uint8(r.word())
				data = append(data, v)
				s.add(zoomcache.Values{U8: []uint8{v}})
			case "pcm-i16":
				v := int16(r.word())
				data = binary.LittleEndian.AppendUint16(data, uint16(v))
				s.add(zoomcache.Values{I16: []int16{v}})
			case "i32":
				v := int32(r.Uint32()) >> 8
				data = append(data, byte(v), byte(v>>8), byte(v>>16))
				s.add(zoomcache.Values{I32: []int32{v}})
			case "pcm-f32":
				v := float32(r.NormFloat64())
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
				s.add(zoomcache.Values{F32: []float32{v}})
			case "pcm-f64":
				v := r.NormFloat64()
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
				s.add(zoomcache.Values{F64: []float64{v}})
			}
		}
	}
	le := binary.LittleEndian
	align := channels * form.bits / 8
	p := le.AppendUint32([]byte("RIFF"), uint32(36+len(data)))
	p = append(p, "WAVEfmt "...)
	p = le.AppendUint32(p, 16)
	p = le.AppendUint16(le.AppendUint16(p, form.tag), uint16(channels))
	p = le.AppendUint32(le.AppendUint32(p, 8000), uint32(8000*align))
	p = le.AppendUint16(le.AppendUint16(p, uint16(align)), uint16(form.bits))
	p = le.AppendUint32(append(p, "data"...), uint32(len(data)))
	return source{name: "x.wav", file: append(p, data...), want: want}
}

// columns is a .npy of one or two axes.
func (r random) columns(t *testing.T, codec, descr string, shape ...int64) source {
	t.Helper()
	d, err := dtype.Parse(descr)
	if err != nil {
		t.Fatal(err)
	}
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	columns := int64(1)
	if len(shape) == 2 {
		columns = shape[1]
	}
	want := tracksOf(int(columns), codec, zoomcache.Rate{Num: 1, Den: 1}, func(i int) string { return fmt.Sprintf("column %d", i+1) })
	for range shape[0] {
		for _, s := range want {
			v := r.word()
			f := r.float(false)
			switch descr {
			case "<i8":
				p = binary.LittleEndian.AppendUint64(p, v)
				s.add(zoomcache.Values{I64: []int64{int64(v)}})
			case ">u2":
				p = binary.BigEndian.AppendUint16(p, uint16(v))
				s.add(zoomcache.Values{U16: []uint16{uint16(v)}})
			case "<f4":
				p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(f)))
				s.add(zoomcache.Values{F32: []float32{float32(f)}})
			case ">f8":
				p = binary.BigEndian.AppendUint64(p, math.Float64bits(f))
				s.add(zoomcache.Values{F64: []float64{f}})
			}
		}
	}
	return source{name: "x.npy", file: p, want: want}
}

// table is a CSV with stamps in seconds, values missing here and there, gaps in which
// nothing was measured, and a column of text.
func (r random) table(rows int) source {
	names := []string{"tide", "count", "open"}
	var want []*series
	for i, codec := range []string{"f64", "i64", "bool"} {
		s := tracksOf(1, codec, zoomcache.Rate{Num: 100, Den: 1}, func(int) string { return names[i] })[0]
		s.track.Number, s.track.Variable = int32(i+1), true
		want = append(want, s)
	}
	var text strings.Builder
	text.WriteString("time," + strings.Join(names, ",") + ",site\n")
	at := int64(0)
	for range rows {
		if at += int64(1 + r.IntN(300)); r.IntN(400) == 0 {
			at += 100_000
		}
		fmt.Fprintf(&text, "%d.%02d", at/100, at%100)
		for k, s := range want {
			text.WriteByte(',')
			if r.IntN(5) == 0 {
				continue
			}
			switch k {
			case 0:
				v := float64(r.IntN(100_000)) / 64
				fmt.Fprint(&text, v)
				s.add(zoomcache.Values{F64: []float64{v}}, at)
			case 1:
				v := r.Int64() - r.Int64()
				fmt.Fprint(&text, v)
				s.add(zoomcache.Values{I64: []int64{v}}, at)
			case 2:
				v := r.IntN(2) == 0
				fmt.Fprint(&text, v)
				s.add(zoomcache.Values{Bool: []bool{v}}, at)
			}
		}
		text.WriteString(",roof\n")
	}
	return source{name: "x.csv", file: []byte(text.String()), want: want}
}

// TestZoomPacked: `farread pack` makes files of series whose values the independent
// program finds again, and whose every block it would have written so.
func TestZoomPacked(t *testing.T) {
	dir, bin, r := t.TempDir(), program(t), seeded(99_000)
	sources := []source{
		r.wav("pcm-i16", 2, 5000), r.wav("i32", 1, 3000), r.wav("u8", 1, 1024), r.wav("pcm-f32", 6, 1025), r.wav("pcm-f64", 1, 10), r.wav("pcm-i16", 1, 0),
		r.columns(t, "i64", "<i8", 4000), r.columns(t, "u16", ">u2", 700, 5), r.columns(t, "f32", "<f4", 2100, 3), r.columns(t, "f64", ">f8", 2048),
		r.table(3000), r.table(50),
	}
	n := len(sources)
	for _, s := range sources[:n:n] {
		s.args = []string{"--zlib", "--delta", "--watermark", "100"}
		sources = append(sources, s)
	}
	var jobs []pyJob
	for i, s := range sources {
		src, out := filepath.Join(dir, fmt.Sprintf("%d%s", i, s.name)), filepath.Join(dir, fmt.Sprintf("%d.zoom", i))
		command(t, append([]string{bin, "pack", saved(t, src, s.file), out}, s.args...)...)
		command(t, bin, "verify", out)
		var tracks []zoomcache.Track
		for _, w := range s.want {
			tracks = append(tracks, w.track)
		}
		jobs = append(jobs, zoomRead(out, "", tracks))
	}
	for i, got := range zoomJobs(t, jobs) {
		s := sources[i]
		if got.Error != "" {
			t.Errorf("%d, %s %v: %s", i, s.name, s.args, got.Error)
			continue
		}
		var want []zoomTrack
		for k, w := range s.want {
			w.track.Zlib = len(s.args) > 0
			w.track.Delta = len(s.args) > 0 && w.track.Codec.Deltas() && !w.track.Codec.Kind.Float()
			want = append(want, w.want())
			got.Tracks[k] = got.Tracks[k].only()
		}
		same(t, want, got.Tracks)
		if got.Undeclared == 0 && s.want[0].n > 0 {
			t.Errorf("%d, %s %v: no index", i, s.name, s.args)
		}
	}
}

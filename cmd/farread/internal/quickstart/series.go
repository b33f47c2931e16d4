package quickstart

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sample"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/picture"
)

const (
	seriesPrefix = "series/"
	day          = 24 * 60 * 60 // seconds
	heartRate    = 50           // samples a second of the recording
	tideStep     = 10           // seconds between two lines of the table
	// viewWidth is how many points a view has, about those of a screen.
	viewWidth = 2000
	// pointSize is what a picture needs of a point: minimum, maximum, mean.
	pointSize = 3 * 8
	// drawWidth is how many pixels wide a view is drawn.
	drawWidth = 1200
)

// heartbeat is a day of an ECG as 16-bit samples, the same on every run, with
// spikes of one sample now and then.
func heartbeat() []int16 {
	rng := rand.New(rand.NewPCG(11, 5)) //nolint:gosec // a picture of chance
	v := make([]int16, day*heartRate)
	phase := 0.0
	for i := range v {
		phase += (1.1 + 0.3*math.Sin(float64(i)/(heartRate*600))) / heartRate // beats
		at := phase - math.Floor(phase)
		bump := func(centre, width float64) float64 { x := (at - centre) / width; return math.Exp(-x * x) }
		beat := 900*bump(0.3, 0.02) + 150*bump(0.6, 0.06) - 120*bump(0.34, 0.02)
		v[i] = int16(beat + 20*rng.NormFloat64())
	}
	for range 5 {
		v[rng.IntN(len(v))] = 20_000
	}
	return v
}

// tide is a day of a gauge's level in centimetres, with a few waves of one line.
func tide() []int64 {
	rng := rand.New(rand.NewPCG(12, 25)) //nolint:gosec // a picture of chance
	v := make([]int64, day/tideStep)
	for i := range v {
		v[i] = int64(200*math.Sin(2*math.Pi*float64(i*tideStep)/44_714) + 10*rng.NormFloat64())
	}
	for range 3 {
		v[rng.IntN(len(v))] += 900
	}
	return v
}

func seriesOutput() output {
	return output{format: zoomcache.Format, data: zoomcache.Suffix, commit: zoomcache.Suffix}
}

// wavStory: the whole day of a recording, cold, and ten minutes around a spike.
func wavStory(v []int16) story {
	data := make([]byte, 0, 2*len(v)+44)
	le := binary.LittleEndian
	size := uint32(2 * len(v))
	data = append(le.AppendUint32(append(data, "RIFF"...), 36+size), "WAVEfmt "...)
	data = le.AppendUint16(le.AppendUint16(le.AppendUint32(data, 16), 1), 1)
	data = le.AppendUint32(le.AppendUint32(data, heartRate), 2*heartRate)
	data = le.AppendUint32(append(le.AppendUint16(le.AppendUint16(data, 2), 16), "data"...), size)
	spike := 0
	for i, x := range v {
		data = le.AppendUint16(data, uint16(x))
		if x > v[spike] {
			spike = i
		}
	}
	number := func(offset int64) (float64, bool) { return float64(v[offset-1]), true }
	n, half := int64(len(v)), int64(300*heartRate)
	from := min(max(int64(spike)-half, 1), max(n-2*half, 1))
	return story{
		upload: upload{fmt.Sprintf("heart.wav: a day at %d samples a second", heartRate), []sample.File{{Name: seriesPrefix + "heart.wav", Data: data}}},
		output: seriesOutput(),
		steps: []step{
			view("the day in 2000 points, cold", "heart-day", false, number, 1, n),
			view("10 minutes around a spike, warm", "heart-spike", true, number, from, min(from+2*half-1, n)),
		},
	}
}

// tideStory: the whole day of a table of stamps and values.
func tideStory(v []int64) story {
	var text bytes.Buffer
	text.WriteString("time,level\n")
	for i, x := range v {
		fmt.Fprintf(&text, "%d,%d\n", i*tideStep, x)
	}
	number := func(offset int64) (float64, bool) {
		if offset%tideStep != 0 {
			return 0, false
		}
		return float64(v[offset/tideStep]), true
	}
	return story{
		upload: upload{fmt.Sprintf("tide.csv: a day, a line each %d s", tideStep), []sample.File{{Name: seriesPrefix + "tide.csv", Data: text.Bytes()}}},
		output: seriesOutput(),
		steps: []step{
			view("the day in 2000 points, cold", "tide-day", false, number, 0, int64(len(v)-1)*tideStep),
			view("an hour of it, warm", "tide-hour", true, number, day/2, day/2+3600),
		},
	}
}

// view draws points of [from, to] and compares the extremes of each with those of
// the samples that it tells of, picked one by one.
//
// It is drawn as name.png.
func view(what, name string, warm bool, number func(offset int64) (float64, bool), from, to int64) step {
	var drawing picture.Series
	draw := func(folder string) error { return saveSeries(filepath.Join(folder, name+".png"), drawing) }
	return step{what: what, warm: warm, picture: name + ".png", save: draw, run: func(ctx context.Context, s *session, uri string) (int64, error) {
		if !warm || s.series == nil {
			var err error
			if s.series, err = s.client.OpenZoom(ctx, uri, farread.ZoomOptions{}); err != nil {
				return 0, err
			}
		}
		got, err := s.series.View(ctx, 1, from, to, viewWidth)
		if err != nil {
			return 0, err
		}
		track, err := s.series.Track(1)
		if err != nil {
			return 0, err
		}
		drawing = picture.OfView(s.series.Header(), track, got.Points, from, to, drawWidth)
		kind, _, _ := strings.Cut(name, "-")
		drawing.Title = kind + ": " + what[:strings.LastIndexByte(what, ',')]
		next := from
		for _, p := range got.Points {
			low, high, n := math.Inf(1), math.Inf(-1), int64(0)
			for i := p.Entry; i <= p.Exit; i++ {
				if v, ok := number(i); ok {
					low, high, n = min(low, v), max(high, v), n+1
				}
			}
			for ; next < p.Entry; next++ {
				if _, ok := number(next); ok {
					return 0, fmt.Errorf("%s: sample %d is in no point: %w", uri, next, ErrMismatch)
				}
			}
			next = p.Exit + 1
			if c := p.Channels[0]; c.Min.Float() != low || c.Max.Float() != high || p.Count != n {
				return 0, fmt.Errorf("%s: samples %d to %d: %w", uri, p.Entry, p.Exit, ErrMismatch)
			}
		}
		if next <= to {
			return 0, fmt.Errorf("%s: no point from sample %d on: %w", uri, next, ErrMismatch)
		}
		return int64(len(got.Points)) * pointSize, nil
	}}
}

// saveSeries writes a picture as a file.
func saveSeries(name string, s picture.Series) error {
	var image bytes.Buffer
	if err := s.PNG(&image); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	return os.WriteFile(name, image.Bytes(), 0o600)
}

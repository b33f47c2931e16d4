package quickstart

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/internal/picture"
)

const (
	day       = 24 * 60 * 60 // seconds
	heartRate = 50           // samples a second of the recording
	tideStep  = 10           // seconds between two lines of the table
	// viewWidth is how many points a view has, about as many as a screen. drawWidth is
	// how many pixels wide it is drawn.
	viewWidth = 2000
	drawWidth = 1200
)

// requestLog is the log of a server of map tiles as JSON Lines, the same on every
// run.
func requestLog(n int) []byte {
	rng := rand.New(rand.NewPCG(7, 41)) //nolint:gosec // a picture of chance
	at := time.Date(2026, 5, 1, 6, 0, 0, 0, time.UTC)
	status := []int{200, 200, 200, 200, 200, 200, 206, 304, 404, 503}
	agents := []string{"farread/1.0", "Mozilla/5.0 (X11; Linux x86_64)", "curl/8.9.1"}
	p := make([]byte, 0, n*170)
	for range n {
		at = at.Add(time.Duration(rng.ExpFloat64() * float64(40*time.Millisecond)))
		z := 3 + rng.IntN(12)
		p = fmt.Appendf(p, `{"ts":"%s","host":"tiles-%d","path":"/%d/%d/%d.png","status":%d,"bytes":%d,"ms":%.1f,"agent":"%s"}`+"\n",
			at.Format("2006-01-02T15:04:05.000Z"), rng.IntN(4), z, rng.IntN(1<<z), rng.IntN(1<<z),
			status[rng.IntN(len(status))], 200+rng.IntN(40_000), rng.ExpFloat64()*12, agents[rng.IntN(len(agents))])
	}
	return p
}

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

// wavStory: the whole day of a recording, cold, and ten minutes around a spike.
func wavStory(v []int16) story {
	le, size := binary.LittleEndian, uint32(2*len(v))
	data := append(le.AppendUint32([]byte("RIFF"), 36+size), "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...) // PCM, one channel
	data = le.AppendUint32(le.AppendUint32(data, heartRate), 2*heartRate)
	data = le.AppendUint32(append(data, "\x02\x00\x10\x00data"...), size)
	for _, x := range v {
		data = le.AppendUint16(data, uint16(x))
	}
	number := func(offset int64) (float64, bool) { return float64(v[offset-1]), true }
	n, half := int64(len(v)), int64(300*heartRate)
	spike := int64(slices.Index(v, slices.Max(v)))
	from := min(max(spike-half, 1), max(n-2*half, 1))
	return story{
		what:  fmt.Sprintf("heart.wav: a day at %d samples a second", heartRate),
		files: []file{{seriesPrefix + "heart.wav", data}},
		steps: []step{view("the day in 2000 points, cold", "heart-day", number, 1, n),
			view("10 minutes around a spike, warm", "heart-spike", number, from, min(from+2*half-1, n))},
	}
}

// tideStory: the whole day of a table of stamps and values, and an hour.
func tideStory(v []int64) story {
	text := []byte("time,level\n")
	for i, x := range v {
		text = fmt.Appendf(text, "%d,%d\n", i*tideStep, x)
	}
	number := func(offset int64) (float64, bool) { return float64(v[offset/tideStep]), offset%tideStep == 0 }
	return story{
		what:  fmt.Sprintf("tide.csv: a day, a line each %d s", tideStep),
		files: []file{{seriesPrefix + "tide.csv", text}},
		steps: []step{view("the day in 2000 points, cold", "tide-day", number, 0, int64(len(v)-1)*tideStep),
			view("an hour of it, warm", "tide-hour", number, day/2, day/2+3600)},
	}
}

// view reads points of [from, to]. Extremes and count of each point have to be those
// of the samples since the point before, picked one by one. It is drawn as name.png.
func view(what, name string, number func(offset int64) (float64, bool), from, to int64) step {
	var drawing picture.Series
	s := reading(what, func(ctx context.Context, z *farread.Zoom) (got, want [][]byte, err error) {
		v, err := z.View(ctx, 1, from, to, viewWidth)
		if err != nil {
			return nil, nil, err
		}
		track, err := z.Track(1)
		if err != nil {
			return nil, nil, err
		}
		drawing = picture.OfView(z.Header(), track, v.Points, from, to, drawWidth)
		kind, _, _ := strings.Cut(name, "-")
		drawing.Title = kind + ": " + what[:strings.LastIndexByte(what, ',')]
		next := from
		for i, p := range v.Points {
			last := p.Exit
			if i == len(v.Points)-1 {
				last = to // none may be missing at the end
			}
			low, high, n := math.Inf(1), math.Inf(-1), 0.0
			for ; next <= last; next++ {
				if x, ok := number(next); ok {
					low, high, n = min(low, x), max(high, x), n+1
				}
			}
			c := p.Channels[0]
			got, want = append(got, floats(c.Min.Float(), c.Max.Float(), float64(p.Count))), append(want, floats(low, high, n))
		}
		return got, want, nil
	})
	s.drawn = func([][]byte) ([]file, error) {
		var image bytes.Buffer
		err := drawing.PNG(&image)
		return []file{{name + ".png", image.Bytes()}}, err
	}
	return s
}

func floats(v ...float64) (p []byte) {
	for _, x := range v {
		p = binary.LittleEndian.AppendUint64(p, math.Float64bits(x))
	}
	return p
}

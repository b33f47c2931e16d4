// Package demo makes what the quickstart uploads: short clips of JPEG images, an array to
// slice, a log, and two long series. There is nothing to download, it is the same on every
// run, and pleasant to look at.
package demo

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/farread/farread/internal/par"
)

// A Clip is a short film, one JPEG a frame. Its slices belong to the caller.
type Clip struct {
	ID    string // "sunrise"
	Label string // what a data set would call its class: "day"
	Title string // one line for people
	// Frames are the encoded images in order.
	Frames [][]byte
}

// A Volume is an array of numbers with a picture in each plane.
type Volume struct {
	ID    string // "storm"
	Shape []int64
	// Values are the items in C order.
	Values []float32
}

// The storm: a picture every half hour of a day, three to four.
const (
	stormPlanes = 48
	stormRows   = 240
	stormCols   = 320
)

// Draw draws and encodes the three clips, sunrise, planet and aurora, and a day of
// satellite pictures: a hurricane comes in over a coast, turning. The values of the storm
// are brightness in percent, in steps of 1/16 as of an instrument. All of it takes about
// three seconds of one core, and all cores help. On one machine and one release of Go the
// bytes are always the same; another processor may round a pixel differently, and another
// image/jpeg may encode differently.
func Draw(ctx context.Context) (clips []Clip, storm Volume, err error) {
	air := newTexture()
	clips = []Clip{
		{ID: "sunrise", Label: "day", Title: "the sun rises behind hills", Frames: make([][]byte, 40)},
		{ID: "planet", Label: "space", Title: "a planet with rings turns, its moons pass", Frames: make([][]byte, 48)},
		{ID: "aurora", Label: "night", Title: "northern lights over a lake", Frames: make([][]byte, 36)},
	}
	for k, scene := range []func(t float64) shader{air.sunrise, air.planet, air.aurora} {
		list := clips[k].Frames
		err := par.Do(ctx, len(list), 0, func(_ context.Context, i int) (err error) {
			list[i], err = scene(float64(i) / float64(len(list))).jpeg()
			return err
		})
		if err != nil {
			return nil, storm, fmt.Errorf("clip %s: %w", clips[k].ID, err)
		}
	}
	const plane = stormRows * stormCols
	storm = Volume{ID: "storm", Shape: []int64{stormPlanes, stormRows, stormCols}, Values: make([]float32, stormPlanes*plane)}
	return clips, storm, par.Do(ctx, stormPlanes, 0, func(_ context.Context, k int) error {
		air.storm(storm.Values[k*plane:][:plane], float64(k)/stormPlanes)
		return nil
	})
}

// RequestLog is the log of a server of map tiles: 60,000 records as JSON Lines.
func RequestLog() []byte {
	const n = 60_000
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

// Day is the length of a series, in seconds.
const Day = 24 * 60 * 60

// Heart is a day of an ECG, as 16-bit samples at a rate per second, with spikes of one
// sample now and then.
func Heart(rate int) []int64 {
	rng := rand.New(rand.NewPCG(11, 5)) //nolint:gosec // a picture of chance
	v := make([]int64, Day*rate)
	phase := 0.0
	for i := range v {
		phase += (1.1 + 0.3*math.Sin(float64(i)/float64(rate*600))) / float64(rate) // beats
		at := phase - math.Floor(phase)
		bump := func(centre, width float64) float64 { x := (at - centre) / width; return math.Exp(-x * x) }
		v[i] = int64(900*bump(0.3, 0.02) + 150*bump(0.6, 0.06) - 120*bump(0.34, 0.02) + 20*rng.NormFloat64())
	}
	for range 5 {
		v[rng.IntN(len(v))] = 20_000
	}
	return v
}

// Tide is a day of a gauge's level in centimetres, a number every so many seconds, with a
// few waves of one number.
func Tide(step int) []int64 {
	rng := rand.New(rand.NewPCG(12, 25)) //nolint:gosec // a picture of chance
	v := make([]int64, Day/step)
	for i := range v {
		v[i] = int64(200*math.Sin(2*math.Pi*float64(i*step)/44_714) + 10*rng.NormFloat64())
	}
	for range 3 {
		v[rng.IntN(len(v))] += 900
	}
	return v
}

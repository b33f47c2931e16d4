// Package sample draws what the quickstart uploads: short clips of JPEG images and an
// array to slice. There is nothing to download, it is the same on every run, and pleasant
// to look at.
package sample

import (
	"context"
	"fmt"

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

// A film is a clip that is not drawn yet.
type film struct {
	Clip

	frames int
	at     func(t float64) shader // the picture of time t in [0, 1)
}

func films() []film {
	air := newTexture()
	return []film{
		{Clip{ID: "sunrise", Label: "day", Title: "the sun rises behind hills"}, 40, air.sunrise},
		{Clip{ID: "planet", Label: "space", Title: "a planet with rings turns, its moons pass"}, 48, air.planet},
		{Clip{ID: "aurora", Label: "night", Title: "northern lights over a lake"}, 36, air.aurora},
	}
}

// Clips draws and encodes the three clips, on all cores: sunrise, planet,
// aurora. It takes about two seconds of one core. On one machine and one release
// of Go the bytes are always the same; another processor may round a pixel
// differently, and another image/jpeg may encode differently.
func Clips(ctx context.Context) ([]Clip, error) {
	var out []Clip
	for _, f := range films() {
		f.Frames = make([][]byte, f.frames)
		err := par.Do(ctx, f.frames, 0, func(_ context.Context, i int) (err error) {
			f.Frames[i], err = f.at(float64(i) / float64(f.frames)).jpeg()
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("clip %s: %w", f.ID, err)
		}
		out = append(out, f.Clip)
	}
	return out, nil
}

// The storm: a picture every half hour of a day, three to four.
const (
	stormPlanes = 48
	stormRows   = 240
	stormCols   = 320
)

// Storm draws a day of satellite pictures: a hurricane comes in over a coast,
// turning. Values are brightness in percent, in steps of 1/16 as of an instrument. It
// takes about a second of one core; see Clips for how equal two runs are.
func Storm(ctx context.Context) (Volume, error) {
	v := Volume{ID: "storm", Shape: []int64{stormPlanes, stormRows, stormCols}, Values: make([]float32, stormPlanes*stormRows*stormCols)}
	air := newTexture()
	return v, par.Do(ctx, stormPlanes, 0, func(_ context.Context, k int) error {
		air.storm(v.Values[k*stormRows*stormCols:][:stormRows*stormCols], float64(k)/stormPlanes)
		return nil
	})
}

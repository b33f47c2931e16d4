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

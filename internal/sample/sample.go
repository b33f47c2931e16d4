// Package sample makes small clips of real JPEG images, for the quickstart and
// for tests: nothing to download, the same on every run, and pleasant to look at.
package sample

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// A Clip is a short film, one JPEG a frame. Its slices belong to the caller.
type Clip struct {
	ID    string // "sunrise"
	Label string // what a data set would call its class: "day"
	Title string // one line for people
	// Frames are the encoded images in order.
	Frames [][]byte
}

// Bytes is the size of all frames together.
func (c Clip) Bytes() int64 {
	var n int64
	for _, f := range c.Frames {
		n += int64(len(f))
	}
	return n
}

// A scene paints its picture at time t in [0, 1). It is safe for concurrent use.
type scene interface {
	draw(c *canvas, t float64)
}

// Clips draws and encodes the three clips, on all cores: sunrise, planet,
// aurora. It takes about a second of one core. On one machine and one release
// of Go the bytes are always the same; another processor may round a pixel
// differently, and another image/jpeg may encode differently.
func Clips(ctx context.Context) ([]Clip, error) {
	clips := []struct {
		Clip
		frames int
		scene  scene
	}{
		{Clip{ID: "sunrise", Label: "day", Title: "the sun rises behind hills"}, 40, newSunrise()},
		{Clip{ID: "planet", Label: "space", Title: "a planet with rings turns, its moons pass"}, 48, newPlanet()},
		{Clip{ID: "aurora", Label: "night", Title: "northern lights over a lake"}, 36, newAurora()},
	}
	tones := newTones()
	out := make([]Clip, len(clips))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range clips {
		out[i] = c.Clip
		out[i].Frames = make([][]byte, c.frames)
		for f := range c.frames {
			g.Go(func() (err error) {
				if err := ctx.Err(); err != nil {
					return err
				}
				page := new(canvas)
				c.scene.draw(page, float64(f)/float64(c.frames))
				out[i].Frames[f], err = page.encode(tones)
				if err != nil {
					return fmt.Errorf("clip %s frame %d: %w", c.ID, f, err)
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

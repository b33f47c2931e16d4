// Package sample makes small clips of real JPEG images and an array to slice, for the quickstart and
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

// A film is a clip that is not drawn yet.
type film struct {
	Clip

	frames int
	scene  scene
}

func films() []film {
	return []film{
		{Clip{ID: "sunrise", Label: "day", Title: "the sun rises behind hills"}, 40, newSunrise()},
		{Clip{ID: "planet", Label: "space", Title: "a planet with rings turns, its moons pass"}, 48, newPlanet()},
		{Clip{ID: "aurora", Label: "night", Title: "northern lights over a lake"}, 36, newAurora()},
	}
}

// frame draws and encodes frame i.
func (f film) frame(i int, t *tones) ([]byte, error) {
	page := new(canvas)
	f.scene.draw(page, float64(i)/float64(f.frames))
	b, err := page.encode(t)
	if err != nil {
		return nil, fmt.Errorf("clip %s frame %d: %w", f.ID, i, err)
	}
	return b, nil
}

// Clips draws and encodes the three clips, on all cores: sunrise, planet,
// aurora. It takes about a second of one core. On one machine and one release
// of Go the bytes are always the same; another processor may round a pixel
// differently, and another image/jpeg may encode differently.
func Clips(ctx context.Context) ([]Clip, error) {
	list, tones := films(), newTones()
	out := make([]Clip, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range list {
		out[i] = f.Clip
		out[i].Frames = make([][]byte, f.frames)
		for k := range f.frames {
			g.Go(func() (err error) {
				if err := ctx.Err(); err != nil {
					return err
				}
				out[i].Frames[k], err = f.frame(k, tones)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

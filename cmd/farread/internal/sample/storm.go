package sample

import (
	"context"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// A Volume is an array of numbers with a picture in each plane.
type Volume struct {
	ID    string // "storm"
	Title string // one line for people
	Shape []int64
	// Values are the items in C order.
	Values []float32
}

// The storm: a picture every half hour of a day, three to four.
const (
	stormPlanes = 48
	stormRows   = 240
	stormCols   = 320
	// stormSteps is what a percent of brightness is told apart in, as an
	// instrument would.
	stormSteps = 16
)

// Storm draws a day of satellite pictures: a hurricane comes in over a coast,
// turning. Values are brightness in percent, in steps of 1/16. It takes about
// half a second of one core; see Clips for how equal two runs are.
func Storm(ctx context.Context) (Volume, error) {
	v := Volume{ID: "storm", Title: "a hurricane turns towards a coast", Shape: []int64{stormPlanes, stormRows, stormCols}}
	v.Values = make([]float32, stormPlanes*stormRows*stormCols)
	s := newStorm()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for k := range stormPlanes {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.draw(v.Values[k*stormRows*stormCols:][:stormRows*stormCols], float64(k)/stormPlanes)
			return nil
		})
	}
	return v, g.Wait()
}

// storm is what its pictures share. Lengths are in heights of the picture.
type storm struct {
	ground []float32 // brightness of sea and land, row by row
	clouds texture
	// turn is cosine and sine of how far what is turning has been wound up, by
	// distance from the eye.
	turn [1024][2]float64
}

const (
	stormReach = 2.0   // the largest distance in turn
	stormEye   = 0.030 // radius of the eye
	stormWinds = 3.1   // how tightly the arms are wound
)

func newStorm() *storm {
	s := &storm{ground: make([]float32, stormRows*stormCols)}
	s.clouds.fill(71)
	for i := range s.turn {
		r := float64(i) / float64(len(s.turn)) * stormReach
		sin, cos := math.Sincos(-stormWinds * math.Log(r+0.06))
		s.turn[i] = [2]float64{cos, sin}
	}
	for y := range stormRows {
		for x := range stormCols {
			s.ground[y*stormCols+x] = float32(ground(float64(x)/stormRows, float64(y)/stormRows))
		}
	}
	return s
}

// ground is land in the upper left with islands off its coast.
func ground(u, v float64) float64 {
	height := 0.52 - 0.75*u - 0.55*v + 0.62*(fractal(u*3.3+5, v*3.3, 6, 91)-0.5)
	height = max(height, 1.2*fractal(u*6+40, v*6, 5, 95)-0.76-0.35*math.Abs(u-0.35-0.5*v)) // islands off the coast
	sea := 5 + 2.5*fractal(u*2, v*2, 3, 97)
	land := 19 + 12*fractal(u*9, v*9, 4, 99) + 9*clamp(height*2)
	return lerp(sea, land, step(-0.004, 0.012, height))
}

// texture is noise without seams, looked up instead of made anew.
type texture [textureSide * textureSide]float32

const textureSide = 512

// fill draws octaves that repeat at the edges.
func (x *texture) fill(seed uint32) {
	const base, octaves = 8, 6
	for j := range textureSide {
		for i := range textureSide {
			sum, weight, total := 0.0, 0.5, 0.0
			period := int32(base)
			for o := range uint32(octaves) {
				k := float64(period) / textureSide
				sum += weight * tile(float64(i)*k, float64(j)*k, period, seed+o)
				total += weight
				weight, period = weight*0.55, period*2
			}
			x[j*textureSide+i] = float32(sum / total)
		}
	}
}

// tile is noise that repeats every period steps of both axes.
func tile(x, y float64, period int32, seed uint32) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	x0, y0 := wrap(int32(fx), period), wrap(int32(fy), period)
	x1, y1 := wrap(x0+1, period), wrap(y0+1, period)
	u, v := x-fx, y-fy
	u, v = u*u*(3-2*u), v*v*(3-2*v)
	return lerp(lerp(hash(x0, y0, seed), hash(x1, y0, seed), u), lerp(hash(x0, y1, seed), hash(x1, y1, seed), u), v)
}

// at is the value between four entries; the texture has side 1.
func (x *texture) at(u, v float64) float64 {
	u, v = u*textureSide, v*textureSide
	fu, fv := math.Floor(u), math.Floor(v)
	i, j := int(fu)&(textureSide-1), int(fv)&(textureSide-1)
	i1, j1 := (i+1)&(textureSide-1), (j+1)&(textureSide-1)
	a, b := float32(u-fu), float32(v-fv)
	top := x[j*textureSide+i] + (x[j*textureSide+i1]-x[j*textureSide+i])*a
	low := x[j1*textureSide+i] + (x[j1*textureSide+i1]-x[j1*textureSide+i])*a
	return float64(top + (low-top)*b)
}

// draw paints the picture of time t in [0, 1).
func (s *storm) draw(page []float32, t float64) {
	// From the lower right towards the coast, in a bend.
	eyeX := 1.06 - 0.50*t
	eyeY := 0.66 - 0.26*t + 0.07*math.Sin(3.2*t)
	sin, cos := math.Sincos(-5.2 * t) // the whole of it turns, against the clock
	for y := range stormRows {
		for x := range stormCols {
			u, v := (float64(x)+0.5)/stormRows, (float64(y)+0.5)/stormRows
			dx, dy := u-eyeX, (v-eyeY)*1.08
			c := s.cover(dx*cos-dy*sin, dx*sin+dy*cos, t)
			// Fair-weather clouds drift with the trade wind.
			puffs := s.clouds.at(u*2.6+0.35*t, v*2.6+0.10*t)
			fair := step(0.50, 0.86, 0.55*s.clouds.at(u*0.7+0.2*t, v*0.7+0.05*t)+0.55*puffs) * 0.62
			c = c + (1-c)*fair*(0.25+0.75*step(0.35, 0.75, math.Sqrt(dx*dx+dy*dy)))
			p := lerp(float64(s.ground[y*stormCols+x]), 93, c)
			page[y*stormCols+x] = float32(math.Round(p*stormSteps) / stormSteps)
		}
	}
}

// cover is how much of the ground the storm's clouds hide at a place seen from
// its eye.
func (s *storm) cover(x, y, t float64) float64 {
	r := math.Sqrt(x*x + y*y)
	w := s.turn[min(int(r*float64(len(s.turn))/stormReach), len(s.turn)-1)]
	a, b := x*w[0]-y*w[1], x*w[1]+y*w[0] // where it was before it was wound up
	arms := (a*a - b*b) / (r*r + 1e-9)   // two, by the double angle
	rough := s.clouds.at(a*0.55+0.5, b*0.55+0.5+0.04*t)
	fine := s.clouds.at(a*1.7+0.1+0.05*t, b*1.7+0.2)*0.6 + 0.4*s.clouds.at(x*3+0.3, y*3+0.1*t)
	shield := math.Exp(-r * r / 0.035) // the solid middle
	reach := math.Exp(-r * r / 0.22)
	c := 1.15*shield + reach*(0.40+0.58*arms) + 1.5*(rough-0.5)*(0.30+reach) + 1.1*(fine-0.5)*reach
	c = step(0.16, 0.98, c)
	shade := 0.84 + 0.70*(fine-0.5) + 0.55*(rough-0.5) // towers and hollows of the tops
	eye := step(stormEye*0.55, stormEye*1.5, r+0.012*(rough-0.5))
	return clamp(c*shade) * eye
}

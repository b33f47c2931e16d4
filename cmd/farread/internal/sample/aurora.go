package sample

import "math"

// aurora: curtains of light over a mountain lake, and their reflection.
type aurora struct {
	rays  [128]rgb // one ray, from its foot upwards
	stars []star
	peaks [Width]float64
	firs  [Width]float64
}

type star struct {
	x, y, bright, beat float64
	tint               rgb
}

// shore is the row where the lake begins.
const shore = 128

func newAurora() *aurora {
	a := &aurora{}
	colours := ramp{hex(0xb8ffd0), hex(0x55f7a0), hex(0x2be58c), hex(0x1fc9a0), hex(0x3a86d8), hex(0x7a4fd0), hex(0x8a2fa8)}
	for i := range a.rays {
		k := float64(i) / float64(len(a.rays)-1)
		a.rays[i] = colours.at(k * 1.05).times(step(0, 0.05, k) * math.Exp(-3.1*k) * (1 - step(0.75, 1, k)))
	}
	for i := range int32(210) {
		a.stars = append(a.stars, star{
			x: hash(i, 0, 31) * Width, y: hash(i, 1, 31) * shore, bright: 0.05 + 0.9*math.Pow(hash(i, 2, 31), 5),
			beat: hash(i, 4, 31) * 7, tint: hex(0xc4d6ff).mix(hex(0xffe2c0), hash(i, 3, 31)),
		})
	}
	for x := range Width {
		fx := float64(x)
		sharp := 1 - math.Abs(2*fractal(fx*0.017, 2, 2, 24)-1)
		a.peaks[x] = shore - 2 - 52*sharp*sharp*(0.35+0.65*noise(fx*0.012, 8, 0, 23)) - 16*(fractal(fx*0.05, 3, 4, 22)-0.3)
		low := math.Abs(fx/Width-0.5) * 2 // the far shore bends down in the middle
		a.firs[x] = shore - 1 - 5*low*low - trees(fx+900)*(0.30+0.42*low)
	}
	return a
}

func (a *aurora) draw(c *canvas, t float64) {
	for y := range shore {
		row := hex(0x050816).mix(hex(0x0d2436), math.Pow(float64(y)/shore, 1.6))
		for x := range Width {
			*c.at(x, y) = row
		}
	}
	for _, s := range a.stars {
		c.glow(s.x, s.y, 0.6+0.3*s.bright, s.tint.times(s.bright*(0.75+0.25*math.Sin(9*t+s.beat))))
	}
	for i := range 3 {
		a.curtain(c, t, i)
	}
	a.land(c)
	a.lake(c, t)
}

// curtain follows a folded line across the sky and hangs rays on it.
func (a *aurora) curtain(c *canvas, t float64, i int) {
	k := float64(i)
	seed := uint32(50 + 10*i)
	const n = 1500
	for j := range n {
		u := float64(j)/n*1.3 - 0.15
		fold := noise(u*2.6+0.55*t+k*7, 1.3*t, 0, seed) - 0.5
		curl := noise(u*8-0.8*t+k*3, 2.1*t, 0, seed+1) - 0.5
		x := (u + 0.16*fold + 0.045*curl) * Width
		foot := 92 - 25*k + 46*fold + 13*curl + 12*math.Sin(2.2*u+k)
		tall := (50 + 16*k) * (0.7 + 0.7*noise(u*5+t, 4+k, 0, seed+2))
		bright := step(0.20, 0.85, noise(u*3.1-0.7*t, 2.5*t+k, 0, seed+3))
		fine := 0.35 + 1.1*noise(u*70+5*t, 3*t, 0, seed+4)*noise(u*27-4*t, 9+2*t, 0, seed+5)*1.6
		a.ray(c, x, foot, tall, (1-0.28*k)*bright*fine*0.155)
	}
}

// ray is one column of light, spread over the two columns of pixels it stands between.
func (a *aurora) ray(c *canvas, x, foot, tall, bright float64) {
	fx := math.Floor(x - 0.5)
	i, part := int(fx), x-0.5-fx
	if i < -1 || i >= Width || bright < 0.002 {
		return
	}
	last := float64(len(a.rays) - 1)
	for y := max(0, int(foot-tall)); y <= int(foot) && y < shore; y++ {
		l := a.rays[int(clamp((foot-float64(y))/tall)*last)].times(bright)
		c.add(i, y, l.times(1-part))
		c.add(i+1, y, l.times(part))
	}
}

// land stands dark before the sky, with snow where the light falls.
func (a *aurora) land(c *canvas) {
	rockTone, snowTone, deep, fir := hex(0x070d1a), hex(0x3f6b78), hex(0x0b1a26), hex(0x02050a)
	for x := range Width {
		slope := a.peaks[min(x+1, Width-1)] - a.peaks[max(x-1, 0)]
		for y := int(a.peaks[x]) - 1; y < shore; y++ {
			depth := float64(y) - a.peaks[x]
			rock := noise(float64(x)*0.16+float64(y)*0.11, float64(y)*0.10, 0, 25)
			snow := step(0.30, 0.62, rock+0.10*slope-depth*0.010+0.12)
			p := rockTone.mix(snowTone, 0.62*snow).mix(deep, clamp(depth/46))
			c.cover(x, y, p, clamp(depth+0.5))
		}
		for y := int(a.firs[x]) - 1; y < shore; y++ {
			c.cover(x, y, fir, clamp(float64(y)-a.firs[x]+0.5))
		}
	}
}

// lake mirrors what is above it, shaken by waves that grow towards the eye.
func (a *aurora) lake(c *canvas, t float64) {
	water := hex(0x06121e).times(0.6)
	for y := shore; y < Height; y++ {
		d := float64(y-shore) + 0.5
		near := d / (Height - shore)
		for x := range Width {
			fx := float64(x)
			far := 1 / (near + 0.12)
			wave := noise(fx*0.05*far*0.5+2*t, far*7-5*t, 0, 27) - 0.5
			ripple := noise(fx*0.16*far*0.5-3*t, far*17+7*t, 0, 28) - 0.5
			sx := fx + (wave*5+ripple*2.5)*near*2
			sy := shore - 1 - d*1.45 + (wave*15+ripple*9)*near
			p := c.sample(sx, max(0, min(sy, shore-1)))
			shine := 0.62 - 0.22*near + 0.10*ripple
			*c.at(x, y) = p.tint(rgb{shine * 0.82, shine * 0.97, shine * 1.04}).plus(water)
		}
	}
}

// sample is the colour between four pixels.
func (c *canvas) sample(x, y float64) rgb {
	x, y = max(0, min(x, Width-1.001)), max(0, min(y, Height-1.001))
	i, j := int(x), int(y)
	u, v := x-float64(i), y-float64(j)
	return c.at(i, j).mix(*c.at(i+1, j), u).mix(c.at(i, j+1).mix(*c.at(i+1, j+1), u), v)
}

package sample

import "math"

// sunrise: the sun comes up behind hills, clouds drift, birds cross.
type sunrise struct {
	zenith, middle, horizon ramp // of the sky, over time
	sun                     ramp // its light, over time
	near                    ramp // the darkest hill, over time
}

func newSunrise() *sunrise {
	return &sunrise{
		zenith:  ramp{hex(0x141a3c), hex(0x24366e), hex(0x3a68ad), hex(0x4d8fd0)},
		middle:  ramp{hex(0x4a2f63), hex(0x9a5577), hex(0xc798a0), hex(0xa9cbe4)},
		horizon: ramp{hex(0xd2603f), hex(0xff8f4a), hex(0xffc47c), hex(0xffe6b8)},
		sun:     ramp{hex(0xff5a2a), hex(0xff9a48), hex(0xffd08a), hex(0xfff0cc)},
		near:    ramp{hex(0x080b18), hex(0x0d1420), hex(0x14231f), hex(0x1c3222)},
	}
}

const sunX, skyline = 0.64 * Width, 0.70 * Height

func (s *sunrise) draw(c *canvas, t float64) {
	// Rise fast at first and slow down, as seen from close to the hills.
	sunY := skyline + 12 - 104*math.Pow(t, 0.85)
	s.sky(c, t, sunY)
	s.birds(c, t)
	s.hills(c, t, sunY)
}

func (s *sunrise) sky(c *canvas, t, sunY float64) {
	zenith, middle, horizon, light := s.zenith.at(t), s.middle.at(t), s.horizon.at(t), s.sun.at(t)
	for y := range Height {
		h := (skyline - float64(y)) / skyline // height above the skyline, 1 on top
		row := horizon.mix(middle, step(-0.05, 0.45, h)).mix(zenith, step(0.25, 1, h))
		for x := range Width {
			dx, dy := float64(x)+0.5-sunX, float64(y)+0.5-sunY
			d := math.Sqrt(dx*dx + dy*dy)
			wide := math.Sqrt(dx*dx*0.35 + dy*dy*1.6)
			p := row.plus(light.times(0.55*math.Exp(-wide/46) + 0.35*math.Exp(-d/15)))
			if h > -0.1 {
				p = s.cloud(p, float64(x), h, t, light, d)
			}
			*c.at(x, y) = p.mix(light.times(2.6), clamp(10.5-d))
		}
	}
}

// cloud covers p with what hangs in the sky there. Its edges towards the sun are lit.
func (s *sunrise) cloud(p rgb, x, h, t float64, light rgb, sunDist float64) rgb {
	far := 1 / (h + 0.22)
	u, v := (x-sunX)*0.0115*far+t*1.1, far*2.3
	n := fractal(u, v, 4, 11)
	cover := step(0.50, 0.78, n)
	if cover == 0 {
		return p
	}
	side := 0.12 * max(-1, min((sunX-x)/50, 1))
	lit := clamp((n-fractal(u+side, v+0.10, 2, 11))*3.2 + 0.42)
	near := math.Exp(-sunDist / 90)
	body := s.middle.at(t).times(0.62).mix(light.times(1.05), lit*(0.35+0.65*near)).mix(rgb{1, 1, 1}, 0.25*t*lit)
	return p.mix(body, cover*0.88*step(-0.08, 0.12, h))
}

// hills are six ridges, each nearer, darker and faster than the last.
func (s *sunrise) hills(c *canvas, t, sunY float64) {
	const layers = 6
	haze, near, light := s.horizon.at(t).mix(s.middle.at(t), 0.45), s.near.at(t), s.sun.at(t)
	up := step(-6, 30, skyline-sunY)
	for i := range layers {
		k := float64(i) / (layers - 1)
		shift := t * (4 + 34*k*k)
		body := haze.mix(near, 0.22+0.78*math.Pow(k, 0.8))
		for x := range Width {
			wx := float64(x) + shift
			top := ridge(wx, i)
			if i == layers-1 {
				top -= trees(wx)
			}
			glow := math.Exp(-math.Abs(float64(x)-sunX)/70) * (1 - k) * up
			for y := max(0, int(top)-1); y < Height; y++ {
				depth := float64(y) - top
				alpha := clamp(depth + 0.5)
				if alpha == 0 {
					continue
				}
				mist := step(4, 46, depth) * 0.42 * (1 - k)
				p := body.mix(haze, mist).plus(light.times(glow * (0.10 + 0.30*math.Exp(-max(depth, 0)/5))))
				c.cover(x, y, p, alpha)
			}
		}
	}
}

// ridge is the height of a hill at a place, from the top of the picture.
func ridge(x float64, layer int) float64 {
	k := float64(layer) / 5
	seed := uint32(40 + 7*layer)
	long := fractal(x*lerp(0.014, 0.006, k), float64(layer)*9, 5, seed)
	return skyline - 16 + 36*k*k + 20*k - (long-0.5)*lerp(52, 58, k)
}

// trees is how far firs stand out of the nearest ridge.
func trees(x float64) float64 {
	const gap = 7.0
	best := 0.0
	cell := math.Floor(x / gap)
	for i := cell - 1; i <= cell+1; i++ {
		n := int32(i)
		if hash(n, 0, 5) < 0.30 {
			continue
		}
		at := (i + 0.2 + 0.6*hash(n, 1, 5)) * gap
		tall := 8 + 15*hash(n, 2, 5)*hash(n, 3, 5)
		d := math.Abs(x-at) * (2.6 + 1.2*hash(n, 4, 5))
		d -= 1.3 * math.Mod(d*0.55+hash(n, 6, 5), 1) // branches
		best = max(best, tall-d*1.25)
	}
	return best
}

// birds are seven in a loose line, wings beating.
func (s *sunrise) birds(c *canvas, t float64) {
	dark := s.near.at(t)
	for i := range 7 {
		n := int32(i)
		k := math.Abs(float64(i) - 2)
		x := -30 + 300*t - 8.5*k - 4*hash(n, 0, 9)
		y := 52 - 16*t + 4.2*k*(1-2*float64(i&1)*0.15) + 4*hash(n, 1, 9) + 2*math.Sin(6*t+float64(i))
		beat := math.Sin(38*t + 5*hash(n, 2, 9))
		for w := -4.0; w <= 4; w += 0.2 {
			a := math.Abs(w) / 4
			wy := y - (0.6+beat*1.6)*a*(2-a) + 1.4*a*a
			splat(c, x+w, wy, dark, 0.30*(1.15-a))
		}
	}
}

// splat paints a dot of one pixel's size at any place between pixels.
func splat(c *canvas, x, y float64, l rgb, alpha float64) {
	fx, fy := math.Floor(x-0.5), math.Floor(y-0.5)
	u, v := x-0.5-fx, y-0.5-fy
	i, j := int(fx), int(fy)
	c.cover(i, j, l, alpha*(1-u)*(1-v))
	c.cover(i+1, j, l, alpha*u*(1-v))
	c.cover(i, j+1, l, alpha*(1-u)*v)
	c.cover(i+1, j+1, l, alpha*u*v)
}

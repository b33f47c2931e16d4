package demo

import "math"

// sunrise: the sun comes up behind hills, clouds drift, birds cross.
func (air *texture) sunrise(t float64) shader {
	const sunX, skyline = 0.64 * Width, 0.70 * Height
	zenith := hexes(0x141a3c, 0x24366e, 0x3a68ad, 0x4d8fd0).at(t)
	middle := hexes(0x4a2f63, 0x9a5577, 0xc798a0, 0xa9cbe4).at(t)
	horizon := hexes(0xd2603f, 0xff8f4a, 0xffc47c, 0xffe6b8).at(t)
	light := hexes(0xff5a2a, 0xff9a48, 0xffd08a, 0xfff0cc).at(t)
	dark := hexes(0x080b18, 0x0d1420, 0x14231f, 0x1c3222).at(t)
	haze := horizon.mix(middle, 0.45)
	sunY := skyline + 12 - 104*math.Pow(t, 0.85) // fast at first, as seen from close to the hills

	cloud := func(p rgb, x, h, sun float64) rgb { // its edges towards the sun are lit
		far := 1 / (h + 0.22)
		u, v := (x-sunX)*0.0014*far+t*0.14, far*0.29
		n := air.at(u, v)
		lit := clamp((n-air.at(u+0.015*max(-1, min((sunX-x)/50, 1)), v+0.012))*3.2 + 0.42)
		body := middle.times(0.62).mix(light, lit*(0.35+0.65*math.Exp(-sun/90))).mix(rgb{1, 1, 1}, 0.25*t*lit)
		return p.mix(body, 0.88*step(0.50, 0.72, n)*step(-0.08, 0.12, h))
	}
	sky := func(x, y float64) rgb {
		h := (skyline - y) / skyline // height above the skyline, 1 on top
		dx, dy := x-sunX, y-sunY
		d := math.Sqrt(dx*dx + dy*dy)
		p := horizon.mix(middle, step(-0.05, 0.45, h)).mix(zenith, step(0.25, 1, h))
		p = p.plus(light.times(0.55*math.Exp(-math.Sqrt(dx*dx*0.35+dy*dy*1.6)/46) + 0.35*math.Exp(-d/15)))
		return cloud(p, x, max(h, -0.1), d).mix(light.times(2.6), clamp(10.5-d))
	}
	flock := func(p rgb, x, y float64) rgb { // seven in a loose line, wings beating
		for i := range int32(7) {
			k := math.Abs(float64(i) - 2)
			a := math.Abs(x-(300*t-30-8.5*k-4*hash(i, 0, 9))) / 4
			if a > 1 {
				continue
			}
			wing := 52 - 16*t + 4.2*k*(1-0.3*float64(i&1)) + 4*hash(i, 1, 9) + 2*math.Sin(6*t+float64(i))
			wing += 1.4*a*a - (0.6+1.6*math.Sin(38*t+5*hash(i, 2, 9)))*a*(2-a)
			p = p.mix(dark, clamp(1.2-0.5*a-math.Abs(y-wing)))
		}
		return p
	}
	return func(x, y float64) rgb {
		for i := 5; i >= 0 && y > 60; i-- { // ridges, each nearer, darker and faster than the one behind
			k := float64(i) / 5
			wx := x + t*(4+34*k*k)
			top := skyline - 16 + 36*k*k + 20*k - (air.at(wx*lerp(0.014, 0.006, k)/8, 0.13*float64(i))-0.5)*90
			if i == 5 && y > top-23 {
				top -= trees(wx)
			}
			if depth := y - top; depth > 0 {
				body := haze.mix(dark, 0.22+0.78*math.Pow(k, 0.8)).mix(haze, 0.42*(1-k)*step(4, 46, depth))
				glow := math.Exp(-math.Abs(x-sunX)/70) * (1 - k) * step(-6, 30, skyline-sunY)
				return body.plus(light.times(glow * (0.10 + 0.30*math.Exp(-depth/5))))
			}
		}
		return flock(sky(x, y), x, y)
	}
}

// onBall is the place on a ball of that radius that the eye sees at (x, y) from the
// ball's middle.
func onBall(x, y, radius float64) (at vec, ok bool) {
	z := radius*radius - x*x - y*y
	return vec{x, y, math.Sqrt(max(z, 0))}, z > 0
}

// planet: a giant with rings turns among its moons.
func (air *texture) planet(t float64) shader {
	const radius, ringIn, ringOut = 46.0, 46 * 1.24, 46 * 2.26
	// east and south lie in the plane of the rings, the axis stands on it.
	axis, east, south := vec{0.301, -0.883, 0.361}, vec{-0.947, -0.323, 0}, vec{0.117, -0.342, -0.933}
	sun := vec{-0.741, -0.300, 0.601}
	bands := hexes(0x8c6a52, 0xb98d66, 0xdcb98c, 0xf0dcb8, 0xd8ab78, 0xf4e3c4, 0xe6c494, 0xb07a55, 0xe9cda2, 0xc89a70, 0x9a7e74, 0x6d6a7c)
	moons := []struct {
		orbit, size, phase, turns float64
		colour                    rgb
		at                        vec
	}{
		{1.12, 3.4, 3.5, 1.5, hex(0xe8d9c0), vec{}}, {2.52, 5.2, 1.4, 0.75, hex(0xc9d4e6), vec{}}, {3.05, 7.5, 5.0, 0.42, hex(0xd79a6a), vec{}},
	}
	for i, m := range moons {
		sin, cos := math.Sincos(m.phase + 2*math.Pi*m.turns*t)
		moons[i].at = east.times(radius * m.orbit * cos).plus(south.times(radius * m.orbit * sin))
	}

	ring := func(at vec) (colour rgb, alpha float64) {
		d := at.length()
		if d < ringIn || d > ringOut {
			return rgb{}, 0
		}
		x := (d - ringIn) / (ringOut - ringIn)
		fine := 0.3 + 0.4*air.at(x*4.2, 0.3) + 0.35*(noise(x*60, 5, never, 82)-0.5)
		alpha = step(0, 0.05, x) * (1 - step(0.97, 1, x)) * lerp(0.25, 1, step(0.10, 0.30, x)) * (0.45 + 0.75*fine)
		alpha *= 1 - 0.93*step(0.655, 0.670, x)*(1-step(0.705, 0.720, x)) // the wide gap
		alpha *= 1 - 0.80*step(0.905, 0.912, x)*(1-step(0.922, 0.930, x)) // the narrow one
		colour = hex(0xcbb08c).mix(hex(0xf3e6cd), fine)
		if along := at.dot(sun); along < 0 { // the shadow of the globe
			colour = colour.times(lerp(0.1, 1, step(radius-6, radius+3, at.plus(sun.times(-along)).length())))
		}
		return colour, min(alpha, 0.96)
	}
	surface := func(q vec) rgb {
		n := q.times(1 / radius)
		lat, long := -n.dot(axis), math.Atan2(n.dot(south), n.dot(east))/(2*math.Pi)+t*0.30
		wave := (air.at(3*long, lat*1.1) - 0.5) * (1 - lat*lat)
		x := lat*0.5 + 0.5 + 0.06*wave
		colour := bands.at(x + 0.08*(air.at(x*2.7, 0.4)-0.5)).times(0.86 + 0.28*noise(x*60, 0, never, 72))
		dl, db := math.Mod(long+9.62, 1)-0.5, lat-0.34
		spot := max(0, 1-dl*dl*30-db*db*55) // the storm
		colour = colour.mix(hex(0xc0562f), 0.8*spot*spot)
		day := step(-0.10, 0.42, n.dot(sun)) * (0.25 + 0.95*max(n.dot(sun), 0))
		if h := -q.dot(axis) / sun.dot(axis); h > 0 { // the shadow of the rings
			_, alpha := ring(q.plus(sun.times(h)))
			day *= 1 - 0.78*alpha
		}
		edge := (1 - n.z) * (1 - n.z) * (1 - n.z)
		return colour.times(0.015 + day*(1-0.35*edge)).plus(hex(0xff9a58).times(0.22 * edge * day))
	}
	pass := func(p rgb, x, y float64, front bool) rgb {
		for _, m := range moons {
			if q, ok := onBall(x-m.at.x, y-m.at.y, m.size); ok && front == (m.at.z >= 0) {
				l := q.dot(sun) / m.size
				p = m.colour.times((0.55 + 0.9*air.at(q.x/m.size*0.3+m.orbit, q.y/m.size*0.3)) * (0.02 + step(-0.06, 0.25, l)*(0.2+0.9*max(0, l))))
			}
		}
		return p
	}
	return func(x, y float64) rgb {
		cloud := hex(0x2a1f52).mix(hex(0x124055), air.at(x*0.001, y*0.0012+0.9))
		p := hex(0x05060f).plus(cloud.times(1.1 * step(0.48, 0.85, air.at(x*0.0015+y*0.00075, y*0.002)))).plus(stars(x, y))
		x, y = x-0.49*Width, y-0.51*Height
		p = pass(p, x, y, false)
		r := vec{x, y, -(axis.x*x + axis.y*y) / axis.z} // where the line of sight meets the plane of the rings
		q, ok := onBall(x, y, radius)
		if ok {
			p = surface(q)
		} else { // air around the edge
			day := clamp(0.15 + 0.85*(x*sun.x+y*sun.y)/radius)
			p = p.plus(hex(0xffc890).times(0.30 * day * math.Exp((radius-math.Hypot(x, y))/1.6)))
		}
		if !ok || r.z > q.z {
			colour, alpha := ring(r)
			p = p.mix(colour, alpha)
		}
		return pass(p, x, y, true)
	}
}

// aurora: curtains of light over a mountain lake, and their reflection.
func (air *texture) aurora(t float64) shader {
	const shore = 128.0    // the row where the lake begins
	rays := make(ramp, 64) // brightness of a ray, from its foot upwards
	for i := range rays {
		k := float64(i) / 63
		rays[i] = hexes(0xb8ffd0, 0x55f7a0, 0x2be58c, 0x1fc9a0, 0x3a86d8, 0x7a4fd0, 0x8a2fa8).at(k)
		rays[i] = rays[i].times(step(0, 0.06, k) * math.Exp(-3.1*k) * (1 - step(0.75, 1, k)))
	}
	var curtains [3][Width + 1]struct{ foot, tall, bright float64 }
	for i := range curtains {
		k, seed := float64(i), uint32(50+10*i)
		for x := range curtains[i] {
			u := float64(x) / Width
			fold, curl := noise(u*2.6+0.55*t+k*7, 1.3*t, never, seed)-0.5, noise(u*8-0.8*t+k*3, 2.1*t, never, seed+1)-0.5
			c := &curtains[i][x]
			c.foot = 92 - 25*k + 46*fold + 13*curl + 12*math.Sin(2.2*u+k)
			c.tall = (50 + 16*k) * (0.7 + 0.7*noise(u*5+t, 4+k, never, seed+2))
			fine := 0.35 + 1.8*noise(u*70+5*t, 3*t, never, seed+4)*noise(u*27-4*t, 9+2*t, never, seed+5)
			c.bright = (1 - 0.28*k) * step(0.20, 0.85, noise(u*3.1-0.7*t, 2.5*t+k, never, seed+3)) * fine
		}
	}
	peak := func(x float64) float64 {
		sharp := 1 - math.Abs(2*lerp(noise(x*0.017, 2, never, 24), noise(x*0.034, 4, never, 25), 0.33)-1)
		return shore - 2 - 52*sharp*sharp*(0.35+0.65*noise(x*0.012, 8, never, 23)) - 16*(air.at(x*0.006, 0.2)-0.3)
	}
	sky := func(x, y float64) rgb {
		low := math.Abs(x/Width-0.5) * 2 // the far shore bends down in the middle
		if y > shore-30 && y > shore-1-5*low*low-trees(x+900)*(0.30+0.42*low) {
			return hex(0x02050a)
		}
		if top := peak(x); y > shore-80 && y > top { // dark rock, and snow where the light falls
			rock := noise(x*0.16+y*0.11, y*0.10, never, 25)
			snow := step(0.30, 0.62, rock+0.05*(peak(x+1)-peak(x-1))-(y-top)*0.010+0.12)
			return hex(0x070d1a).mix(hex(0x3f6b78), 0.62*snow).mix(hex(0x0b1a26), clamp((y-top)/46))
		}
		p := hex(0x050816).mix(hex(0x0d2436), math.Pow(y/shore, 1.6)).plus(stars(x, y).times(0.8))
		for i := range curtains {
			if c := curtains[i][int(x)]; y < c.foot {
				p = p.plus(rays.at((c.foot - y) / c.tall).times(c.bright))
			}
		}
		return p
	}
	return func(x, y float64) rgb {
		if y < shore {
			return sky(x, y)
		}
		d := y - shore // the lake, shaken by waves that grow towards the eye
		near := d / (Height - shore)
		far := 1 / (near + 0.12)
		wave := noise(x*0.025*far+2*t, far*7-5*t, never, 27) - 0.5
		ripple := noise(x*0.08*far-3*t, far*17+7*t, never, 28) - 0.5
		p := sky(max(0, min(x+(wave*10+ripple*5)*near, Width-0.01)), max(0, min(shore-1-d*1.45+(wave*15+ripple*9)*near, shore-1)))
		shine := 0.62 - 0.22*near + 0.10*ripple
		return rgb{p.x * shine * 0.82, p.y * shine * 0.97, p.z * shine * 1.04}.plus(hex(0x06121e).times(0.6))
	}
}

// storm paints the brightness of time t in [0, 1): a hurricane over sea and land.
// Lengths are in heights of the picture.
func (air *texture) storm(page []float32, t float64) {
	// From the lower right towards the coast, in a bend.
	eyeX, eyeY := 1.06-0.50*t, 0.66-0.26*t+0.07*math.Sin(3.2*t)
	sin, cos := math.Sincos(-5.2 * t) // the whole of it turns, against the clock
	for i := range page {
		u, v := (float64(i%stormCols)+0.5)/stormRows, (float64(i/stormCols)+0.5)/stormRows
		dx, dy := u-eyeX, (v-eyeY)*1.08
		c := air.shield(dx*cos-dy*sin, dx*sin+dy*cos, t)
		// Fair-weather clouds drift with the trade wind.
		fair := 0.62 * step(0.50, 0.86, 0.55*air.at(u*0.7+0.2*t, v*0.7+0.05*t)+0.55*air.at(u*2.6+0.35*t, v*2.6+0.10*t))
		c += (1 - c) * fair * (0.25 + 0.75*step(0.35, 0.75, math.Hypot(dx, dy)))
		page[i] = float32(math.Round(lerp(air.ground(u, v), 93, c)*16) / 16)
	}
}

// ground is land in the upper left with islands off its coast.
func (air *texture) ground(u, v float64) float64 {
	height := 0.52 - 0.75*u - 0.55*v + 0.62*(air.at(u*0.41+0.62, v*0.41)-0.5)
	height = max(height, 1.2*air.at(u*0.75, v*0.75+0.3)-0.76-0.35*math.Abs(u-0.35-0.5*v))
	grain := air.at(u*1.1, v*1.1)
	return lerp(5+2.5*grain, 19+12*grain+9*clamp(height*2), step(-0.004, 0.012, height))
}

// shield is how much of the ground the storm hides, at a place seen from the storm's
// eye.
func (air *texture) shield(x, y, t float64) float64 {
	r := math.Hypot(x, y)
	sin, cos := math.Sincos(-3.1 * math.Log(r+0.06))
	a, b := x*cos-y*sin, x*sin+y*cos   // the place before it was wound up
	arms := (a*a - b*b) / (r*r + 1e-9) // two, by the double angle
	rough := air.at(a*0.55+0.5, b*0.55+0.5+0.04*t) - 0.5
	fine := air.at(a*1.7+0.1+0.05*t, b*1.7+0.2)*0.6 + 0.4*air.at(x*3+0.3, y*3+0.1*t) - 0.5
	reach := math.Exp(-r * r / 0.22)
	c := 1.15*math.Exp(-r*r/0.035) + reach*(0.40+0.58*arms) + 1.5*rough*(0.30+reach) + 1.1*fine*reach
	towers := 0.84 + 0.70*fine + 0.55*rough
	return clamp(step(0.16, 0.98, c)*towers) * step(0.016, 0.045, r+0.012*rough)
}

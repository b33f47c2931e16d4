package sample

import "math"

// vec is a place: x to the right, y down, z towards the eye, which is far away.
type vec struct{ x, y, z float64 }

func (a vec) dot(b vec) float64   { return a.x*b.x + a.y*b.y + a.z*b.z }
func (a vec) plus(b vec) vec      { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec) times(k float64) vec { return vec{a.x * k, a.y * k, a.z * k} }
func (a vec) minus(b vec) vec     { return a.plus(b.times(-1)) }
func (a vec) unit() vec           { return a.times(1 / math.Sqrt(a.dot(a))) }
func (a vec) cross(b vec) vec {
	return vec{a.y*b.z - a.z*b.y, a.z*b.x - a.x*b.z, a.x*b.y - a.y*b.x}
}

// planet: a giant with rings turns, and three moons throw their shadows on it.
type planet struct {
	axis, east, south vec // east and south lie in the plane of the rings
	light             vec // towards the sun
	ring              [512]ringlet
	bands             [256]rgb
	back              canvas // stars
	moons             [3]moon
	air, storm, dusk  rgb
}

type ringlet struct {
	colour rgb
	alpha  float64
}

type moon struct {
	orbit, size, phase, turns float64
	colour                    rgb
}

// Measures in pixels.
const (
	planetX, planetY, planetR = 156.0, 92.0, 46.0
	ringIn, ringOut           = planetR * 1.24, planetR * 2.26
)

func newPlanet() *planet {
	p := &planet{axis: vec{0.30, -0.88, 0.36}.unit(), light: vec{-0.74, -0.30, 0.60}.unit(),
		air: hex(0xffc890), storm: hex(0xc0562f), dusk: hex(0xff9a58)}
	p.east = p.axis.cross(vec{0, 0, 1}).unit()
	p.south = p.axis.cross(p.east)
	p.moons = [3]moon{
		{planetR * 1.12, 3.4, 3.5, 1.5, hex(0xe8d9c0)},
		{planetR * 2.52, 5.2, 1.4, 0.75, hex(0xc9d4e6)},
		{planetR * 3.05, 7.5, 5.0, 0.42, hex(0xd79a6a)},
	}
	bands := ramp{hex(0x8c6a52), hex(0xb98d66), hex(0xdcb98c), hex(0xf0dcb8), hex(0xd8ab78), hex(0xf4e3c4),
		hex(0xe6c494), hex(0xb07a55), hex(0xe9cda2), hex(0xc89a70), hex(0x9a7e74), hex(0x6d6a7c)}
	for i := range p.bands {
		x := float64(i) / float64(len(p.bands)-1)
		p.bands[i] = bands.at(x + 0.05*(fractal(x*22, 3, 3, 71)-0.5)).times(0.86 + 0.28*noise(x*60, 0, 0, 72))
	}
	for i := range p.ring {
		p.ring[i] = ringAt(float64(i) / float64(len(p.ring)-1))
	}
	p.stars()
	return p
}

// ringAt is the ring from its inner edge at 0 to the outer at 1.
func ringAt(x float64) ringlet {
	fine := 0.55*fractal(x*34, 0, 4, 81) + 0.45*noise(x*9, 5, 0, 82)
	alpha := step(0, 0.05, x) * (1 - step(0.97, 1, x)) * lerp(0.25, 1, step(0.10, 0.30, x)) * (0.45 + 0.75*fine)
	alpha *= 1 - 0.93*step(0.655, 0.670, x)*(1-step(0.705, 0.720, x)) // the wide gap
	alpha *= 1 - 0.80*step(0.905, 0.912, x)*(1-step(0.922, 0.930, x)) // the narrow one
	return ringlet{hex(0xcbb08c).mix(hex(0xf3e6cd), fine).times(0.9), min(alpha, 0.96)}
}

// stars paints the sky behind, once.
func (p *planet) stars() {
	black, violet, teal := hex(0x05060f), hex(0x2a1f52), hex(0x124055)
	for y := range Height {
		for x := range Width {
			fx, fy := float64(x), float64(y)
			cloud := fractal(fx*0.012+fy*0.006, fy*0.016, 5, 90)
			tone := violet.mix(teal, fractal(fx*0.008, fy*0.010+7, 3, 96))
			*p.back.at(x, y) = black.plus(tone.times(1.1 * step(0.48, 0.85, cloud)))
		}
	}
	for i := range int32(260) {
		bright := math.Pow(hash(i, 2, 99), 6)
		tint := hex(0xbcd0ff).mix(hex(0xffdcb0), hash(i, 3, 99))
		p.back.glow(hash(i, 0, 99)*Width, hash(i, 1, 99)*Height, 0.62+0.5*bright, tint.times(0.10+1.3*bright))
	}
}

func (p *planet) draw(c *canvas, t float64) {
	*c = p.back
	var at [3]vec
	for i, m := range p.moons {
		a := m.phase + 2*math.Pi*m.turns*t
		at[i] = p.east.times(m.orbit * math.Cos(a)).plus(p.south.times(m.orbit * math.Sin(a)))
	}
	for i, m := range at {
		if m.z < 0 {
			p.moon(c, m, p.moons[i])
		}
	}
	p.globe(c, t, &at)
	for i, m := range at {
		if m.z >= 0 {
			p.moon(c, m, p.moons[i])
		}
	}
}

// globe draws planet and rings, four samples a pixel.
func (p *planet) globe(c *canvas, t float64, moons *[3]vec) {
	samples := [4][2]float64{{0.125, 0.375}, {0.375, 0.875}, {0.625, 0.125}, {0.875, 0.625}}
	for y := range Height {
		for x := range Width {
			dx, dy := float64(x)+0.5-planetX, float64(y)+0.5-planetY
			if dx*dx+dy*dy > (ringOut+2)*(ringOut+2) {
				continue
			}
			back, sum := *c.at(x, y), rgb{}
			for _, s := range samples {
				sum = sum.plus(p.sample(vec{float64(x) + s[0] - planetX, float64(y) + s[1] - planetY, 0}, back, t, moons))
			}
			*c.at(x, y) = sum.times(0.25)
		}
	}
}

// sample is what the ray through q meets.
func (p *planet) sample(q vec, back rgb, t float64, moons *[3]vec) rgb {
	ring, r := ringlet{}, q // r is where the ray meets the plane of the rings
	r.z = -(p.axis.x*q.x + p.axis.y*q.y) / p.axis.z
	if d := math.Sqrt(r.dot(r)); d > ringIn && d < ringOut {
		ring = p.ringlet(d)
		ring.colour = ring.colour.times(0.10 + 0.95*p.sunOnRing(r))
	}
	inside := planetR*planetR - q.x*q.x - q.y*q.y
	if inside <= 0 {
		rim := math.Sqrt(q.x*q.x+q.y*q.y) - planetR // air around the edge
		day := clamp(0.15 + 0.85*(q.x*p.light.x+q.y*p.light.y)/planetR)
		return back.plus(p.air.times(0.30*day*math.Exp(-rim/1.6))).mix(ring.colour, ring.alpha)
	}
	q.z = math.Sqrt(inside)
	if r.z < q.z { // the ring passes behind
		return p.surface(q, t, moons)
	}
	return p.surface(q, t, moons).mix(ring.colour, ring.alpha)
}

func (p *planet) ringlet(d float64) ringlet {
	return p.ring[int((d-ringIn)/(ringOut-ringIn)*float64(len(p.ring)-1))]
}

// sunOnRing is 0 in the shadow of the globe.
func (p *planet) sunOnRing(r vec) float64 {
	along := r.dot(p.light)
	if along >= 0 {
		return 1
	}
	off := r.minus(p.light.times(along))
	return step(planetR-6, planetR+3, math.Sqrt(off.dot(off)))
}

// surface is the colour of the globe at q.
func (p *planet) surface(q vec, t float64, moons *[3]vec) rgb {
	n := q.times(1 / planetR)
	lat := -n.dot(p.axis)
	long := math.Atan2(n.dot(p.south), n.dot(p.east))/(2*math.Pi) + t*0.30
	wave := noise(long*24, lat*9, 24, 61) - 0.5 + 0.5*(noise(long*48, lat*22, 48, 62)-0.5)
	colour := p.bands[int(clamp(lat*0.5+0.5+0.030*wave*(1-lat*lat))*float64(len(p.bands)-1))]
	if dl, db := math.Mod(long+9.62, 1)-0.5, lat-0.34; dl*dl*30+db*db*55 < 1 { // the storm
		k := dl*dl*30 + db*db*55
		colour = colour.mix(p.storm, 0.8*(1-k)*(1-k))
	}
	sun := n.dot(p.light)
	day := step(-0.10, 0.42, sun) * (0.25 + 0.95*max(sun, 0))
	if h := -q.dot(p.axis) / p.light.dot(p.axis); h > 0 && sun > -0.1 { // the shadow of the rings
		hit := q.plus(p.light.times(h))
		if d := math.Sqrt(hit.dot(hit)); d > ringIn && d < ringOut {
			day *= 1 - 0.78*p.ringlet(d).alpha
		}
	}
	for i, m := range moons {
		to := m.minus(q)
		if along := to.dot(p.light); along > 0 && sun > 0 {
			off := to.minus(p.light.times(along))
			size := p.moons[i].size
			day *= 0.12 + 0.88*step(size*0.6, size*1.35, math.Sqrt(off.dot(off)))
		}
	}
	edge := (1 - n.z) * (1 - n.z) * (1 - n.z)
	return colour.times(0.015 + day*(1-0.35*edge)).plus(p.dusk.times(0.22 * edge * day))
}

// moon draws a lit ball.
func (p *planet) moon(c *canvas, at vec, m moon) {
	cx, cy := at.x+planetX, at.y+planetY
	shade := 1.0
	if along := at.dot(p.light); along < 0 {
		off := at.minus(p.light.times(along))
		shade = 0.05 + 0.95*step(planetR-m.size, planetR+m.size, math.Sqrt(off.dot(off)))
	}
	for y := int(cy - m.size - 2); y <= int(cy+m.size+2); y++ {
		for x := int(cx - m.size - 2); x <= int(cx+m.size+2); x++ {
			n := vec{(float64(x) + 0.5 - cx) / m.size, (float64(y) + 0.5 - cy) / m.size, 0}
			d := math.Sqrt(n.dot(n))
			alpha := clamp((1-d)*m.size + 0.5)
			if alpha == 0 {
				continue
			}
			if d > 1 {
				n = n.times(1 / d)
			}
			n.z = math.Sqrt(max(0, 1-n.dot(n)))
			rough := 0.78 + 0.44*fractal(n.x*2.2+m.orbit, n.y*2.2, 3, 77)
			l := step(-0.06, 0.25, n.dot(p.light)) * (0.2 + 0.9*max(0, n.dot(p.light)))
			c.cover(x, y, m.colour.times(rough*(0.02+shade*l)), alpha)
		}
	}
}

package demo

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
)

// Size of every frame: sixteen to nine, and small enough that a clip is a
// few hundred kilobytes.
const (
	Width  = 320
	Height = 180
)

// vec is a place: x to the right, y down, z towards the eye, which is far away.
type vec struct{ x, y, z float64 }

func (a vec) plus(b vec) vec      { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec) times(k float64) vec { return vec{a.x * k, a.y * k, a.z * k} }
func (a vec) dot(b vec) float64   { return a.x*b.x + a.y*b.y + a.z*b.z }
func (a vec) length() float64     { return math.Sqrt(a.dot(a)) }

// mix goes from a at 0 to b at 1.
func (a vec) mix(b vec, k float64) vec {
	return vec{lerp(a.x, b.x, k), lerp(a.y, b.y, k), lerp(a.z, b.z, k)}
}

// rgb is light: red, green and blue, linear, where 1 is paper white.
type rgb = vec

// hex is a colour as screens write it.
func hex(v uint32) rgb {
	lin := func(c uint32) float64 { return float64(c&0xff) * float64(c&0xff) / (255 * 255) }
	return rgb{lin(v >> 16), lin(v >> 8), lin(v)}
}

// ramp is colours at equal steps from 0 to 1.
type ramp []rgb

func hexes(v ...uint32) (r ramp) {
	for _, c := range v {
		r = append(r, hex(c))
	}
	return r
}

func (r ramp) at(x float64) rgb {
	x = clamp(x) * float64(len(r)-1)
	i := min(int(x), len(r)-2)
	return r[i].mix(r[i+1], x-float64(i))
}

// A shader is the light at a place of a picture, in pixels.
type shader func(x, y float64) rgb

// paint asks the shader for the middle of each pixel, and for four places around it if
// the pixel is on an edge. A fixed pattern below one step hides the bands that eight
// bits would make in smooth skies.
func (f shader) paint() *image.RGBA {
	p := make([]rgb, Width*Height)
	for i := range p {
		p[i] = f(float64(i%Width)+0.5, float64(i/Width)+0.5)
	}
	img := image.NewRGBA(image.Rect(0, 0, Width, Height))
	for i, c := range p {
		x, y := i%Width, i/Width
		if differ(c, p[max(i-1, 0)]) || differ(c, p[min(i+1, len(p)-1)]) || differ(c, p[max(i-Width, 0)]) || differ(c, p[min(i+Width, len(p)-1)]) {
			l, t, r, b := float64(x)+0.25, float64(y)+0.25, float64(x)+0.75, float64(y)+0.75
			c = f(l, t).plus(f(r, t)).plus(f(l, b)).plus(f(r, b)).times(0.25)
		}
		d := float64(dither[y&3][x&3])/16 + 1.0/32
		for k, v := range [...]float64{tone(c.x) + d, tone(c.y) + d, tone(c.z) + d, 255} {
			img.Pix[4*i+k] = uint8(min(v, 255))
		}
	}
	return img
}

// differ reports whether two neighbours have an edge between them.
func differ(c, d rgb) bool {
	return math.Abs(c.x-d.x)+math.Abs(c.y-d.y)+math.Abs(c.z-d.z) > 0.005+0.1*(c.x+c.y+c.z)
}

// dither is the ordered pattern of Bayer.
var dither = [4][4]uint8{{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}}

// tone turns linear light into a byte's range; bright lights bend towards white
// instead of being cut.
func tone(x float64) float64 {
	const shoulder = 0.6
	if x > shoulder {
		x = 1 - (1-shoulder)*math.Exp((shoulder-x)/(1-shoulder))
	}
	return 255 * math.Sqrt(max(x, 0))
}

// jpeg is a frame of about 12 KB, whose skies are free of visible blocks.
func (f shader) jpeg() ([]byte, error) {
	var b bytes.Buffer
	err := jpeg.Encode(&b, f.paint(), &jpeg.Options{Quality: 88})
	return b.Bytes(), err
}

func clamp(x float64) float64      { return max(0, min(x, 1)) }
func lerp(a, b, k float64) float64 { return a + (b-a)*k }

// step goes smoothly from 0 at a to 1 at b.
func step(a, b, x float64) float64 {
	x = clamp((x - a) / (b - a))
	return x * x * (3 - 2*x)
}

// hash is a number in [0, 1) that looks random for a place on a grid.
func hash(x, y int32, seed uint32) float64 {
	h := uint32(x)*0x8da6b343 ^ uint32(y)*0xd8163841 ^ seed*0xcb1ab31f
	h = (h ^ h>>15) * 0x2c1b3c6d
	h = (h ^ h>>12) * 0x297a2d39
	return float64(h^h>>15) / (1 << 32)
}

// between is the value at (x, y) of a function that is known at whole numbers and
// repeats every period, a power of two. ease bends the way from one to the next.
func between(at func(x, y int32) float64, x, y float64, period int32, ease func(float64) float64) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	u, v := ease(x-fx), ease(y-fy)
	x0, y0 := int32(fx)&(period-1), int32(fy)&(period-1)
	x1, y1 := (x0+1)&(period-1), (y0+1)&(period-1)
	return lerp(lerp(at(x0, y0), at(x1, y0), u), lerp(at(x0, y1), at(x1, y1), u), v)
}

// noise is smooth and about 0.5 on average.
func noise(x, y float64, period int32, seed uint32) float64 {
	return between(func(i, j int32) float64 { return hash(i, j, seed) }, x, y, period, func(k float64) float64 { return step(0, 1, k) })
}

// never is a period beyond every picture.
const never = 1 << 20

// A texture is clouds: octaves of noise on top of each other, which are made once and
// looked up.
type texture [side * side]float32

const side = 512

func newTexture() *texture {
	t := new(texture)
	for i := range t {
		sum, weight, total := 0.0, 0.5, 0.0
		for o := range uint32(6) {
			period := int32(8) << o
			k := float64(period) / side
			sum += weight * noise(float64(i%side)*k, float64(i/side)*k, period, 71+o)
			total += weight
			weight *= 0.55
		}
		t[i] = float32(sum / total)
	}
	return t
}

// at looks up a place. The texture has side 1 and repeats; its coarsest clouds are 1/8
// wide.
func (t *texture) at(u, v float64) float64 {
	return between(func(i, j int32) float64 { return float64(t[j*side+i]) }, u*side, v*side, side, func(k float64) float64 { return k })
}

// stars are one in most squares of ten pixels, few of them bright.
func stars(x, y float64) rgb {
	i, j := int32(x/10), int32(y/10)
	light := hash(i, j, 33)
	light *= light * light * light
	light *= light * light // most are too faint to be seen
	dx, dy := x-10*(float64(i)+lerp(0.2, 0.8, hash(i, j, 31))), y-10*(float64(j)+lerp(0.2, 0.8, hash(i, j, 32)))
	d := (dx*dx + dy*dy) / (0.5 + 0.6*light)
	if light < 0.02 || d > 9 {
		return rgb{}
	}
	return hex(0xc4d6ff).mix(hex(0xffdcb0), hash(i, j, 34)).times((0.1 + 1.3*light) * math.Exp(-d))
}

// trees is how far firs rise above the ground.
func trees(x float64) (best float64) {
	const gap = 7.0
	for n := int32(math.Floor(x/gap)) - 1; float64(n) <= x/gap+1; n++ {
		at := (float64(n) + 0.2 + 0.6*hash(n, 1, 5)) * gap
		d := math.Abs(x-at) * (2.6 + 1.2*hash(n, 4, 5))
		d -= 1.3 * math.Mod(d*0.55+hash(n, 6, 5), 1) // branches
		if hash(n, 0, 5) > 0.30 {
			best = max(best, 8+15*hash(n, 2, 5)*hash(n, 3, 5)-d*1.25)
		}
	}
	return best
}

package sample

import "math"

func clamp(x float64) float64 { return max(0, min(x, 1)) }

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

// noise is smooth and about 0.5 on average. It repeats every period steps of x;
// period 0 never.
func noise(x, y float64, period int32, seed uint32) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	x0, y0 := int32(fx), int32(fy)
	x1 := x0 + 1
	if period > 0 {
		x0, x1 = wrap(x0, period), wrap(x1, period)
	}
	u, v := x-fx, y-fy
	u, v = u*u*(3-2*u), v*v*(3-2*v)
	return lerp(lerp(hash(x0, y0, seed), hash(x1, y0, seed), u), lerp(hash(x0, y0+1, seed), hash(x1, y0+1, seed), u), v)
}

func wrap(x, n int32) int32 {
	if x %= n; x < 0 {
		x += n
	}
	return x
}

// fractal is octaves of noise on top of each other, in [0, 1).
func fractal(x, y float64, octaves int, seed uint32) float64 {
	sum, weight, total := 0.0, 0.5, 0.0
	for i := range octaves {
		sum += weight * noise(x, y, 0, seed+uint32(i))
		total += weight
		x, y, weight = x*2, y*2, weight/2
	}
	return sum / total
}

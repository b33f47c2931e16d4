package main

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// A series is data of one kind, with items of the given size.
type series struct {
	name     string
	typesize int
	item     func(i int) uint64
}

// seriesOf makes the data of one kind in the table.
func seriesOf(name string) series {
	r := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // data, no secrets
	walk := 0.0
	f32 := func(v float64) uint64 { return uint64(math.Float32bits(float32(v))) }
	switch name {
	case "f32 sine": // smooth, with noise in the last bits
		return series{name, 4, func(i int) uint64 { return f32(math.Sin(float64(i)/300) + 1e-5*r.Float64()) }}
	case "f64 walk":
		return series{name, 8, func(int) uint64 { walk += r.NormFloat64(); return math.Float64bits(walk) }}
	case "i64 ramp":
		return series{name, 8, func(i int) uint64 { return uint64(i) }}
	case "time stamps": // nanoseconds, every millisecond, some late
		t := uint64(1.7e18)
		return series{name, 8, func(int) uint64 {
			t += 1e6
			if r.IntN(100) == 0 {
				return t + uint64(r.IntN(1000))
			}
			return t
		}}
	case "zeros":
		return series{name, 8, func(int) uint64 { return 0 }}
	case "nearly zeros": // one item of each 4 KiB, so that no block is a run
		return series{name, 8, func(i int) uint64 {
			if i%512 == 100 {
				return 0x0102030405060708 * uint64(1+i%7)
			}
			return 0
		}}
	case "sparse":
		return series{name, 4, func(int) uint64 {
			if r.IntN(200) == 0 {
				return f32(r.Float64())
			}
			return 0
		}}
	case "counts-u2": // photons: a slow wave, a few bright pixels
		return series{name, 2, func(i int) uint64 {
			mean := 128 + 80*math.Sin(float64(i)/5000)
			if r.IntN(300) == 0 {
				mean *= 20
			}
			return uint64(max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
		}}
	case "field-f4": // smooth in rows of 1024, with noise, in steps of 1/128
		return series{name, 4, func(i int) uint64 {
			x, y := float64(i%1024), float64(i/1024)
			return f32(math.Round(128*(290+9*math.Sin(x/150)*math.Cos(y/90)+0.15*r.NormFloat64())) / 128)
		}}
	case "sensor-f8": // in steps of 2^-26
		return series{name, 8, func(i int) uint64 {
			v := 700 + 40*math.Sin(float64(i)/2000) + 12*r.NormFloat64()
			return math.Float64bits(math.Round(v*(1<<26)) / (1 << 26))
		}}
	case "stamps-i8": // nanoseconds, every millisecond, each some microseconds off
		return series{name, 8, func(i int) uint64 {
			return uint64(1.7e18) + uint64(1e6*i) + uint64(int64(20e3*r.NormFloat64()))
		}}
	}
	panic("no such series: " + name)
}

func (s series) bytes(n int) []byte {
	p := make([]byte, 0, n+8)
	for i := 0; len(p) < n; i++ {
		p = binary.LittleEndian.AppendUint64(p, s.item(i))[:len(p)+s.typesize]
	}
	return p[:n]
}

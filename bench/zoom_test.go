package main

import (
	"context"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
)

// BenchmarkZoomBuild is zoom-build with small inputs, for profiles and for CI.
func BenchmarkZoomBuild(b *testing.B) {
	const n = 1 << 16
	f64, i16 := make([]float64, n), make([]int16, n)
	for i := range n {
		f64[i], i16[i] = wave(i), int16(wave(i))
	}
	loop(b, "f64", "samples", n, onCPU(func(context.Context) error { return zoomAll(zoomTrack(zoomcache.F64), f64, nil) }))
	loop(b, "i16", "samples", n, onCPU(func(context.Context) error { return zoomAll(zoomTrack(zoomcache.I16), i16, nil) }))
}

//go:build docs

package docs

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
)

// weather makes the arrays that pages about names, coordinates and Zarr take for granted:
// temperatures of a year, a cell for each 4 degrees.
func (g *ground) weather(t *testing.T) {
	t.Helper()
	const days, lats, lons = 365, 45, 90
	items := func(n int, put func(p []byte, i int) []byte) (p []byte) {
		for i := range n {
			p = put(p, i)
		}
		return p
	}
	axis := func(from, step float64) func(p []byte, i int) []byte {
		return func(p []byte, i int) []byte {
			return binary.LittleEndian.AppendUint64(p, math.Float64bits(from+step*float64(i)))
		}
	}
	g.array(t, "t2m.npy", "<f4", items(days*lats*lons, func(p []byte, i int) []byte {
		return binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(i%977)/8+230))
	}), days, lats, lons)
	g.array(t, "time.npy", "<M8[D]", items(days, func(p []byte, i int) []byte {
		return binary.LittleEndian.AppendUint64(p, uint64(20089+i)) // 2025-01-01
	}), days)
	g.array(t, "lat.npy", "<f8", items(lats, axis(88.1, -4)), lats)
	g.array(t, "lon.npy", "<f8", items(lons, axis(0.3, 4)), lons)
	g.file(t, "t2m.json", []byte(`{"units": "K", "long_name": "2 m temperature"}`))
	g.file(t, "about.json", []byte(`{"title": "weather of some places"}`))
	g.file(t, "today.npy", []byte(read(t, filepath.Join(g.files, "storm.npy"))))
	g.must(t, "farread pack t2m.npy s3://arrays/t2m.b2nd --dims time,lat,lon --coord time=time.npy --coord lat=lat.npy --coord lon=lon.npy --attrs t2m.json --quiet")
	g.must(t, "farread cp s3://arrays/t2m.b2nd s3://datasets/t2m.b2nd")
	g.must(t, "farread cp s3://arrays/t2m.b2nd s3://arrays/u10.b2nd")
	g.must(t, "farread cp s3://arrays/t2m.b2nd s3://climate/era5/t2m.b2nd && farread cp s3://arrays/t2m.b2nd s3://climate/era5/u10.b2nd")
	g.must(t, "farread unpack s3://arrays/t2m.b2nd era5.zarr --group")
	g.must(t, `find era5.zarr -type f | while read -r f; do farread cp "$f" "s3://climate/$f" || exit 1; done`)
}

// array makes a .npy.
func (g *ground) array(t *testing.T, name, typ string, items []byte, shape ...int64) {
	t.Helper()
	d, err := dtype.Parse(typ)
	if err != nil {
		t.Fatal(err)
	}
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	g.file(t, name, append(p, items...))
}

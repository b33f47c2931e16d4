package all_test

import (
	"testing"

	"github.com/farread/farread/formats/all"
)

// TestForeign: formats of others are known by name, and none of them is also ours.
func TestForeign(t *testing.T) {
	for name, want := range map[string]string{
		"x.zarr": "Zarr", "a/b.zarr/": "Zarr", "x.NC": "NetCDF", "x.h5": "HDF5", "x.tar.parquet": "Parquet", "x.tif": "TIFF",
		"": "", "zarr": "", "x.npy": "", "x.nc.b2nd": "", "x.zip": "", "x.zarr/c": "",
	} {
		if got := all.Foreign(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for _, f := range all.Formats() {
		for _, s := range f.Suffixes {
			if got := all.Foreign("x" + s); got != "" {
				t.Errorf("%s is %s and %s", s, f.Name, got)
			}
		}
	}
}

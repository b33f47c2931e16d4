package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeignNames: no output gets a name of another format, and the error says what
// can be written. Bytes that may be such a file keep its name.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	npyFile(t, at("a.npy"), "<f8", []int64{4, 6}, false, make([]byte, 4*6*8))
	hdf := append([]byte("\x89HDF\r\n\x1a\n"), make([]byte, 500)...)
	write(t, at("x.h5"), hdf)
	write(t, at("l.jsonl"), []byte("{}\n[]\n"))
	if err := os.Mkdir(at("z.zarr"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, at("z.zarr/zarr.json"), []byte("{}"))
	for _, args := range [][]string{{"a.npy", "a.b2nd"}, {"a.npy", "a.blp"}, {"l.jsonl", "l.blp"}, {"x.h5", "x.blp"}, {"x.h5", "x.b2frame"}} {
		run(t, "pack", at(args[0]), at(args[1]))
	}
	chunk := sample(t, dir)
	zoom := spiky(t, 1000, 5, false)
	before := len(files(t, dir))
	const array = ": an array becomes a .npy, or its items alone under a name such as .raw"
	for _, c := range []struct {
		want string
		args []string
	}{
		{"o.zarr names Zarr, which is not written here" + array, []string{"get", at("a.b2nd"), "-o", at("o.zarr")}},
		{"names Zarr", []string{"unpack", at("a.blp"), at("o.zarr")}},
		{"o.nc names NetCDF" + ", which", []string{"unpack", at("a.b2nd"), at("o.nc"), "--force"}},
		{"names NetCDF", []string{"unpack", at("a.blp"), at("o.nc4")}},
		{"names HDF5", []string{"unpack", at("a.b2nd"), at("o.H5")}},
		{"names HDF5", []string{"get", at("a.b2nd"), "-o", at("o.hdf5")}},
		{"names HDF5", []string{"get", at("a.b2nd"), "--chunk", "0", "-o", at("o.h5")}},
		{"names Parquet", []string{"get", at("a.blp"), "-o", at("o.parquet")}},
		{"names an archive of NumPy arrays", []string{"unpack", at("a.b2nd"), at("o.npz")}},
		{"names text, which is not written here" + array + "; farread slice writes .csv and .json", []string{"unpack", at("a.b2nd"), at("o.csv")}},
		{"names text", []string{"unpack", at("a.b2nd"), at("o.json")}},
		{"names text", []string{"get", at("a.b2nd"), "--chunk", "0", "-o", at("o.TSV")}},
		{"names text", []string{"get", at("a.blp"), "-o", at("o.json")}},
		{"names a picture, which is not written here" + array + "; farread slice writes .png", []string{"get", at("a.b2nd"), "-o", at("o.jpg")}},
		{"names b2nd", []string{"unpack", at("a.b2nd"), at("o.b2nd")}},
		{"names Parquet, which is not written here: lines become a text file", []string{"unpack", at("l.blp"), at("o.parquet")}},
		{"names an archive, which is not written here: lines", []string{"get", at("l.blp"), "-o", at("o.gz")}},
		{"want a name that ends in .npy", []string{"slice", at("a.b2nd"), ":", "-o", at("o.nc")}},
		{"o.nc names NetCDF, which is not written here: want a name that ends in .npy", []string{"slice", at("a.b2nd"), ":", "-o", at("o.nc"), "--format", "raw"}},
		{"names HDF5", []string{"slice", at("a.b2nd"), ":", "-o", at("o.h5"), "--format", "npy"}},
		{"names TIFF", []string{"view", at("a.b2nd"), "-o", at("o.tif"), "--format", "png"}},
		{"names N5", []string{"unpack", at("a.b2nd"), at("o.n5")}},
		{"o.nc names NetCDF, which is not written here: arrays become a .b2nd", []string{"pack", at("a.npy"), at("o.nc")}},
		{"names GRIB", []string{"pack", at("a.npy"), at("o.grib2"), "--format", "b2nd"}},
		{"names TIFF", []string{"pack", at("a.npy"), at("o.tif") + "/", "--format", "gulp"}},
		{"farread unpack makes Zarr of these", []string{"pack", at("a.npy"), at("o.zarr")}},
		{"farread unpack makes Zarr of these", []string{"pack", at("a.npy"), at("o.zarr"), "--format", "b2nd"}},
		{"names HDF5", []string{"pack", "--append", at("a.npy"), at("x.h5")}},
		{"x.h5 names HDF5, and its bytes are not raw items: save its arrays with numpy.save", []string{"pack", at("x.h5"), at("o.b2nd"), "--dtype", "|u1", "--shape", "508"}},
		{"its bytes are not raw items", []string{"pack", at("x.h5"), at("o.zoom"), "--dtype", "|u1", "--shape", "508", "--rate", "10"}},
		{"its bytes are not raw items", []string{"pack", "--append", at("x.h5"), at("a.b2nd"), "--dtype", "|u1", "--shape", "508"}},
		{"written as .csv or .npy, not as .nc", []string{"unpack", zoom, at("o.nc")}},
		{"written as .csv or .npy, not as .zarr", []string{"get", zoom, "-o", at("o.zarr")}},
		{"want a name in .json", []string{"view", zoom, "--width", "5", "-o", at("o.h5")}},
		{"names an archive, which is not written here: what is here becomes a folder of files", []string{"unpack", chunk, at("o.zip")}},
		{"names Zarr", []string{"unpack", chunk, at("o.zarr") + "/"}},
		{"names an image of another kind than JPEG, which is not written here: a frame is a .jpg", []string{"get", chunk, "--id", "one", "--frames", "0", "-o", at("o.png")}},
	} {
		r := runner{}.run(t, c.args...)
		if r.code != exitUsage || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
	}
	if after := len(files(t, dir)); after != before {
		t.Errorf("%d files in place of %d", after, before)
	}
	for _, args := range [][]string{{"unpack", at("x.blp"), at("back1.h5")}, {"unpack", at("x.b2frame"), at("back2.h5")}, {"get", at("x.blp"), "-o", at("back3.h5")}} {
		run(t, args...)
		if got := string(testFile(t, args[len(args)-1])); got != string(hdf) {
			t.Errorf("%v: %d other bytes", args, len(got))
		}
	}
	run(t, "unpack", chunk, at("o.zip")+"/")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"(HDF5 is not read: save its arrays with numpy.save", []string{"pack", at("x.h5"), at("o.b2nd")}},
		{"(HDF5 is not read: save its arrays with numpy.save", []string{"pack", at("x.h5"), at("o.zoom")}},
		{"zarr: zarr.json: zarr_format 0", []string{"pack", at("z.zarr"), at("o.b2nd")}},
		{"(Zarr becomes a .b2nd", []string{"pack", at("z.zarr"), at("o.gulp")}},
		{"HDF5, which this version does not read", []string{"info", at("x.h5")}},
	} {
		if r := (runner{}).run(t, c.args...); r.code == exitOK || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
	}
}

package all

import (
	"path"
	"strings"
)

// Foreign names a format that a name promises and that is no dataset here: "HDF5" for
// x.h5; "" for any other name. Large and small letters are the same. Only Zarr is read
// and written all the same, by package zarr, and Parquet read into series.
func Foreign(name string) string {
	ext := strings.ToLower(path.Ext(strings.TrimRight(name, "/")))
	for format, list := range map[string][]string{
		"Zarr":    {".zarr"},
		"NetCDF":  {".nc", ".nc3", ".nc4", ".netcdf", ".cdf"},
		"HDF5":    {".h5", ".hdf5", ".hdf", ".he5", ".h5ad"},
		"GRIB":    {".grib", ".grib2", ".grb", ".grb2"},
		"Parquet": {".parquet", ".pq"},
		"Arrow":   {".arrow", ".feather", ".ipc"},
		"Avro":    {".avro"},
		"ORC":     {".orc"},
		"FITS":    {".fits"},
		"MATLAB":  {".mat"},
		"EDF":     {".edf", ".bdf"},
		"TDMS":    {".tdms"},
		"Excel":   {".xlsx", ".xls"},
		"pickle":  {".pkl", ".pickle"},
		"PyTorch": {".pt", ".pth"},
		"TIFF":    {".tif", ".tiff"},
	} {
		for _, s := range list {
			if s == ext {
				return format
			}
		}
	}
	return ""
}

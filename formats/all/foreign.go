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
		"Zarr":        {".zarr"},
		"NetCDF":      {".nc", ".nc3", ".nc4", ".netcdf", ".cdf"},
		"HDF5":        {".h5", ".hdf5", ".hdf", ".he5", ".h5ad"},
		"HDF4":        {".h4", ".hdf4"},
		"GRIB":        {".grib", ".grib2", ".grb", ".grb2"},
		"Parquet":     {".parquet", ".pq"},
		"Arrow":       {".arrow", ".feather", ".ipc"},
		"Avro":        {".avro"},
		"ORC":         {".orc"},
		"FITS":        {".fits"},
		"MATLAB":      {".mat"},
		"EDF":         {".edf", ".bdf"},
		"TDMS":        {".tdms"},
		"Excel":       {".xlsx", ".xlsm", ".xls", ".ods"},
		"pickle":      {".pkl", ".pickle"},
		"PyTorch":     {".pt", ".pth"},
		"TIFF":        {".tif", ".tiff", ".geotiff"},
		"N5":          {".n5"},
		"TileDB":      {".tdb", ".tiledb"},
		"NIfTI":       {".nii"},
		"DICOM":       {".dcm", ".dicom"},
		"NRRD":        {".nrrd"},
		"R":           {".rds", ".rdata", ".rda"},
		"Stata":       {".dta"},
		"SAS":         {".sas7bdat"},
		"SPSS":        {".sav"},
		"JPEG 2000":   {".jp2", ".j2k"},
		"safetensors": {".safetensors"},
	} {
		for _, s := range list {
			if s == ext {
				return format
			}
		}
	}
	return ""
}

"""What xarray sees of an array that farread packed with dimensions, attributes and coordinates; prints JSON.

argv: "make" and a folder: writes t2m.npy, time.npy, lat.npy, lon.npy and the attributes as JSON.
      "read", the folder, the URL of the group of the array and that of a group of three such arrays, whose
      layers have all coordinates and of which the third has other longitudes: the faults, as a list; null if xarray is missing.
"""
import json
import os
import sys

import numpy as np

mode, folder = sys.argv[1:3]
path = lambda name: os.path.join(folder, name)
time = np.arange("2025-01-01", "2025-12-27", 5, dtype="M8[D]").astype("M8[ns]")
lat = np.linspace(90, -90, 61).astype("f4")
lon = np.cumsum(1 + np.arange(30) % 3).astype("f8")  # irregular
data = np.arange(len(time) * 61 * 30, dtype="f4").reshape(len(time), 61, 30)
data[3] = np.nan
attrs = {"units": "K", "long_name": "temperature at 2 m", "scale": [1.0, 2]}

if mode == "make":
    for name, a in ("t2m", data), ("time", time), ("lat", lat), ("lon", lon):
        np.save(path(name + ".npy"), a)
    np.save(path("east.npy"), lon + 180)
    json.dump(attrs, open(path("t2m.json"), "w"))
    json.dump({"units": "degrees_north"}, open(path("lat.json"), "w"))
    json.dump(None, sys.stdout)
    sys.exit()

try:
    import xarray
except ImportError as e:
    print(e, file=sys.stderr)
    json.dump(None, sys.stdout)
    sys.exit()

faults = []


def check(what, ok, got):
    if not ok:
        faults.append(f"{what}: {got}")


ds = xarray.open_zarr(sys.argv[3], chunks=None)
a = ds["data"]
check("dims", a.dims == ("time", "lat", "lon"), a.dims)
check("attrs", {k: v for k, v in a.attrs.items() if k != "farread"} == attrs, a.attrs)
check("coords", sorted(ds.coords) == ["lat", "lon", "time"], ds)
check("time", ds.time.values.dtype.kind == "M" and (ds.time.values == time).all(), ds.time)
check("lat", (ds.lat.values == lat).all() and ds.lat.attrs == {"units": "degrees_north"}, ds.lat)
check("lon", (ds.lon.values == lon).all(), ds.lon)
check("values", np.array_equal(a.values, data, equal_nan=True), a)
part = a.sel(time=slice("2025-03-01", "2025-04-01"), lat=slice(60, 40), lon=lon[7])
want = data[(time >= np.datetime64("2025-03-01")) & (time < np.datetime64("2025-04-02"))][:, (lat <= 60) & (lat >= 40), 7]
check("by labels", np.array_equal(part.values, want), part)

import zarr

z = zarr.open_array(sys.argv[3] + "/data", mode="r")
check("fill value", np.isnan(z.fill_value), z.fill_value)

both = xarray.open_zarr(sys.argv[4], chunks=None)
check("arrays of a folder", sorted(both.data_vars) == ["east", "t2m", "twice"], both)
check("shared coordinates", sorted(both.coords) == ["lat", "time"], both)
check("shared time", (both.time.values == time).all() and (both.lat.values == lat).all(), both.time)
check("what is left out", "lon" in both.attrs["farread"]["coordinates"], both.attrs)
got = both.sel(time="2025-03-02", lat=59, method="nearest")
at = (np.abs(time - np.datetime64("2025-03-02")).argmin(), np.abs(lat - 59).argmin())
check("by shared labels", np.array_equal(got.twice.values, data[at]) and np.array_equal(got.east.values, data[at]), got)
pair = xarray.open_zarr(sys.argv[4] + "/pair", chunks=None)
check("all coordinates", sorted(pair.coords) == ["lat", "lon", "time"] and (pair.lon.values == lon).all(), pair)
check("where they are", pair.t2m.sel(lon=lon[7], time=time[9], lat=lat[2]).item() == data[9, 2, 7], pair)
json.dump(faults, sys.stdout)

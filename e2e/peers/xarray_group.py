"""xarray's Zarr, beside what farread made of it and gave back.

    xarray_group.py make DIR     writes DIR/NAME.zarr of both versions; prints the names
    xarray_group.py compare DIR  compares DIR/NAME.zarr with DIR/NAME.out.zarr; prints faults
"""
import json
import os
import sys
import warnings

import numpy as np
import pandas as pd
import xarray as xr

warnings.simplefilter("ignore")


def weather():
    rng = np.random.default_rng(15)
    t = rng.normal(size=(30, 9, 14)).astype("f4")
    t[0, 0, :3] = np.nan
    rain = np.where(rng.random((30, 9)) < 0.2, np.nan, np.round(rng.random((30, 9)) * 100) / 10)
    return xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), t, {"units": "K", "long_name": "température", "n": 3, "list": [1, 2.5, "x"], "none": None}),
            "rain": (("time", "lat"), rain),
            "count": (("time",), np.arange(30)),
            "flag": (("lat",), rng.random(9) < 0.5),
            "name": (("lat",), np.array([f"row {i}" for i in range(9)])),
            "wait": (("lat",), np.arange(9) * np.timedelta64(90, "s")),
            "scalar": ((), np.float64(3.5)),
        },
        coords={
            "time": pd.date_range("2025-01-01", periods=30, freq="D"),
            "lat": np.linspace(90, -90, 9),
            "lon": ("lon", np.arange(14) * 1.5, {"units": "degrees_east"}),
            "month": ("time", np.arange(30) // 10),
            "area": (("lat", "lon"), rng.random((9, 14))),
            "run": np.datetime64("2025-01-01T12:00:00", "ns"),
        },
        attrs={"title": "weather", "version": 2, "list": ["a", "b"]},
    )


def irregular():
    """Long and uneven coordinates, which no layer holds, hours, and a descending axis."""
    rng = np.random.default_rng(16)
    n = 20_000
    time = pd.Timestamp("2000-01-01") + pd.to_timedelta(np.cumsum(rng.integers(1, 5, n)), unit="h")
    return xr.Dataset({"v": (("time",), rng.normal(size=n)), "w": (("time", "z"), rng.integers(0, 100, (n, 3)).astype("i2"))}, coords={"time": time, "z": [30, 20, 5]})


def make(folder):
    names = []
    for version in (2, 3):
        weather().to_zarr(
            os.path.join(folder, f"weather{version}.zarr"), zarr_format=version, consolidated=True,
            encoding={"rain": {"dtype": "i2", "scale_factor": 0.1, "add_offset": 3.0, "_FillValue": -32768}, "t2m": {"chunks": (10, 5, 7)}, "count": {"_FillValue": 5, "dtype": "i4"}},
        )
        irregular().to_zarr(os.path.join(folder, f"irregular{version}.zarr"), zarr_format=version, consolidated=True)
        names += [f"weather{version}", f"irregular{version}"]
    weather().to_zarr(os.path.join(folder, "shards3.zarr"), zarr_format=3, consolidated=True, encoding={"t2m": {"chunks": (5, 3, 7), "shards": (10, 9, 14)}})
    print(json.dumps(names + ["shards3"]))


KEPT = ("_FillValue", "scale_factor", "add_offset", "units", "calendar", "dtype")


def compare(folder, names):
    faults = []
    for name in names:
        a = xr.open_zarr(os.path.join(folder, name + ".zarr"), consolidated=True).load()
        b = xr.open_zarr(os.path.join(folder, name + ".out.zarr"), consolidated=True).load()
        # Text of any length has no place in b2nd and is left out with a remark.
        left = [v for v in a.variables if v not in b.variables]
        if any(a[v].dtype.kind not in "OT" for v in left):
            faults.append(f"{name}: {left} are missing")
        try:
            xr.testing.assert_identical(a.drop_vars(left), b)
        except AssertionError as e:
            faults.append(f"{name}: {e}")
        for v in b.variables:
            for key in KEPT:
                x, y = a[v].encoding.get(key), b[v].encoding.get(key)
                if not (x is None and key == "_FillValue" or x == y or str(x) == str(y)) and a[v].shape:
                    faults.append(f"{name}: {v}: {key} {y!r}, not {x!r}")
    print(json.dumps({"read": len(names), "faults": faults}))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        compare(sys.argv[2], json.load(sys.stdin))

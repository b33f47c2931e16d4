"""xarray's coarsen beside names, coordinates and attributes that `farread analyze` writes.

analyze_coords.py make DIR: writes DIR/weather.zarr.
analyze_coords.py judge DIR: reads DIR/NAME.zarr; prints {"checked": how many, "faults": [what differs]}.
"""
import json
import sys
import warnings

import numpy as np
import pandas as pd
import xarray as xr

warnings.simplefilter("ignore")

WINDOWS = {"coarse": {"time": 6, "lat": 2}, "pad": {"time": 7, "lat": 4}, "days": {"time": 24}}


def weather():
    rng = np.random.default_rng(16)
    return xr.Dataset(
        {"t2m": (("time", "lat", "lon"), rng.normal(size=(48, 9, 14)), {"units": "K", "long_name": "température"})},
        coords={
            "time": pd.date_range("2025-01-01", periods=48, freq="h"),
            "lat": ("lat", np.linspace(90, -90, 9).astype("f4"), {"units": "degrees_north"}),
            "lon": ("lon", np.arange(14) ** 2),
        },
    )


def judge(folder):
    checked, faults = 0, []
    for name, windows in WINDOWS.items():
        with xr.set_options(keep_attrs=True):
            want = weather()["t2m"].coarsen(windows, boundary="pad").mean()
        if name == "days":
            want = want.mean(dim="lon", keep_attrs=True)
        got = xr.open_zarr(f"{folder}/{name}.zarr", consolidated=False)["t2m"].load()
        checked += 1
        if got.dims != want.dims or dict(got.attrs) != dict(want.attrs) or set(got.coords) != set(want.coords):
            faults.append(f"{name}: {got}, want {want}")
            continue
        if not np.allclose(got, want, rtol=1e-12):
            faults.append(f"{name}: other items")
        for dim in want.coords:
            checked += 1
            a, b = got[dim].values, want[dim].values
            same = (a == b).all() if b.dtype.kind == "M" else a.dtype == b.dtype and np.allclose(a, b, rtol=1e-6)
            if not same or dict(got[dim].attrs) != dict(want[dim].attrs):
                faults.append(f"{name}.{dim}: {got[dim]}, want {want[dim]}")
    return {"checked": checked, "faults": faults}


if __name__ == "__main__":
    if sys.argv[1] == "make":
        weather().to_zarr(f"{sys.argv[2]}/weather.zarr", zarr_format=3, consolidated=False)
        print("[]")
    else:
        print(json.dumps(judge(sys.argv[2])))

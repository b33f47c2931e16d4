"""NetCDF-4 and HDF5, which xarray and h5py read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import farread

h5netcdf = pytest.importorskip("h5netcdf")
h5py = pytest.importorskip("h5py")
xr = pytest.importorskip("xarray")


@pytest.fixture
def nc(tmp_path: Path) -> Path:
    """A file as those of reanalyses: packed integers with a fill value, time by units, a dimension without end."""
    r = np.random.default_rng(7)
    sst = r.normal(285, 5, (30, 9, 11)).round(2)
    sst[:, 2, 3:5] = np.nan
    ds = xr.Dataset(
        {
            "sst": (("time", "lat", "lon"), sst, {"units": "K", "cell_methods": "time: mean", "valid": np.array([250, 320], "i2")}),
            "flags": (("time", "lat", "lon"), r.integers(0, 9, sst.shape, "u1"), {"flag_values": np.arange(3, dtype="u1"), "flag_meanings": "good poor bad"}),
            "land": (("lat", "lon"), sst[0] > 286),
        },
        coords={"time": np.array("2025-03-01", "M8[ns]") + np.arange(30).astype("m8[D]"), "lat": np.linspace(50, 54, 9, dtype="f4"), "lon": np.arange(11.0)},
        attrs={"Conventions": "CF-1.11", "title": "Meer\u00e9"},
    )
    encoding = {
        "sst": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 285.0, "_FillValue": np.int16(-32768), "zlib": True, "shuffle": True, "chunksizes": (7, 4, 11)},
        "flags": {"zlib": True, "chunksizes": (30, 3, 3)},
        "time": {"units": "hours since 1900-01-01", "dtype": "i4"},
    }
    ds.to_netcdf(tmp_path / "sst.nc", engine="h5netcdf", encoding=encoding, unlimited_dims=["time"])
    return tmp_path / "sst.nc"


@pytest.mark.parametrize(("where", "scaled", "chunks"), [("file", True, None), ("file", False, {}), ("s3", True, {}), ("s3", False, None)])
def test_netcdf4(nc: Path, where: str, scaled: bool, chunks: dict[str, int] | None, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = f"{tmp_path}/packed/" if where == "file" else request.getfixturevalue("cloud") + f"nc/{scaled}/"
    with xr.open_dataset(nc, engine="h5netcdf", mask_and_scale=scaled, chunks=chunks) as ds:
        farread.pack(ds, folder)
        want = ds.load()
    got = farread.open_dataset(folder)
    if scaled:
        xr.testing.assert_identical(got.load(), want)
        assert got.sst.dtype == np.float64 and np.isnan(got.sst[0, 2, 3])
    else:
        assert farread.open(folder + "sst.b2nd").dtype == np.int16
        with xr.open_dataset(nc, engine="h5netcdf") as ds:  # the attributes are applied now
            xr.testing.assert_identical(got.load(), ds.load())
    got.to_netcdf(tmp_path / "back.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "back.nc", engine="h5netcdf") as back:
        xr.testing.assert_identical(back.load(), got)


def test_hdf5(tmp_path: Path) -> None:
    want = np.arange(20 * 16 * 16, dtype="u2").reshape(20, 16, 16)
    with h5py.File(tmp_path / "run.h5", "w") as f:
        f.create_dataset("detector/frames", data=want, chunks=(1, 16, 16), compression="gzip", shuffle=True)
    with h5py.File(tmp_path / "run.h5") as f:
        farread.pack(f["detector/frames"], f"{tmp_path}/frames.b2nd", dims=("shot", "y", "x"), attrs={"run": 7})
    x = farread.open(f"{tmp_path}/frames.b2nd")
    np.testing.assert_array_equal(x[:], want)
    assert x.dims == ("shot", "y", "x") and x.attrs == {"run": 7}

"""What pack writes, read again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import farread

xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")


@pytest.mark.parametrize(
    "x",
    [
        np.arange(2 * 3 * 4).reshape(2, 3, 4),
        np.asfortranarray(np.random.default_rng(1).random((50, 60))),
        np.float32(7),
        np.zeros((0, 3), "u1"),
        np.array([("a", 1.5), ("b", 2)], [("n", "S3"), ("v", "<f8")]),
        np.array(["2025-01-01", "NaT"], "M8[s]"),
        np.arange(30)[::-3],
        [[1, 2], [3, 4]],
    ],
    ids=lambda x: str(getattr(x, "dtype", "list")),
)
def test_arrays(x: object, tmp_path: Path) -> None:
    made = farread.pack(np.asarray(x) if isinstance(x, list) else x, tmp_path / "x.b2nd")
    assert len(made) == 1 and np.asarray(farread.open(tmp_path / "x.b2nd")).tobytes() == np.asarray(x).tobytes()


def test_s3(cloud: str, cube: np.ndarray) -> None:
    uri = cloud + "new/cube.b2nd"
    farread.pack(cube, uri, dims=["t", "y", "x"], attrs={"n": np.int64(3), "missing": np.float32("nan"), "range": [-np.inf, 1.5]}, coords={"t": np.arange(60.0)}, chunks=(8, 32, 80), blocks=(4, 16, 40), codec="zstd-1")
    a = farread.open(uri)
    assert np.array_equal(a, cube) and a.dims == ("t", "y", "x") and a.attrs == {"n": 3, "missing": "NaN", "range": ["-Infinity", 1.5]} and a.chunks == (8, 32, 80)
    with pytest.raises(farread.Exists, match="overwrite=True"):
        farread.pack(cube, uri)
    farread.pack(cube[:2], uri, overwrite=True)
    assert farread.open(uri).shape == (2, 70, 80)


def test_slabs(tmp_path: Path) -> None:
    x = np.arange(1000 * 7).reshape(1000, 7)
    slabs = [x[:1], x[1:500], x[500:500], x[500:]]
    farread.pack(iter(slabs), tmp_path / "a.b2nd")
    farread.pack((s for s in slabs), tmp_path / "b.b2nd", shape=(1000, 7))
    farread.pack(da.from_array(x, chunks=(300, 3)), tmp_path / "c.b2nd")
    for name in "abc":
        assert np.array_equal(farread.open(tmp_path / f"{name}.b2nd"), x)


def test_nothing_is_left(tmp_path: Path) -> None:
    def fails() -> Iterator[np.ndarray]:
        yield np.zeros((10, 1000))
        raise RuntimeError("in the middle")

    for shape in None, (20, 1000):
        with pytest.raises(RuntimeError, match="in the middle"):
            farread.pack(fails(), tmp_path / "x.b2nd", shape=shape)
    with pytest.raises(farread.Corrupt, match="truncated"):
        farread.pack([np.zeros((10, 1000))], tmp_path / "x.b2nd", shape=(20, 1000))
    with pytest.raises(farread.Invalid, match="only the first axis"):
        farread.pack([np.zeros((1, 2)), np.zeros((1, 3))], tmp_path / "x.b2nd")
    for bad in np.array([None]), 5, "text", [], [1, 2], {"a": object()}:
        with pytest.raises(farread.Error):
            farread.pack(bad, tmp_path / "x.b2nd")
    with pytest.raises(farread.Invalid, match="attribute of object"):
        farread.pack(np.zeros(3), tmp_path / "x.b2nd", attrs={"a": object()})
    assert os.listdir(tmp_path) == []


def test_items(tmp_path: Path) -> None:
    want = [b"", b"x" * 100_000, "größe".encode(), b"\xff\x00"] * 600
    farread.pack((w for w in want), tmp_path / "x.blp", codec="zstd-1")
    assert list(farread.bloscpack.items(tmp_path / "x.blp")) == want
    assert list(farread.bloscpack.items(tmp_path / "x.blp", 3, 5)) == want[3:5] and list(farread.bloscpack.items(tmp_path / "x.blp", 9999)) == []
    assert farread.bloscpack.count(tmp_path / "x.blp") == 2400 and farread.bloscpack.item(tmp_path / "x.blp", 2) == want[2]
    with pytest.raises(LookupError):
        farread.bloscpack.item(tmp_path / "x.blp", 2400)
    with pytest.raises(farread.Unsupported, match="no array: use farread.bloscpack.items"):
        farread.open(tmp_path / "x.blp")


def weather() -> xr.Dataset:
    time = np.array("2025-01-01", "M8[ns]") + np.arange(48).astype("m8[h]")
    return xr.Dataset(
        {"t2m": (("time", "lat", "lon"), np.random.default_rng(3).random((48, 4, 5)).astype("f4"), {"units": "K"}), "mask": (("lat", "lon"), np.arange(20, dtype="i2").reshape(4, 5))},
        coords={"time": time, "lat": ("lat", np.linspace(50, 53, 4), {"units": "degrees_north"}), "lon": np.arange(5.0)},
    )


@pytest.mark.parametrize("where", ["file", "s3"])
def test_xarray(where: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    want = weather()
    folder = f"{tmp_path}/w/" if where == "file" else request.getfixturevalue("cloud") + "w/"
    farread.pack(want, folder, overwrite=True)
    with xr.open_dataset(folder, engine="farread") as got:
        xr.testing.assert_equal(got.load(), want)
        assert got.t2m.attrs == {"units": "K"} and got.lat.attrs["units"] == "degrees_north"
    lazy = farread.open_dataset(folder, chunks={})
    assert lazy.t2m.chunks is not None
    xr.testing.assert_equal(lazy.t2m.sel(lat=51, time=slice("2025-01-01T06", "2025-01-01T09")).compute(), want.t2m.sel(lat=51, time=slice("2025-01-01T06", "2025-01-01T09")))
    eager = farread.open_dataset(folder, drop_variables="mask")
    assert "mask" not in eager
    xr.testing.assert_equal(eager.t2m[[3, 1], ::-1, 2], want.t2m[[3, 1], ::-1, 2])
    xr.testing.assert_equal(eager.t2m.isel(lat=xr.DataArray([0, 1], dims="p"), lon=xr.DataArray([2, 3], dims="p")), want.t2m.isel(lat=xr.DataArray([0, 1], dims="p"), lon=xr.DataArray([2, 3], dims="p")))
    one = farread.open_dataset(folder + "t2m.b2nd")
    xr.testing.assert_equal(one.data.load().rename("t2m"), want.t2m)
    with pytest.raises(FileNotFoundError):
        farread.open_dataset(folder + "none.b2nd")

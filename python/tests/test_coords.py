"""Coordinates of all kinds, packed and opened again, and the versions that a Dataset is of."""

from __future__ import annotations

import datetime
import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import farread

from conftest import run

xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")
pytest.importorskip("cftime")


@pytest.fixture(autouse=True)
def silent() -> None:
    warnings.simplefilter("error", UserWarning)


def there_and_back(values: object, folder: Path) -> tuple[xr.DataArray, xr.DataArray]:
    x = xr.DataArray(np.arange(3.0), dims="t", coords={"t": values}, name="v")
    farread.pack(x, folder / "v.b2nd")
    return x, farread.open_dataset(folder / "v.b2nd").data.load().rename("v")


@pytest.mark.parametrize(
    "values",
    [
        xr.date_range("2000-02-28", periods=3, calendar="360_day", use_cftime=True),
        xr.date_range("2000-02-28", periods=3, freq="6h", calendar="noleap", use_cftime=True),
        pd.to_timedelta([0, 6, 12], unit="h"),
        np.array([0, 5, 7], "m8[ns]"),
        np.array([0, 5, 7], "m8[s]"),
        pd.date_range("2000", periods=3),
        np.array(["2000-01-01T00:00:00.123456789", "NaT", "2001"], "M8[ns]"),
        np.array([3, 1, 2], "M8[s]"),
        ["a", "bb", ""],
        [True, False, True],
        np.array([1, 5, 7], "u1"),
        np.array([0.1, 0.25, 0.5], "f4"),
    ],
    ids=str,
)
def test_identical(values: object, tmp_path: Path) -> None:
    want, got = there_and_back(values, tmp_path)
    xr.testing.assert_identical(got, want)
    assert got.t.dtype == want.t.dtype and type(got.indexes["t"]) is type(want.indexes["t"])


def test_sel_by_duration(tmp_path: Path) -> None:
    _, got = there_and_back(pd.to_timedelta([0, 6, 12], unit="h"), tmp_path)
    assert got.sel(t="6h") == 1
    as_counts = farread.open_dataset(tmp_path / "v.b2nd", decode_timedelta=False).t
    assert as_counts.dtype == np.int64 and as_counts.attrs["units"] in ("microseconds", "nanoseconds")  # as pandas has it


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ([datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 5)], np.array(["2020-01-01", "2020-01-02", "2020-01-05"], "M8[us]")),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), datetime.date(2020, 1, 5)], np.array(["2020-01-01", "2020-01-02", "2020-01-05"], "M8[s]")),
        ([datetime.timedelta(hours=i) for i in (0, 1, 3)], np.array([0, 3600, 10800], "m8[s]").astype("m8[us]")),
        (np.arange("2020-01", "2020-04", dtype="M8[M]"), np.array(["2020-01-01", "2020-02-01", "2020-03-01"], "M8[s]")),
        (np.array([30, 31, 32], "M8[Y]"), np.array(["2000-01-01", "2001-01-01", "2002-01-01"], "M8[s]")),
        (np.arange(3).astype("M8[15m]"), np.arange(3) * np.timedelta64(900, "s") + np.datetime64(0, "s")),
        (np.array([0, 2, 3], "m8[W]"), np.array([0, 14, 21], "m8[D]").astype("m8[s]")),
        (np.array([0, 2000, 3000], "M8[ps]"), np.array([0, 2, 3], "M8[ns]")),
    ],
    ids=str,
)
def test_times_of_other_units(given: object, want: np.ndarray, tmp_path: Path) -> None:
    farread.pack(np.zeros(3), tmp_path / "v.b2nd", dims=["t"], coords={"t": given})
    got = farread.open_dataset(tmp_path / "v.b2nd").t
    assert got.dtype == want.dtype and np.array_equal(got, want)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.array([0, 1, 3], "m8"), "no unit"),
        (np.array([0, 1, 3], "m8[M]"), "no fixed length"),
        (np.array([0, 1, 3], "M8[as]"), r"not all of it can be told in ns: round it, as by astype\('M8\[ns\]'\)"),
        (pd.MultiIndex.from_arrays([[1, 2, 3], [4, 5, 6]]), "reset_index"),
        (pd.date_range("2020", periods=3, tz="Europe/Berlin"), "tz_convert"),
        ([datetime.datetime(2020, 1, i, tzinfo=datetime.timezone.utc) for i in (1, 2, 4)], "tz_convert"),
        (pd.period_range("2020", periods=3), "Period"),
        (np.zeros((3, 1)), "has 2 axes: want one"),
    ],
)
def test_refused_by_name(given: object, says: str, tmp_path: Path) -> None:
    with pytest.raises(farread.Error, match=f"^pack: the coordinate t .*{says}"):
        farread.pack(np.zeros(3), tmp_path / "v.b2nd", dims=["t"], coords={"t": given})
    assert os.listdir(tmp_path) == []


def test_variables_of_a_calendar(tmp_path: Path) -> None:
    time = xr.date_range("2000", periods=4, calendar="360_day", use_cftime=True)
    want = xr.Dataset({"v": ("time", np.zeros(3)), "time_bnds": (("time", "n"), np.array([time[:3], time[1:]]).T)}, {"time": ("time", time[:3], {"bounds": "time_bnds"})})
    farread.pack(want, f"{tmp_path}/w/")
    xr.testing.assert_identical(farread.open_dataset(f"{tmp_path}/w/").load(), want)
    farread.pack(want.time_bnds, tmp_path / "one.b2nd")
    xr.testing.assert_identical(farread.open_dataset(tmp_path / "one.b2nd").data.load().rename("time_bnds"), want.time_bnds)
    farread.pack(want.chunk({"time": 2}), f"{tmp_path}/lazy/")
    xr.testing.assert_identical(farread.open_dataset(f"{tmp_path}/lazy/").load(), want)


@pytest.mark.parametrize("dtype", ["M8[M]", "M8[ps]", "m8", "m8[W]"])
def test_others_units_open(dtype: str, tmp_path: Path) -> None:
    """What the command packs, whose units xarray does not have."""
    np.save(tmp_path / "t.npy", np.array([0, 1, 3], "i8").view(dtype))
    np.save(tmp_path / "v.npy", np.zeros(3))
    run("pack", tmp_path / "v.npy", tmp_path / "v.b2nd", "--dims", "t", "--coord", f"t={tmp_path}/t.npy")
    if dtype in ("M8[ps]", "m8"):
        with pytest.warns(UserWarning, match="the coordinate t is of .*shown as counts") as told:
            got = farread.open_dataset(tmp_path / "v.b2nd")
        assert told[0].filename == __file__ and list(got.t.values) == [0, 1, 3]
    else:
        got = farread.open_dataset(tmp_path / "v.b2nd")
        assert np.array_equal(got.t, np.array([0, 1, 3], dtype).astype(f"{dtype[0]}8[s]"))


def test_long_coordinates(tmp_path: Path) -> None:
    x = np.random.default_rng(1).random(20_000)
    want = xr.Dataset({"v": ("x", np.arange(20_000.0)), "w": ("y", np.zeros(150_000))}, {"x": ("x", x, {"units": "m"}), "y": np.arange(150_000) * 3.5})
    farread.pack(want, f"{tmp_path}/d/")
    xr.testing.assert_identical(farread.open_dataset(f"{tmp_path}/d/").load(), want)
    one = farread.open_dataset(f"{tmp_path}/d/v.b2nd")
    xr.testing.assert_identical(one.data.load().rename("v"), want.v)
    assert "y" in farread.open_dataset(f"{tmp_path}/d/w.b2nd").coords
    os.remove(tmp_path / "d" / "x.b2nd")
    with pytest.warns(UserWarning, match="v.b2nd: without its coordinate x: .*x.b2nd") as told:
        assert not farread.open_dataset(f"{tmp_path}/d/v.b2nd").coords
    assert told[0].filename == __file__


def test_too_long_to_be_made(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.zeros(150_000, "u1"))
    np.save(tmp_path / "t.npy", np.arange(150_000))
    run("pack", tmp_path / "v.npy", tmp_path / "v.b2nd", "--dims", "t", "--coord", f"t={tmp_path}/t.npy")
    with pytest.MonkeyPatch.context() as m, pytest.warns(UserWarning, match="without its coordinate t, which has 150000 values: 0 and so on, in steps of 1"):
        m.setattr("farread._xarray._MOST", 1 << 20)
        assert not farread.open_dataset(tmp_path / "v.b2nd").coords


def versions(folder: str, value: float, first: int) -> None:
    farread.pack(xr.Dataset({"v": ("t", np.full(4, value)), "w": ("t", np.full(4, value))}, {"t": np.arange(4) + first}), folder, overwrite=True)


def test_versions_do_not_mix(cloud: str) -> None:
    folder = cloud + "versions/"
    versions(folder, 1.0, 0)
    ds = farread.open_dataset(folder)
    lazy = farread.open_dataset(folder, chunks={})
    kept = pickle.dumps(ds), pickle.dumps(lazy)
    assert list(ds.v[:2]) == [1, 1]
    versions(folder, 2.0, 100)
    farread.configure()  # nothing of what was read is kept
    for old in ds.v, ds.w, pickle.loads(kept[0]).w[2:], pickle.loads(kept[1]).v[2:]:
        with pytest.raises(farread.Changed):
            old.load()
    new = farread.open_dataset(folder, chunks={})
    assert list(new.t) == [100, 101, 102, 103]
    assert new.v.data.name != lazy.v.data.name
    assert new.v.data.name == farread.open_dataset(folder, chunks={}).v.data.name


def test_attributes_of_other_types(tmp_path: Path) -> None:
    attrs = {"by": np.bytes_("größe".encode()), "at": np.datetime64("2020-01-01T00:00:00.5", "ns"), "list": np.array(["2020", "2021"], "M8[Y]"), "when": pd.Timestamp("2020"), "in": {"n": np.int8(3)}, "names": np.array([b"a", b"b"])}
    farread.pack(np.zeros(3), tmp_path / "v.b2nd", attrs=attrs)
    assert farread.open(tmp_path / "v.b2nd").attrs == {"by": "größe", "at": "2020-01-01T00:00:00.500000000", "list": ["2020", "2021"], "when": "2020-01-01T00:00:00", "in": {"n": 3}, "names": ["a", "b"]}

"""What pack writes, read again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import farread

xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")


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


class Scaled:
    """A source that scales what it reads, as netCDF4 has them."""

    shape, dtype, chunks = (40, 3), np.dtype("i8"), (9, 3)

    def __getitem__(self, at: slice) -> np.ndarray:
        return np.arange(120).reshape(40, 3)[at] * 0.5


def test_type_of_slices(tmp_path: Path) -> None:
    farread.pack(Scaled(), tmp_path / "x.b2nd")
    assert np.array_equal(farread.open(tmp_path / "x.b2nd"), np.arange(120).reshape(40, 3) * 0.5)


def test_type_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Changes(Scaled):
        def __getitem__(self, at: slice) -> np.ndarray:
            return super().__getitem__(at).astype("f8" if at.start < 20 else "f4")

    monkeypatch.setattr("farread._pack._SLAB", 9 * 24)
    with pytest.raises(farread.Invalid, match=r"x.b2nd: rows 27 to 36 are of float32 \(9, 3\): want float64"):
        farread.pack(Changes(), tmp_path / "x.b2nd")
    assert not list(tmp_path.iterdir())


def test_large_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole chunks of the source, as long as they fit."""
    taken: list[int] = []

    class Tall(Scaled):
        chunks = (30, 1)

        def __getitem__(self, at: slice) -> np.ndarray:
            taken.append(at.stop - at.start)
            return super().__getitem__(at)

    farread.pack(Tall(), tmp_path / "x.b2nd")
    assert max(taken) >= 40
    monkeypatch.setattr("farread._pack._SLAB", 24)
    taken.clear()
    farread.pack(Tall(), tmp_path / "x.b2nd", overwrite=True)
    assert taken == [30, 30]
    monkeypatch.setattr("farread._pack._MOST", 8 * 24)
    taken.clear()
    with pytest.warns(UserWarning, match="each chunk is read 4 times"):
        farread.pack(Tall(), tmp_path / "x.b2nd", overwrite=True)
    assert taken == [8] * 5 and np.array_equal(farread.open(tmp_path / "x.b2nd"), np.arange(120).reshape(40, 3) * 0.5)


@pytest.mark.parametrize(
    ("obj", "to", "says"),
    [
        ({"a": 1, "b": 2}, "x.blp", "a dict of a, b"),
        (["a", 3], "x.blp", "a int among bytes and texts"),
        (da.from_array(np.arange(9.0))[da.from_array(np.arange(9)) > 3], "x.b2nd", "compute_chunk_sizes"),
    ],
)
def test_refused(obj: object, to: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(farread.Invalid, match=says):
        farread.pack(obj, tmp_path / to)
    assert not list(tmp_path.iterdir())


def test_nothing_is_left(tmp_path: Path) -> None:
    def fails() -> Iterator[np.ndarray]:
        yield np.zeros((10, 1000))
        raise RuntimeError("in the middle")

    for shape in None, (20, 1000):
        with pytest.raises(RuntimeError, match="in the middle"):
            farread.pack(fails(), tmp_path / "x.b2nd", shape=shape)
    for shape in (20, 1000), (9, 1000), (10, 999), (10,):
        with pytest.raises(farread.Invalid, match="shape="):
            farread.pack([np.zeros((5, 1000)), np.zeros((5, 1000))], tmp_path / "x.b2nd", shape=shape)
    with pytest.raises(farread.Invalid, match="shape="):
        farread.pack(np.zeros(3), tmp_path / "x.b2nd", shape=(4,))
    for obj, name in (["a"], "x.txt"), (["a"], "x.b2nd"), (np.zeros(3), "x.blp"), ([np.zeros(3)], "x.txt"):
        with pytest.raises(farread.Invalid, match="end the URI in it"):
            farread.pack(obj, tmp_path / name)
    masked = np.ma.masked_less(np.arange(4.0), 2)
    for bad in masked, [np.zeros(4), masked], da.from_array(masked, chunks=2), da.zeros(4, chunks=2).map_blocks(np.ma.masked_less, 2, meta=np.zeros(0)):
        with pytest.raises(farread.Unsupported, match="filled"):
            farread.pack(bad, tmp_path / "x.b2nd")
    with pytest.raises(farread.Unsupported, match="the coordinate t is a masked array.*filled"):
        farread.pack(np.zeros(4), tmp_path / "x.b2nd", dims=["t"], coords={"t": masked})
    with pytest.raises(farread.Invalid, match="^pack: chunks has 1 length, the array 2$"):
        farread.pack(np.zeros((2, 2)), tmp_path / "x.b2nd", chunks=[2])
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


@pytest.mark.filterwarnings("ignore:Duplicate dimension names")
@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        (lambda d: d.assign({"a/b": d.z}), farread.Invalid, "a/b"),
        (lambda d: d.assign({"": d.z}), farread.Invalid, "variable"),
        (lambda d: d.assign({"..": d.z}), farread.Invalid, "variable"),
        (lambda d: d.assign({1: d.z, "1": d.z}), farread.Invalid, "two variables"),
        (lambda d: d.assign(w=("p/q", [1, 2])), farread.Invalid, "p/q"),
        (lambda d: d.assign(w=("x", np.array([b"", None, 3], object))), farread.Unsupported, "w: items of object"),
        (lambda d: d.assign(w=d.z.assign_attrs(a=object()).assign_attrs(b=1)), farread.Invalid, "attribute of object"),
        (lambda d: d.assign_attrs(a=object()), farread.Invalid, "attribute of object"),
        (lambda d: d.assign_attrs(a=b"\xff"), farread.Invalid, r"attribute of bytes that are no text \(the Dataset: a\)"),
        (lambda d: d.assign(z=d.z.assign_attrs(a=np.bytes_(b"\xff"))), farread.Invalid, r"\(z: a\)"),
        (lambda d: d.assign(w=("y", [1, 2])).assign_coords(y=[1j, 2]), farread.Unsupported, "^pack: the coordinate y is of complex128"),
        (lambda d: d.assign(w=("y", [1, 2])).assign_coords(y=np.array([1, 2], "f16")), farread.Unsupported, "coordinate y is of "),
        (lambda d: d.assign(w=("y", [1, 2])).assign_coords(y=np.array([None, "a"])), farread.Unsupported, "coordinate y is of objects of Python"),
        (lambda d: d.assign(w=("y", [1, 2])).assign_coords(y=pd.IntervalIndex.from_breaks([0, 1, 2])), farread.Unsupported, "coordinate y .*Interval"),
        (lambda d: d.assign(w=("y", [1, 2])).assign_coords(y=pd.date_range("2000", periods=2, tz="UTC")), farread.Unsupported, r"coordinate y has times of a zone.*tz_convert\(None\)"),
        (lambda d: d.stack(k=["x"]), farread.Unsupported, r"coordinate k has several levels \(a MultiIndex\): give obj.reset_index\('k'\)"),
        (lambda d: d.assign(w=("y", [1, 2])).assign_coords(y=("y", xr.date_range("2000", periods=2, calendar="noleap", use_cftime=True), {"units": "m"})), farread.Error, "y"),
        (lambda d: d.assign(w=xr.Variable([f"d{i}" for i in range(17)], np.zeros((1,) * 17))), farread.Unsupported, "w has 17 axes, at most 16"),
        (lambda d: d.assign(w=xr.Variable(("p", "p"), np.zeros((2, 2)))), farread.Invalid, "w has two axes of one name, of p, p: rename one"),
        (lambda d: d.drop_vars(["z", "old"]), farread.Invalid, "without variables"),
    ],
)
def test_dataset_is_checked_first(change: Callable[[xr.Dataset], xr.Dataset], kind: type[Exception], says: str, tmp_path: Path) -> None:
    d = xr.Dataset({"z": ("x", [1, 2, 3]), "old": ("x", [1.0, 2, 3])})
    with pytest.raises(kind, match=says):
        farread.pack(change(d), f"{tmp_path}/d/")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("where", ["file", "s3"])
def test_dataset_that_is_there_in_part(where: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = f"{tmp_path}/d/" if where == "file" else request.getfixturevalue("cloud") + "part/"
    d = xr.Dataset({"z": ("x", [1, 2, 3]), "old": ("x", [1.0, 2, 3])})
    farread.pack(d.old, folder + "old.b2nd")
    with pytest.raises(farread.Exists, match=r"old.b2nd exists, and nothing was written: give overwrite=True"):
        farread.pack(d, folder)
    with pytest.raises(farread.Exists) as e:
        farread.pack(d.old, folder + "old.b2nd")
    assert "--force" not in str(e.value)
    with pytest.raises(farread.NotFound):
        farread.open(folder + "z.b2nd")
    with pytest.raises(farread.Invalid, match="z has 1 axes"):
        farread.pack(d, folder, overwrite=True, chunks=(2, 2))
    assert len(farread.pack(d, folder, overwrite=True)) == 2


@pytest.mark.filterwarnings("error::UserWarning")
def test_coordinates_without_a_place(tmp_path: Path) -> None:
    d = xr.Dataset(
        {"z": (("y", "x"), np.zeros((2, 3))), "w": ("x", [1, 2, 3])},
        {"x": [1, 2, 3], "height": 2.0, "lat": (("y", "x"), np.ones((2, 3)), {"units": "degrees_north"}), "day": ("x", [4, 5, 6]), "name": ("x", np.array(["a", "bb", "c"], object)), "to": xr.date_range("2000", periods=1, calendar="noleap", use_cftime=True)[0]},
    )
    made = farread.pack(d, f"{tmp_path}/d/")
    assert [os.path.basename(m) for m in made] == ["z.b2nd", "w.b2nd", "height.b2nd", "lat.b2nd", "day.b2nd", "name.b2nd", "to.b2nd"]
    xr.testing.assert_identical(farread.open_dataset(f"{tmp_path}/d/").load(), d)
    assert "coordinates" not in d.z.attrs
    with pytest.warns(UserWarning, match=r"height, lat, day, name, to, .*to_dataset") as told:
        farread.pack(d.z, f"{tmp_path}/z.b2nd")
    assert len(told) == 1 and told[0].filename == __file__
    with pytest.warns(UserWarning, match="not written: the coordinates who .*objects of Python") as told:
        farread.pack(d.assign_coords(who=("x", np.array([None, 1, "c"]))), f"{tmp_path}/who/")
    assert len(told) == 1 and told[0].filename == __file__
    other = d[["w"]].assign_coords(other=[7.5], of=("other", ["a"]), who=["a", "b"], far=(("n",), [1, 2]))
    farread.pack(other, f"{tmp_path}/other/")
    xr.testing.assert_identical(farread.open_dataset(f"{tmp_path}/other/").load(), other)
    farread.pack(d[["w"]].drop_vars("name").assign_coords(b=np.array([True, False])), f"{tmp_path}/bool/")
    assert farread.open_dataset(f"{tmp_path}/bool/").b.dtype == bool


def test_attributes_without_an_index(tmp_path: Path) -> None:
    d = xr.Dataset({"z": ("x", [1, 2, 3])}, attrs={"big": "x" * (20 << 20)})
    with pytest.warns(UserWarning, match="no index of the folder: .*: the attributes big are not written"):
        farread.pack(d, f"{tmp_path}/d/")
    assert list(farread.open_dataset(f"{tmp_path}/d/").z) == [1, 2, 3]


def test_folder_without_arrays(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no array")
    with pytest.raises(farread.NotFound, match="no arrays of farread here"):
        farread.open_dataset(f"{tmp_path}/")


def weather() -> xr.Dataset:
    time = np.array("2025-01-01", "M8[ns]") + np.arange(48).astype("m8[h]")
    return xr.Dataset(
        {"t2m": (("time", "lat", "lon"), np.random.default_rng(3).random((48, 4, 5)).astype("f4"), {"units": "K"}), "mask": (("lat", "lon"), np.arange(20, dtype="i2").reshape(4, 5))},
        coords={"time": time, "lat": ("lat", np.linspace(50, 53, 4), {"units": "degrees_north"}), "lon": np.arange(5.0)},
        attrs={"title": "weather", "levels": [1, 2]},
    )


@pytest.mark.parametrize("where", ["file", "s3"])
def test_xarray(where: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    want = weather()
    folder = f"{tmp_path}/w/" if where == "file" else request.getfixturevalue("cloud") + "w/"
    farread.pack(want, folder, overwrite=True)
    with xr.open_dataset(folder, engine="farread") as got:
        xr.testing.assert_equal(got.load(), want)
        assert got.attrs == want.attrs
        assert got.t2m.attrs == {"units": "K"} and got.lat.attrs["units"] == "degrees_north"
    farread.pack(want.assign_attrs(title="again"), folder, overwrite=True)
    lazy = farread.open_dataset(folder, chunks={})
    assert lazy.attrs == {"title": "again", "levels": [1, 2]}
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

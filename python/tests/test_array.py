"""Arrays, compared with NumPy."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import run

import farread
from farread import _array, _errors

s_ = np.s_
INDEXES = [
    5, -1, (5, 6, 7), s_[::-1, 3], s_[..., -1], s_[3:50:7, None, 60:2:-9, ...], s_[0:0], s_[...], s_[-1:, ::3], s_[None], s_[:, :, None, 5], s_[10:5], s_[::100],
    s_[59::-60, -70, 1:], (), s_[0, ...], s_[0, 0, 0, ...], np.int16(3), s_[np.int64(-2), 1:9:2],
]  # fmt: skip


@pytest.mark.parametrize("index", INDEXES, ids=repr)
def test_slices(stored: str, cube: np.ndarray, index: object) -> None:
    got, want = farread.open(stored)[index], cube[index]  # type: ignore[index]
    assert np.array_equal(got, want) and np.shape(got) == np.shape(want) and got.dtype == want.dtype and type(got) is type(want)


def test_about(stored: str, cube: np.ndarray) -> None:
    a = farread.open(stored)
    assert (a.shape, a.dtype, a.ndim, a.size, a.nbytes, len(a)) == (cube.shape, cube.dtype, 3, cube.size, cube.nbytes, 60)
    if stored.endswith(".b2nd"):
        assert a.chunks == (16, 32, 80) and a.dims == ("t", "y", "x")
    assert np.array_equal(np.asarray(a), cube) and np.array_equal(np.asarray(a, "f8"), cube) and np.array_equal(next(iter(a)), cube[0])
    with pytest.raises(ValueError):
        np.asarray(a, copy=False)


@pytest.mark.parametrize("index", [60, (0, 0, 0, 0), s_[..., ...], True, [1, 2], np.zeros(60, bool), "x", 1.5], ids=repr)
def test_refused(stored: str, index: object) -> None:
    with pytest.raises(IndexError):
        farread.open(stored)[index]  # type: ignore[index]


@pytest.mark.parametrize("piece", [1, 1000, 100_000, 1 << 20])
def test_pieces(stored: str, cube: np.ndarray, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long slice comes in pieces, which fill it."""
    monkeypatch.setattr(_array, "_PIECE", piece)
    a = farread.open(stored)
    few = s_[3:7, 5:9, ::7] if piece < 100_000 else s_[...]
    assert np.array_equal(a[few], cube[few]) and np.array_equal(a[5:50:9, ::-3, 3:5], cube[5:50:9, ::-3, 3:5])
    if piece == 100_000:
        pieces = list(_array._cut([range(60), range(70), range(80)], 4, (16, 32, 80)))
        assert len(pieces) > 10 and all(_array._items(p) * 4 <= piece for p in pieces)


@pytest.mark.parametrize("dtype", ["u1", ">f4", "c16", "M8[ns]", "m8[s]", "?", "S5", "U3", [("a", "<i2"), ("b", ">f8", (2,)), ("c", "S3")]], ids=str)
def test_types(tmp_path: Path, dtype: object) -> None:
    want = np.frombuffer(np.random.default_rng(1).integers(0, 2, 6 * np.dtype(dtype).itemsize, dtype="u1").tobytes(), dtype).reshape(2, 3)  # type: ignore[call-overload]
    np.save(tmp_path / "x.npy", want)
    run("pack", tmp_path / "x.npy", tmp_path / "x.b2nd")
    for name in "x.npy", "x.b2nd":
        a = farread.open(tmp_path / name)
        assert a.dtype == want.dtype and a[:, ::-1].tobytes() == want[:, ::-1].tobytes() and a[1, 2] == want[1, 2]


def test_scalar_and_empty(tmp_path: Path) -> None:
    for x in np.float32(3), np.zeros((3, 0, 2), "i2"):
        np.save(tmp_path / "x.npy", x)
        a = farread.open(tmp_path / "x.npy")
        assert np.array_equal(np.asarray(a), x) and a.shape == np.shape(x)
    with pytest.raises(TypeError):
        np.save(tmp_path / "x.npy", np.float32(3))
        len(farread.open(tmp_path / "x.npy"))


def test_pickle_and_dask(stored: str, cube: np.ndarray) -> None:
    import dask.array
    from dask.base import tokenize

    a = farread.open(stored)
    b = pickle.loads(pickle.dumps(a))
    assert np.array_equal(b[3], cube[3]) and tokenize(a) == tokenize(b)
    for chunks in "auto", (20, 70, 33):
        d = dask.array.from_array(a, chunks=chunks)
        assert np.array_equal(d[::-2, 5:60, 1].compute(scheduler="threads"), cube[::-2, 5:60, 1])
    assert dask.array.from_array(a).sum().compute() == cube.sum()


def test_threads(stored: str, cube: np.ndarray) -> None:
    a, wrong = farread.open(stored), []

    def read(i: int) -> None:
        if not np.array_equal(a[i, ::2], cube[i, ::2]):
            wrong.append(i)

    threads = [threading.Thread(target=read, args=(i,)) for i in range(40)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_replaced(tmp_path: Path) -> None:
    """An array is one version: one that was replaced raises, and another open has the new one."""
    for i in range(2):
        np.save(tmp_path / "y.npy", np.full((300, 1000), i))
        (tmp_path / "y.npy").replace(tmp_path / "x.npy")
        new = farread.open(tmp_path / "x.npy")
        assert new[299, 0] == i
        if i:
            with pytest.raises(farread.Changed, match="open it again"):
                old[150:160]
        old = new


@pytest.mark.parametrize(
    ("uri", "kind", "also"),
    [
        ("/nope/x.b2nd", farread.NotFound, FileNotFoundError),
        ("ftp://x/y", farread.Invalid, ValueError),
        ("", farread.Invalid, ValueError),
        (__file__, farread.Unsupported, TypeError),
    ],
)
def test_errors(uri: str, kind: type[Exception], also: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind) as e:
        farread.open(uri)
    assert isinstance(e.value, also) and isinstance(e.value, farread.Error) and "\n" not in str(e.value) and len(str(e.value)) > 20


def test_not_found_in_s3(cloud: str) -> None:
    for uri in cloud + "none.b2nd", "s3://no-such-bucket/x":
        with pytest.raises(FileNotFoundError, match="check the URI"):
            farread.open(uri)


def test_damaged(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(100_000))
    run("pack", tmp_path / "x.npy", tmp_path / "x.b2nd", "--codec", "zstd-1")
    p = bytearray((tmp_path / "x.b2nd").read_bytes())
    p[len(p) // 4 : len(p) // 2] = b"\xff" * (len(p) // 2 - len(p) // 4)
    (tmp_path / "x.b2nd").write_bytes(p)
    with pytest.raises(farread.Corrupt):
        farread.open(tmp_path / "x.b2nd")[:]


@pytest.mark.parametrize(
    "name, says",
    [
        ("e.nc", "farread.pack(xarray.open_dataset('AT'), \"e/\")"),
        ("e.h5", "farread.pack(xarray.open_dataset('AT'), \"e/\")"),
        ("e.zarr", "farread pack AT e/, or farread.pack(xarray.open_zarr('AT'), \"e/\")"),
        ("e.npz", "farread pack AT e/"),
        ("e.WAV", "farread pack AT e.zoom"),
        ("e.csv", "farread pack AT e.zoom"),
        ("e.xyz", ""),
    ],
)
def test_other_formats(tmp_path: Path, name: str, says: str) -> None:
    """What is not read as it is, says how it comes in."""
    at = tmp_path / name
    if name.endswith("zarr"):
        at.mkdir()
        (at / "zarr.json").write_text("{}")
    else:
        at.write_bytes((b"\x89HDF\r\n\x1a\n" if name[-2:] in ("nc", "h5") else b"unknown ") * 99)
    for ask in farread.open, farread.zoom.tracks:
        with pytest.raises(farread.Unsupported) as e:
            ask(at)
        if ask is farread.open or name != "e.zarr":
            assert says.replace("AT", str(at)) in str(e.value) and bool(says) == ("pack" in str(e.value))


def test_hints_of_limits(tmp_path: Path) -> None:
    """A hint is given where it helps: max_memory does not lift limits of answers, nor does less of one item."""
    np.save(tmp_path / "x.npy", np.zeros(32 << 20, "u1"))
    a = farread.open(tmp_path / "x.npy")
    farread.configure(max_memory="16MiB")
    with pytest.raises(farread.TooLarge, match="ask for less at a time, or allow more by farread.configure"):
        a[: 16 << 20]
    farread.configure()
    assert a[: 16 << 20].size == 16 << 20
    with open(tmp_path / "long.npy", "wb") as f:
        np.lib.format.write_array_header_1_0(f, {"descr": "|V300000000", "fortran_order": False, "shape": (2,)})
        f.truncate(f.tell() + 600_000_000)  # a hole
    with pytest.raises(farread.TooLarge, match="items of 300000000 bytes: at most 256 MiB") as e:
        farread.open(tmp_path / "long.npy")[1]
    assert "max_memory" not in str(e.value)
    kinds = {
        ("too-large", "width 65537: 65536 allowed"): "",
        ("too-large", "a slice of 300 bytes, 200 allowed"): "ask for less at a time",
        ("too-much", "300 bytes to read for it, 200 allowed"): "ask for less at a time",
        ("", "69 MiB, at most 64 MiB: exceeds limit"): "",
        ("", "b2nd: writer: a row of chunks of [1] takes 6 bytes of memory, 5 allowed: exceeds limit"): "allow more by farread.configure(max_memory=...)",
    }
    for (code, text), hint in kinds.items():
        told = _errors.from_answer(413, code, text, "") if code else _errors.from_exit(7, f"pack -: {text}", "s3://b/x")
        assert type(told) is farread.TooLarge and str(told) == ("" if code else "s3://b/x: ") + text + (": " + hint if hint else "")
    assert str(_errors.from_exit(7, "pack /tmp/farread-x_1/0.npy: bad", "y.b2nd")) == "y.b2nd: bad" and str(_errors.from_exit(7, "pack x.npy: bad")) == "pack x.npy: bad"

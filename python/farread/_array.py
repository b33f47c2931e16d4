"""Arrays that are read slice by slice."""

from __future__ import annotations

import ast
import math
import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from types import EllipsisType
from typing import Any, Optional, SupportsIndex, Union

import numpy as np
import numpy.typing as npt

from . import _errors
from ._gateway import adopt, current, fill, local_uri, root_of

#: What an array takes between brackets.
Index = Union[SupportsIndex, slice, EllipsisType, None, tuple[Union[SupportsIndex, slice, EllipsisType, None], ...]]

_PIECE = 16 << 20  # bytes of an answer: longer slices come in several
_ASIDE = 8  # answers that are read at a time


class Array:
    """An array that is read when it is sliced, as NumPy slices.

    It is one version: if the object is replaced, a read raises :class:`farread.Changed`, so
    parts of two versions never mix. It can be pickled, with what
    :func:`farread.configure` said, and shared by threads and processes.

    >>> a = farread.open(sample)
    >>> a
    <farread.Array (4, 5) int32>
    >>> a[1, ::-2]
    array([9, 7, 5], dtype=int32)
    """

    def __init__(self, uri: str, info: dict[str, Any]) -> None:
        self._uri = uri
        self._info = info
        self._shape: tuple[int, ...] = tuple(info.get("shape") or ())
        self._dtype = dtype_of(info["dtype"])
        version = "" if "pinned" not in info else "~v-" + info["version"]
        self._path = f"/slice{version}/{root_of(uri)}"

    @property
    def uri(self) -> str:
        """Where the array lies."""
        return self._uri

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the items."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of items."""
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all items in memory."""
        return self.size * self._dtype.itemsize

    @property
    def chunks(self) -> Optional[tuple[int, ...]]:
        """The shape of stored chunks, or None if the array is not stored in such."""
        c = self._info.get("chunkshape")
        return tuple(max(n, 1) for n in c) if c else None

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes that are stored with the array."""
        return dict(self._info.get("attrs") or {})

    @property
    def dims(self) -> Optional[tuple[str, ...]]:
        """The names of the axes, or None if they have none."""
        d = self._info.get("dims")
        return tuple(d) if d else None

    @property
    def info(self) -> dict[str, Any]:
        """All that headers and indexes say, as ``farread info --json`` does."""
        return dict(self._info)

    def __repr__(self) -> str:
        return f"<farread.Array {self._shape} {self._dtype}>"

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of an array without axes")
        return self._shape[0]

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._uri, self._info, current().said)

    def __dask_tokenize__(self) -> tuple[str, ...]:
        return "farread", self._uri, self._info.get("version") or repr(self._info.get("source"))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("the items have to be read, which makes new memory: copy=False is not possible")
        out = np.asarray(self[...])
        return out if dtype is None else out.astype(dtype, copy=False)

    def __getitem__(self, index: Index) -> Any:
        picks, added = _picks(index, self._shape)
        out = np.empty([len(p) for p in picks if isinstance(p, range)], self._dtype)
        if out.nbytes:
            self._read(picks, out)
        if added is not None:
            out = out.reshape(added)
        dots = index is Ellipsis or isinstance(index, tuple) and any(p is Ellipsis for p in index)
        return out if out.ndim or dots else out[()]  # as NumPy does

    def _read(self, picks: list[Union[int, range]], out: npt.NDArray[Any]) -> None:
        flat = memoryview(out.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        pieces = list(_cut(picks, self._dtype.itemsize, self.chunks))
        if len(pieces) == 1:
            self._piece(pieces[0], flat, None)
            return
        held: set[Any] = set()
        at, stop = 0, threading.Event()

        def one(piece: list[Union[int, range]], into: memoryview) -> None:
            if not stop.is_set():
                self._piece(piece, into, held)

        with ThreadPoolExecutor(min(_ASIDE, len(pieces)), "farread") as pool:
            jobs = []
            try:
                for piece in pieces:
                    n = _items(piece) * self._dtype.itemsize
                    jobs.append(pool.submit(one, piece, flat[at : at + n]))
                    at += n
                for job in wait(jobs, return_when=FIRST_EXCEPTION).done:
                    job.result()
            except BaseException:  # Ctrl-C, too: who reads is waiting for a socket
                stop.set()
                for job in jobs:
                    job.cancel()
                _shut(held)
                raise

    def _piece(self, piece: list[Union[int, range]], into: memoryview, held: Optional[set[Any]]) -> None:
        query = {"format": "raw"}
        if piece:
            query["s"] = ",".join(_spelled(p) for p in piece)
        try:
            with current().ask(self._path, query, self._uri, held) as answer:
                fill(answer, into, self._uri)
        except _errors.TooLarge as e:
            if _items(piece) > 1 or e.code != "too-large" or "slice of" not in str(e):
                raise
            raise _errors.TooLarge(f"{self._uri}: items of {self._dtype.itemsize} bytes: at most 256 MiB go through Python: unpack the array to a .npy, which numpy.load maps") from None


def _unpickled(uri: str, info: dict[str, Any], flags: dict[str, Any]) -> Array:
    adopt(flags)
    return Array(uri, info)


def _shut(held: set[Any]) -> None:
    for s in list(held):
        try:
            s.shutdown(2)
        except (OSError, AttributeError):
            pass


def _items(piece: list[Union[int, range]]) -> int:
    return math.prod(len(p) for p in piece if isinstance(p, range))


def _spelled(p: Union[int, range]) -> str:
    if isinstance(p, int):
        return str(p)
    stop = "" if p.stop < 0 else str(p.stop)
    return f"{p.start}:{stop}" + (f":{p.step}" if p.step != 1 else "")


def _picks(index: Index, shape: tuple[int, ...]) -> tuple[list[Union[int, range]], Optional[list[int]]]:
    """The items of each axis, and the shape with new axes if there are such."""
    parts = list(index) if isinstance(index, tuple) else [index]
    named = sum(p is not None and p is not Ellipsis for p in parts)
    if sum(p is Ellipsis for p in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if named > len(shape):
        raise IndexError(f"too many indices: the array has {len(shape)} axes, but {named} were indexed")
    if not any(p is Ellipsis for p in parts):
        parts.append(Ellipsis)
    picks: list[Union[int, range]] = []
    out: list[int] = []
    for p in parts:
        if p is None:
            out.append(1)
            continue
        if p is Ellipsis:
            for n in shape[len(picks) : len(picks) + len(shape) - named]:
                picks.append(range(n))
                out.append(n)
            continue
        n = shape[len(picks)]
        if isinstance(p, slice):
            r = range(*p.indices(n))
            picks.append(r)
            out.append(len(r))
            continue
        picks.append(_whole(p, len(picks), n))
    return picks, out if any(p is None for p in parts) else None


def _whole(p: Any, axis: int, n: int) -> int:
    try:
        if isinstance(p, (bool, np.bool_)):
            raise TypeError
        i = int(p.__index__())
    except (TypeError, AttributeError):
        raise IndexError("an index of an array far away is made of integers, slices and '...': read a slice, and index that in NumPy") from None
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    return i + n if i < 0 else i


def _cut(picks: list[Union[int, range]], item: int, chunks: Optional[tuple[int, ...]], axis: int = 0) -> Iterator[list[Union[int, range]]]:
    """Pieces of a selection, in the order of their bytes, that are not too long to be answers."""
    while axis < len(picks) and (isinstance(picks[axis], int) or len(picks[axis]) == 1):  # type: ignore[arg-type]
        axis += 1
    total = _items(picks) * item
    if total <= _PIECE or axis == len(picks):
        yield picks
        return
    r = picks[axis]
    assert isinstance(r, range)
    row = total // len(r)
    most = max(_PIECE // row, 1)
    chunk = chunks[axis] if chunks else 1
    at = 0
    while at < len(r):
        end = min(at + most, len(r))
        if r.step == 1 and end < len(r):  # a chunk is not decoded twice
            edge = (r.start + end) // chunk * chunk - r.start
            end = edge if edge > at else end
        part = [*picks[:axis], r[at:end], *picks[axis + 1 :]]
        yield from _cut(part, item, chunks, axis + 1) if row > _PIECE else (part,)
        at = end


def dtype_of(text: str) -> np.dtype[Any]:
    """NumPy's type of a text that farread tells."""
    try:
        return np.dtype(ast.literal_eval(text) if text[:1] in "[{(" else text)
    except (TypeError, ValueError, SyntaxError):
        raise _errors.Unsupported(f"NumPy has no type {text}: read it by farread slice --field") from None


def open(uri: Union[str, os.PathLike[str]]) -> Array:
    """Opens an array: a ``.b2nd``, a ``.b2frame`` that is one, or a ``.npy``.

    :param uri: ``s3://bucket/key``, ``https://host/path``, or a local path
    :raises NotFound: there is none
    :raises Unsupported: it is no array

    >>> a = farread.open(sample)
    >>> a.shape, a.dtype, a.dims
    ((4, 5), dtype('int32'), None)
    >>> a[2:, 0]
    array([10, 15], dtype=int32)
    """
    at = local_uri(uri)
    info = info_of(at)
    if "slice" not in info.get("can", []):
        kind = info.get("format") or ""
        way = ("" if kind else _way(at)) or _WHERE.get(kind, "see farread info")
        raise _errors.Unsupported(f"{at}: this is {'a ' + kind if kind else 'a folder'}, no array: {way}")
    return Array(at, info)


def info_of(uri: str) -> dict[str, Any]:
    """What headers and indexes of a URI say."""
    try:
        info: dict[str, Any] = current().json("/info/" + root_of(uri), uri=uri)
        return info
    except _errors.Unsupported as e:
        way = _way(uri)
        if not way:
            raise
        told = _errors.Unsupported(f"{e}: {way}")
        told.code = e.code
        raise told from None


_WHERE = {
    "gulp": "use farread.gulp.Dataset",
    "zoomcache": "use farread.zoom.view",
    "bloscpack": "use farread.bloscpack.items",
    "": "use farread.open_dataset",
}

# What makes something that is read of files of other formats.
_WAYS = {
    (".nc", ".nc4", ".cdf", ".h5", ".hdf5", ".hdf"): 'pack it once: farread.pack(xarray.open_dataset({source!r}), "{name}/"), then farread.open_dataset',
    (".zarr",): 'pack it once: farread pack {source} {name}/, or farread.pack(xarray.open_zarr({source!r}), "{name}/"), then farread.open_dataset',
    (".zarr.zip", ".npz"): "pack it once: farread pack {source} {name}/, then farread.open or farread.open_dataset",
    (".csv", ".wav", ".parquet", ".tsv"): "pack it once: farread pack {source} {name}.zoom, then farread.zoom.view",
}


def _way(uri: str) -> str:
    """What makes an array, or what else is read, of a file of another format; "" if nothing is known to."""
    path = uri.rstrip("/")
    last = path.rpartition("/")[2]
    for ends, way in _WAYS.items():
        for end in ends:
            if last.lower().endswith(end):
                return way.format(source=path, name=last[: -len(end)] or "NAME")
    return ""

"""What Python holds, or makes piece by piece, into files of farread."""

from __future__ import annotations

import itertools
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _errors
from ._coords import encoded, warn
from ._gateway import current, local_uri
from ._packcheck import check_dataset, ends, meaning, meaning_of, no_objects, plain, unmasked
from ._program import program

_SLAB = 16 << 20  # bytes that are taken at a time of arrays that are made when they are read
_MOST = 256 << 20  # the same where whole chunks of the source have more
_ITEM = (str, bytes, bytearray, memoryview)


def pack(
    obj: Any,
    uri: Union[str, os.PathLike[str]],
    *,
    dims: Optional[Sequence[str]] = None,
    attrs: Optional[Mapping[str, Any]] = None,
    coords: Optional[Mapping[str, Any]] = None,
    shape: Optional[Sequence[int]] = None,
    chunks: Optional[Sequence[int]] = None,
    blocks: Optional[Sequence[int]] = None,
    codec: Optional[str] = None,
    overwrite: bool = False,
) -> list[str]:
    """Packs arrays into ``.b2nd``, and items into ``.blp``. It returns the names of what it made.

    ``obj`` is one of

    * a NumPy array, or what can be sliced like one (dask, zarr, h5py), slab by slab along the first
      axis: ``uri`` ends in ``.b2nd``. A slab is of whole chunks of the source, but of 256 MiB at the most
    * an xarray DataArray, with names, coordinates and attributes, into a ``.b2nd``; a Dataset into
      a ``folder/``, a ``.b2nd`` for each variable, and the attributes of the Dataset in the index
      of the folder
    * an iterable of arrays, which lie behind each other along the first axis; with ``shape``, that of
      all of it, nothing is kept on disk
    * an iterable of ``bytes`` or ``str``: ``uri`` ends in ``.blp``

    An array shows when all of it was written, and nothing is left of one if that fails. Of a Dataset
    the names, types, attributes and what is there are checked before the first array is written; if
    a later one fails all the same, those before it stay. Coordinates of a Dataset that are not of one
    axis under its name, such as scalars and those of two axes, are arrays that the attribute
    ``coordinates`` names; of a DataArray alone they are left out, and a warning names them.

    :param chunks: shape of the chunks; None chooses
    :param blocks: shape of the blocks, which are read alone; None chooses
    :param codec: such as ``"zstd-5"``
    :param overwrite: replace what is there, else :class:`farread.Exists` is raised

    >>> made = farread.pack(np.arange(6).reshape(2, 3), new + ".b2nd", dims=("y", "x"), attrs={"units": "m"})
    >>> a = farread.open(new + ".b2nd")
    >>> a.shape, a.dims, a.attrs
    ((2, 3), ('y', 'x'), {'units': 'm'})
    >>> made = farread.pack([b"one", "two"], new + ".blp")
    >>> list(farread.bloscpack.items(new + ".blp"))
    [b'one', b'two']
    """
    to = local_uri(uri)
    flags: list[str] = []
    if overwrite:
        flags.append("--force")
    if codec:
        flags += ["--codec", codec]
    for name, lengths in ("chunk-shape", chunks), ("block-shape", blocks):
        if lengths is not None:
            flags += [f"--{name}", ",".join(map(str, lengths))]
    with tempfile.TemporaryDirectory(prefix="farread-") as folder:
        tmp = Path(folder)  # of names, attributes and coordinates
        if _is(obj, "Dataset"):
            if dims is not None or attrs is not None or coords is not None:
                raise _errors.Invalid("pack: a Dataset has dims, attrs and coords of its own")
            if not to.endswith("/"):
                raise _errors.Invalid(f"{to}: a Dataset goes into a folder: end it in /")
            obj = encoded(obj)
            own, parts = check_dataset(tmp, obj, to, overwrite, [x for x in (chunks, blocks) if x is not None])
            made = [made for name, meant in parts for made in _array(obj[name].variable.data, f"{to}{name}.b2nd", [*flags, *meant])]
            _index(to, own, obj.attrs)
            return made
        if _is(obj, "DataArray"):
            obj = encoded(obj)
            if coords is None:
                _warn_dropped(obj)
            return _array(obj.variable.data, to, [*flags, *meaning_of(tmp, obj, dims, attrs, coords)])
        if hasattr(obj, "__array__") or hasattr(obj, "shape") and hasattr(obj, "dtype"):
            own_shape = tuple(getattr(obj, "shape", ()))
            if shape is not None and tuple(shape) != own_shape:
                raise _errors.Invalid(f"pack: shape={tuple(shape)} of an array of {own_shape}: shape is for iterables")
            return _array(obj, to, [*flags, *meaning(tmp, dims, attrs, coords)])
        if isinstance(obj, Mapping):  # groups of h5py and trees of xarray, too
            raise _errors.Invalid(f"pack: a {type(obj).__name__} of {', '.join(map(str, itertools.islice(obj, 5)))}: pack what it has, one after the other")
        if isinstance(obj, (str, bytes)) or not isinstance(obj, Iterable):
            raise _errors.Invalid(f"pack: a {type(obj).__name__}: want an array, or an iterable of arrays, bytes or texts")
        items = iter(obj)
        first = next(items, None)
        if first is None:
            raise _errors.Invalid("pack: an iterable without anything says not what it is of")
        items = itertools.chain([first], items)
        if isinstance(first, _ITEM):
            return _items(items, to, flags)
        return _slabs(items, plain(first), shape, to, [*flags, *meaning(tmp, dims, attrs, coords)])


def _is(obj: Any, name: str) -> bool:
    """Whether xarray made an object, without importing it."""
    x = sys.modules.get("xarray")
    return x is not None and isinstance(obj, getattr(x, name))


def _warn_dropped(x: Any) -> None:
    """Names the coordinates that a DataArray loses: those that are not of one of its axes."""
    dropped = [str(name) for name, c in x.coords.items() if c.dims != (name,)]
    if dropped:
        warn(f"pack: not written: the coordinates {', '.join(dropped)}, which are not of one axis, under its name: a folder keeps them, as by pack(x.to_dataset(name=…), \"folder/\")")


def _index(folder: str, file: Path, attrs: Mapping[Any, Any]) -> None:
    """Writes the index of a folder of arrays, which has the attributes of all of them: those in a file."""
    try:
        _run(["index", folder, "--force", "--attrs", str(file)], iter(()))
    except (_errors.Unsupported, _errors.TooLarge, _errors.Denied) as e:  # the arrays are there without it
        lost = f": the attributes {', '.join(map(str, attrs))} are not written" if attrs else ""
        warn(f"pack: no index of the folder: {e}{lost}")


def _array(obj: Any, to: str, flags: list[str]) -> list[str]:
    ends(to, ".b2nd", "an array")
    unmasked(obj)
    if not isinstance(obj, np.ndarray) and not (isinstance(getattr(obj, "dtype", None), np.dtype) and hasattr(obj, "shape") and hasattr(obj, "__getitem__")):
        obj = np.asarray(obj)
    if obj.shape is None or not all(isinstance(n, (int, np.integer)) for n in obj.shape):
        raise _errors.Invalid(f"pack: {to}: an array of the shape {obj.shape}: want lengths that are known (of dask: compute_chunk_sizes())")
    slabs = _cut(obj, to)
    ahead = list(itertools.islice(slabs, 1))  # says the type
    dtype = ahead[0].dtype if ahead else obj.dtype

    def all_of_them() -> Iterator[npt.NDArray[Any]]:
        if ahead:
            yield ahead.pop()  # nothing else has it
        yield from slabs

    return _npy(all_of_them(), dtype, tuple(obj.shape), to, flags)


def _cut(obj: Any, to: str) -> Iterator[npt.NDArray[Any]]:
    """Slabs of an array along its first axis, all of the type of the first: a source that scales what it
    reads says another than its slices have."""
    if not obj.shape:
        yield plain(obj[()])
        return
    row = max(math.prod(obj.shape[1:]) * obj.dtype.itemsize, 1)
    n, first = max(_SLAB // row, 1), 1
    own = getattr(obj, "chunks", None)  # whole chunks of the source
    if own and not isinstance(obj, np.ndarray):
        first = max(own[0] if isinstance(own[0], int) else max(own[0], default=1), 1)
        most = max(_MOST // row, 1)
        n = min(max(n // first, 1) * first, most)
        if times := -(-min(first, obj.shape[0]) // most) - 1:
            warn(f"pack: {to}: chunks of the source have {first} rows, of which {n} fit into {_MOST >> 20} MiB: each chunk is read {times + 1} times")
    dtype = None
    for at in range(0, obj.shape[0], n):
        x = plain(obj[at : at + n])
        want = (min(n, obj.shape[0] - at), *obj.shape[1:])
        if dtype is None:
            dtype = x.dtype
        if x.dtype != dtype or x.shape != want:
            raise _errors.Invalid(f"pack: {to}: rows {at} to {at + want[0]} are of {x.dtype} {x.shape}: want {dtype} {want}")
        yield x
        del x  # before the next one is made


def _slabs(items: Iterator[Any], first: npt.NDArray[Any], shape: Optional[Sequence[int]], to: str, flags: list[str]) -> list[str]:
    ends(to, ".b2nd", "an iterable of arrays")
    if first.ndim == 0:
        raise _errors.Invalid("pack: an iterable of numbers: make an array of it, or give arrays along the first axis")

    if shape is not None and (len(shape) != first.ndim or tuple(shape[1:]) != first.shape[1:]):
        raise _errors.Invalid(f"pack: shape={tuple(shape)} of arrays of {first.shape}: only the first axis may differ")

    def checked() -> Iterator[npt.NDArray[Any]]:
        rows = 0
        for x in items:
            a = plain(x)
            if a.dtype != first.dtype or a.shape[1:] != first.shape[1:]:
                raise _errors.Invalid(f"pack: an array of {a.dtype} {a.shape} behind one of {first.dtype} {first.shape}: only the first axis may differ")
            rows += a.shape[0]
            if shape is not None and rows > shape[0]:
                raise _errors.Invalid(f"pack: the arrays have {rows} rows or more, and shape={tuple(shape)} says {shape[0]}")
            yield a
        if shape is not None and rows < shape[0]:
            raise _errors.Invalid(f"pack: the arrays have {rows} rows, and shape={tuple(shape)} says {shape[0]}")

    if shape is not None:
        return _npy(checked(), first.dtype, tuple(shape), to, flags)
    with tempfile.TemporaryFile() as f:  # how long the first axis is, is known at the end
        rows = 0
        for a in checked():
            f.write(_bytes(a))
            rows += a.shape[0]
        f.seek(0)
        whole = (rows, *first.shape[1:])
        return _npy(iter(lambda: f.read(_SLAB), b""), first.dtype, whole, to, flags)


def _bytes(a: npt.NDArray[Any]) -> memoryview:
    return memoryview(np.ascontiguousarray(a).reshape(-1).view(np.uint8)) if a.dtype.itemsize else memoryview(b"")  # type: ignore[arg-type,unused-ignore]


def _npy(slabs: Iterator[Any], dtype: np.dtype[Any], shape: tuple[int, ...], to: str, flags: list[str]) -> list[str]:
    """Packs an array that comes as slabs of items."""
    no_objects(dtype)
    if dtype.names is None and dtype.subdtype is None:
        dtype = np.dtype(dtype.str)  # without what xarray notes in types

    def pieces() -> Iterator[Any]:
        head = _Head()
        np.lib.format.write_array_header_2_0(head, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape})  # type: ignore[arg-type,unused-ignore]
        yield head.text
        for slab in slabs:
            yield slab if isinstance(slab, bytes) else _bytes(slab)
            del slab

    return _run(["pack", "-", to, *flags], pieces())


class _Head:
    """Takes what NumPy writes."""

    text = b""

    def write(self, p: bytes) -> None:
        self.text += p


def _items(items: Iterator[Any], to: str, flags: list[str]) -> list[str]:
    """Packs items by way of a file of records behind their lengths."""
    ends(to, ".blp", "an iterable of bytes or texts")
    with tempfile.NamedTemporaryFile(prefix="farread-", delete=False) as f:
        try:
            for x in items:
                if not isinstance(x, _ITEM):
                    raise _errors.Invalid(f"pack: {to}: a {type(x).__name__} among bytes and texts")
                p = x.encode() if isinstance(x, str) else bytes(x)
                f.write(struct.pack("<I", len(p)))
                f.write(p)
            f.close()
            return _run(["pack", f.name, to, "--records", "u32le", *flags], iter(()))
        finally:
            f.close()
            os.unlink(f.name)


def _run(args: list[str], pieces: Iterator[Any]) -> list[str]:
    """Runs a command that writes, and gives it what it reads."""
    command = [program(), *args, "--json", "--quiet", *current().flags]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=errors, start_new_session=True)
        assert p.stdin is not None
        try:
            _feed(p.stdin, pieces)
            status = p.wait()
        except BaseException:
            p.terminate()  # nothing of it shows then; before the pipe ends, which could be a whole array
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                pass
            _end(p.stdin)
            p.wait()
            raise
        errors.seek(0)
        out.seek(0)
        if status != 0:
            raise _errors.from_exit(status, errors.read().decode(errors="replace").strip(), args[2] if args[0] == "pack" else "")
        return [str(x) for x in json.loads(out.read()).get("outputs", [])]


def _feed(pipe: IO[bytes], pieces: Iterator[Any]) -> None:
    try:
        for piece in pieces:
            pipe.write(piece)
            del piece
        pipe.flush()
    except BrokenPipeError:  # it failed, and says why
        pass
    _end(pipe)


def _end(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        pass

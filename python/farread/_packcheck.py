"""What pack refuses before it writes, and how it tells the program what items mean."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _errors
from ._coords import check_name, stored
from ._gateway import current, root_of


_AXES = 16  # of an array


def ends(to: str, suffix: str, what: str) -> None:
    """Refuses another kind of file than the one that something goes into."""
    if not to.endswith(suffix):
        raise _errors.Invalid(f"{to}: {what} goes into a {suffix}: end the URI in it")


def no_objects(dtype: np.dtype[Any], name: str = "") -> None:
    if dtype.hasobject:
        raise _errors.Unsupported(f"pack: {name}items of {dtype} are objects of Python: convert them, to numbers or to text of a fixed length, as by astype(str)" + (", or leave it out by drop_vars" if name else ""))


def unmasked(x: Any) -> None:
    """Refuses masked arrays, also those that dask would make."""
    if isinstance(x, np.ma.MaskedArray) or isinstance(getattr(x, "_meta", None), np.ma.MaskedArray):
        raise _errors.Unsupported("pack: a masked array, whose mask would be lost: give x.filled(…), with a value that stands for what is missing (of dask: dask.array.ma.filled)")


def plain(x: Any) -> npt.NDArray[Any]:
    """NumPy's array of something that is not masked."""
    if hasattr(x, "__dask_graph__"):  # only what it makes may say that it is masked
        x = x.compute()
    unmasked(x)
    return np.asarray(x)


def check_dataset(tmp: Path, ds: Any, to: str, overwrite: bool, lengths: Sequence[Sequence[int]]) -> tuple[Path, list[tuple[Any, list[str]]]]:
    """Refuses a Dataset of which an array could not be written, before the first one is.

    It returns the file of its attributes, and for each array the flags for what its items mean.
    """
    if not ds.data_vars:
        raise _errors.Invalid("pack: a Dataset without variables: there is nothing to write an array of")
    seen: set[str] = set()
    for name, x in ds.data_vars.items():
        check_name(str(name), "variable", "/\\")
        if str(name) in seen:
            raise _errors.Invalid(f"pack: two variables are called {name}")
        seen.add(str(name))
        for d in x.dims:
            check_name(str(d), "dimension", "/\\,=")
        if len(set(map(str, x.dims))) < x.ndim:
            raise _errors.Invalid(f"pack: {name} has two axes of one name, of {', '.join(map(str, x.dims))}: rename one")
        if x.ndim > _AXES:
            raise _errors.Unsupported(f"pack: {name} has {x.ndim} axes, at most {_AXES} are written")
        no_objects(x.dtype, f"{name}: ")
        if x.chunks is not None:  # of dask; xarray itself makes NaN of masks, and others would be read
            unmasked(x.variable.data)
        for n in lengths:
            if len(n) != x.ndim:
                raise _errors.Invalid(f"pack: {name} has {x.ndim} axes, and chunks or blocks {tuple(n)} are of {len(n)}")
    attrs = json_file(tmp / "attrs.json", ds.attrs, "the Dataset")
    parts = []
    for i, name in enumerate(ds.data_vars):
        (tmp / str(i)).mkdir()
        parts.append((name, meaning_of(tmp / str(i), ds[name], of=str(name))))
    if not overwrite:
        for name in seen:
            at = f"{to}{name}.b2nd"
            if _exists(at):
                raise _errors.from_exit(5, f"{at} exists, and nothing was written")
    return attrs, parts


def _exists(uri: str) -> bool:
    """Whether there is something. What may not be asked for is not known to be there: then the writer finds out."""
    if "://" not in uri:
        return os.path.lexists(uri)
    try:
        current().json("/info/" + root_of(uri), uri=uri)
    except (_errors.NotFound, _errors.Denied):
        return False
    except (_errors.Corrupt, _errors.Unsupported, _errors.TooLarge):
        pass
    return True


def meaning(tmp: Path, dims: Optional[Sequence[str]], attrs: Optional[Mapping[str, Any]], coords: Optional[Mapping[str, Any]], of: str = "") -> list[str]:
    """The flags for names, coordinates and attributes, whose files lie in a folder."""
    flags: list[str] = []
    if dims is not None:
        flags += ["--dims", ",".join(map(str, dims))]
    if attrs:
        flags += ["--attrs", str(json_file(tmp / "attrs.json", attrs, of))]
    for i, (name, values) in enumerate((coords or {}).items()):
        x, told = stored(name, values, plain)
        np.save(tmp / f"{i}.npy", x.view(x.dtype.str), allow_pickle=False)  # without what xarray notes in types
        flags += ["--coord", f"{name}={tmp / f'{i}.npy'}"]
        if told:
            flags += ["--attrs", f"{name}={json_file(tmp / f'{i}.json', told, f'the coordinate {name}')}"]
    return flags


def meaning_of(
    tmp: Path, x: Any, dims: Optional[Sequence[str]] = None, attrs: Optional[Mapping[str, Any]] = None, coords: Optional[Mapping[str, Any]] = None, of: str = ""
) -> list[str]:
    """The same of a DataArray, in place of whose own there may be others."""
    names = list(dims) if dims is not None else [str(d) for d in x.dims]
    if coords is None:
        coords = {str(new): x.coords[old] for old, new in zip(x.dims, names) if old in x.coords}
    return meaning(tmp, names, x.attrs if attrs is None else attrs, coords, of)


def json_file(path: Path, attrs: Mapping[str, Any], of: str = "") -> Path:
    """Writes attributes, of something that errors name, as JSON."""
    # NaN and infinities, as NetCDF has them, are no JSON: they become texts, as in Zarr.
    native = {_key(k, of): _native(x, f"{of}: {k}" if of else str(k)) for k, x in dict(attrs).items()}
    path.write_text(json.dumps(json.loads(json.dumps(native), parse_constant=str)))
    return path


def _native(x: Any, of: str) -> Any:
    """What JSON has of an attribute."""
    if isinstance(x, np.ndarray) and x.dtype.kind == "M":
        return np.datetime_as_string(x).tolist()
    if isinstance(x, np.datetime64) or hasattr(x, "isoformat"):
        return str(x) if isinstance(x, np.datetime64) else x.isoformat()
    if isinstance(x, np.ndarray):
        return _native(x.tolist() if x.dtype.kind != "m" else x.astype(str).tolist(), of)
    if isinstance(x, np.timedelta64):
        return str(x)
    if isinstance(x, bytes):  # as HDF5 has its texts
        try:
            return x.decode()
        except UnicodeDecodeError:
            raise _errors.Invalid(f"pack: an attribute of bytes that are no text ({of}): want numbers, texts, lists and dicts") from None
    if isinstance(x, np.generic):
        return _native(x.item(), of)
    if isinstance(x, Mapping):
        return {_key(k, of): _native(v, f"{of}.{k}") for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_native(v, of) for v in x]
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    raise _errors.Invalid(f"pack: an attribute of {type(x).__name__} ({of}): want numbers, texts, lists and dicts")


def _key(k: Any, of: str) -> str:
    if isinstance(k, np.generic):
        k = k.item()
    if isinstance(k, str):
        return k
    if k is None or isinstance(k, (bool, int, float)):
        return next(iter(json.loads(json.dumps({k: 0}))))  # type: ignore[no-any-return]
    raise _errors.Invalid(f"pack: an attribute called {k!r}{f' ({of})' if of else ''}: want texts for names")

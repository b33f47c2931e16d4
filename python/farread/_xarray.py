"""The engine of xarray, which is imported with it alone."""

from __future__ import annotations

import base64
import functools
import os
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
import numpy.typing as npt
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from . import _array, _errors
from ._coords import exactly, warn
from ._gateway import adopt, current, local_uri, root_of

if TYPE_CHECKING:
    import xarray as xr

_SUFFIXES = (".b2nd", ".b2frame")
_MOST = 256 << 20  # bytes of a regular coordinate that is made
_ASIDE = 16  # arrays that are opened side by side
_NAMED = ("shape", "dtype", "chunkshape", "version", "pinned", "source")  # all that reading needs


class _Member:
    """An array at the version that was open when the Dataset was opened, also where it is unpickled."""

    def __init__(self, array: Optional[_array.Array], uri: str, why: Optional[_errors.Error] = None) -> None:
        self.array, self.uri, self._why = array, uri, why

    def read(self, key: Any) -> npt.NDArray[Any]:
        if self.array is None:  # it may not be read
            raise self._why or _errors.NotFound(self.uri)
        return np.asarray(self.array[key])

    def __reduce__(self) -> tuple[Any, ...]:
        if self.array is None:
            return _Member, (None, self.uri)
        named = {k: v for k, v in self.array.info.items() if k in _NAMED}
        return _unpickled, (self.uri, named, current().said)

    def info(self) -> dict[str, Any]:
        return self.array.info if self.array is not None else {}


def _unpickled(uri: str, info: dict[str, Any], flags: dict[str, Any]) -> _Member:
    adopt(flags)
    return _Member(_array.Array(uri, info), uri)


def _member(places: list[str]) -> _Member:
    """Opens the first that is there of a list of places."""
    for place in places:
        try:
            return _Member(_array.open(place), place)
        except _errors.NotFound:
            if place == places[-1]:
                raise
        except _errors.Denied as e:  # the index of a folder tells of arrays that not everybody may read
            return _Member(None, place, e)
    raise _errors.NotFound(str(places))


def _members(uri: str, names: Iterable[str]) -> dict[str, _Member]:
    """Opens arrays, several side by side."""
    if uri.rstrip("/").endswith(_SUFFIXES):
        return {name: _member([uri]) for name in names}
    listed = list(names)
    with ThreadPoolExecutor(_ASIDE, "farread") as pool:
        found = pool.map(lambda name: _member([f"{uri.rstrip('/')}/{name}{s}" for s in _SUFFIXES]), listed)
        return dict(zip(listed, found))


class Versions:
    """The versions that a Dataset is of. xarray calls tasks of dask after what it gives an engine, and so after them."""

    def __init__(self) -> None:
        self.all: tuple[tuple[str, str], ...] = ()

    def __dask_tokenize__(self) -> tuple[tuple[str, str], ...]:
        return self.all


class _Lazy(BackendArray):  # type: ignore[misc,unused-ignore]
    """An array as xarray wants to read it."""

    def __init__(self, member: _Member, shape: tuple[int, ...], stored: np.dtype[Any], dtype: np.dtype[Any]) -> None:
        self.member, self.shape, self.stored, self.dtype = member, shape, stored, dtype

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        x = self.member.read(key)
        return x if self.dtype == self.stored else np.asarray(x).astype(self.dtype)


class Backend(BackendEntrypoint):  # type: ignore[misc,unused-ignore]
    """The engine ``farread`` of xarray."""

    description = "Arrays of Blosc2 (b2nd), read by farread with few ranged requests"
    url = "https://github.com/farread/farread"
    open_dataset_parameters = (
        "filename_or_obj", "drop_variables", "mask_and_scale", "decode_times", "decode_timedelta", "use_cftime", "concat_characters", "decode_coords", "versions",
    )  # fmt: skip

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        return isinstance(filename_or_obj, (str, os.PathLike)) and os.fspath(filename_or_obj).endswith(_SUFFIXES)

    def open_dataset(  # type: ignore[override,unused-ignore]
        self,
        filename_or_obj: Union[str, os.PathLike[str]],
        *,
        drop_variables: Union[str, Iterable[str], None] = None,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        decode_timedelta: Optional[bool] = None,
        use_cftime: Optional[bool] = None,
        concat_characters: bool = True,
        decode_coords: Union[str, bool] = True,
        versions: Optional[Versions] = None,
    ) -> xr.Dataset:
        import xarray

        dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        uri = local_uri(filename_or_obj)
        doc = current().json(f"/group/{root_of(uri)}/zarr.json", uri=uri)
        if not doc["consolidated_metadata"]["metadata"]:
            raise _nothing(uri, doc)
        counts = decode_times is False or bool(use_cftime or getattr(decode_times, "use_cftime", None)), decode_timedelta is False
        docs = {name: of for name, of in doc["consolidated_metadata"]["metadata"].items() if name not in dropped}
        members = _members(uri, [name for name, of in docs.items() if "farread" in of.get("attributes", {})])
        if versions is not None:
            versions.all = tuple((m.uri, str(m.info().get("version") or m.info().get("source"))) for m in members.values())
        left = {k: v for k, v in (doc.get("attributes", {}).get("farread", {}).get("coordinates") or {}).items() if k not in dropped}
        for name, why in left.items():
            warn(f"{uri}: the coordinate {name} is {why}")
        variables = _variables(uri, docs, members, dropped | left.keys(), counts)
        attrs = {k: v for k, v in doc.get("attributes", {}).items() if k != "farread"}
        data = xarray.Dataset(variables, attrs=attrs)
        options: dict[str, Any] = {}
        if use_cftime is not None:
            options["use_cftime"] = use_cftime
        if decode_timedelta is not None:
            options["decode_timedelta"] = decode_timedelta
        decoded = xarray.decode_cf(
            data, mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters, decode_coords=decode_coords, **options  # type: ignore[arg-type,unused-ignore]
        )
        decoded.encoding["source"] = uri
        return decoded


def _nothing(uri: str, doc: Mapping[str, Any]) -> _errors.Error:
    """The error for a folder in which no array can be read."""
    skipped = doc.get("attributes", {}).get("farread", {}).get("skipped") or []
    refused = [s for s in skipped if s.partition(": ")[0].endswith(_SUFFIXES)]
    if refused:
        return _errors.Unsupported(f"{uri}: no array in this folder can be read: {', '.join(refused[:3])}")
    return _errors.NotFound(f"{uri}: no arrays of farread here: want NAME.b2nd, or a folder with such; of NetCDF, Zarr and others farread.pack(xarray.open_dataset(...), \"FOLDER/\") makes one")


def _variables(uri: str, docs: Mapping[str, Any], members: Mapping[str, _Member], dropped: set[Any], counts: tuple[bool, bool]) -> dict[str, Any]:
    """The variables of the documents of a group, all of the versions of its arrays that are open.

    counts say whether points in time and durations are to stay numbers.
    """
    variables = {name: _variable(member, name, docs[name]) for name, member in members.items()}
    layers: dict[str, tuple[_Member, dict[str, Any]]] = {}
    for member in members.values():
        for c in _layer(member.info()):
            name = c["dim"]
            if name in variables or name in dropped:
                continue
            if name not in layers:
                layers[name] = member, c
            elif not _same(layers[name][1], c):
                raise _errors.Changed(f"{uri}: arrays were replaced while they were opened, and have other values of {name}: open it again")
    for name, (member, c) in layers.items():
        found = _beside(member, c) if "array" in c else _coordinate(member, c, docs.get(name), counts)
        if found is not None:
            variables[name] = found
    for name, of in docs.items():  # of an array that is left out, or may not be read
        if name not in variables:
            variables[name] = _raw(uri, name, of)
    return variables


def _layer(info: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The coordinates that lie in the layer of an array, or beside it."""
    layer = (info.get("metadata") or {}).get("farread")
    coords = layer.get("coords") if isinstance(layer, dict) else None
    dims, shape = info.get("dims") or [], info.get("shape") or []
    sound = {c["dim"] for c in info.get("coords") or [] if c["dim"] in dims}  # those that the program could make use of
    return [{**c, "n": shape[dims.index(c["dim"])]} for c in coords or [] if c.get("dim") in sound]


def _same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    if "array" in a or "array" in b:
        return True  # the arrays themselves tell
    if a["dtype"] != b["dtype"] or a["n"] != b["n"]:
        return False
    if "values" not in a and "values" not in b and (a["start"], a["step"]) == (b["start"], b["step"]):
        return True
    return max(a["n"], b["n"]) > 1 << 20 or np.array_equal(_values(a).view("u1"), _values(b).view("u1"))


def _values(c: Mapping[str, Any]) -> npt.NDArray[Any]:
    """The values of a coordinate, as the layer of its array has them."""
    dtype, n = _array.dtype_of(c["dtype"]), c["n"]
    if "values" in c:
        return np.frombuffer(base64.b64decode(c["values"]), dtype)
    if dtype.kind == "f":
        return np.asarray(c["start"] + np.arange(n) * np.float64(c["step"]), dtype)
    counts = np.arange(n, dtype="i8") * np.int64(c["step"]) + np.int64(c["start"])
    return np.asarray(counts.view(dtype) if dtype.kind in "mM" else counts.astype(dtype))


def _coordinate(member: _Member, c: Mapping[str, Any], doc: Optional[Mapping[str, Any]], counts: tuple[bool, bool]) -> Any:
    """The variable of a coordinate in the layer of an array; None if it has another number of values than the axis."""
    import xarray

    if "values" not in c and c["n"] * _array.dtype_of(c["dtype"]).itemsize > _MOST:
        warn(f"{member.uri}: without its coordinate {c['dim']}, which has {c['n']} values: {c['start']} and so on, in steps of {c['step']}")
        return None
    x, attrs = _values(c), dict(c.get("attrs") or {})
    if len(x) != c["n"]:
        return None
    if x.dtype.kind in "mM":
        if doc is not None and doc["data_type"] == "int64" and counts["Mm".index(x.dtype.kind)]:
            return xarray.Variable((c["dim"],), x.view("i8"), doc.get("attributes"))
        attrs = {k: v for k, v in attrs.items() if k not in ("units", "calendar")}
        return xarray.Variable((c["dim"],), _times(x, f"{member.uri}: the coordinate {c['dim']}"), attrs)
    attrs = dict(doc.get("attributes", attrs)) if doc is not None else attrs
    _mend_fill(attrs, x.dtype)
    return xarray.Variable((c["dim"],), x, attrs)


def _times(x: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    """Times in a unit that xarray has, or else their counts."""
    to = _resolution(x.dtype)
    found = exactly(x, to) if to.kind in "mM" else None
    if found is None:
        warn(f"{what} is of {x.dtype}, which xarray cannot have: it is shown as counts")
        return x.astype(x.dtype.newbyteorder("=")).view("i8")
    if _only_ns() and (ns := exactly(found, np.dtype(f"{to.kind}8[ns]"))) is not None:
        return ns
    return found


@functools.cache
def _only_ns() -> bool:
    """Whether xarray, as it was before 2025, makes nanoseconds of all times, with a warning."""
    import xarray

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(xarray.Variable((), np.datetime64(0, "s")).dtype == np.dtype("M8[ns]"))


def _resolution(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of times of xarray that may have all times of another one; int64 if there is none."""
    unit, _ = np.datetime_data(dtype)
    if unit == "generic" or dtype.kind == "m" and unit in "YM":
        return np.dtype("i8")
    to = "ns" if unit in ("ns", "ps", "fs", "as") else unit if unit in ("ms", "us") else "s"
    return np.dtype(f"{dtype.kind}8[{to}]")


def _beside(member: _Member, c: Mapping[str, Any]) -> Any:
    """The variable of a coordinate that is an array beside; None, with a warning, if that is not there."""
    import xarray

    name, place = c["dim"], f"{member.uri.rpartition('/')[0]}/{c['array']}"
    try:
        beside = _member([place])
        x = beside.read(slice(0, c["n"]))
    except (_errors.NotFound, _errors.Denied, _errors.Unsupported) as e:
        x, why = None, str(e)
    if x is None or x.shape != (c["n"],):
        warn(f"{member.uri}: without its coordinate {name}: {why if x is None else f'{place} has another shape'}")
        return None
    attrs = beside.info().get("attrs") or dict(c.get("attrs") or {})
    if x.dtype.kind in "mM":
        x = _times(x, f"{place}: the coordinate {name}")
    _mend_fill(attrs, x.dtype)
    return xarray.Variable((name,), x, attrs)


def _raw(uri: str, name: str, doc: Mapping[str, Any]) -> Any:
    """The variable of a coordinate that is in the layer of an array, of one raw chunk."""
    import xarray

    shape, attrs, dtype = tuple(doc["shape"]), dict(doc.get("attributes", {})), _zarr_type(doc)
    _mend_fill(attrs, dtype)
    with current().ask(f"/group~raw/{root_of(uri)}/{name}/c" + "/0" * len(shape), uri=uri) as answer:
        x = np.frombuffer(answer.read(), dtype).reshape(shape)
    if dtype.kind in "mM":
        x = _times(x, f"{uri}: the coordinate {name}")
    return xarray.Variable(doc["dimension_names"], x, attrs)


def _variable(member: _Member, name: str, doc: Mapping[str, Any]) -> Any:
    """The variable of an array's document of Zarr."""
    import xarray

    shape = tuple(doc["shape"])
    attrs = dict(doc["attributes"])
    own = attrs.pop("farread")
    a = member.array
    stored = a.dtype if a is not None else _array.dtype_of(own["dtype"])
    if a is not None and (a.shape != shape or any(k != "_FillValue" and attrs.get(k, v) != v for k, v in a.attrs.items())):
        raise _errors.Changed(f"{a.uri}: it was replaced while it was opened: open it again")
    dtype = _shown(stored, doc["dimension_names"] == [name])
    _mend_fill(attrs, stored)
    lazy = indexing.LazilyIndexedArray(_Lazy(member, shape, stored, dtype))
    chunks = [max(n, 1) for n in own.get("chunkshape") or shape]
    encoding = {"preferred_chunks": dict(zip(doc["dimension_names"], chunks)), "chunks": tuple(chunks)}
    return xarray.Variable(doc["dimension_names"], lazy, attrs, encoding)


def _shown(stored: np.dtype[Any], index: bool) -> np.dtype[Any]:
    """The type that a variable has: of times one of xarray, if that may have all of them."""
    if stored.kind not in "mM":
        return stored
    to, (unit, _) = _resolution(stored), np.datetime_data(stored)
    return to if unit not in ("generic", "ps", "fs", "as") and to.kind in "mM" or index else stored


def _mend_fill(attrs: dict[str, Any], dtype: np.dtype[Any]) -> None:
    """Spells _FillValue as a number, which Zarr v3 has in base64."""
    fill = attrs.get("_FillValue")
    if isinstance(fill, str) and dtype.kind in "fc":
        try:
            attrs["_FillValue"] = np.frombuffer(base64.b64decode(fill, validate=True), "<f8")[0].astype(dtype)
        except ValueError:
            attrs["_FillValue"] = np.array(fill, dtype)[()]


def _zarr_type(doc: Mapping[str, Any]) -> np.dtype[Any]:
    """NumPy's type of the raw items of an array of Zarr."""
    kind, options = doc["data_type"], {}
    if isinstance(kind, dict):
        kind, options = kind["name"], kind.get("configuration", {})
    order = "<"
    for codec in doc["codecs"]:
        if codec["name"] == "bytes" and codec.get("configuration", {}).get("endian") == "big":
            order = ">"
    if kind == "fixed_length_utf32":
        return np.dtype(f"{order}U{options['length_bytes'] // 4}")
    if kind in ("numpy.datetime64", "numpy.timedelta64"):
        unit = f"[{options.get('scale_factor', 1)}{options['unit']}]" if options["unit"] != "generic" else ""
        return np.dtype(f"{order}{'M' if kind == 'numpy.datetime64' else 'm'}8{unit}")
    if kind == "null_terminated_bytes":
        return np.dtype(f"S{options['length_bytes']}")
    found: np.dtype[Any] = np.dtype(str(kind)).newbyteorder(order)  # type: ignore[arg-type,unused-ignore]
    return found

"""The engine of xarray, which is imported with it alone."""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from . import _array, _errors
from ._gateway import adopt, current, local_uri, root_of

if TYPE_CHECKING:
    import xarray as xr

_SUFFIXES = (".b2nd", ".b2frame")


class _Member:
    """An array that is opened when it is first read."""

    def __init__(self, places: list[str]) -> None:
        self._places = places
        self._open: Optional[_array.Array] = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._places, current().said)

    def array(self) -> _array.Array:
        with self._lock:
            if self._open is None:
                for place in self._places[:-1]:
                    try:
                        self._open = _array.open(place)
                        break
                    except _errors.NotFound:
                        continue
                else:
                    self._open = _array.open(self._places[-1])
            return self._open


def _unpickled(places: list[str], flags: dict[str, Any]) -> _Member:
    adopt(flags)
    return _Member(places)


class _Lazy(BackendArray):  # type: ignore[misc,unused-ignore]
    """An array as xarray wants to read it."""

    def __init__(self, member: _Member, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.member, self.shape, self.dtype = member, shape, dtype

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        a = self.member.array()
        if a.shape != self.shape:
            raise _errors.Changed(f"{a.uri}: it had the shape {self.shape}, and has {a.shape}: open it again")
        return np.asarray(a[key])


class Backend(BackendEntrypoint):  # type: ignore[misc,unused-ignore]
    """The engine ``farread`` of xarray."""

    description = "Arrays of Blosc2 (b2nd), read by farread with few ranged requests"
    url = "https://github.com/farread/farread"
    open_dataset_parameters = (
        "filename_or_obj", "drop_variables", "mask_and_scale", "decode_times", "decode_timedelta", "use_cftime", "concat_characters", "decode_coords",
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
    ) -> xr.Dataset:
        import xarray

        dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        uri = local_uri(filename_or_obj)
        doc = current().json(f"/group/{root_of(uri)}/zarr.json", uri=uri)
        if not doc["consolidated_metadata"]["metadata"]:
            raise _nothing(uri, doc)
        variables = {}
        for name, of in doc["consolidated_metadata"]["metadata"].items():
            if name not in dropped:
                variables[name] = _variable(uri, name, of)
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
    return _errors.NotFound(f"{uri}: no arrays in this folder: want one with NAME.b2nd in it")


def _variable(uri: str, name: str, doc: Mapping[str, Any]) -> Any:
    """The variable of an array's document of Zarr."""
    import xarray

    shape = tuple(doc["shape"])
    attrs = dict(doc.get("attributes", {}))
    own = attrs.pop("farread", None)
    if own is None:  # a coordinate that is in the layer of an array, of one raw chunk
        dtype = _zarr_type(doc)
        _mend_fill(attrs, dtype)
        with current().ask(f"/group~raw/{root_of(uri)}/{name}/c" + "/0" * len(shape), uri=uri) as answer:
            return xarray.Variable(doc["dimension_names"], np.frombuffer(answer.read(), dtype).reshape(shape), attrs)
    dtype = _array.dtype_of(own["dtype"])
    _mend_fill(attrs, dtype)
    single = uri.rstrip("/").endswith(_SUFFIXES)
    places = [uri] if single else [f"{uri.rstrip('/')}/{name}{s}" for s in _SUFFIXES]
    lazy = indexing.LazilyIndexedArray(_Lazy(_Member(places), shape, dtype))
    chunks = [max(n, 1) for n in own.get("chunkshape") or shape]
    encoding = {"preferred_chunks": dict(zip(doc["dimension_names"], chunks)), "chunks": tuple(chunks)}
    return xarray.Variable(doc["dimension_names"], lazy, attrs, encoding)


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
    if kind == "null_terminated_bytes":
        return np.dtype(f"S{options['length_bytes']}")
    found: np.dtype[Any] = np.dtype(str(kind)).newbyteorder(order)  # type: ignore[arg-type,unused-ignore]
    return found

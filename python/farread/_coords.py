"""What coordinates hold, as arrays can have it: times of any calendar as numbers with units, as CF has them."""

from __future__ import annotations

import datetime
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _errors

Values = npt.NDArray[Any]

_MOST = 64 << 20  # bytes, as the program takes


def warn(text: str) -> None:
    """Warns whoever has called farread, if need be by way of xarray."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in ("farread", "xarray"):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


def stored(name: str, values: Any, plain: Callable[[Any], Values]) -> tuple[Values, dict[str, Any]]:
    """The values of a coordinate as they are stored, and its attributes."""
    attrs = dict(getattr(values, "attrs", None) or {})
    _one_level(name, values)
    x, extra = told(name, _zoneless(name, values, plain))
    if x.ndim != 1:
        raise _errors.Invalid(f"pack: the coordinate {name} has {x.ndim} axes: want one")
    if x.nbytes > _MOST - 4096:
        raise _errors.TooLarge(f"pack: the coordinate {name} has {x.nbytes} bytes, at most 64 MiB are taken: make it a variable of its own")
    return x, joined(name, attrs, extra)


def joined(name: str, attrs: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes with those that say what the numbers mean."""
    for key in extra:
        if key in attrs:
            raise _errors.Invalid(f"pack: {name} has an attribute {key}, which is to say how its values are stored: remove it")
    return {**attrs, **extra}


def refused(name: str, what: str, advice: str) -> _errors.Error:
    return _errors.Unsupported(f"pack: the coordinate {name} {what}: {advice}")


def _one_level(name: str, values: Any) -> None:
    """Refuses a MultiIndex."""
    if hasattr(values, "xindexes") or hasattr(values, "to_index"):  # of xarray
        try:
            values = values.to_index()
        except ValueError:  # it has not one axis
            return
    if hasattr(values, "levels"):
        raise refused(name, "has several levels (a MultiIndex)", f"give obj.reset_index({name!r})")


def _zoneless(name: str, values: Any, plain: Callable[[Any], Values]) -> Values:
    """NumPy's array of the values, if they are no times of a zone."""
    if getattr(getattr(values, "dtype", None), "tz", None) is not None:
        raise _zone(name)
    try:
        return plain(values)
    except _errors.Unsupported as e:
        raise _errors.Unsupported(f"pack: the coordinate {name} is {str(e).removeprefix('pack: ')}") from None


def _zone(name: str) -> _errors.Error:
    return refused(name, "has times of a zone, which would be lost", "convert them to UTC without one, as tz_convert(None) of pandas does")


def told(name: str, x: Values) -> tuple[Values, dict[str, Any]]:
    """Values as coordinates have them, and the attributes that say what they were."""
    kind = x.dtype.kind
    if kind == "T":  # texts of any length, of NumPy 2
        x, kind = x.astype(object), "O"
    if kind == "O":
        return _objects(name, x)
    if kind == "b":  # as xarray does for NetCDF, and undoes
        return x.astype("i1"), {"dtype": "bool"}
    if kind in "mM":
        return _exact(name, x), {}
    if kind in "US":
        return (x if x.dtype.itemsize else x.astype(f"{kind}1")), {}
    if kind in "iu" or kind == "f" and x.dtype.itemsize <= 8:
        return x, {}
    raise refused(name, f"is of {x.dtype}", "want integers, floats of up to 64 bits, bool, times or texts; drop_vars leaves it out")


def _exact(name: str, x: Values) -> Values:
    """Times of a unit that xarray, or any reader, can make its own of."""
    unit, count = np.datetime_data(x.dtype)
    if unit == "generic" or x.dtype.kind == "m" and unit in "YM":
        of = "no unit" if unit == "generic" else f"the unit {unit}, which has no fixed length"
        raise refused(name, f"has times of {of}", "convert it, as by astype('m8[s]')")
    to = {"Y": "D", "M": "D", "W": "D", "ps": "ns", "fs": "ns", "as": "ns"}.get(unit, unit)
    if (to, 1) == (unit, count):
        return x
    y = exactly(x, np.dtype(f"{x.dtype.kind}8[{to}]"))
    if y is None:
        raise refused(name, f"is of {x.dtype}, and not all of it can be told in {to}", f"round it, as by astype('{x.dtype.kind}8[{to}]')")
    return y


def exactly(x: Values, to: np.dtype[Any]) -> Optional[Values]:
    """Times in another unit, or None if these are others."""
    y = x.astype(to)
    back = y.astype(x.dtype.newbyteorder("="))
    return y if np.array_equal(back.view("i8"), x.astype(back.dtype).view("i8")) else None


def _objects(name: str, x: Values) -> tuple[Values, dict[str, Any]]:
    """Objects of Python as what they stand for: texts, times, or times of a calendar."""
    items = x.reshape(-1).tolist()
    if all(isinstance(i, str) for i in items):
        return x.astype("U") if items else x.astype("U1"), {}
    if all(isinstance(i, bytes) and not i.endswith(b"\0") for i in items):
        return x.astype("S"), {}
    if all(is_cftime(i) for i in items):
        v = by_calendar(name, x)
        return np.asarray(v.data), dict(v.attrs)
    if any(getattr(i, "tzinfo", None) is not None for i in items):
        raise _zone(name)
    times = (datetime.datetime, datetime.date, np.datetime64)
    for kinds, kind in (times, "M"), ((datetime.timedelta, np.timedelta64), "m"):
        if all(isinstance(i, kinds) for i in items):
            own = "to_datetime64" if kind == "M" else "to_timedelta64"  # of pandas, to the nanosecond
            return _exact(name, np.array([getattr(i, own)() if hasattr(i, own) else i for i in items], f"{kind}8").reshape(x.shape)), {}
    kinds_of = sorted({type(i).__name__ for i in items})
    raise refused(name, f"is of objects of Python ({', '.join(kinds_of[:3])})", "convert it to numbers, times or texts, as by astype(str); drop_vars leaves it out")


def is_cftime(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "cftime"


def by_calendar(name: str, x: Any) -> Any:
    """The variable of xarray whose numbers are times of a calendar, by its units and calendar."""
    import xarray

    if not isinstance(x, xarray.Variable):
        x = xarray.Variable([f"d{i}" for i in range(x.ndim)], x)
    v = x.copy(deep=False)
    v.encoding = {}  # of the file that it comes from, whose units may be too coarse
    try:
        return xarray.conventions.encode_cf_variable(v, name=name)
    except (ValueError, TypeError, OverflowError) as e:
        raise _errors.Unsupported(f"pack: {name} has times of a calendar that cannot be told as numbers: {e}") from None


def encoded(obj: Any) -> Any:
    """A Dataset or DataArray of xarray whose times of calendars are numbers. Coordinates of a Dataset that no
    array can have become variables that the attribute ``coordinates`` names, as in NetCDF."""
    import xarray

    for name in obj.coords:
        _one_level(str(name), obj.coords[name])
    if isinstance(obj, xarray.DataArray):
        v = _numbers("the array", obj.variable)
        return obj if v is obj.variable else obj.copy(data=v.data).assign_attrs(v.attrs)
    new = {name: v for name, x in obj.data_vars.items() if (v := _numbers(str(name), x.variable)) is not x.variable}
    obj = obj.assign(new) if new else obj
    return _beside(obj)


def _numbers(name: str, v: Any) -> Any:
    """A variable of xarray, or that of numbers if it is of times of a calendar."""
    return by_calendar(name, v) if _of_calendar(v) else v


def _of_calendar(v: Any) -> bool:
    """Whether a variable of xarray is of times of a calendar, by its first."""
    return v.dtype.kind == "O" and v.size > 0 and is_cftime(np.asarray(v[(0,) * v.ndim].values).item())


def _beside(ds: Any) -> Any:
    """A Dataset in which the coordinates that are not of one axis, under its name, are variables."""
    import xarray

    kept, dropped = {}, []
    for name, x in ds.coords.items():
        if name in ds.dims:
            continue
        try:
            if not isinstance(name, str) or " " in name:
                raise _errors.Invalid("its name cannot stand in a list")
            check_name(name, "coordinate", "/\\")
            kept[name] = _auxiliary(name, x.variable)
        except _errors.Error as e:
            dropped.append(f"{name} ({str(e).removeprefix('pack: ')})")
    if dropped:
        warn(f"pack: not written: the coordinates {', '.join(dropped)}")
    names = [n for n in ds.coords if n not in ds.dims]
    if not names:
        return _unused(ds)
    ds = ds.drop_vars([n for n in names if n not in kept]).assign_coords(kept)
    for v in ds.variables.values():
        v.encoding = {k: x for k, x in v.encoding.items() if k != "coordinates"}
    try:
        variables, attrs = xarray.conventions.encode_dataset_coordinates(ds)
    except ValueError as e:
        raise _errors.Invalid(f"pack: {e}") from None
    out = ds.reset_coords(list(kept)).assign_attrs(attrs)
    for name, v in out.data_vars.items():
        v.attrs = variables[name].attrs
    return _unused(out)


def _unused(ds: Any) -> Any:
    """A Dataset in which the coordinates of dimensions that no variable has are variables."""
    used = {d for v in ds.data_vars.values() for d in v.dims}
    names = [n for n in ds.coords if n not in used]
    ds = ds.assign_coords({name: _auxiliary(str(name), ds[name].variable) for name in names})
    return ds.drop_indexes([n for n in names if n in ds.xindexes]).reset_coords(names)


def _auxiliary(name: str, v: Any) -> Any:
    """The variable of a coordinate of any number of axes."""
    if v.dtype.kind not in "OT":
        return v
    if _of_calendar(v):
        return by_calendar(name, v)
    x, extra = told(name, np.asarray(v.values))
    out = v.copy(data=x, deep=False)
    out.attrs = joined(name, v.attrs, extra)
    return out


def check_name(text: str, what: str, bad: str) -> None:
    """Refuses a name that no file can have."""
    if not text or text.startswith(".") or any(c in bad or not c.isprintable() for c in text):
        raise _errors.Invalid(f"pack: a {what} called {text!r}: want a name without any of {bad} in it, and without a dot in front: rename it")

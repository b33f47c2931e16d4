"""Long series, in as many points as a picture has.

>>> import farread.zoom
>>> v = farread.zoom.view(series, 10, 20, width=5)
>>> sorted(v)
['count', 'entry', 'exit', 'max', 'mean', 'min', 'rms', 't0', 't1']
>>> v["max"].shape
(5,)
"""

from __future__ import annotations

import datetime
import io
import math
import os
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _errors
from ._array import info_of
from ._gateway import current, local_uri, root_of

__all__ = ["View", "tracks", "view"]

_COLUMNS = ("t0", "t1", "min", "max", "mean", "count", "rms", "entry", "exit")

#: Seconds or a duration since the origin of the series, or a time, which is in UTC if it has no zone;
#: as text it is such as ``"1h30m"`` or ``"2026-05-01T06:00:00Z"``. pandas' Timestamp and Timedelta are such.
Moment = Union[int, float, str, datetime.date, datetime.timedelta, "np.datetime64", "np.timedelta64"]


class View(dict[str, npt.NDArray[np.float64]]):
    """The columns of a view. ``origin`` is the time in UTC from which ``t0`` and ``t1`` count, None if the series does not tell it."""

    origin: Optional[np.datetime64] = None

    @property
    def times(self) -> npt.NDArray[np.datetime64]:
        """The column ``t0`` as times in UTC."""
        if self.origin is None:
            raise _errors.Unsupported("the series does not tell from which time its seconds count")
        whole = np.floor(self["t0"])
        since = whole.astype("i8") * 10**9 + np.rint((self["t0"] - whole) * 1e9).astype("i8")
        return np.asarray(self.origin + since.astype("m8[ns]"))


def tracks(uri: Union[str, os.PathLike[str]]) -> list[dict[str, Any]]:
    """The tracks of a series: their number, name, channels, rate, samples and times.

    ``origin`` is the time in UTC from which their seconds count, None if the series does not tell it;
    ``entry`` and ``exit`` are those of :func:`view`.

    >>> [t["track"] for t in tracks(series)]
    [1]
    """
    at = local_uri(uri)
    info = info_of(at)
    if "view" not in info.get("can", []):
        raise _errors.Unsupported(f"{at}: this is a {info.get('format') or 'folder'}, no series")
    origin = _time(info.get("utc_origin"))
    return [{**t, "origin": origin} for t in info.get("tracks") or []]


def view(
    uri: Union[str, os.PathLike[str]],
    t0: Optional[Moment] = None,
    t1: Optional[Moment] = None,
    width: int = 1000,
    *,
    track: Union[int, str, None] = None,
) -> View:
    """A series from ``t0`` to ``t1`` in about ``width`` points, as columns.

    ``t0`` and ``t1`` of a point are its ends in seconds since the ``origin`` of the :class:`View`, and
    ``entry`` and ``exit`` the same in ticks, of which the track has ``rate`` a second; ``min``, ``max``, ``mean`` and ``rms`` are of its ``count`` samples. Of a
    track of several channels these have an axis for them.

    :param t0: a :data:`Moment`: seconds, a duration or a time; None: from the start
    :param t1: None: to the end
    :param width: at most 65,536
    :param track: number or name; None: the first one

    >>> v = view(series, width=4)
    >>> float(v["min"][0]), float(v["max"][-1])
    (0.0, 999.0)
    """
    at = local_uri(uri)
    if track is None:
        known = tracks(at)
        if not known:
            raise _errors.NoEntry(f"{at}: it has no track")
        track = known[0]["track"]
    query = {"track": str(track), "width": str(width), "format": "npy"}
    for name, moment in ("from", t0), ("to", t1):
        if moment is not None:
            query[name] = _spelled(moment)
    with current().ask("/view/" + root_of(at), query, at) as answer:
        points = np.load(io.BytesIO(answer.read()), allow_pickle=False)
        origin = answer.headers.get("X-Utc-Origin")
    whole = View()
    whole.origin = _time(origin)
    for i, name in enumerate(_COLUMNS):
        column = points[:, :, i]
        one = column.shape[1] == 1 or name in ("t0", "t1", "entry", "exit")
        whole[name] = np.ascontiguousarray(column[:, 0] if one else column)
    return whole


def _time(text: Optional[str]) -> Optional[np.datetime64]:
    """A time in UTC of RFC 3339."""
    return np.datetime64(text.rstrip("Z"), "ns") if text else None


def _spelled(moment: Any) -> str:
    """A moment as the program takes it."""
    if isinstance(moment, str):
        return moment
    if hasattr(moment, "to_datetime64"):  # pandas' Timestamp has nanoseconds
        moment = moment.to_datetime64()
    elif hasattr(moment, "to_timedelta64"):
        moment = moment.to_timedelta64()
    elif hasattr(moment, "__array__"):  # one time of an array, or of xarray's
        moment = np.asarray(moment)[()]
    try:
        if isinstance(moment, datetime.datetime) and moment.tzinfo is not None:
            moment = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        if isinstance(moment, datetime.timedelta):
            return repr(moment.total_seconds())
        if isinstance(moment, datetime.date):
            moment = np.datetime64(moment)
        if isinstance(moment, np.timedelta64):
            seconds = float(moment / np.timedelta64(1, "s"))
            if math.isnan(seconds):
                raise ValueError
            return repr(seconds)
        if isinstance(moment, np.datetime64):
            if np.isnat(moment):
                raise ValueError
            unit = np.datetime_data(moment)[0]
            unit = "ns" if unit in ("ps", "fs", "as") else unit if unit in ("ms", "us", "ns") else "s"
            return str(moment.astype(f"M8[{unit}]")) + "Z"
        return repr(float(moment))
    except (TypeError, ValueError, OverflowError):
        raise _errors.Invalid(f"{moment!r} is no moment: want seconds, a duration, a time, or a text such as 1h30m or 2026-05-01T06:00:00Z") from None

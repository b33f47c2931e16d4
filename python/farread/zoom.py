"""Long series, in as many points as a picture has.

>>> import farread.zoom
>>> v = farread.zoom.view(series, 10, 20, width=5)
>>> sorted(v)
['count', 'entry', 'exit', 'max', 'mean', 'min', 'rms', 't0', 't1']
>>> v["max"].shape
(5,)
"""

from __future__ import annotations

import io
import os
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _errors
from ._array import info_of
from ._gateway import current, local_uri, root_of

__all__ = ["tracks", "view"]

_COLUMNS = ("t0", "t1", "min", "max", "mean", "count", "rms", "entry", "exit")

#: Seconds, or a text such as ``"1h30m"`` or ``"2026-05-01T06:00:00Z"``.
Moment = Union[int, float, str, "np.datetime64"]


def tracks(uri: Union[str, os.PathLike[str]]) -> list[dict[str, Any]]:
    """The tracks of a series: their number, name, channels, rate, samples and times.

    >>> [t["track"] for t in tracks(series)]
    [1]
    """
    at = local_uri(uri)
    info = info_of(at)
    if "view" not in info.get("can", []):
        raise _errors.Unsupported(f"{at}: this is a {info.get('format') or 'folder'}, no series")
    return list(info.get("tracks") or [])


def view(
    uri: Union[str, os.PathLike[str]],
    t0: Optional[Moment] = None,
    t1: Optional[Moment] = None,
    width: int = 1000,
    *,
    track: Union[int, str, None] = None,
) -> dict[str, npt.NDArray[np.float64]]:
    """A series from ``t0`` to ``t1`` in about ``width`` points, as columns.

    ``t0`` and ``t1`` of a point are its ends in seconds, ``entry`` and ``exit`` the numbers of its
    first and last samples; ``min``, ``max``, ``mean`` and ``rms`` are of its ``count`` samples. Of a
    track of several channels these have an axis for them.

    :param t0: seconds, a duration or a time; None: from the start
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
    body = current().bytes("/view/" + root_of(at), query, at)
    points = np.load(io.BytesIO(body), allow_pickle=False)
    whole: dict[str, npt.NDArray[np.float64]] = {}
    for i, name in enumerate(_COLUMNS):
        column = points[:, :, i]
        one = column.shape[1] == 1 or name in ("t0", "t1", "entry", "exit")
        whole[name] = np.ascontiguousarray(column[:, 0] if one else column)
    return whole


def _spelled(moment: Moment) -> str:
    if isinstance(moment, np.datetime64):
        return str(moment.astype("M8[ns]")) + "Z"
    return moment if isinstance(moment, str) else repr(float(moment))

"""Items: lines, records and files, in Bloscpack and in frames.

>>> import farread.bloscpack
>>> list(farread.bloscpack.items(records, 1, 3))
[b'two', b'three']
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any, Optional, Union

from . import _errors
from ._gateway import current, local_uri, root_of

__all__ = ["count", "item", "items"]

_RUN = 1024  # items of the first answer
_MOST = 100_000
_AIM = 8 << 20  # bytes of the following ones


def _about(at: str) -> dict[str, Any]:
    info: dict[str, Any] = current().json("/info/" + root_of(at), uri=at)
    if "items" not in info.get("can", []):
        raise _errors.Unsupported(f"{at}: this is a {info.get('format') or 'folder'}, no list of items")
    return info


def _path(at: str, info: dict[str, Any]) -> str:
    return f"/get{'~v-' + info['version'] if 'pinned' in info else ''}/{root_of(at)}"


def count(uri: Union[str, os.PathLike[str]]) -> int:
    """The number of items.

    >>> count(records)
    4
    """
    return int(_about(local_uri(uri))["entries"])


def item(uri: Union[str, os.PathLike[str]], which: Union[int, str]) -> bytes:
    """One item, by its number, from 0 on, or by its name.

    >>> item(records, 0)
    b'one'
    """
    at = local_uri(uri)
    return current().bytes("/get/" + root_of(at), {"item": str(which)}, at)


def items(uri: Union[str, os.PathLike[str]], start: int = 0, stop: Optional[int] = None) -> Iterator[bytes]:
    """The items from ``start`` to before ``stop``, read in runs; None is the end.

    The items are those of one version: if the object is replaced, :class:`farread.Changed` is raised.

    >>> len(list(items(records)))
    4
    """
    if start < 0 or stop is not None and stop < 0:
        raise _errors.Invalid("items: want numbers from 0 on; farread.bloscpack.count tells how many there are")
    at = local_uri(uri)
    info = _about(at)
    path, known = _path(at, info), int(info["entries"])
    if known >= 0:
        stop = known if stop is None else min(stop, known)
    return _runs(at, path, start, stop)


def _runs(at: str, path: str, start: int, stop: Optional[int]) -> Iterator[bytes]:
    run = _RUN
    while stop is None or start < stop:
        end = start + run if stop is None else min(start + run, stop)
        try:
            body = current().bytes(path, {"items": f"{start}:{end}", "format": "binary"}, at)
        except _errors.TooLarge:
            if end - start == 1:
                raise
            run = max(run // 8, 1)
            continue
        n, off = 0, 0
        while off < len(body):
            (size,) = struct.unpack_from("<Q", body, off)
            off += 8 + size
            yield body[off - size : off]
            n += 1
        if n == 0:
            return
        start += n
        run = max(1, min(_MOST, 2 * run, n * _AIM // max(len(body), 1)))

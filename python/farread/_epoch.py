"""The number of the epoch of a loop, which the workers of a DataLoader count as well.

A worker has a copy of a loop, which ends with the worker: what it counts is lost with it. So a loop
that a DataLoader may take keeps the number in a temporary file, which all copies know by its path.
Workers that were started together have one token, and so agree whoever comes first.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

_KEPT = 32  # rounds that a late worker may still ask for


class Counter:
    """The epoch of the next loop, in memory, or in a file that goes with the loop that made it."""

    def __init__(self, epoch: int, shared: bool) -> None:
        self._path, self._pid = "", os.getpid()
        self._last: dict[str, Any] = {"next": epoch, "rounds": []}
        if not shared:
            return
        try:
            with tempfile.NamedTemporaryFile("w", prefix="farread-epoch-", delete=False) as f:
                json.dump(self._last, f)
        except OSError as e:
            warnings.warn(f"no temporary file for the number of the epoch ({e}): call set_epoch before each loop over a DataLoader with workers", stacklevel=2)
            return
        self._path = f.name
        weakref.finalize(self, _remove, self._path, self._pid)

    def __reduce__(self) -> tuple[Any, ...]:
        return _copy, (self._path, self._last)

    def here(self) -> Counter:
        """The counter for loops of this process, which is no worker: its own one."""
        return self if self._pid == os.getpid() else Counter(self.next(), bool(self._path))

    def next(self) -> int:
        """The epoch of the next loop."""
        with self._kept() as kept:
            return int(kept["next"])

    def set(self, epoch: int) -> None:
        """The next loop is of this epoch."""
        with self._kept() as kept:
            kept["next"], kept["rounds"] = epoch, []

    def at_least(self, epoch: int) -> None:
        """The next loop is of this epoch, or of a later one."""
        with self._kept() as kept:
            kept["next"] = max(kept["next"], epoch)

    def of(self, token: int, loop: int) -> int:
        """The epoch of a loop of the workers of a token: the first that asks counts it."""
        with self._kept() as kept:
            for *known, epoch in kept["rounds"]:
                if known == [token, loop]:
                    return int(epoch)
            epoch = int(kept["next"])
            kept["next"] = epoch + 1
            kept["rounds"] = [*kept["rounds"], [token, loop, epoch]][-_KEPT:]
            return epoch

    @contextmanager
    def _kept(self) -> Iterator[dict[str, Any]]:
        """What is kept, for one process at a time."""
        try:
            f = open(self._path, "r+") if self._path else None
        except OSError:  # the process that made it is gone
            self._path, f = "", None
        if f is None:
            yield self._last
            return
        with f, _locked(f):
            before = f.read()
            self._last = json.loads(before)
            yield self._last
            after = json.dumps(self._last)
            if after != before:
                f.seek(0)
                f.write(after)
                f.truncate()
                f.flush()


@contextmanager
def _locked(f: IO[str]) -> Iterator[None]:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(f.fileno(), msvcrt.LK_LOCK, 1)
        try:
            yield
        finally:
            f.seek(0)
            msvcrt.locking(f.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.lockf(f, fcntl.LOCK_EX)  # until it is closed
        yield


def _remove(path: str, pid: int) -> None:
    if os.getpid() == pid:  # not the copy of a process that was forked
        try:
            os.remove(path)
        except OSError:
            pass


def _copy(path: str, last: dict[str, Any]) -> Counter:
    """What was pickled: the same counter in a process that is just spawned, as workers are; one of its own elsewhere."""
    import multiprocessing

    made = Counter(last["next"], False)
    made._path, made._last, made._pid = path, dict(last), 0
    return made if getattr(multiprocessing.current_process(), "_inheriting", False) else made.here()

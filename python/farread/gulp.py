"""Images for training: samples of a gulp dataset, shuffled, in shares of ranks and workers.

>>> import farread.gulp
>>> d = farread.gulp.Dataset(clips, seed=1)
>>> len(d)
3
>>> d[0].id, len(d[0].frames)
('a', 2)
>>> sorted(s.id for s in d.iterable())
['a', 'b', 'c']
"""

from __future__ import annotations

import json
import operator
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional, SupportsIndex, Union

from . import _epoch, _errors
from ._gateway import adopt, current, local_uri, root_of

__all__ = ["Dataset", "Iterable", "Sample"]


@dataclass(frozen=True)
class Sample:
    """An id with the bytes of its images, or one image of it.

    ``meta`` is what the dataset says of the id, such as its label; ``index`` is its place in the
    order of the dataset, and ``frame`` the number of the image if images are samples.
    """

    id: str
    index: int
    frame: int
    frames: list[bytes] = field(repr=False)
    meta: dict[str, Any] = field(default_factory=dict)


_CONFIGURED = "farread.configure"  # its options, in what is pickled


def _same(s: Sample) -> Any:
    return s


def _cut(uri: str) -> _errors.Error:
    return _errors.unavailable(f"{uri}: the answer was cut")


@dataclass(frozen=True)
class Dataset:
    """A folder of gulp chunks, map-style: ``len(d)``, ``d[i]``, and ``d.__getitems__([…])``, which
    torch's DataLoader calls for a batch. :meth:`iterable` gives its samples shuffled.

    :param uri: the folder of ``data_0.gulp``, ``meta_0.gmeta`` and so on
    :param transform: called with each :class:`Sample`; None gives the samples themselves
    :param frames: each image is a sample, not each id
    :param seed: of the shuffle of :meth:`iterable`
    :param block: runs of so many neighbours stay together in the shuffle, and are read by one
        request; 0 shuffles samples one by one
    :param window: samples that are shuffled among each other; 0 is 16 blocks
    """

    uri: Union[str, os.PathLike[str]]
    transform: Callable[[Sample], Any] = _same
    frames: bool = False
    seed: int = 0
    block: int = 0
    window: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "uri", local_uri(self.uri))
        if self.transform is None:
            object.__setattr__(self, "transform", _same)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, _CONFIGURED: current().said}

    def __setstate__(self, state: dict[str, Any]) -> None:
        fields = dict(state)
        adopt(fields.pop(_CONFIGURED, {}))
        self.__dict__.update(fields)

    def _ask(self, query: dict[str, str]) -> Iterator[tuple[dict[str, Any], list[Sample]]]:
        """Heads and samples of batches; the first has none. An answer that is cut behind a batch looks whole:
        http.client reads the end of a connection as that of lines."""
        uri = str(self.uri)
        with current().ask("/batches/" + root_of(uri), query, uri) as answer:
            while True:
                line = answer.readline()
                if not line:
                    return
                if not line.endswith(b"\n"):
                    raise _cut(uri)
                head = json.loads(line)
                samples = []
                for s in head.pop("samples"):
                    images = []
                    for n in s["sizes"]:
                        image = answer.read(n)
                        if len(image) < n:
                            raise _cut(uri)
                        images.append(image)
                    meta: dict[str, Any] = {}
                    for m in s.get("meta") or []:
                        meta.update(m)
                    samples.append(Sample(s["id"], s["index"], s["frame"], images, meta))
                yield head, samples

    def _order(self) -> dict[str, str]:
        return {"sequential": "1", "frames": str(int(self.frames))}

    def __len__(self) -> int:
        for head, _ in self._ask({**self._order(), "n": "1"}):
            return int(head["left"])
        raise _cut(str(self.uri))

    def __getitem__(self, i: SupportsIndex) -> Any:
        i = operator.index(i)
        if i < 0:
            i += len(self)
        try:
            return self.__getitems__([i])[0]
        except _errors.NoEntry as e:
            raise IndexError(str(e)) from None

    def __getitems__(self, indexes: Sequence[SupportsIndex]) -> list[Any]:
        """The samples at some places, read side by side."""
        out: list[Any] = []
        for k in range(0, len(indexes), 256):
            at = ",".join(str(operator.index(i)) for i in indexes[k : k + 256])
            for _, samples in self._ask({**self._order(), "at": at}):
                out += [self.transform(s) for s in samples]
            if len(out) < min(k + 256, len(indexes)):
                raise _cut(str(self.uri))
        return out

    def iterable(
        self,
        batch: int = 1,
        *,
        epoch: int = 0,
        rank: int = 0,
        world: int = 1,
        shuffle: bool = True,
        collate: Optional[Callable[[list[Any]], Any]] = None,
        state: Optional[dict[str, Any]] = None,
    ) -> Iterable:
        """The samples of this rank in their order, which is another one each epoch.

        With ``batch`` above 1, or ``collate``, it gives lists of that many samples, or what ``collate``
        makes of them: give it to torch's DataLoader with ``batch_size=None``. Workers of a DataLoader
        take shares; import torch before. ``state`` goes on where an earlier :meth:`Iterable.state_dict` was.
        """
        return _kind()(self, batch, epoch, rank, world, shuffle, collate, state)


class Iterable:
    """Samples of a :class:`Dataset` in an order, iterable-style. A loop over it is one epoch."""

    def __init__(
        self,
        dataset: Dataset,
        batch: int,
        epoch: int,
        rank: int,
        world: int,
        shuffle: bool,
        collate: Optional[Callable[[list[Any]], Any]],
        state: Optional[dict[str, Any]],
    ) -> None:
        if batch < 1:
            raise _errors.Invalid(f"batches of {batch} samples: want 1 or more")
        if world < 1 or not 0 <= rank < world:
            raise _errors.Invalid(f"rank {rank} of {world}: want a world of 1 or more, and a rank from 0 to world - 1")
        self._dataset, self._batch, self._collate = dataset, batch, collate
        self._rank, self._world, self._shuffle = rank, world, shuffle
        self._loops = 0
        self._counter = _epoch.Counter(epoch, type(self) is not Iterable)  # a DataLoader may take it
        self._begin(epoch, None)
        if state:
            self.load_state_dict(state)

    def _begin(self, epoch: int, cursor: Optional[dict[str, Any]]) -> None:
        """The next loop is of this epoch, from the cursor on if there is one."""
        self._epoch, self._cursor = epoch, cursor
        self._at: Optional[tuple[int, Optional[dict[str, Any]]]] = None  # where the loop is that was begun
        self._alone = _worker() is not None  # a worker that was told itself does not ask others
        if self._alone:
            self._counter.at_least(epoch)
        else:
            self._counter = self._counter.here()
            self._counter.set(epoch)

    def set_epoch(self, epoch: int) -> None:
        """The order of the next loop is that of this epoch. It goes on with a state of that epoch, if one was loaded."""
        same = self._at is None and epoch == self._epoch
        self._begin(epoch, self._cursor if same else None)

    def state_dict(self) -> dict[str, Any]:
        """Where the loop is, as JSON knows it: what was given out counts as done.

        It has the epoch, and the place in it; the place of workers of a DataLoader only they know.
        """
        epoch, cursor = self._at or (self._next(), self._cursor)
        return {"epoch": epoch, "cursor": cursor}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next loop goes on where another one was."""
        cursor = state.get("cursor") if isinstance(state, dict) else state
        if not isinstance(state, dict) or not isinstance(cursor, (dict, type(None))):
            raise _errors.Invalid(f"{self._dataset.uri}: this is no state that state_dict made")
        epoch = state.get("epoch", (cursor or {}).get("epoch", self._next()))  # states of 0.1.0 have a cursor alone
        if type(epoch) is not int or epoch < 0:
            raise _errors.Invalid(f"{self._dataset.uri}: a state of epoch {epoch!r}: want a number from 0 on")
        self._begin(epoch, cursor)

    def _next(self) -> int:
        """The epoch of the next loop, which workers may have counted."""
        return self._epoch if self._alone else self._counter.next()

    def _count(self) -> tuple[int, Optional[dict[str, Any]]]:
        """The epoch and the cursor of a loop that begins."""
        worker = _worker()
        if worker is None:
            self._counter = self._counter.here()
        epoch = self._next() if worker is None or self._alone else self._counter.of(worker.token, self._loops)
        cursor = self._cursor if epoch == self._epoch else None
        self._epoch, self._cursor, self._at = epoch + 1, None, (epoch, cursor)
        self._loops += 1
        self._counter.at_least(epoch + 1)
        return epoch, cursor

    def _query(self, epoch: int, cursor: Optional[dict[str, Any]]) -> dict[str, str]:
        q = {"n": str(self._batch)}
        it = _worker() or _Worker(0, 1, 0)
        if cursor:
            of = cursor.get("worker", 0), cursor.get("workers", 1)
            if it.workers > 1 and of != (it.id, it.workers):
                raise _errors.Invalid(f"the state is of worker {of[0]} of {of[1]}, and this is worker {it.id} of {it.workers}: each worker has a state of its own")
            return {**q, "cursor": json.dumps(cursor)}
        d = self._dataset
        q |= {"seed": str(d.seed), "epoch": str(epoch), "rank": str(self._rank), "world": str(self._world), "frames": str(int(d.frames))}
        q |= {"worker": str(it.id), "workers": str(it.workers), "sequential": str(int(not self._shuffle))}
        if d.block:
            q |= {"block": str(d.block), "window": str(d.window)}
        return q

    def __iter__(self) -> Iterator[Any]:
        epoch, cursor = self._count()
        return self._loop(epoch, self._query(epoch, cursor))

    def _loop(self, epoch: int, query: dict[str, str]) -> Iterator[Any]:
        transform, failures = self._dataset.transform, 0
        while True:
            try:
                left = None
                for head, samples in self._dataset._ask(query):
                    left = head["left"]
                    made: list[Any] = [transform(s) for s in samples]
                    batch = made if self._collate is None or not made else self._collate(made)
                    self._at = epoch, head["cursor"]
                    query = {"n": query["n"], "cursor": json.dumps(head["cursor"])}
                    if samples:
                        failures = 0
                        yield batch if self._collate is not None or self._batch > 1 else made[0]
                if left == 0:
                    break
                raise _cut(str(self._dataset.uri))
            except _errors.Unavailable:  # what is left is asked for again
                failures += 1
                if failures > 3:
                    raise
        self._at = epoch + 1, None


_kinds: dict[Any, type[Iterable]] = {}


def _kind() -> type[Iterable]:
    """Iterable; where torch is imported, one that its DataLoader knows as such by its class."""
    base = getattr(sys.modules.get("torch.utils.data"), "IterableDataset", None)
    if base is None:
        return Iterable
    if base not in _kinds:
        _kinds[base] = types.new_class("Iterable", (Iterable, base), exec_body=lambda of: of.update(__reduce__=lambda self: (_revived, (self.__dict__,))))
    return _kinds[base]


def _revived(state: dict[str, Any]) -> Iterable:
    kind = _kind()
    made = kind.__new__(kind)
    made.__dict__.update(state)
    return made


class _Worker(NamedTuple):
    """A worker of torch's DataLoader: its number, how many there are, and what those have in common that were started together."""

    id: int
    workers: int
    token: int


def _worker() -> Optional[_Worker]:
    """The worker that this process is, if it is one."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data is not None else None
    return None if info is None else _Worker(info.id, info.num_workers, getattr(info, "seed", info.id) - info.id)

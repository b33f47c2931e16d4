"""Images for training."""

from __future__ import annotations

import importlib.util
import itertools
import json
import multiprocessing
import pickle
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import image, make_clips

import farread
from farread import gulp

IDS = {f"id{i:02}": 1 + i % 3 for i in range(40)}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Forty clips in several chunks."""
    return make_clips(tmp_path_factory.mktemp("many"), IDS, "5KiB")


def check(s: gulp.Sample) -> str:
    assert s.frames == [image(s.id, i) for i in range(IDS[s.id])] and s.meta["label"] == IDS[s.id]
    return s.id


def test_map(many: str) -> None:
    d = gulp.Dataset(many, transform=check)
    assert len(d) == 40 and [d[i] for i in range(3)] == ["id00", "id01", "id02"] and d[-1] == "id39"
    assert d.__getitems__([5, 39, 5]) == ["id05", "id39", "id05"]
    with pytest.raises(IndexError):
        d[40]
    for bad in 1.5, "1", None, slice(2):
        with pytest.raises(TypeError):
            d[bad]  # type: ignore[index]
    f = gulp.Dataset(many, frames=True)
    assert len(f) == sum(IDS.values()) and f[2].frames == [image("id01", 1)] and f[2].frame == 1


@pytest.mark.parametrize("block", [0, 4])
def test_shuffled_shares(many: str, block: int) -> None:
    d = gulp.Dataset(many, transform=check, seed=5, block=block)
    one = list(d.iterable(epoch=1))
    assert sorted(one) == sorted(IDS) != one and one == list(d.iterable(epoch=1)) != list(d.iterable(epoch=2))
    shares = [list(d.iterable(batch=3, epoch=1, rank=r, world=3)) for r in range(3)]
    assert sorted(x for s in shares for b in s for x in b) == sorted(IDS) and all(len(b) <= 3 for s in shares for b in s)
    assert list(d.iterable(shuffle=False)) == sorted(IDS)
    assert list(d.iterable(batch=7, collate=len)) == [7, 7, 7, 7, 7, 5]
    loop = d.iterable(epoch=1)
    assert list(loop) == one and list(loop) == list(d.iterable(epoch=2))


def test_resume(many: str) -> None:
    d = gulp.Dataset(many, transform=check, seed=9, block=3)
    whole = list(d.iterable(batch=4, epoch=3))
    loop = d.iterable(batch=4, epoch=3)
    head = list(itertools.islice(loop, 4))
    state = json.loads(json.dumps(loop.state_dict()))
    assert head + list(d.iterable(batch=4, state=state)) == whole
    again = d.iterable(batch=4)
    again.load_state_dict(state)
    assert list(again) == whole[4:]


def test_epochs_go_on(many: str) -> None:
    """A state has the epoch: at its end, in the middle, before it, and in the form that 0.1.0 had."""
    d = gulp.Dataset(many, transform=check, seed=9, block=3)
    orders = [list(d.iterable(batch=4, epoch=e)) for e in range(5)]
    loop = d.iterable(batch=4)
    assert loop.state_dict() == {"epoch": 0, "cursor": None} and list(loop) == orders[0]
    ended = json.loads(json.dumps(loop.state_dict()))
    assert ended == {"epoch": 1, "cursor": None}
    assert [list(loop), list(loop)] == orders[1:3] and len(list(itertools.islice(loop, 2))) == 2
    amid = json.loads(json.dumps(loop.state_dict()))
    assert amid["epoch"] == 3
    for state, want in (ended, orders[1:3]), (amid, [orders[3][2:], orders[4]]), ({"cursor": amid["cursor"]}, [orders[3][2:], orders[4]]):
        again, other = d.iterable(batch=4, state=state), d.iterable(batch=4)
        other.load_state_dict(state)
        assert again.state_dict() == other.state_dict() and [list(again), list(again)] == want == [list(other), list(other)]
        other.load_state_dict(state)
        other.set_epoch(again.state_dict()["epoch"] - 2)  # as trainers do before each epoch
        assert list(other) == want[0]
        other.load_state_dict(state)
        other.set_epoch(0)
        assert list(other) == orders[0]
    assert list(d.iterable(batch=4, epoch=2, state={"cursor": None})) == orders[2]
    assert list(loop) == orders[4]  # one that was left counts, too
    for bad in 3, {"cursor": 3}, {"epoch": -1}, {"epoch": "1"}, {"epoch": True}:
        with pytest.raises(farread.Invalid, match="state"):
            d.iterable(state=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [RuntimeError, farread.Unavailable])
def test_transform_fails(many: str, error: type[Exception]) -> None:
    """A batch that was not given out is not done."""

    def fails(s: gulp.Sample) -> str:
        if broken and s.id == whole[1][2]:
            raise error("bad image")
        return check(s)

    broken = False
    d = gulp.Dataset(many, transform=fails, seed=3)
    whole = list(d.iterable(batch=4))
    broken = True
    loop, got = d.iterable(batch=4), []
    with pytest.raises(error, match="bad image"):
        for b in loop:
            got.append(b)
    broken, state = False, loop.state_dict()
    assert got + list(d.iterable(batch=4, state=state)) == whole and state["epoch"] == 0


def test_workers(many: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The protocol of torch's DataLoader, of which only get_worker_info is asked."""
    seen = []
    for w in range(3):
        data = types.ModuleType("torch.utils.data")
        data.get_worker_info = lambda w=w: types.SimpleNamespace(id=w, num_workers=3)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "torch.utils.data", data)
        seen += list(gulp.Dataset(many, transform=check).iterable())
    assert sorted(seen) == sorted(IDS)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """torch, or its stand-in."""
    if importlib.util.find_spec("torch") is None:
        monkeypatch.syspath_prepend(str(Path(__file__).parent / "standin"))
        request.addfinalizer(lambda: [sys.modules.pop(name, None) for name in ("torch", "torch.utils", "torch.utils.data")])  # others ask for torch's parts


@pytest.mark.parametrize("workers", [0, 2])
def test_loader(many: str, workers: int, torch: None) -> None:
    """torch's DataLoader, or its stand-in, in both styles."""
    from torch.utils.data import DataLoader

    d = gulp.Dataset(many, transform=check, seed=5)
    loop = d.iterable(batch=3, collate=list)
    assert sorted(x for b in DataLoader(loop, batch_size=None, num_workers=workers) for x in b) == sorted(IDS)
    assert sorted(x for b in DataLoader(d, batch_size=7, shuffle=True, num_workers=workers, collate_fn=list) for x in b) == sorted(IDS)
    again = pickle.loads(pickle.dumps(gulp.Dataset(many, seed=5).iterable(batch=3, epoch=2)))  # as workers that are spawned get it
    assert isinstance(again, gulp.Iterable) and [s.id for b in again for s in b] == list(d.iterable(epoch=2))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_loader_epochs(many: str, workers: int, torch: None) -> None:
    """Each loop over a DataLoader is another epoch, on which its workers agree."""
    from torch.utils.data import DataLoader

    d = gulp.Dataset(many, transform=check, seed=5)
    loop = d.iterable(batch=3, collate=list)
    loader = DataLoader(loop, batch_size=None, num_workers=workers)

    def epoch() -> list[str]:
        seen = [x for b in loader for x in b]
        assert sorted(seen) == sorted(IDS)
        return seen

    orders = [epoch() for _ in range(3)]
    assert len(set(map(tuple, orders))) == 3 and loop.state_dict() == {"epoch": 3, "cursor": None}
    loop.set_epoch(1)
    told = [epoch(), epoch()]
    assert told == orders[1:] and (workers > 1 or orders == [list(d.iterable(epoch=e)) for e in range(3)])
    next(iter(loader))
    again = d.iterable(batch=3, collate=list, state=loop.state_dict()) if workers else d.iterable(batch=3, collate=list, epoch=4)
    loader = DataLoader(again, batch_size=None, num_workers=workers)
    assert again.state_dict()["epoch"] == 4 and epoch() not in orders


def test_worker_that_stays(many: str, torch: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that persist, or get the loop by pickle, count as those that are forked; one that is told itself does not ask others."""
    from torch.utils import data

    d = gulp.Dataset(many, transform=check, seed=5)
    loop = d.iterable()
    before, apart = loop.state_dict(), pickle.loads(pickle.dumps(loop))
    apart.set_epoch(7)
    assert loop.state_dict() == before and list(pickle.loads(pickle.dumps(apart))) == list(d.iterable(epoch=7))  # in no worker it counts for itself
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    copies = [pickle.loads(pickle.dumps(loop)) for _ in range(2)]

    def of(worker: int, token: int, work: gulp.Iterable) -> list[str]:
        with monkeypatch.context() as m:
            m.setattr(data, "get_worker_info", lambda: types.SimpleNamespace(id=worker, num_workers=2, seed=token + worker))
            return list(work)

    def share(worker: int, epoch: int) -> list[str]:
        return of(worker, 0, d.iterable(epoch=epoch))

    assert [of(1, 7, copies[1]), of(0, 7, copies[0]), of(0, 7, copies[0]), of(1, 7, copies[1])] == [share(1, 0), share(0, 0), share(0, 1), share(1, 1)]
    assert loop.state_dict()["epoch"] == 2 and of(0, 9, pickle.loads(pickle.dumps(loop))) == share(0, 2)
    with monkeypatch.context() as m:
        m.setattr(data, "get_worker_info", lambda: types.SimpleNamespace(id=0, num_workers=2, seed=9))
        copies[0].set_epoch(8)
    assert of(0, 9, copies[0]) == share(0, 8) and loop.state_dict()["epoch"] == 9


def test_no_temporary_file(many: str, torch: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.utils.data  # noqa: F401

    d = gulp.Dataset(many, transform=check, seed=5)
    monkeypatch.setattr(tempfile, "tempdir", many + "missing")
    with pytest.warns(UserWarning, match="call set_epoch"):
        loop = d.iterable()
    monkeypatch.undo()
    assert [list(loop), list(loop)] == [list(d.iterable(epoch=e)) for e in range(2)]


def test_answers_cut_behind_a_batch(many: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They look whole to http.client."""
    d = gulp.Dataset(many, transform=check, seed=2)
    whole, some = list(d.iterable()), d.__getitems__([3, 1, 2])
    asked, real = [], gulp.Dataset._ask

    def cut(self: gulp.Dataset, query: dict[str, str]) -> Iterator[object]:
        asked.append(query)
        yield from itertools.islice(real(self, query), 1 if "at" in query else 8)

    monkeypatch.setattr(gulp.Dataset, "_ask", cut)
    assert list(d.iterable()) == whole and len(asked) == 6
    with pytest.raises(farread.Unavailable, match="the answer was cut"):
        d.__getitems__([3, 1, 2])
    monkeypatch.setattr(gulp.Dataset, "_ask", lambda self, query: iter(()))
    with pytest.raises(farread.Unavailable, match="the answer was cut"):
        list(d.iterable())
    assert len(some) == 3


def test_goes_on_when_the_program_is_killed(many: str) -> None:
    from farread import _gateway

    d = gulp.Dataset(many, transform=check, seed=2)
    whole = list(d.iterable())
    got = []
    for x in d.iterable():
        got.append(x)
        if len(got) == 1:
            child = _gateway.current()._child
            assert child is not None
            child.process.kill()
            child.process.wait()
    assert got == whole


def test_refused(many: str, sample: str) -> None:
    with pytest.raises(farread.Unsupported, match="folder of gulp chunks"):
        len(gulp.Dataset(sample))
    for rank, world in (3, 2), (2, 2), (-1, 2), (0, 0), (0, -1):
        with pytest.raises(farread.Invalid, match="rank"):
            gulp.Dataset(many).iterable(rank=rank, world=world)
    with pytest.raises(farread.Invalid):
        gulp.Dataset(many).iterable(batch=0)
    state = gulp.Dataset(many).iterable()
    next(iter(state))
    told = state.state_dict()
    told["cursor"]["samples"] = 7
    with pytest.raises(farread.Changed):
        list(gulp.Dataset(many).iterable(state=told))


def test_in_s3(cloud: str, many: str) -> None:
    from conftest import run

    run("cp", "-r", many, cloud + "many/")
    d = gulp.Dataset(cloud + "many/", transform=check, seed=5)
    assert list(d.iterable(batch=8)) == list(gulp.Dataset(many, transform=check, seed=5).iterable(batch=8)) and d[7] == "id07"

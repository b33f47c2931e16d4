"""Images for training."""

from __future__ import annotations

import importlib.util
import itertools
import json
import pickle
import sys
import types
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


def test_workers(many: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The protocol of torch's DataLoader, of which only get_worker_info is asked."""
    seen = []
    for w in range(3):
        data = types.ModuleType("torch.utils.data")
        data.get_worker_info = lambda w=w: types.SimpleNamespace(id=w, num_workers=3)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "torch.utils.data", data)
        seen += list(gulp.Dataset(many, transform=check).iterable())
    assert sorted(seen) == sorted(IDS)


@pytest.mark.parametrize("workers", [0, 2])
def test_loader(many: str, workers: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """torch's DataLoader, or its stand-in, in both styles."""
    if importlib.util.find_spec("torch") is None:
        monkeypatch.syspath_prepend(str(Path(__file__).parent / "standin"))
        request.addfinalizer(lambda: [sys.modules.pop(name, None) for name in ("torch", "torch.utils", "torch.utils.data")])  # others ask for torch's parts
    from torch.utils.data import DataLoader

    d = gulp.Dataset(many, transform=check, seed=5)
    loop = d.iterable(batch=3, collate=list)
    assert sorted(x for b in DataLoader(loop, batch_size=None, num_workers=workers) for x in b) == sorted(IDS)
    assert sorted(x for b in DataLoader(d, batch_size=7, shuffle=True, num_workers=workers, collate_fn=list) for x in b) == sorted(IDS)
    again = pickle.loads(pickle.dumps(gulp.Dataset(many, seed=5).iterable(batch=3, epoch=2)))  # as workers that are spawned get it
    assert isinstance(again, gulp.Iterable) and [s.id for b in again for s in b] == list(d.iterable(epoch=2))


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
    with pytest.raises(farread.Invalid):
        list(gulp.Dataset(many).iterable(rank=3, world=2))
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


def test_zoom(series: str, tmp_path: Path) -> None:
    v = farread.zoom.view(series, 10, 20.0, width=5)
    assert len(v["min"]) == 5 and v["min"][0] <= 100 and v["max"][-1] >= 198 and (v["count"] > 0).all() and v["t0"][0] <= 10
    assert farread.zoom.tracks(series)[0]["samples"] == 1000
    with pytest.raises(farread.NoEntry):
        farread.zoom.view(series, track=9)
    with pytest.raises(farread.Invalid):
        farread.zoom.view(series, "yesterday")
    with pytest.raises(farread.Unsupported, match="no array: use farread.zoom.view"):
        farread.open(series)

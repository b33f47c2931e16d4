"""The program behind the package: who starts it, who may ask it, and when it ends."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import farread
from farread import _gateway


def address() -> str:
    child = _gateway.current()._child
    assert child is not None
    return child.address.removeprefix("unix:")


def gone(path: str) -> bool:
    """Whether a socket goes within a while."""
    for _ in range(2400):
        if not os.path.exists(path):
            return True
        time.sleep(0.05)
    return False


def test_is_private(sample: str) -> None:
    farread.open(sample)
    at = Path(address())
    assert stat.S_IMODE(at.stat().st_mode) == 0o600 and stat.S_IMODE(at.parent.stat().st_mode) == 0o700


def test_ends_with_configure(sample: str) -> None:
    farread.open(sample)
    at = address()
    farread.configure()
    assert gone(os.path.dirname(at))
    assert farread.open(sample)[1, 1] == 6


LEFT = """
import os, sys, farread
a = farread.open(sys.argv[1])
loop = iter(farread.gulp.Dataset(sys.argv[2]).iterable())
for how in sys.argv[3:]:
    a[0], next(loop)
    if how == "forks":
        pid = os.fork()
        if not pid:
            sys.stdin.read()
            os._exit(0)
    if how == "configures":
        loop.close()
        farread.configure(policy="few")
        assert not farread._gateway._ending
    loop = iter(farread.gulp.Dataset(sys.argv[2]).iterable())
    if how == "loops":
        next(loop)
        farread.configure(policy="lean")
        del loop
        break
assert a[0, 1] == 1
"""


@pytest.mark.parametrize("how", ["configures", "loops", "ends", "forks"])
def test_leaves_nobody_unwaited(sample: str, clips: str, how: str) -> None:
    """A program that ends is waited for, if nobody uses it: there is no ResourceWarning."""
    out = subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", LEFT, sample, clips, how], stdin=subprocess.PIPE, capture_output=True, timeout=300)
    assert (out.returncode, out.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="there it is no socket of the file system")
@pytest.mark.parametrize("folder", ["missing", "x" * 135])
def test_temporary_folder(sample: str, tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is too long for a socket, or that is not there, does not stop reads."""
    a = farread.open(sample)
    farread.configure()
    at = tmp_path / folder
    if folder != "missing":
        at.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(at))
    assert a[0, 1] == 1
    child = _gateway.current()._child
    assert child is not None and child.address.startswith("http://127.0.0.1:" if folder != "missing" else "unix:") and bool(child.secret) == (folder != "missing")
    farread.configure()
    monkeypatch.setattr(os.path, "isdir", lambda p: False)
    with pytest.raises(farread.Unavailable, match="set TMPDIR"):
        a[0]


def test_killed_program_is_started_again(sample: str) -> None:
    a = farread.open(sample)
    child = _gateway.current()._child
    assert child is not None
    child.process.kill()
    child.process.wait()
    assert a[3, 4] == 19


SCRIPT = """
import sys, farread
from farread import _gateway
print(farread.open(sys.argv[1])[0, 1], _gateway.current()._child.address.removeprefix("unix:"), flush=True)
if sys.argv[2] == "wait":
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["end", "kill"])
def test_ends_with_python(sample: str, how: str) -> None:
    p = subprocess.Popen([sys.executable, "-c", SCRIPT, sample, "wait" if how == "kill" else ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout is not None
    item, at = p.stdout.readline().decode().split()
    if how == "kill":
        assert os.path.exists(at)
        p.kill()
    p.wait()
    assert item == "1" and gone(os.path.dirname(at))


def _sum(uri: str) -> int:
    return int(farread.open(uri)[...].sum())


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes(sample: str, way: str) -> None:
    a = farread.open(sample)
    at = address()
    with multiprocessing.get_context(way).Pool(2) as pool:
        assert pool.map(_sum, [sample] * 4) == [190] * 4
        assert pool.map(np.sum, [a, a]) == [190, 190]
    assert address() == at and a[0, 0] == 0


CONFIGURED = """
import pickle, sys, farread
if len(sys.argv) > 1:
    farread.configure(**({"policy": sys.argv[1]} if sys.argv[1] else {}))
for p in pickle.load(sys.stdin.buffer):
    pickle.loads(p)
    print(farread._gateway.current().flags)
"""


def test_configure_is_pickled(sample: str, clips: str) -> None:
    """What is pickled takes the options along, to where none are set: what came last counts."""
    pytest.importorskip("xarray")
    a, d = farread.open(sample), farread.gulp.Dataset(clips)
    ds = farread.open_dataset(packed(sample), chunks=None)
    dumps = []
    for policy, x in ("few", a), ("lean", d), ("fast", d.iterable()), ("few", ds), (None, a):
        farread.configure(policy=policy)
        dumps.append(pickle.dumps(x))
    farread.configure()

    def told(*args: str) -> list[str]:
        return subprocess.run([sys.executable, "-c", CONFIGURED, *args], input=pickle.dumps(dumps), check=True, capture_output=True).stdout.decode().split("\n")[:-1]

    assert told() == ["['--policy=few']", "['--policy=lean']", "['--policy=fast']", "['--policy=few']", "[]"]
    assert told("lean") == ["['--policy=lean']"] * 5 and told("") == ["[]"] * 5
    again = pickle.loads(dumps[1])
    assert again == d and len(again) == 3 and vars(again).keys() == vars(d).keys()


def packed(sample: str) -> str:
    farread.pack(np.load(sample), sample + ".b2nd")
    return sample + ".b2nd"


INTERRUPT = """
import os, signal, sys, threading, farread
signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs in the background ignores it
a = farread.open(sys.argv[1])
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        a[:, 0]
except KeyboardInterrupt:
    print(a[0, 1])  # the program is there still
"""


def test_interrupt(sample: str) -> None:
    out = subprocess.run([sys.executable, "-c", INTERRUPT, sample], capture_output=True, timeout=300)
    assert out.stdout == b"1\n" and out.returncode == 0, out.stderr


def test_no_program(monkeypatch: pytest.MonkeyPatch, sample: str) -> None:
    monkeypatch.setenv("FARREAD_BIN", "/nope/farread")
    farread.configure()
    with pytest.raises(farread.Unavailable, match="/nope/farread"):
        farread.open(sample)
    if os.path.exists("/bin/echo"):
        monkeypatch.setenv("FARREAD_BIN", "/bin/echo")
        with pytest.raises(farread.Unavailable, match="/bin/echo: this is no program of farread"):
            farread.open(sample)
    monkeypatch.undo()
    farread.configure(max_memory="1KiB")
    with pytest.raises(farread.Invalid, match="max-memory"):
        farread.open(sample)
    with pytest.raises(farread.Invalid, match="no option"):
        farread.configure(colour="red")
    farread.configure()
    assert farread.open(sample)[0, 1] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="it keeps the folder that a process works in")
def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for bad in os.fsdecode(b"x\xff.npy"), "a\0b", "s3://b/\udc80":
        with pytest.raises(farread.Invalid, match="UTF-8"):
            farread.open(bad)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    os.rmdir(tmp_path / "gone")
    with pytest.raises(farread.NotFound, match="x.npy: the working folder is gone"):
        farread.open("x.npy")


def test_import_is_light() -> None:
    """The package imports none of its extras, nor starts anything."""
    code = "import sys, farread; print(sorted({'xarray', 'pandas', 'zarr', 'dask', 'torch'} & set(sys.modules)), farread._gateway.current()._child)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"[] None\n"

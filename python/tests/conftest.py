"""A local cloud, and samples in files and in it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import farread

LOCALCLOUD = os.environ.get("FARREAD_LOCALCLOUD", "")


def run(*args: object, stdin: bytes | None = None) -> str:
    """The output of the farread program of the wheel."""
    return subprocess.run([farread.program(), *map(str, args)], check=True, capture_output=True, input=stdin).stdout.decode()


@pytest.fixture(scope="session")
def cloud() -> Iterator[str]:
    """The prefix of a bucket of a local S3, which farread and boto reach by the environment."""
    if not LOCALCLOUD:
        pytest.skip("FARREAD_LOCALCLOUD names no localcloud")
    p = subprocess.Popen([LOCALCLOUD, "-exit-with-stdin", "-bucket", "data"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert p.stdin is not None and p.stdout is not None
    told = json.loads(p.stdout.readline())
    os.environ |= {
        "AWS_ENDPOINT_URL": told["endpoint"],
        "AWS_ACCESS_KEY_ID": told["access_key"],
        "AWS_SECRET_ACCESS_KEY": told["secret_key"],
        "AWS_REGION": told["region"],
    }
    farread.configure()  # it looks at the environment
    yield "s3://data/"
    farread.configure()
    p.stdin.close()
    p.wait()


@pytest.fixture(scope="session")
def cube() -> np.ndarray:
    return np.arange(60 * 70 * 80, dtype="<u4").reshape(60, 70, 80)


@pytest.fixture(scope="session", params=["file.b2nd", "file.npy", "s3"])
def stored(request: pytest.FixtureRequest, cube: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The cube, as a file and in S3."""
    d = tmp_path_factory.mktemp("cube")
    np.save(d / "x.npy", cube)
    if request.param == "file.npy":
        return str(d / "x.npy")
    uri = str(d / "x.b2nd") if request.param == "file.b2nd" else request.getfixturevalue("cloud") + "x.b2nd"
    run("pack", d / "x.npy", uri, "--chunk-shape", "16,32,80", "--block-shape", "8,16,40", "--dims", "t,y,x")
    return uri


@pytest.fixture
def sample(tmp_path: Path) -> str:
    """What docstrings read."""
    path = tmp_path / "sample.npy"
    np.save(path, np.arange(20, dtype="<i4").reshape(4, 5))
    return str(path)


@pytest.fixture
def records(tmp_path: Path) -> str:
    """A list of four lines."""
    (tmp_path / "lines.txt").write_bytes(b"one\ntwo\nthree\nfour\n")
    run("pack", tmp_path / "lines.txt", tmp_path / "lines.blp")
    return str(tmp_path / "lines.blp")


@pytest.fixture
def series(tmp_path: Path) -> str:
    """A series of 1,000 samples that rise, ten a second."""
    np.save(tmp_path / "rise.npy", np.arange(1000.0))
    run("pack", tmp_path / "rise.npy", tmp_path / "rise.zoom", "--rate", "10")
    return str(tmp_path / "rise.zoom")


@pytest.fixture
def clips(tmp_path: Path) -> str:
    """A dataset of three clips of two, one and one images."""
    return make_clips(tmp_path, {"a": 2, "b": 1, "c": 1})


def image(name: str, i: int) -> bytes:
    """A small JPEG, of bytes that differ."""
    import base64

    jpeg = base64.b64decode(JPEG)
    note = f"{name} {i}".encode()
    return jpeg[:2] + b"\xff\xfe" + (len(note) + 2).to_bytes(2, "big") + note + jpeg[2:]


# 1 x 1 pixel, grey
JPEG = (
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBD/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQ"
    "AQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//2Q=="
)


def make_clips(d: Path, ids: dict[str, int], chunk: str = "1MiB") -> str:
    for name, n in ids.items():
        (d / "in" / name).mkdir(parents=True)
        for i in range(n):
            (d / "in" / name / f"{i:03}.jpg").write_bytes(image(name, i))
    (d / "in" / "labels.csv").write_text("id,label\n" + "".join(f"{x},{n}\n" for x, n in ids.items()))
    run("pack", d / "in", f"{d / 'set'}/", "--format", "gulp", "--chunk", chunk, "--layout", "clips")
    return f"{d / 'set'}/"

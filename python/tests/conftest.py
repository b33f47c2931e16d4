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

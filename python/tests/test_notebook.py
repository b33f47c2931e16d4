"""docs/notebook.ipynb, run as a user runs it, on the local cloud that the quickstart has filled.

Its outputs are those that are stored in it, but for what differs from machine to machine. With
FARREAD_UPDATE=1 the new ones are stored.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import LOCALCLOUD

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

HERE = Path(__file__).resolve().parent
NOTEBOOK = Path(os.environ.get("FARREAD_NOTEBOOK", HERE.parent.parent / "docs" / "notebook.ipynb"))


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment of a local cloud with what the quickstart uploads and its functions make."""
    if not LOCALCLOUD:
        pytest.skip("FARREAD_LOCALCLOUD names no localcloud")
    farread = Path(LOCALCLOUD).parent / "farread"
    subprocess.run([farread, "quickstart", "--once", "--json", "--dir", tmp_path / "cloud"], check=True, stdout=subprocess.DEVNULL)
    p = subprocess.Popen([LOCALCLOUD, "-exit-with-stdin", "-dir", tmp_path / "cloud"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert p.stdin is not None and p.stdout is not None
    told = json.loads(p.stdout.readline())
    for name, of in {"ENDPOINT_URL": "endpoint", "ACCESS_KEY_ID": "access_key", "SECRET_ACCESS_KEY": "secret_key", "DEFAULT_REGION": "region"}.items():
        monkeypatch.setenv("AWS_" + name, told[of])
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    if importlib.util.find_spec("torch") is None:
        monkeypatch.setenv("PYTHONPATH", str(HERE / "standin"))
    for name in "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR":
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    yield
    p.stdin.close()
    p.wait()


def shown(output: Any) -> Any:
    """What of an output is the same everywhere: of pictures that there is one, since fonts differ."""
    if output.output_type == "stream":
        return output.name, output.text
    if output.output_type == "error":
        return output.ename, output.evalue
    return {kind: base64.b64decode(data)[:8] if kind == "image/png" else data for kind, data in output.data.items()}


def test_notebook(filled: None) -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.from_dict(json.loads(json.dumps(stored)))
    nbclient.NotebookClient(run, timeout=600, kernel_name="python3", record_timing=False, coalesce_streams=True).execute()
    if os.environ.get("FARREAD_UPDATE"):
        run.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
        nbformat.write(run, NOTEBOOK)
        return
    tried = 0
    for i, (cell, was) in enumerate(zip(run.cells, stored.cells)):
        if cell.cell_type == "code":
            assert [shown(o) for o in cell.outputs] == [shown(o) for o in was.outputs], f"cell {i}:\n{cell.source}"
            tried += len(cell.outputs)
    assert tried > 8, sys.argv

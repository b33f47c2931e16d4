"""The examples of docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np

import farread


def test_docstrings(sample: str, series: str, records: str, clips: str, tmp_path: Path) -> None:
    tried = 0
    known = {"farread": farread, "np": np, "sample": sample, "series": series, "records": records, "clips": clips, "new": str(tmp_path / "new")}
    for m in [farread, *(importlib.import_module(f"farread.{x.name}") for x in pkgutil.iter_modules(farread.__path__))]:
        r = doctest.testmod(m, extraglobs=known)
        assert r.failed == 0, m
        tried += r.attempted
    assert tried > 25

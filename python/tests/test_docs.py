"""The examples of docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import farread


def test_docstrings(sample: str) -> None:
    tried = 0
    for m in [farread, *(importlib.import_module(f"farread.{x.name}") for x in pkgutil.iter_modules(farread.__path__))]:
        r = doctest.testmod(m, extraglobs={"farread": farread, "sample": sample})
        assert r.failed == 0
        tried += r.attempted
    assert tried > 5

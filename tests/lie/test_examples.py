"""The examples in the package's docstrings run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import symgauge.lie


def test_examples():
    modules = [import_module(f"symgauge.lie.{module.name}") for module in iter_modules(symgauge.lie.__path__)]
    results = [doctest.testmod(module) for module in modules]
    assert sum(result.attempted for result in results) >= 8
    assert not any(result.failed for result in results)

"""What can be imported says what it takes and gives, with an example that runs, and docs/api.md is made from that."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import pytest

from symgauge.reporting.api_page import PACKAGES, Public, page, public

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("entry", public(), ids=lambda entry: entry.path)
def test_the_example_of_a_docstring_runs(entry: Public) -> None:
    """In a namespace of its own, so that it can be copied from the page."""
    text = inspect.getdoc(entry.value) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, entry.path, None, None)
    assert test.examples, f"{entry.path} has no example"
    assert not any(example.options for example in test.examples), f"{entry.path} skips what it shows"
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not outcome.failed, "".join(said)


def test_every_package_has_its_place() -> None:
    entries = public()
    paths = {entry.path for entry in entries}
    assert {"symgauge.account", "symgauge.algorithms.align_neurons", "symgauge.symmetries.Symmetry"} <= paths
    assert {entry.package for entry in entries} == {*PACKAGES} - {"symgauge.subjects"}, "its names are symgauge's too"


def test_the_page_is_made_from_the_docstrings() -> None:
    file = Path(__file__).parent.parent / "docs" / "api.md"
    assert file.read_text() == page(), "run python -m symgauge.reporting.api_page > docs/api.md"

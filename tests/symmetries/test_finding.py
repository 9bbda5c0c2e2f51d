"""Families are found by being there, in an order that their classes ask for, and only when somebody asks."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from symgauge.errors import InvalidInput
from symgauge.symmetries.base import Symmetry
from symgauge.symmetries.finding import continuous_families, finite_families, in_order


def family(name: str, *after: str) -> type[Symmetry]:
    fields: dict[str, Any] = {"name": name, "after": after, "sites": lambda self, a, graph: []}
    return type(name.title(), (Symmetry,), fields)


def names(kinds: tuple[type[Symmetry], ...]) -> list[str]:
    return [kind.name for kind in kinds]


def test_each_comes_after_those_it_names_and_else_by_name() -> None:
    kinds = [family("a", "d"), family("b"), family("d", "e"), family("c"), family("e")]
    assert names(in_order(kinds)) == names(in_order(kinds[::-1])) == ["b", "c", "e", "d", "a"]


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ([family("a", "b"), family("b", "a")], "families cannot each come after the other: '[ab]' → '[ab]' → '[ab]'"),
        ([family("a", "a")], "each come after the other: 'a' → 'a'"),
        ([family("a", "b")], "family 'a' is to come after 'b', but there is no family of this name"),
        ([family("a"), family("a")], "two families are named 'a': A and A"),
    ],
)
def test_orders_that_cannot_be_are_refused(kinds: list[type[Symmetry]], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        in_order(kinds)


def test_the_families_there_are() -> None:
    found = names(continuous_families())
    assert len(found) == len(set(found)) > 20
    for kind in continuous_families():
        assert all(found.index(name) < found.index(kind.name) for name in kind.after)
    assert {"head-permutation", "neuron-permutation"} <= {kind.name for kind in finite_families()}


def test_help_imports_no_family() -> None:
    code = (
        "import sys\nfrom symgauge.cli import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "assert not [name for name in sys.modules if name.startswith('symgauge.symmetries.catalogue')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

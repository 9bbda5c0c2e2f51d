"""A family is added by a file: it is found, ordered, counted, and tested like the others; a wrong one is caught."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from symgauge.symmetries import Symmetry, catalogue, dimension, symbols, table
from symgauge.symmetries.catalogue.neuron_rescaling import GatedRescale
from symgauge.symmetries.examples import RMS
from symgauge.symmetries.finding import continuous_families
from tests.symmetries.evidence import accounted
from tests.symmetries.family_checks import (
    check_dimension,
    check_each_role_counts,
    check_identity,
    check_invariance,
    check_kernel,
)

TOY = """
from symgauge.symmetries import Site, Symmetry, symbols
from symgauge.symmetries.elements import factors
from symgauge.symmetries.examples import RMS

class Toy(Symmetry):
    name = "toy-rescale"
    title = "In a gated layer each neuron's up column is scaled by any factor and its down row divided."
    after = ("stream-map",)
    example = RMS

    def sites(self, a, graph):
        up, down = "layers.0.ff.up.weight", "layers.0.ff.down.weight"

        def act(roles, x):
            return {up: roles[up] * (1 + x), down: roles[down] / (1 + x).unsqueeze(-1)}

        return [Site(0, symbols.d_ff, a.d_ff, act, factors(a.d_ff))] if a.gated and up in graph.shapes else []
"""


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Symmetry]]:
    """Adds a family in a file beside the others, while the family that it repeats does not act."""
    monkeypatch.setattr(GatedRescale, "applies", lambda *_: False)

    def added(text: str) -> Symmetry:
        (tmp_path / "toy.py").write_text(text)
        monkeypatch.setattr(catalogue, "__path__", [*catalogue.__path__, str(tmp_path)])
        return next(kind for kind in continuous_families() if kind.name == "toy-rescale")()

    yield added
    sys.modules.pop(f"{catalogue.__name__}.toy", None)


def test_it_is_found_ordered_counted_and_tested(add: Callable[[str], Symmetry]) -> None:
    before = dimension(RMS)
    toy = add(TOY)
    names = [kind.name for kind in continuous_families()]
    assert names.index("toy-rescale") > names.index("stream-map")
    assert table(RMS)["toy-rescale"] == dimension(RMS) - before == symbols.L * symbols.d_ff
    check_identity(RMS, toy)
    check_invariance(RMS, toy)
    check_each_role_counts(RMS, toy)
    check_dimension(RMS, toy)
    check_kernel(RMS, toy)


def test_one_that_changes_the_function_is_caught(add: Callable[[str], Symmetry]) -> None:
    toy = add(TOY.replace("roles[down] /", "roles[down] *"))
    with pytest.raises(AssertionError):
        check_invariance(toy.example, toy)
    with pytest.raises(AssertionError):
        check_kernel(toy.example, toy)
    found = accounted(toy.example, discover=False)
    assert {share.name: share.violations for share in found.families if share.violations} == {
        "toy-rescale": toy.example.d_ff
    }
    assert not found.decided


def test_a_wrong_count_is_caught(add: Callable[[str], Symmetry]) -> None:
    toy = add(TOY.replace("symbols.d_ff,", "symbols.d_ff + 1,"))
    with pytest.raises(AssertionError):
        check_dimension(toy.example, toy)
    with pytest.raises(AssertionError):
        check_kernel(toy.example, toy)


def test_a_role_that_moves_for_nothing_is_caught(add: Callable[[str], Symmetry]) -> None:
    """Up and down are a coupling; the gain of the last norm moves beside them by nothing that shows."""
    idle = 'last = "final_norm.gain"\n            return {last: roles[last] * (1 + 1e-12 * x.sum()), up'
    toy = add(TOY.replace("return {up", idle))
    with pytest.raises(AssertionError, match=r"putting back final_norm\.gain does not show"):
        check_each_role_counts(toy.example, toy)

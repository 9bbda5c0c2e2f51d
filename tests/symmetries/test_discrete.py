"""Finite families keep the function; half an element does not; orders agree with enumeration."""

from __future__ import annotations

from itertools import permutations, product

import pytest
import torch

from symgauge.architecture import Architecture
from symgauge.symmetries import DiscreteSymmetry, discrete_families
from symgauge.symmetries import symbols as s
from symgauge.symmetries.finding import finite_families
from symgauge.wiring import wire
from tests.symmetries.cases import ARCHITECTURES
from tests.symmetries.evidence import VISIBLE, difference, inputs, point, rounding
from tests.symmetries.family_checks import check_each_role_counts

ALL = {**ARCHITECTURES, "tanh": ARCHITECTURES["gpt2"].replace(activation="tanh"),
       "tanh-gated": ARCHITECTURES["llama"].replace(activation="tanh", tied=True)}  # fmt: skip
CASES = [(a, family) for a in ALL.values() for family in discrete_families(a)]
CASES += [(kind.example, kind()) for kind in finite_families()]


@pytest.mark.parametrize(("a", "family"), CASES, ids=[f"{a.name or 'example'}-{family.name}" for a, family in CASES])
def test_function_stays_and_half_an_element_shows(a: Architecture, family: DiscreteSymmetry) -> None:
    w, generator = wire(a), torch.Generator().manual_seed(6)
    roles, x = point(a), inputs(a, generator, 24)
    moved = family.act(a, w, roles, family.sample(a, w, generator))
    assert difference(a, roles, moved, x, "logits") < rounding(a, roles, moved, x, "logits") < VISIBLE / 100
    check_each_role_counts(a, family, visible=VISIBLE / 10)


def test_every_family_is_exercised() -> None:
    assert {family.name for _, family in CASES} == {family.name for family in finite_families()}


@pytest.mark.parametrize(("heads", "groups"), [(4, 2), (4, 1), (4, 4), (6, 3)])
def test_order_of_head_permutations(heads: int, groups: int) -> None:
    """Enumerate the pairs (σ, τ) that keep the map from heads to groups."""
    a = ARCHITECTURES["llama"].replace(heads=heads, groups=groups, layers=1)
    size = heads // groups
    count = sum(
        all(tau[head // size] == sigma[head] // size for head in range(heads))
        for sigma, tau in product(permutations(range(heads)), permutations(range(groups)))
    )
    family = next(f for f in discrete_families(a) if f.name == "head-permutation")
    assert family.order(a).subs(s.values(a)) == count
    assert family.dimension(a) == 0

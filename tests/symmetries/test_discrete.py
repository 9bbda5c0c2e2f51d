"""Finite families keep the function; half an element does not; orders agree with enumeration."""

from __future__ import annotations

import dataclasses
from itertools import permutations, product
from math import factorial

import pytest
import torch

from symgauge.architecture import Architecture, Experts
from symgauge.presets import preset
from symgauge.symmetries import symbols as s
from symgauge.symmetries.discrete import DISCRETE, ExpertPermutation, discrete_families
from symgauge.wiring import Mixture, wire
from tests.symmetries.cases import ARCHITECTURES
from tests.symmetries.evidence import VISIBLE, difference, inputs, point, rounding

ALL = {**ARCHITECTURES, "tanh": ARCHITECTURES["gpt2"].replace(activation="tanh"),
       "tanh-gated": ARCHITECTURES["llama"].replace(activation="tanh", tied=True)}  # fmt: skip
CASES = [(name, family.name) for name, a in ALL.items() for family in discrete_families(a)]


@pytest.mark.parametrize(("name", "family"), CASES)
def test_function_stays_and_half_an_element_shows(name: str, family: str) -> None:
    a = ALL[name]
    w, generator = wire(a), torch.Generator().manual_seed(6)
    symmetry = next(f for f in discrete_families(a) if f.name == family)
    roles, x = point(a), inputs(a, generator, 24)
    moved = symmetry.act(a, w, roles, symmetry.sample(a, w, generator))
    tolerance = rounding(a, roles, moved, x, "logits")
    assert tolerance < VISIBLE / 100
    assert difference(a, roles, moved, x, "logits") < tolerance
    changed = [role for role in roles if not torch.equal(moved[role], roles[role])]
    assert len(changed) > 1
    for role in changed:
        if role == "type_table" or role.endswith("key.bias"):
            # Unused rows, and a bias that softmax may not see, are symmetries of their own.
            continue
        if a.experts is not None and a.experts.active == 1 and "router" in role:
            continue
        assert difference(a, roles, {**moved, role: roles[role]}, x, "logits") > VISIBLE / 10, role


def test_every_family_is_exercised() -> None:
    assert {family for _, family in CASES} == {family.name for family in DISCRETE}


def _keep_groups(n: int, groups: int) -> int:
    """Enumerate the pairs (σ, τ) that keep the map from n things to their groups."""
    size = n // groups
    return sum(
        all(tau[thing // size] == sigma[thing] // size for thing in range(n))
        for sigma, tau in product(permutations(range(n)), permutations(range(groups)))
    )


def _order(a: Architecture, name: str) -> int:
    family = next(f for f in discrete_families(a) if f.name == name)
    assert family.dimension(a) == 0
    return s.evaluate(family.order(a), a)


@pytest.mark.parametrize(("heads", "groups"), [(4, 2), (4, 1), (4, 4), (6, 3)])
def test_order_of_head_permutations(heads: int, groups: int) -> None:
    a = ARCHITECTURES["llama"].replace(heads=heads, groups=groups, layers=1)
    assert _order(a, "head-permutation") == _keep_groups(heads, groups)


@pytest.mark.parametrize(("count", "groups"), [(4, 2), (4, 1), (6, 3), (6, 2)])
def test_order_of_expert_permutations(count: int, groups: int) -> None:
    experts = Experts(count, 1, 3, routing="sigmoid", groups=groups)
    assert _order(ARCHITECTURES["llama"].replace(experts=experts, layers=1), "expert-permutation") == _keep_groups(
        count, groups
    )


def test_deepseek_v3_has_the_wreath_product_of_its_router_groups() -> None:
    """256 experts in 8 groups, in 58 of 61 layers: S₃₂ ≀ S₈ each, not S₂₅₆."""
    order = _order(preset("deepseek-v3"), "expert-permutation")
    assert order == (factorial(32) ** 8 * factorial(8)) ** 58
    assert order < factorial(256) ** 58


@pytest.mark.parametrize(
    ("order", "kept"),
    [([1, 0, 2, 3, 4, 5], True), ([2, 3, 0, 1, 4, 5], True), ([2, 1, 0, 3, 4, 5], False), ([1, 2, 3, 4, 5, 0], False)],
    ids=["inside a group", "two groups", "across two groups", "across all groups"],
)
def test_experts_change_places_with_their_groups_only(order: list[int], kept: bool) -> None:
    """What mixes groups of experts changes the function; a router without groups sees no difference."""
    grouped = ARCHITECTURES["deepseek-grouped"]
    assert grouped.experts is not None
    free = grouped.replace(experts=dataclasses.replace(grouped.experts, groups=1, active_groups=1))
    x = inputs(grouped, torch.Generator().manual_seed(6), 24)
    for a, same in ((grouped, kept), (free, True)):
        roles, w = point(a), wire(a)
        element = {sub.router.weight: torch.tensor(order) for sub in w.sublayers() if isinstance(sub, Mixture)}
        moved = ExpertPermutation().act(a, w, roles, element)
        error = difference(a, roles, moved, x, "logits")
        assert error < rounding(a, roles, moved, x, "logits") if same else error > VISIBLE

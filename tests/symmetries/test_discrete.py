"""Finite families keep the function; half an element does not; orders agree with enumeration."""

from __future__ import annotations

import dataclasses
from itertools import permutations, product
from math import factorial

import pytest
import torch

from symgauge.architecture import Architecture, Experts
from symgauge.model_graph import Mixture, graph_of
from symgauge.presets import preset
from symgauge.symmetries import DiscreteSymmetry, discrete_families
from symgauge.symmetries import symbols as s
from symgauge.symmetries.catalogue.expert_permutation import ExpertPermutation
from symgauge.symmetries.catalogue.stream_permutation import StreamPermutation
from symgauge.symmetries.finding import finite_families
from tests.symmetries.cases import ARCHITECTURES
from tests.symmetries.evidence import VISIBLE, difference, inputs, point, rounding
from tests.symmetries.family_checks import check_each_role_counts

ALL = {**ARCHITECTURES, "tanh": ARCHITECTURES["gpt2"].replace(activation="tanh"),
       "tanh-gated": ARCHITECTURES["llama"].replace(activation="tanh", tied=True)}  # fmt: skip
CASES = [(a, family) for a in ALL.values() for family in discrete_families(a)]
CASES += [(kind.example, kind()) for kind in finite_families()]


@pytest.mark.parametrize(("a", "family"), CASES, ids=[f"{a.name or 'example'}-{family.name}" for a, family in CASES])
def test_function_stays_and_half_an_element_shows(a: Architecture, family: DiscreteSymmetry) -> None:
    graph, generator = graph_of(a), torch.Generator().manual_seed(6)
    roles, x = point(a), inputs(a, generator, 24)
    moved = family.act(a, graph, roles, family.sample(a, graph, generator))
    assert difference(a, roles, moved, x, "logits") < rounding(a, roles, moved, x, "logits") < VISIBLE / 100
    check_each_role_counts(a, family, visible=VISIBLE / 10)


@pytest.mark.parametrize(
    ("name", "flipped"), [("llama", "some"), ("no-norm", "some"), ("gpt2", "all"), ("bert", "none")]
)
def test_stream_coordinates_change_sign_as_far_as_norms_and_activations_allow(name: str, flipped: str) -> None:
    """Seen in the token table, whose columns are moved; signs that change nothing are half of the order."""
    a = ALL[name]
    graph, family, before = graph_of(a), StreamPermutation(), point(a)["token_table"]
    signed = []
    for seed in range(8):
        element = family.sample(a, graph, torch.Generator().manual_seed(seed))
        after = family.act(a, graph, point(a), element)["token_table"]
        same, opposite = ((after.mT[:, None] == sign * before.mT).all(-1) for sign in (1, -1))
        # Every column is one of those before, or its opposite, and each is there once.
        assert (same | opposite).sum(0).tolist() == (same | opposite).sum(1).tolist() == [1] * a.d_model
        assert not torch.equal((same | opposite).to(torch.int64), torch.eye(a.d_model, dtype=torch.int64))
        signed.append(opposite.any(1))
    every, any_ = bool(torch.stack(signed).all()), bool(torch.stack(signed).any())
    assert (every, any_) == {"some": (False, True), "all": (True, True), "none": (False, False)}[flipped]
    signs = {"some": 2**a.d_model, "all": 2, "none": 1}[flipped]
    assert family.order(a).subs(s.values(a)) == factorial(a.d_model) * signs


def test_every_family_is_exercised() -> None:
    assert {family.name for _, family in CASES} == {family.name for family in finite_families()}


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
        roles, graph = point(a), graph_of(a)
        element = {sub.router.weight: torch.tensor(order) for sub in graph.sublayers() if isinstance(sub, Mixture)}
        moved = ExpertPermutation().act(a, graph, roles, element)
        error = difference(a, roles, moved, x, "logits")
        assert error < rounding(a, roles, moved, x, "logits") if same else error > VISIBLE

"""Finite families keep the function; half an element does not; orders agree with enumeration."""

from __future__ import annotations

from itertools import permutations, product

import pytest
import torch

from symgauge.symmetries import discrete_families
from symgauge.symmetries import symbols as s
from symgauge.wiring import wire
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
    assert {family for _, family in CASES} == {family.name for family in finite_families()}


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

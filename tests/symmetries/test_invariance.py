"""Every family keeps the function, for general elements far from the identity, up to rounding."""

from __future__ import annotations

import pytest
import torch

from symgauge.errors import InvalidInput
from symgauge.symmetries import REGISTRY
from symgauge.symmetries.base import Output
from symgauge.wiring import wire
from tests.symmetries.cases import ARCHITECTURES, acting, family_of
from tests.symmetries.evidence import difference, inputs, point, rounding

CASES = acting()


@pytest.mark.parametrize(("name", "output", "family"), CASES)
def test_function_stays(name: str, output: Output, family: str) -> None:
    a = ARCHITECTURES[name]
    w, symmetry, generator = wire(a), family_of(a, output, family), torch.Generator().manual_seed(2)
    roles, x = point(a), inputs(a, generator)
    for _ in range(3):
        moved = symmetry.act(a, w, roles, symmetry.sample(a, w, generator))
        assert set(moved) == set(roles)
        assert any(float((moved[r] - roles[r]).norm() / roles[r].norm()) > 1e-6 for r in roles), "nothing moved"
        assert difference(a, roles, moved, x, output) < rounding(a, roles, moved, x, output)


@pytest.mark.parametrize(("name", "output", "family"), CASES)
def test_zero_is_the_identity(name: str, output: Output, family: str) -> None:
    a = ARCHITECTURES[name]
    w, symmetry, roles = wire(a), family_of(a, output, family), point(a)
    zero = torch.zeros(symmetry.coordinates(a, w), dtype=torch.float64)
    moved = symmetry.act(a, w, roles, zero)
    for role, value in roles.items():
        assert float((moved[role] - value).norm()) <= 1e-14 * float(value.norm())


def test_every_family_is_exercised() -> None:
    assert {family for _, _, family in CASES} == {family.name for family in REGISTRY}


def test_coordinates_of_wrong_length_are_refused() -> None:
    a = ARCHITECTURES["llama"]
    with pytest.raises(InvalidInput, match=r"'query-key' takes x of shape \(16,\) here, not \(3,\)"):
        family_of(a, "logits", "query-key").act(a, wire(a), point(a), torch.zeros(3))

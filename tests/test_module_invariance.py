"""A family on a module of one's own: kept, not kept, and checks that could not have failed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from sympy import Integer
from torch import Tensor, nn

import symgauge
from symgauge.errors import InvalidInput
from symgauge.numeric import ControlHeld, NotInvariant
from symgauge.symmetries import Site, Symmetry, discrete_families, families

D, H, K, V = 5, 2, 3, 2
SHAPES = {"q": (H, D, K), "k": (H, D, K), "v": (H, D, V), "o": (H, V, D), "b": (H, K)}
ROLES = {
    "layers.0.attention.query.weight": "q",
    "layers.0.attention.key.weight": "k",
    "layers.0.attention.key.bias": "b",
    "layers.0.attention.value.weight": "v",
    "layers.0.attention.output.weight": "o",
}
ARCHITECTURE = symgauge.Architecture(
    d_model=D, heads=H, d_k=K, d_v=V, residual=False, context=3, key_bias=True, causal=False
)


class Attention(nn.Module):
    """One layer of attention with parameters of its own names; ``cap`` bounds keys, which breaks their symmetry."""

    def __init__(self, cap: bool = False, dead: bool = False) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        for name, shape in SHAPES.items():
            setattr(self, name, nn.Parameter(torch.randn(shape, generator=generator)))
        self.cap, self.dead = cap, dead

    def forward(self, states: Tensor) -> Tensor:
        x = states[:, None]
        keys = x @ self.k + self.b[:, None]
        weights = torch.softmax((x @ self.q) @ (torch.tanh(keys) if self.cap else keys).mT / K**0.5, -1)
        weights = torch.full_like(weights, 1 / 3) if self.dead else weights
        return (weights @ (x @ self.v) @ self.o).sum(1)


def layout(module: nn.Module, *without: str) -> symgauge.Layout:
    return symgauge.Layout.of(module, {role: name for role, name in ROLES.items() if name not in without})


ALL = {family.name: family for family in (*families(ARCHITECTURE), *discrete_families(ARCHITECTURE))}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_family_keeps_the_function_and_spoiled_it_does_not(name: str, seed: int) -> None:
    module = Attention()
    before = {key: value.clone() for key, value in module.state_dict().items()}
    found = symgauge.assert_invariant(module, layout(module), ALL[name], architecture=ARCHITECTURE, seed=seed)
    assert found.invariance.ratio <= 1
    assert min(found.controls.values()) > 1e-3
    assert all(torch.equal(before[key], value) for key, value in module.state_dict().items())
    expected = {"key-bias": {"all others"}, "query-key": {*ROLES} - {*list(ROLES)[2:]}}
    assert set(found.controls) == expected.get(name, set(found.controls))


def test_a_function_that_changes_is_told_with_family_and_seed() -> None:
    with pytest.raises(NotInvariant, match=r"QueryKey\(\), seed 4: the function changes by"):
        symgauge.assert_invariant(
            Attention(cap=True), layout(Attention()), ALL["query-key"], architecture=ARCHITECTURE, seed=4
        )


def test_a_module_that_does_not_look_at_what_moves_is_no_evidence() -> None:
    with pytest.raises(ControlHeld, match="with the action spoiled on layers"):
        symgauge.assert_invariant(
            Attention(dead=True), layout(Attention()), ALL["query-key"], architecture=ARCHITECTURE
        )


class Doubled(Symmetry):
    """No symmetry: values and outputs grow together."""

    name, title = "doubled", "values and outputs by one factor"

    def sites(self, a: Any, w: Any) -> list[Site]:
        def act(roles: Any, x: Tensor) -> dict[str, Tensor]:
            names = ("layers.0.attention.value.weight", "layers.0.attention.output.weight")
            return {name: roles[name] * (1 + x) for name in names}

        return [Site(0, Integer(1), 1, act, lambda g: torch.rand(1, generator=g, dtype=torch.float64) + 1)]


def test_a_family_of_ones_own_may_be_wrong() -> None:
    module = Attention()
    with pytest.raises(NotInvariant):
        symgauge.assert_invariant(module, layout(module), Doubled(), architecture=ARCHITECTURE)


def test_inputs_may_go_by_name_and_time_first() -> None:
    class TimeFirst(Attention):
        def forward(self, states: Tensor) -> Tensor:
            return super().forward(states.movedim(0, 1)).movedim(1, 0)

    module, inputs = TimeFirst(), symgauge.Vectors(3, D, keyword="states", batch_axis=1)
    symgauge.assert_invariant(module, layout(module), ALL["value-output"], architecture=ARCHITECTURE, inputs=inputs)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"layout": layout(Attention(), "k")}, "the layout has no role 'layers.0.attention.key.weight', which family"),
        ({"family": "query-key"}, "'query-key' is no symmetry family that acts on this architecture"),
        ({"architecture": ARCHITECTURE.replace(key_bias=False), "family": ALL["key-bias"]}, "is no symmetry family"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(options: dict[str, Any], said: str) -> None:
    module = Attention()
    given = {"layout": layout(module), "family": ALL["query-key"], "architecture": ARCHITECTURE} | options
    with pytest.raises(InvalidInput, match=said):
        symgauge.assert_invariant(module, **given)

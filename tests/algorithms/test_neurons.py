"""Hidden neurons: planted renumberings and factors are found again, for every kind of freedom."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from symgauge.algorithms import FeedForwardParameters, align_neurons
from symgauge.errors import InvalidInput

ACTIVATIONS = {
    "gelu": torch.nn.functional.gelu,
    "relu": torch.relu,
    "relu2": lambda x: torch.relu(x).square(),
    "tanh": torch.tanh,
    "silu": torch.nn.functional.silu,
}
KINDS = [("gelu", False), ("relu", False), ("relu2", False), ("tanh", False), ("silu", True)]


def drawn(activation: str, gated: bool, seed: int = 0) -> FeedForwardParameters:
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=g, dtype=torch.float64)

    extra = {"gate": normal(5, 11), "gate_bias": normal(11)} if gated else {}
    return FeedForwardParameters(normal(5, 11), normal(11, 5), activation, up_bias=normal(11), **extra)


def outputs(f: FeedForwardParameters) -> Tensor:
    x = torch.randn(7, 5, generator=torch.Generator().manual_seed(9), dtype=torch.float64).to(f.up)
    assert f.up_bias is not None
    act, up = ACTIVATIONS[f.activation], x @ f.up + f.up_bias
    hidden = act(up) if f.gate is None or f.gate_bias is None else act(x @ f.gate + f.gate_bias) * up
    return hidden @ f.down


def planted(f: FeedForwardParameters) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(3)
    order = torch.randperm(f.width, generator=g)
    factors = 0.3 + 3 * torch.rand(f.width, generator=g, dtype=torch.float64)
    signs = 2.0 * torch.randint(0, 2, (f.width,), generator=g, dtype=torch.float64) - 1
    one = torch.ones_like(factors)
    return order, {"none": one, "positive": factors, "sign": signs, "any": signs * factors}[f.freedom]


@pytest.mark.parametrize(("activation", "gated"), KINDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_planted_neurons_are_recovered(activation: str, gated: bool, dtype: torch.dtype) -> None:
    f = drawn(activation, gated)
    order, factors = planted(f)
    moved = f.moved(order, factors)
    assert float((outputs(moved) - outputs(f)).norm() / outputs(f).norm()) < 1e-13
    single = [
        FeedForwardParameters(activation=activation, **{n: x.to(dtype) for n, x in y.tensors().items()})
        for y in (f, moved)
    ]
    found = align_neurons(*single)
    allowed = 100 * torch.finfo(dtype).eps
    assert torch.equal(found.order, torch.argsort(order))
    assert torch.allclose(found.factors * factors[found.order].to(dtype), torch.ones_like(found.factors), rtol=allowed)
    for name, x in found.parameters.tensors().items():
        assert torch.allclose(x, single[0].tensors()[name], rtol=allowed, atol=allowed)
    assert found.mismatch < 1e3 * allowed


@pytest.mark.parametrize(("activation", "gated"), KINDS)
def test_function_stays_between_different_layers(activation: str, gated: bool) -> None:
    f, other = drawn(activation, gated, 1), drawn(activation, gated, 2)
    found = align_neurons(f, other)
    assert float((outputs(found.parameters) - outputs(other)).norm() / outputs(other).norm()) < 1e-13
    assert found.mismatch > 1


def test_factors_outside_the_freedom_change_the_function() -> None:
    f = drawn("gelu", False)
    assert f.freedom == "none"
    two = torch.full((11,), 2.0, dtype=torch.float64)
    assert float((outputs(f.moved(torch.arange(11), two)) - outputs(f)).norm() / outputs(f).norm()) > 1e-2


def test_bad_input() -> None:
    f = drawn("relu", False)
    with pytest.raises(InvalidInput, match="different tensors or activations"):
        align_neurons(f, drawn("tanh", False))
    dead: dict[str, Any] = f.tensors() | {
        "down": f.down * torch.tensor([0.0] + [1.0] * 10, dtype=torch.float64)[:, None]
    }
    with pytest.raises(InvalidInput, match="undetermined"):
        align_neurons(f, FeedForwardParameters(activation="relu", **dead))
    with pytest.raises(InvalidInput, match="must have shape"):
        FeedForwardParameters(f.up, f.up, "relu")
    with pytest.raises(InvalidInput, match="finite"):
        FeedForwardParameters(f.up * float("inf"), f.down, "relu")

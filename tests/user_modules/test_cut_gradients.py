"""What a module does to torch's gradients changes no value, so it changes no dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import symgauge


class Forged(torch.autograd.Function):
    """Multiplication whose backward pass claims that nothing depends on anything."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return x * y

    @staticmethod
    def backward(ctx: Any, *g: Tensor) -> tuple[Tensor, Tensor]:
        return torch.zeros_like(g[0]), torch.zeros_like(g[0])


def no_grad(x: Tensor, y: Tensor) -> Tensor:
    with torch.no_grad():
        return x * y


WAYS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "plain": torch.mul,
    "detach": lambda x, y: x.detach() * y,
    "data": lambda x, y: x * y.data,
    "no_grad": no_grad,
    "hand-written": Forged.apply,
}


class Gated(nn.Module):
    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.a, self.b = nn.Linear(3, 4), nn.Linear(3, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(WAYS[self.way](torch.tanh(self.a(x)), self.b(x)))


@pytest.mark.parametrize("way", WAYS)
def test_the_dimension_is_that_of_the_values(way: str) -> None:
    """tanh's argument is fixed up to sign, the other factor and the output up to a scale per channel."""
    found = symgauge.dimension(Gated(way), symgauge.Vectors(1, 3), witness=False)
    assert found.saturated
    assert found.agree
    assert found.nullity == 4

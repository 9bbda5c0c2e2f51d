"""One attention layer as plain tensors, its tangent directions and their exponentials, on any device.

Row vectors, y = x W; all heads of a kind in one tensor. Leading batch dimensions of weights and inputs broadcast.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Sizes(NamedTuple):
    """Heads h, d_k, d_v, d_model."""

    heads: int
    d_k: int
    d_v: int
    d_model: int

    @property
    def parameters(self) -> int:
        return 2 * self.heads * self.d_model * (self.d_k + self.d_v)

    @property
    def gauge(self) -> int:
        """h(d_k² + d_v²), Proposition 5.1."""
        return self.heads * (self.d_k**2 + self.d_v**2)

    def __str__(self) -> str:
        return f"h={self.heads}, d_k={self.d_k}, d_v={self.d_v}, d={self.d_model}"


class Layer(NamedTuple):
    """query, key (h, d, d_k), value (h, d, d_v), output (h, d_v, d): parameters, or a direction in their space."""

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor

    def flat(self) -> Tensor:
        """(D,) in the order of the fields; with leading batch dimensions, (…, D)."""
        return torch.cat([part.flatten(-3) for part in self], -1)

    def plus(self, other: Layer, share: float = 1.0) -> Layer:
        return Layer(*(a + share * b for a, b in zip(self, other, strict=True)))


def split(theta: Tensor, sizes: Sizes) -> Layer:
    """The layer whose `flat` is theta; views, so that derivatives pass."""
    h, k, v, d = sizes
    shapes = ((h, d, k), (h, d, k), (h, d, v), (h, v, d))
    parts = theta.split([a * b * c for a, b, c in shapes], -1)
    return Layer(*(part.unflatten(-1, shape) for part, shape in zip(parts, shapes, strict=True)))


def normal(generator: torch.Generator, *shape: int, device: str | torch.device = "cpu") -> Tensor:
    """Standard normal float64, drawn where the generator is; from one on the CPU every device gets the same numbers."""
    return torch.randn(shape, generator=generator, dtype=torch.float64, device=generator.device).to(device)


def draw(sizes: Sizes, generator: torch.Generator, spread: float, device: str | torch.device = "cpu") -> Layer:
    """Weights with independent entries N(0, spread²)."""
    h, k, v, d = sizes
    shapes = ((h, d, k), (h, d, k), (h, d, v), (h, v, d))
    return Layer(*(spread * normal(generator, *shape, device=device) for shape in shapes))


def attend(layer: Layer, x: Tensor) -> Tensor:
    """Softmax attention without mask or biases: x (…, n, d) → (…, n, d)."""
    x = x.unsqueeze(-3)
    scores = (x @ layer.query) @ (x @ layer.key).mT / layer.query.shape[-1] ** 0.5
    heads = scores.softmax(-1) @ (x @ layer.value)
    joined = heads.transpose(-3, -2).flatten(-2)
    return joined @ layer.output.flatten(-3, -2)


class Generator(NamedTuple):
    """X (h, d_k, d_k), Y (h, d_v, d_v) of the Lie algebra; leading batch dimensions are directions."""

    query_key: Tensor
    value_output: Tensor


def draw_generator(
    sizes: Sizes, generator: torch.Generator, device: str | torch.device = "cpu", count: tuple[int, ...] = ()
) -> Generator:
    """Independent standard normal entries; no symmetry of the matrices is assumed. count: leading dimensions."""
    h, k, v, _ = sizes
    return Generator(*(normal(generator, *count, h, n, n, device=device) for n in (k, v)))


def tangent(layer: Layer, generator: Generator) -> Layer:
    """The direction in which exp(tX) starts: W_Q X, −W_K Xᵀ, W_V Y, −Y W_O."""
    x, y = generator
    return Layer(layer.query @ x, -layer.key @ x.mT, layer.value @ y, -y @ layer.output)


def exponential(layer: Layer, generator: Generator, t: float) -> Layer:
    """exp(tX) applied to a layer; inverses are exponentials too."""
    x, y = (t * part for part in generator)
    grow, shrink = torch.matrix_exp(y), torch.matrix_exp(-y)
    return Layer(
        layer.query @ torch.matrix_exp(x),
        layer.key @ torch.matrix_exp(-x.mT),
        layer.value @ grow,
        shrink @ layer.output,
    )

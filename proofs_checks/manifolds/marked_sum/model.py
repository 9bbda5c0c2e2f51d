"""The attention-only transformer of the source: what it computes, and how it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from symgauge.errors import InvalidInput
from symgauge.parameter_vector import ParameterVector

MATRICES = ("w_q", "w_k", "w_v", "w_o")
EPSILON = 1e-5


@dataclass(frozen=True)
class Sizes:
    """d_k = d_v = d / heads. feed_forward: a GELU network of width 4d after attention, read from the same stream.

    Raises InvalidInput where heads do not divide d.

    Source: section 3.2; the defaults, biases, norms and the learned positions are those of the source's code.
    """

    d: int = 128
    heads: int = 4
    layers: int = 5
    vocabulary: int = 256
    length: int = 16
    classes: int = 8
    feed_forward: bool = False

    def __post_init__(self) -> None:
        if self.heads < 1 or self.d % self.heads:
            raise InvalidInput(f"{self.heads} heads do not divide the width {self.d}; choose a divisor of d")

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name of each parameter → shape, in the order of the flat vector. Matrices map row vectors: y = x W + b."""
        d = self.d
        found: dict[str, tuple[int, ...]] = {"token": (self.vocabulary, d), "position": (self.length, d)}
        for layer in range(self.layers):
            found |= {f"{layer}_gain": (d,), f"{layer}_offset": (d,)}
            for name in MATRICES:
                found |= {f"{layer}_{name}": (d, d), f"{layer}_{name.replace('w', 'b')}": (d,)}
            if self.feed_forward:
                found |= {f"{layer}_up": (d, 4 * d), f"{layer}_up_bias": (4 * d,)}
                found |= {f"{layer}_down": (4 * d, d), f"{layer}_down_bias": (d,)}
        found |= {"gain": (d,), "offset": (d,), "head": (d, self.classes), "head_bias": (self.classes,)}
        return found

    @property
    def parameters(self) -> int:
        """How many numbers the function depends on."""
        return ParameterVector(self.shapes).size

    @property
    def dead(self) -> int:
        """Parameters of a feed-forward network in every layer, which the source's code makes but never calls."""
        return 0 if self.feed_forward else self.layers * (8 * self.d**2 + 5 * self.d)

    @property
    def attention(self) -> int:
        """Entries of W_Q, W_K, W_V, W_O in all layers."""
        return self.layers * 4 * self.d**2

    def slices(self) -> dict[str, slice]:
        """Name of each parameter → its place in the flat vector."""
        return ParameterVector(self.shapes).slices


def start(sizes: Sizes, seed: int) -> dict[str, Tensor]:
    """PyTorch's defaults: N(0, 1) for the tables, U(±1/√inputs) for matrices and biases, norms at 1 and 0."""
    generator = torch.Generator().manual_seed(seed)
    found = {}
    inputs = 1
    for name, shape in sizes.shapes.items():
        if name in ("token", "position"):
            found[name] = torch.randn(shape, generator=generator)
        elif name.endswith(("gain", "offset")):
            found[name] = torch.full(shape, float(name.endswith("gain")))
        else:
            inputs = shape[0] if len(shape) == 2 else inputs  # a bias follows its matrix
            found[name] = (2 * torch.rand(shape, generator=generator) - 1) / math.sqrt(inputs)
    return found


class AttentionOnly(nn.Module):
    """Ids (B, T) → logits (B, C) at the last position, attention (B, layers, heads, T, T), normed stream (B, T, d).

    Causal pre-norm attention with biases and learned positions: x + W_O softmax(QKᵀ/√d_k) V of the LayerNorm of x.
    """

    def __init__(self, sizes: Sizes, seed: int = 0) -> None:
        super().__init__()
        self.sizes = sizes
        for name, value in start(sizes, seed).items():
            self.register_parameter(f"p_{name}", nn.Parameter(value))

    def role(self, name: str) -> Tensor:
        return getattr(self, f"p_{name}")

    def norm(self, x: Tensor, prefix: str) -> Tensor:
        normed = nn.functional.layer_norm(x, x.shape[-1:], eps=EPSILON)
        return normed * self.role(f"{prefix}gain") + self.role(f"{prefix}offset")

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.embed(ids)
        attention = []
        for layer in range(self.sizes.layers):
            x, weights = self.layer(x, layer)
            attention.append(weights)
        x = self.norm(x, "")
        return self.read(x[..., -1, :]), torch.stack(attention, -4), x

    def embed(self, ids: Tensor) -> Tensor:
        return self.role("token")[ids] + self.role("position")[: ids.shape[-1]]

    def layer(self, x: Tensor, layer: int, last: int | None = None) -> tuple[Tensor, Tensor]:
        """Stream (B, T, d) → the stream after the layer and attention weights, both at the `last` positions or all."""
        seen = self.norm(x, f"{layer}_")
        kept = slice(-(last or x.shape[-2]), None)
        written, weights = self.attend(seen[..., kept, :], seen, layer)
        x = x[..., kept, :] + written
        if self.sizes.feed_forward:
            up = linear(self.norm(x, f"{layer}_"), self.role(f"{layer}_up"), self.role(f"{layer}_up_bias"))
            x = x + linear(nn.functional.gelu(up), self.role(f"{layer}_down"), self.role(f"{layer}_down_bias"))
        return x, weights

    def read(self, x: Tensor) -> Tensor:
        """Normed stream at one position (…, d) → logits (…, C)."""
        return x @ self.role("head") + self.role("head_bias")

    def attend(self, x: Tensor, seen: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Last positions (B, t, d) that read (B, T, d) → what is added to the stream, and weights (B, heads, t, T)."""

        def project(y: Tensor, names: str) -> list[Tensor]:
            w = torch.cat([self.role(f"{layer}_w_{name}") for name in names], -1)
            b = torch.cat([self.role(f"{layer}_b_{name}") for name in names], -1)
            parts = linear(y, w, b).unflatten(-1, (len(names), self.sizes.heads, -1))
            return [part.transpose(-3, -2) for part in parts.unbind(-3)]

        # One product for all that reads the same rows.
        if x.shape == seen.shape:
            query, key, value = project(x, "qkv")
        else:
            (query,), (key, value) = project(x, "q"), project(seen, "kv")
        later = torch.full((x.shape[-2], seen.shape[-2]), -torch.inf, dtype=x.dtype, device=x.device)
        later = later.triu(1 + seen.shape[-2] - x.shape[-2])
        scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1) + later
        weights = scores.softmax(-1)
        joined = (weights @ value).transpose(-3, -2).flatten(-2)
        return linear(joined, self.role(f"{layer}_w_o"), self.role(f"{layer}_b_o")), weights


class LogitsOnly(AttentionOnly):
    """The same logits (B, C) and nothing else, for training: the last layer writes at the last position only."""

    def forward(self, ids: Tensor) -> Tensor:  # type: ignore[override]
        x = self.embed(ids)
        for layer in range(self.sizes.layers):
            x, _ = self.layer(x, layer, last=1 if layer == self.sizes.layers - 1 else None)
        return self.read(self.norm(x, "")[..., -1, :])


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """(…, n) → (…, m) as one product: a batch of small products would copy the matrix for each."""
    return torch.addmm(b, x.reshape(-1, x.shape[-1]), w).unflatten(0, x.shape[:-1])

"""Random symmetry transformations of whole models: same function, other parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, FeedForward, graph_of
from symgauge.parameter_vector import ParameterVector

Roles = Mapping[str, Tensor]


@dataclass(frozen=True)
class Mixture:
    """Which transformations to draw. ``scales``: spread of the logarithm of ReLU factors; ``spread``: of the logarithm
    of singular values of head matrices, 0 for orthogonal ones; ``stream``: an orthogonal map of the residual stream."""

    heads: bool = True
    neurons: bool = True
    stream: bool = True
    scales: float = 0.3
    spread: float = 0.0


def orthogonal(generator: torch.Generator, n: int) -> Tensor:
    """Uniform on O(n), both determinants."""
    q, r = torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=torch.float64))
    return q * r.diagonal().sign()


def general(generator: torch.Generator, n: int, spread: float) -> Tensor:
    """O exp(D) O', D normal with this spread."""
    sizes = (spread * torch.randn(n, generator=generator, dtype=torch.float64)).exp()
    return orthogonal(generator, n) * sizes @ orthogonal(generator, n)


def move_stream(architecture: Architecture, roles: Roles, m: Tensor) -> dict[str, Tensor]:
    """Tables and writers times m, readers times its inverse, on the left: the function stays for any invertible m."""
    graph, inverse, moved = graph_of(architecture), torch.linalg.inv(m), dict(roles)
    assert graph.head is not None
    for name in graph.tables:
        moved[name] = roles[name] @ m
    for sublayer in graph.sublayers():
        assert isinstance(sublayer, (Attention, FeedForward))
        for reader in sublayer.readers:
            moved[reader.weight] = inverse @ roles[reader.weight]
        moved[sublayer.writer.weight] = roles[sublayer.writer.weight] @ m
    moved[graph.head.unembedding.weight] = inverse @ roles[graph.head.unembedding.weight]
    return moved


def gauge_copy(
    architecture: Architecture, roles: Roles, generator: torch.Generator, mixture: Mixture | None = None
) -> dict[str, Tensor]:
    """Roles of another model with the same function: heads, neurons and stream transformed as ``mixture`` says.

    Only for models without norms and biases.
    """
    mixture, moved = mixture or Mixture(), dict(roles)
    for sublayer in graph_of(architecture).sublayers():
        if isinstance(sublayer, Attention) and mixture.heads:
            _move_heads(moved, sublayer, generator, mixture.spread)
        if isinstance(sublayer, FeedForward) and mixture.neurons:
            up, down = sublayer.up.weight, sublayer.down.weight
            width = moved[up].shape[1]
            order = torch.randperm(width, generator=generator)
            factors = (mixture.scales * torch.randn(width, generator=generator, dtype=torch.float64)).exp()
            moved[up] = moved[up][:, order] * factors
            moved[down] = moved[down][order] / factors.unsqueeze(1)
    if mixture.stream:
        moved = move_stream(architecture, moved, orthogonal(generator, architecture.d_model))
    return moved


def _move_heads(moved: dict[str, Tensor], s: Attention, generator: torch.Generator, spread: float) -> None:
    q, k, v, o = (m.weight for m in (s.query, s.key, s.value, s.output))
    heads, _, d_k = moved[q].shape
    order = torch.randperm(heads, generator=generator)
    a = torch.stack([general(generator, d_k, spread) for _ in range(heads)])
    c = torch.stack([general(generator, moved[v].shape[2], spread) for _ in range(heads)])
    moved[q], moved[k] = moved[q] @ a, moved[k] @ torch.linalg.inv(a).mT
    moved[v], moved[o] = moved[v] @ c, torch.linalg.inv(c) @ moved[o]
    for name in (q, k, v, o):
        moved[name] = moved[name][order]


def gauge_copies(
    architecture: Architecture, theta: Tensor, count: int, seed: int, mixture: Mixture | None = None
) -> Tensor:
    """(count, P): random copies of one model theta (P,)."""
    flat, generator = ParameterVector.of(architecture), torch.Generator().manual_seed(seed)
    roles = flat.split(theta)
    return torch.stack([flat.join(gauge_copy(architecture, roles, generator, mixture)) for _ in range(count)])

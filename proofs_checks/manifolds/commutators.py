"""Two gradient steps in either order: their difference, its leading term, and its share in a subspace."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.errors import InvalidInput

Gradient = Callable[[Tensor], Tensor]  # θ → ∇L(θ), of the same shape


@dataclass(frozen=True, eq=False)
class Commutator:
    """delta = θ_AB − θ_BA (…, P), A first in θ_AB; product: |ηg_A| |ηg_B| at θ (…)."""

    delta: Tensor
    product: Tensor

    @property
    def defect(self) -> Tensor:
        """|δ| / (|ηg_A| |ηg_B|), with the dimension 1/|θ|; not finite where a gradient vanishes."""
        return self.delta.norm(dim=-1) / self.product


def commutator(a: Gradient, b: Gradient, theta: Tensor, eta: float) -> Commutator:
    """Of gradient descent with step eta on two losses, in the precision of theta, in the source's order of operations.

    theta (…, P), which `a` and `b` map to gradients of the same shape.

    Source: arXiv 2602.10496, section 3.3.2 and its code.
    """
    g_a, g_b = a(theta), b(theta)
    ab = theta - eta * g_a - eta * b(theta - eta * g_a)
    ba = theta - eta * g_b - eta * a(theta - eta * g_b)
    return Commutator(ab - ba, (eta * g_a).norm(dim=-1) * (eta * g_b).norm(dim=-1))


def bracket(a: Gradient, b: Gradient, theta: Tensor) -> Tensor:
    """H_B g_A − H_A g_B (P,): the Lie bracket of the gradient fields; θ_AB − θ_BA = η² times it + O(η³)."""
    g_a, g_b = a(theta), b(theta)
    return torch.func.jvp(b, (theta,), (g_a,))[1] - torch.func.jvp(a, (theta,), (g_b,))[1]


def share_in(delta: Tensor, basis: Tensor) -> Tensor:
    """|BBᵀδ| / |δ| (…) of δ (…, P) for orthonormal columns B (…, P, K). Raises InvalidInput for δ = 0."""
    size = delta.norm(dim=-1)
    if not bool((size > 0).all()):
        raise InvalidInput("a commutator has norm 0 or none at all, so no subspace holds a share of it")
    return (basis.mT @ delta.unsqueeze(-1)).squeeze(-1).norm(dim=-1) / size


def random_share(k: int, p: int) -> float:
    """E |QQᵀu| / |u| for a random K-plane in P dimensions, exactly: Γ((K+1)/2) Γ(P/2) / (Γ(K/2) Γ((P+1)/2)).

    |QQᵀu|² / |u|² has the Beta distribution with parameters K/2 and (P − K)/2, and mean K/P.
    """
    if not 0 < k <= p:
        raise InvalidInput(f"there is no plane of dimension {k} in {p} dimensions")
    terms = math.lgamma((k + 1) / 2) + math.lgamma(p / 2) - math.lgamma(k / 2) - math.lgamma((p + 1) / 2)
    return math.exp(terms)

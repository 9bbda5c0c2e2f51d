"""The gauge paper's Algorithms 1 to 4 and formula (84) as published, so that they can be compared with what is right.

For plain attention: one key/value group per head, no biases, no rotary encoding. Do not use these for anything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from symgauge.algorithms.parameters import AttentionParameters
from symgauge.errors import InvalidInput


def _plain(p: AttentionParameters) -> None:
    if p.groups != p.heads or p.rotary is not None or len(p.tensors()) > 4:
        raise InvalidInput("the published algorithms are for attention without sharing, biases and rotary encoding")


def power(gram: Tensor, exponent: float) -> Tensor:
    """Gᵗ of symmetric positive matrices (…, n, n)."""
    values, vectors = torch.linalg.eigh(gram)
    return vectors * values.pow(exponent).unsqueeze(-2) @ vectors.mT


def geometric_mean(first: Tensor, second: Tensor) -> Tensor:
    """P # R = P^½ (P^(−½) R P^(−½))^½ P^½ of symmetric positive matrices: the positive T with T P⁻¹ T = R."""
    half, back = power(first, 0.5), power(first, -0.5)
    return half @ power(back @ second @ back, 0.5) @ half


def formula_84(gram_query: Tensor, gram_key: Tensor) -> Tensor:
    """(84): G_Q^(−¼) (G_Q^½ G_K G_Q^½)^½ G_Q^(−¼). It is not the geometric mean, and does not balance."""
    half, quarter = power(gram_query, 0.5), power(gram_query, -0.25)
    return quarter @ power(half @ gram_key @ half, 0.5) @ quarter


@dataclass(frozen=True, eq=False)
class Printed1:
    """Algorithm 1's result: which heads were rejected, and which got its warning (h,)."""

    parameters: AttentionParameters
    rejected: Tensor
    warned: Tensor


def algorithm_1(p: AttentionParameters, a: Tensor, c: Tensor) -> Printed1:
    """ "Numerically Stable Gauge Transformation" with A (h, d_k, d_k) and C (h, d_v, d_v), as published.

    Rejects condition numbers above 10³, clamps singular values at 10⁻¹⁰, warns at an absolute ‖ΔM‖ above 10⁻¹². The
    listing takes C but never applies it: W_V and W_O come back unchanged.
    """
    _plain(p)
    rejected = (torch.linalg.cond(a) > 1e3) | (torch.linalg.cond(c) > 1e3)
    u, s, vh = torch.linalg.svd(a)
    inverse = vh.mT / s.clamp_min(1e-10).unsqueeze(-2) @ u.mT
    keep = rejected[:, None, None]
    query = torch.where(keep, p.query, p.query @ a)
    key = torch.where(keep, p.key, p.key @ inverse.mT)
    lost = torch.linalg.matrix_norm(query @ key.mT - p.query @ p.key.mT)
    return Printed1(p.replace(query=query, key=key), rejected, lost > 1e-12)


def algorithm_2(p: AttentionParameters) -> AttentionParameters:
    """ "Gauge-Fixing to Canonical Form": A = G_Q⁻¹ # G_K, C = (W_VᵀW_V)^(−½), heads by ‖W_Q‖ + ‖W_K‖, as published."""
    _plain(p)
    a = geometric_mean(torch.linalg.inv(p.query.mT @ p.query), p.key.mT @ p.key)
    c, back = (power(p.value.mT @ p.value, t) for t in (-0.5, 0.5))
    query, key = p.query @ a, p.key @ torch.linalg.inv(a).mT
    order = (torch.linalg.matrix_norm(query) + torch.linalg.matrix_norm(key)).argsort(descending=True)
    return p.replace(query=query[order], key=key[order], value=(p.value @ c)[order], output=(back @ p.output)[order])


def algorithm_3(p: AttentionParameters, gradient: AttentionParameters) -> AttentionParameters:
    """ "Gauge-Orthogonal Gradient Projection", as published: an oblique projection along the orbit."""
    _plain(p)
    pinv = torch.linalg.pinv
    z = (pinv(p.query) @ gradient.query - (pinv(p.key) @ gradient.key).mT) / 2
    t = (pinv(p.value) @ gradient.value - gradient.output @ pinv(p.output)) / 2
    return gradient.replace(
        query=gradient.query - p.query @ z,
        key=gradient.key + p.key @ z.mT,
        value=gradient.value - p.value @ t,
        output=gradient.output + t @ p.output,
    )


def algorithm_4(
    first: AttentionParameters, second: AttentionParameters
) -> tuple[AttentionParameters, AttentionParameters]:
    """ "Gauge Alignment for Model Merging", as published: (θ₁ in the form of Algorithm 2, θ₂′)."""
    one, two = algorithm_2(first), algorithm_2(second)
    cost = torch.zeros(first.heads, first.heads, dtype=one.query.dtype)
    for x, y in ((one.query, two.query), (one.key, two.key)):
        cost += torch.linalg.matrix_norm(x.unsqueeze(1) - y.unsqueeze(0)).cpu()
    order = torch.as_tensor(linear_sum_assignment(cost.numpy())[1])
    query, key = two.query[order], two.key[order]
    a = torch.linalg.lstsq(query, one.query).solution
    moved = two.replace(
        query=query @ a, key=key @ torch.linalg.inv(a).mT, value=two.value[order], output=two.output[order]
    )
    return one, moved

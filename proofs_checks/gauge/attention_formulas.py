"""Published formulas evaluated as they stand, to be held against the reference module in many digits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp
import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.arithmetic.multiprecision import Multiprecision
from symgauge.models.reference import forward

DIGITS = 60
AGREEMENT = 1e-50
"""Far above 60 digits' rounding on these sizes, far below any difference of formulas."""
Heads = list[tuple[sp.Matrix, ...]]


def exact(x: Tensor) -> sp.Matrix:
    """A float64 matrix as rationals (a vector as one row)."""
    rows = x.tolist() if x.ndim == 2 else [x.tolist()]
    return sp.Matrix([[sp.Rational(*value.as_integer_ratio()) for value in row] for row in rows])


def module_output(a: Architecture, roles: Mapping[str, Tensor], x: Tensor) -> sp.Matrix:
    """The reference module on one sequence (T, d_model), in 60 digits."""
    arithmetic = Multiprecision(DIGITS)
    with torch.no_grad():
        result = forward(a, arithmetic.wrap(dict(roles)), arithmetic.carry(x.unsqueeze(0)))
    numbers = arithmetic.numbers(result)[0]
    return sp.Matrix([[sp.Float(str(value), DIGITS) for value in row] for row in numbers])


def gap(one: sp.Matrix, two: sp.Matrix) -> float:
    """Largest difference of entries relative to the largest entry, in 60 digits."""
    left, right = (m.applyfunc(lambda e: sp.N(e, DIGITS)) for m in (one, two))
    return float(max(map(abs, left - right)) / max(map(abs, right)))


def row_softmax(scores: sp.Matrix) -> sp.Matrix:
    """exp of every entry, divided by the sum of its row."""
    powers = scores.applyfunc(lambda s: sp.exp(sp.N(s, DIGITS)))
    return sp.Matrix(*powers.shape, lambda i, j: powers[i, j] / sum(powers.row(i)))


def heads_of(roles: Mapping[str, Tensor], layer: int = 0) -> Heads:
    """(W_Q, W_K, W_V, W_O,i) of every head, exactly."""
    names = [f"layers.{layer}.attention.{part}.weight" for part in ("query", "key", "value", "output")]
    stacks = [roles[name] for name in names]
    return [tuple(exact(stack[i]) for stack in stacks) for i in range(stacks[0].shape[0])]


def projections(x: sp.Matrix, head: tuple[sp.Matrix, ...]) -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """(1): Q = X W_Q, K = X W_K, V = X W_V."""
    return x * head[0], x * head[1], x * head[2]


def head_output(x: sp.Matrix, head: tuple[sp.Matrix, ...], scale: Any = None) -> sp.Matrix:
    """(2): softmax(Q Kᵀ / √d_k) V, or with another scale."""
    query, key, value = projections(x, head)
    return row_softmax(query * key.T * (1 / sp.sqrt(query.cols) if scale is None else scale)) * value


def attention_output(x: sp.Matrix, heads: Heads) -> sp.Matrix:
    """(3), left side: the concatenated head outputs times the stacked W_O."""
    return sp.Matrix.hstack(*(head_output(x, head) for head in heads)) * sp.Matrix.vstack(*(head[3] for head in heads))


def norm_output(x: sp.Matrix, gain: sp.Matrix, offset: sp.Matrix, epsilon: Any = 0) -> sp.Matrix:
    """(52), (63): γ ⊙ (z − μ(z)1)/σ(z) + β for every row; ``epsilon`` is added to the variance."""
    rows = []
    for index in range(x.rows):
        row = x.row(index)
        centred = row - sp.ones(1, x.cols) * sum(row) / x.cols
        deviation = sp.sqrt(centred.dot(centred) / x.cols + epsilon)
        rows.append(gain.multiply_elementwise(centred / deviation) + offset)
    return sp.Matrix.vstack(*rows)


def feed_forward_output(z: sp.Matrix, w_1: sp.Matrix, b_1: sp.Matrix, w_2: sp.Matrix, b_2: sp.Matrix) -> sp.Matrix:
    """(55), with (58): GELU(Z W_1 + b_1) W_2 + b_2, GELU(x) = x/2 (1 + erf(x/√2))."""
    ones = sp.ones(z.rows, 1)
    hidden = (z * w_1 + ones * b_1).applyfunc(lambda e: sp.N(e / 2 * (1 + sp.erf(e / sp.sqrt(2))), DIGITS))
    return hidden * w_2 + ones * b_2

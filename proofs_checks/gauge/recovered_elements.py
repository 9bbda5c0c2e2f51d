"""Finding the gauge element between two points, exactly and in float64, and what attention weights say about M."""

from __future__ import annotations

from itertools import permutations
from random import Random

import numpy as np
import sympy as sp

from proofs_checks.support.algebra.group import GaugeElement
from symgauge.errors import InvalidInput
from symgauge.symbolic.tangent import Attention


def find_element(before: Attention, after: Attention) -> GaugeElement | None:
    """The g with after = before·g in the convention of `algebra.group.act`, or None; W_Q, W_V of full rank.

    Heads are matched by (M_i, N_i); then A = W_Q⁺W_Q' and C = W_V⁺W_V'. The caller checks what g does.
    """
    heads = range(before.heads)
    one, two = ([(p.w_q[i] * p.w_k[i].T, p.w_v[i] * p.w_o[i]) for i in heads] for p in (before, after))
    for sigma in permutations(heads):
        if all(two[i] == one[sigma[i]] for i in heads):
            a, c = [sp.ImmutableMatrix()] * before.heads, [sp.ImmutableMatrix()] * before.heads
            for i, j in enumerate(sigma):
                a[j] = sp.ImmutableMatrix(left_inverse(before.w_q[j]) * after.w_q[i])
                c[j] = sp.ImmutableMatrix(left_inverse(before.w_v[j]) * after.w_v[i])
            return GaugeElement(tuple(a), tuple(c), sigma)
    return None


def left_inverse(w: sp.Matrix) -> sp.Matrix:
    """(WᵀW)⁻¹Wᵀ. Raises InvalidInput where the columns are dependent."""
    if w.rank() < w.cols:
        raise InvalidInput(f"left_inverse: a {w.rows}×{w.cols} matrix of rank {w.rank()} has none.")
    return (w.T * w).inv() * w.T


def score_conditions(width: int, tokens: int, sequences: int, seed: int = 0) -> sp.Matrix:
    """Rows x_t ⊗ (x_s − x_t): the linear conditions on ΔM under which softmax weights of integer tokens stay.

    Softmax fixes a row of scores up to a constant, so ΔM is unseen exactly when x_tΔM(x_s − x_t)ᵀ = 0 for all t, s.
    """
    rng, rows = Random(seed), []
    for _ in range(sequences):
        x = [[rng.randint(-3, 3) for _ in range(width)] for _ in range(tokens)]
        for t in range(tokens):
            for s in range(tokens):
                rows.append([a * (b - c) for a in x[t] for b, c in zip(x[s], x[t], strict=True)])
    return sp.Matrix(rows)


def recovered_from_weights(score_map: np.ndarray, tokens: int, sequences: int, seed: int = 0) -> tuple[float, int]:
    """M from the attention weights alone, by least squares on ln α_ts − ln α_tt = x_tM(x_s − x_t)ᵀ.

    Returns the relative error and the rank of the system (d² when it determines M).
    """
    rng, width = np.random.default_rng(seed), len(score_map)
    rows, values = [], []
    for _ in range(sequences):
        x = rng.standard_normal((tokens, width))
        scores = x @ score_map @ x.T
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        for t in range(tokens):
            for s in range(tokens):
                rows.append(np.outer(x[t], x[s] - x[t]).ravel())
                values.append(np.log(weights[t, s] / weights[t, t]))
    found, _, rank, _ = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)
    return float(np.linalg.norm(found - score_map.ravel()) / np.linalg.norm(score_map)), int(rank)

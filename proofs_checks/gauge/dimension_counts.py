"""Dimensions counted in integers: of the group by formula, of an orbit by rank, at the sizes that the source names."""

from __future__ import annotations

import random

import flint

from proofs_checks.gauge.reported import (
    Heads,
)

BASE = Heads(12, 64, 64, 768)

BASE_LAYERS = 12

GPT_3 = Heads(96, 128, 128, 12288)

GPT_3_LAYERS = 96


def gauge_dimension(h: int, d_k: int, d_v: int) -> int:
    """dim (GL(d_k)^h x GL(d_v)^h)."""
    return h * (d_k**2 + d_v**2)


def orbit_dimension(sizes: Heads, seed: int, degenerate: bool = False) -> int:
    """Rank over the rationals of the generators (73), (74) at random integer weights, all heads together.

    degenerate: the last column of every W_Q and W_K is zero, so that A4 fails and part of the group acts trivially.
    """
    h, d_k, d_v, d = sizes
    draw = random.Random(seed)

    def matrix(rows: int, columns: int) -> list[list[int]]:
        return [[draw.randint(-9, 9) for _ in range(columns)] for _ in range(rows)]

    rows: list[list[int]] = []
    width = h * 2 * d * (d_k + d_v)
    for head in range(h):
        query, key, value, out = matrix(d, d_k), matrix(d, d_k), matrix(d, d_v), matrix(d_v, d)
        if degenerate:
            for row in (*query, *key):
                row[-1] = 0
        start = head * 2 * d * (d_k + d_v)
        for p in range(d_k):
            for q in range(d_k):
                row = [0] * width
                for i in range(d):
                    row[start + i * d_k + q] = query[i][p]
                    row[start + d * d_k + i * d_k + p] = -key[i][q]
                rows.append(row)
        start += 2 * d * d_k
        for r in range(d_v):
            for s in range(d_v):
                row = [0] * width
                for i in range(d):
                    row[start + i * d_v + s] = value[i][r]
                    row[start + d * d_v + r * d + i] = -out[s][i]
                rows.append(row)
    return flint.fmpz_mat(rows).rank()

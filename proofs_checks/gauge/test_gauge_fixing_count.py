"""How many dimensions the canonical form of §7.2 removes."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import flint

from symgauge.claims import EvidenceLog, checks, equal

Matrix = flint.fmpz_mat
SIZES = (1, 2, 3, 4, 5)


def unit(n: int, p: int, q: int) -> Matrix:
    return Matrix(n, n, [int((i, j) == (p, q)) for i in range(n) for j in range(n)])


def rank_on_gauge_directions(n: int, constraint: Callable[[Matrix], Matrix]) -> int:
    """Rank of a linear map on gl(n), evaluated on the matrix units."""
    images = [constraint(unit(n, p, q)).entries() for p in range(n) for q in range(n)]
    return Matrix(len(images), len(images[0]), [entry for image in images for entry in image]).rank()


def balance(gram: Matrix, x: Matrix) -> Matrix:
    """Derivative of W_Q^T W_Q - W_K^T W_K under W_Q -> W_Q X, W_K -> -W_K X^T, where both Gram matrices are `gram`."""
    return x.transpose() * gram + gram * x + x * gram + gram * x.transpose()


def block_moved(block: Matrix, x: Matrix) -> Matrix:
    """Derivative of a square block of W_K, up to sign."""
    return block * x.transpose()


def weights(rows: int, columns: int, seed: int) -> Matrix:
    draw = random.Random(seed)
    return Matrix(rows, columns, [draw.randint(-9, 9) for _ in range(rows * columns)])


@checks("sec7.2-a")
def test_canonical_form_leaves_the_orthogonal_groups(evidence: EvidenceLog) -> None:
    quarter_turn = Matrix(2, 2, [0, -1, 1, 0])
    query = Matrix(3, 2, [1, 0, 0, 1, 2, 1])
    key = Matrix(3, 2, [2, 1, 1, 0, 0, 1])  # the rows of `query`, permuted: equal Gram matrices
    turned = (query * quarter_turn, key * quarter_turn)
    gram = [matrix.transpose() * matrix for matrix in (query, key, *turned)]
    evidence.exact(
        "two different parameters, both balanced, with the same $W_Q W_K^\\top$",
        turned == (query, key)
        or gram[0] != gram[1]
        or gram[2] != gram[3]
        or turned[0] * turned[1].transpose() != query * key.transpose(),
        counterexample=r"$W_Q = \begin{pmatrix}1&0\\0&1\\2&1\end{pmatrix}$, "
        r"$W_K = \begin{pmatrix}2&1\\1&0\\0&1\end{pmatrix}$ "
        r"is balanced, and so is its image under the quarter turn $A = \begin{pmatrix}0&-1\\1&0\end{pmatrix}$, "
        r"with the same function. So is every rotation: at $h = 12$, $d_k = d_v = 64$ there stay $48{,}384$ of "
        r"$98{,}304$ dimensions.",
    )
    removed, fixed = [], []
    for n in SIZES:
        matrix = weights(n + 2, n, seed=n)
        gram_matrix, block = matrix.transpose() * matrix, Matrix(n, n, matrix.entries()[: n * n])
        removed.append(rank_on_gauge_directions(n, partial(balance, gram_matrix)))
        fixed.append(rank_on_gauge_directions(n, partial(block_moved, block)))
    evidence.exact(
        "rank of the balance condition on $\\mathfrak{gl}(n)$, at random integer weights",
        on="correction",
        figures={"ranks": equal(removed, [n * (n + 1) // 2 for n in SIZES]), "n": list(SIZES)},
        cases=len(SIZES),
    )
    orthonormal = [rank_on_gauge_directions(n, lambda y: y + y.transpose()) for n in SIZES]
    evidence.exact(
        "rank of $W_V^\\top W_V = I$",
        on="correction",
        figures={"ranks": equal(orthonormal, [n * (n + 1) // 2 for n in SIZES])},
        cases=len(SIZES),
    )
    evidence.exact(
        "rank of the condition that a square block be $I$",
        on="correction",
        figures={"ranks": equal(fixed, [n * n for n in SIZES])},
        cases=len(SIZES),
    )
    kept = 12 * (64 * 63 // 2 + 64 * 63 // 2)
    evidence.exact(
        "at $h = 12$, $d_k = d_v = 64$",
        on="correction",
        figures={"removed": equal(98_304 - kept, 49_920), "kept": equal(kept, 48_384)},
    )
    singular = Matrix(2, 2, [1, 2, 2, 4])
    evidence.control(
        "a singular block fixes less, and the rank shows it",
        rank_on_gauge_directions(2, partial(block_moved, singular)) < 4,
        kind="exact",
    )

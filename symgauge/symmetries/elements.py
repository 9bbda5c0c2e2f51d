"""Group elements: matrices filled from coordinate vectors, and samplers of general elements far from the identity."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from symgauge.architecture import Rotary
from symgauge.errors import Undecided

Sampler = Callable[[torch.Generator], Tensor]
MAX_CONDITION = 1e3


def full_pattern(n: int) -> Tensor:
    """Every entry its own coordinate: GL(n)."""
    return torch.arange(1, n * n + 1).reshape(n, n)


def commutant_pattern(rotary: Rotary) -> Tensor:
    """Which coordinate, with which sign, fills each entry of a matrix that commutes with every rotation (0: none).

    A class of planes with equal angles up to direction gives complex r × r matrices, conjugated for planes that turn
    the other way; channels that a rotation multiplies by ±1 give all real matrices.
    """
    n = rotary.channels
    rows, used = [[0] * n for _ in range(n)], 0
    for block in rotary.classes():
        if block.kind == "real":
            for i in block.channels:
                for j in block.channels:
                    used += 1
                    rows[i][j] = used
            continue
        planes = list(zip(block.channels[::2], block.channels[1::2], block.signs, strict=True))
        for a, b, s in planes:
            for c, e, t in planes:
                real, imaginary = used + 1, used + 2
                used += 2
                # Reflecting planes with sign −1 makes the rotations equal; then blocks are u + v J.
                rows[a][c], rows[b][e] = real, s * t * real
                rows[a][e], rows[b][c] = t * imaginary, -s * imaginary
    return torch.tensor(rows)


def skew_pattern(n: int) -> Tensor:
    """Antisymmetric matrices of size n."""
    upper = torch.zeros(n, n, dtype=torch.long)
    rows, columns = torch.triu_indices(n, n, 1)
    upper[rows, columns] = torch.arange(1, len(rows) + 1)
    return upper - upper.T


def fill(x: Tensor, pattern: Tensor) -> Tensor:
    """Matrices (…, n, n) whose entries are 0 or ± a coordinate of ``x`` (…, m), as the pattern says."""
    m = x.shape[-1]
    bank = torch.cat([torch.zeros_like(x[..., :1]), x, -x], dim=-1)
    index = torch.where(pattern >= 0, pattern, m - pattern).flatten()
    return bank[..., index].reshape(*x.shape[:-1], *pattern.shape)


def spread(x: Tensor, channels: Sequence[int], width: int) -> Tensor:
    """Put the last axis of ``x`` at ``channels`` of a vector of ``width``, zero elsewhere."""
    bank = torch.cat([x, torch.zeros_like(x[..., :1])], dim=-1)
    index = [len(channels)] * width
    for position, channel in enumerate(channels):
        index[channel] = position
    return bank[..., torch.tensor(index, device=x.device)]


def identity(n: int, like: Tensor) -> Tensor:
    return torch.eye(n, dtype=like.dtype, device=like.device)


def near_identity(x: Tensor, pattern: Tensor) -> Tensor:
    """I + X."""
    return identity(pattern.shape[0], x) + fill(x, pattern)


def cayley(skew: Tensor) -> Tensor:
    """The orthogonal matrix (I − X)⁻¹(I + X) of an antisymmetric X (n, n)."""
    one = identity(skew.shape[-1], skew)
    return torch.linalg.inv(one - skew) @ (one + skew)


def differences(n: int, like: Tensor) -> Tensor:
    """The integer matrix (n, n − 1) with columns e_i − e_n, a basis of the vectors orthogonal to **1**."""
    eye = torch.eye(n - 1, dtype=like.dtype, device=like.device)
    return torch.cat([eye, -torch.ones(1, n - 1, dtype=like.dtype, device=like.device)])


def inverse(matrix: Tensor) -> Tensor:
    """The inverse of a matrix (n, n) in general position, by elimination without pivoting.

    Every step is a ring operation or a division, so that parameters in any arithmetic can be inverted; in floating
    point only well-conditioned leading minors give accurate results.
    """
    n = matrix.shape[-1]
    work = torch.cat([matrix, identity(n, matrix)], dim=1)
    for i in range(n):
        row = work[i : i + 1] / work[i : i + 1, i : i + 1]
        cleared = work - work[:, i : i + 1] @ row
        work = torch.cat([cleared[:i], row, cleared[i + 1 :]])
    return work[:, n:]


def vanishing(x: Tensor, seen: Tensor) -> Tensor:
    """The vector y with y ``seen`` = 0 whose last entries are ``x``; ``seen`` (n, k), n = k + len(x)."""
    k = seen.shape[1]
    return torch.cat([-(x.unsqueeze(0) @ seen[k:]).squeeze(0) @ inverse(seen[:k]), x])


def invertible(pattern: Tensor, copies: int = 1) -> Sampler:
    """Coordinates of ``copies`` matrices I + X: non-symmetric, either sign of the determinant, condition below 1e3."""
    m, n = int(pattern.max()), pattern.shape[0]

    def one(generator: torch.Generator) -> Tensor:
        for _ in range(200):
            x = torch.randn(m, generator=generator, dtype=torch.float64) / n**0.5
            # Moving the diagonal to the other side of zero reaches the component of negative determinant.
            x = x - 2 * (pattern.diagonal()[-1] == torch.arange(1, m + 1)) * coin(generator)
            if float(torch.linalg.cond(near_identity(x, pattern))) < MAX_CONDITION:
                return x
        raise Undecided(f"no well-conditioned {n} × {n} element was found in 200 draws; use another seed")

    return lambda generator: torch.cat([one(generator) for _ in range(copies)])


def coin(generator: torch.Generator) -> int:
    return int(torch.randint(2, (1,), generator=generator))


def factors(count: int, *, positive: bool = False) -> Sampler:
    """Coordinates x of factors 1 + x with sizes between 0.4 and 2.5, of either sign unless ``positive``."""

    def sample(generator: torch.Generator) -> Tensor:
        size = torch.exp(2 * torch.rand(count, generator=generator, dtype=torch.float64) - 1) * 0.92
        sign = 1 if positive else 2 * torch.randint(2, (count,), generator=generator) - 1
        return size * sign - 1

    return sample


def shifts(count: int) -> Sampler:
    """Coordinates of a translation, of size about one."""
    return lambda generator: torch.randn(count, generator=generator, dtype=torch.float64)

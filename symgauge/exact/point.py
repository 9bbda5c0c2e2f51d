"""The parameter point at which the Jacobian is taken."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.jet import Calculus, FirstRoot
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.probes import Tokens
from symgauge.exact.subject import Subject

_ROUNDS = 16
_BIAS = 0.25
"""A power of two, so that the numbers keep their mantissas."""


def random_point(subject: Subject | nn.Module, seed: int) -> Tensor:
    """A random parameter vector (P,): full 53-bit mantissas, so that its residues are as good as uniform.

    Biases are smaller, so that thresholds (ReLU) are crossed by inputs and not decided by them.
    """
    counted = subject.counted if isinstance(subject, Subject) else list(subject.named_parameters())
    theta = _draw(sum(p.numel() for _, p in counted), torch.Generator().manual_seed(seed))
    start = 0
    for name, p in counted:
        if name.endswith("bias"):
            theta[start : start + p.numel()] *= _BIAS
        start += p.numel()
    return theta


def _draw(count: int, generator: torch.Generator) -> Tensor:
    return 0.6 * torch.randn(count, generator=generator, dtype=torch.float64)


def with_rooted_embeddings(
    subject: Subject, theta: Tensor, primes: Sequence[int], seed: int, device: str = "cpu"
) -> Tensor:
    """A point like ``theta`` at which the first norm's root of most tokens lies in GF(p), for every prime.

    Whatever follows then has its root at least in GF(p²), so more probes are usable. Only rows of token tables are
    drawn again (tables have one row per token), which is the same as drawing the roots and not the radicands at random.
    """
    inputs = subject.inputs
    if not isinstance(inputs, Tokens):
        return theta
    rows = _token_rows(subject, inputs.vocabulary)
    # A stream of its own: the point's would give rows that other tokens kept, and equal tokens are not generic.
    generator = torch.Generator().manual_seed(seed + 3)
    score = _score(subject, inputs, theta.to(device), primes)
    if score is None or not len(rows):
        return theta
    best = inputs.length * len(primes)
    for _ in range(_ROUNDS):
        poor = torch.nonzero(score < best).flatten()
        if not len(poor):
            break
        candidate = theta.clone()
        for table in rows:
            candidate[table[poor]] = _draw(table[poor].numel(), generator).reshape(table[poor].shape)
        new_score = _score(subject, inputs, candidate.to(device), primes)
        assert new_score is not None
        better = torch.nonzero(new_score > score).flatten()
        for table in rows:
            theta = theta.index_put((table[better],), candidate[table[better]])
        score = torch.maximum(score, new_score)
    return theta


def _token_rows(subject: Subject, vocabulary: int) -> list[Tensor]:
    """Positions in θ (V, width) of each matrix with one row per token."""
    start, tables = 0, []
    for _, p in subject.counted:
        if p.dim() == 2 and p.shape[0] == vocabulary:
            tables.append(torch.arange(start, start + p.numel()).reshape(p.shape))
        start += p.numel()
    return tables


def _score(subject: Subject, inputs: Tokens, theta: Tensor, primes: Sequence[int]) -> Tensor | None:
    """For each token, at how many (prime, position) its first root lies in GF(p); None if that makes no sense."""
    batch = torch.arange(inputs.vocabulary)[:, None].expand(-1, inputs.length)
    total = torch.zeros(inputs.vocabulary, dtype=torch.int64)
    for prime in primes:
        calculus = Calculus(FiniteField(prime))
        calculus.stop_at_first_root = True
        try:
            Evaluation(subject, theta, calculus)(batch)
        except FirstRoot as root:
            if tuple(root.in_base_field.shape[:2]) != tuple(batch.shape):
                return None
            total += root.in_base_field.reshape(*batch.shape, -1).all(-1).sum(1).cpu()
        else:
            return None
    return total

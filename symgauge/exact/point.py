"""The parameter point at which the Jacobian is taken."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.interface import Element, RunEnded
from symgauge.arithmetic.record import Record
from symgauge.arithmetic.traced_value import Calculus, TracedValue
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.parameter_function import ParameterFunction
from symgauge.exact.probes import Tokens

_ROUNDS, _FEW_ROUNDS = 12, 4
"""How often rows are drawn again, and how often for one token that does well alone."""
_WORTH = 1.03
"""Four more draws of all rows must better the chosen ones' scores by so much, to be worth their time."""
_COMPARED, _DEPTH = 64, 12
"""Tokens, and roots of a run, among which the first is sought that rests on several tokens."""
_BALANCE = 1 << 20
"""What the worst prime counts for, beside all."""
_SIZES = tuple(2.0**-k for k in range(7))
_BIAS = 0.25
"""A power of two, so that the numbers keep their mantissas."""


def random_point(function: ParameterFunction | nn.Module, seed: int) -> Tensor:
    """A random parameter vector (P,): full 53-bit mantissas, so that its residues are as good as uniform.

    Biases are smaller, so that thresholds (ReLU) are crossed by inputs and not decided by them.
    """
    counted = function.counted if isinstance(function, ParameterFunction) else list(function.named_parameters())
    theta = _draw(sum(p.numel() for _, p in counted), torch.Generator().manual_seed(seed))
    start = 0
    for name, p in counted:
        if name.endswith("bias"):
            theta[start : start + p.numel()] *= _BIAS
        start += p.numel()
    return theta * function.point_size if isinstance(function, ParameterFunction) else theta


def _draw(count: int, generator: torch.Generator) -> Tensor:
    return 0.6 * torch.randn(count, generator=generator, dtype=torch.float64)


def fit_size(function: ParameterFunction, evaluation: Evaluation, batch: Tensor) -> None:
    """Let random points be smaller where smooth functions are constant to the last bit of float64 at all inputs.

    Without norms the numbers of a few layers grow beyond what sigmoids and exponentials tell apart. The size is the
    largest power of 1/2 at which no more units are flat than at the smallest; masks are flat at any.

    Args:
        evaluation: at a random point of size one, with what it saw so far. batch: inputs to be looked at.
    """
    if not evaluation.record.flat_units:
        return

    def flat(size: float) -> int:
        return (
            Evaluation(function, evaluation.theta * size, Calculus(evaluation.calculus.field)).watch(batch).flat_units
        )

    fewest = flat(_SIZES[-1])
    function.point_size = next(size for size in _SIZES if size == _SIZES[-1] or flat(size) <= fewest)


def with_rooted_embeddings(
    function: ParameterFunction, theta: Tensor, primes: Sequence[int], seed: int, device: str = "cpu"
) -> Tensor:
    """A point like ``theta`` at which most tokens enter the residual stream with roots in GF(p), for every prime.

    The roots that a token needs before it meets others depend on its own row alone. Where they lie in GF(p), so does
    the first radicand that others enter, whose root is then at least in GF(p²); of those outside GF(p) every second
    root fails, and so again at every later norm. Only rows of token tables are drawn again (tables have one row per
    token), which is the same as drawing the roots and not the radicands at random.
    """
    inputs = function.inputs
    if not isinstance(inputs, Tokens):
        return theta
    tables = _token_rows(function, inputs.vocabulary)
    site = _first_shared_root(function, inputs, theta.to(device), primes[0]) if tables else None
    if site is None:
        return theta
    # A stream of its own: the point's would give rows that other tokens kept, and equal tokens are not generic.
    generator = torch.Generator().manual_seed(seed + 3)
    best, tokens = inputs.length * (_BALANCE + len(primes)), inputs.vocabulary

    def drawn_again() -> Tensor:
        other = theta.clone()
        for table in tables:
            other[table] = function.point_size * _draw(table.numel(), generator).reshape(table.shape)
        return other

    def scored(point: Tensor, partner: int | None = None) -> Tensor:
        return _score(function, inputs, point.to(device), primes, site, partner)

    # One token that does well alone, beside which the others are judged.
    points, alone = [theta], [scored(theta)]
    while int(alone[-1].max()) < best and len(points) < _FEW_ROUNDS:
        points.append(drawn_again())
        alone.append(scored(points[-1]))
    which, partner = divmod(int(torch.cat(alone).argmax()), tokens)
    theta = theta.clone()
    for table in tables:
        theta[table[partner]] = points[which][table[partner]]

    others = torch.arange(tokens) != partner
    points, scores, before = [theta], scored(theta, partner)[others], 0
    while len(points) < _ROUNDS:
        highest = scores.sort(descending=True).values[: tokens - 1]
        total = int(highest.sum())
        if total == best * (tokens - 1) or (len(points) % 4 == 0 and total < _WORTH * before):
            break
        before = total if len(points) % 4 == 0 else before
        other = drawn_again()
        for table in tables:
            other[table[partner]] = theta[table[partner]]
        points.append(other)
        scores = torch.cat([scores, scored(other, partner)[others]])
    chosen = torch.argsort(scores, descending=True, stable=True)[: tokens - 1]
    for table in tables:
        theta[table[others]] = torch.cat([point[table[others]] for point in points])[chosen]
    return theta


def _token_rows(function: ParameterFunction, vocabulary: int) -> list[Tensor]:
    """Positions in θ (V, width) of each matrix with one row per token."""
    start, tables = 0, []
    for _, p in function.counted:
        if p.dim() == 2 and p.shape[0] == vocabulary:
            tables.append(torch.arange(start, start + p.numel()).reshape(p.shape))
        start += p.numel()
    return tables


@dataclass
class _Roots(Record):
    """The radicands of a run, which ends at the one with this number."""

    last: int | None = None
    radicands: list[TracedValue] = field(default_factory=list)

    def root(self, radicand: Element) -> None:
        assert isinstance(radicand, TracedValue)
        self.radicands.append(radicand)
        if self.last is not None and len(self.radicands) > self.last:
            raise RunEnded


def _radicands(
    function: ParameterFunction, theta: Tensor, prime: int, batch: Tensor, last: int | None = None
) -> list[TracedValue]:
    roots = _Roots(last=last)
    with suppress(RunEnded):
        Evaluation(function, theta, Calculus(FiniteField(prime)), roots)(batch)
    return roots.radicands


def _first_shared_root(function: ParameterFunction, inputs: Tokens, theta: Tensor, prime: int) -> int | None:
    """The first root whose radicand rests on other tokens than its position's own; the second, where none does."""
    some = min(inputs.vocabulary, _COMPARED)
    token, position = torch.arange(some)[:, None], torch.arange(inputs.length)
    alone = _radicands(function, theta, prime, token.expand(-1, inputs.length), _DEPTH)
    mixed = _radicands(function, theta, prime, (token + position) % some, _DEPTH)
    again = (token - position) % some  # where position p of the mixed batch has this token
    for number, (a, b) in enumerate(zip(alone, mixed, strict=False)):
        if a.shape[:2] == b.shape[:2] == (some, inputs.length):
            for x, y in zip(a.value.parts(), b.value.parts(), strict=False):
                if not bool((x.expand(a.shape) == y.expand(b.shape)[again, position]).all()):
                    return number
    return 1 if len(alone) > 1 else None


def _score(
    function: ParameterFunction, inputs: Tokens, theta: Tensor, primes: Sequence[int], site: int, partner: int | None
) -> Tensor:
    """For each token, at how many positions the radicand of that root lies in GF(p), beside a partner or alone.

    The worst prime counts first. Alone a token may only seem well: where all roots are imaginary, squares are real.
    """
    batch = torch.arange(inputs.vocabulary)[:, None].repeat(1, inputs.length)
    if partner is not None:
        batch[:, 1::2] = partner
    counts = torch.zeros(len(primes), inputs.vocabulary, dtype=torch.int64)
    for count, prime in zip(counts, primes, strict=True):
        found = _radicands(function, theta, prime, batch, site)
        if len(found) <= site:  # at this point the code takes another way
            continue
        radicand = found[site]
        nothing = torch.zeros(radicand.shape, dtype=torch.bool, device=radicand.reference.device)
        outside = nothing if radicand.value.im is None else radicand.value.im.expand(radicand.shape) != 0
        lost = nothing if radicand.undefined is None else radicand.undefined.expand(radicand.shape)
        if tuple(radicand.shape[:2]) == tuple(batch.shape):
            # A token that has no root at all on its own could never be looked at.
            marks = torch.where(lost, -1, torch.where(outside, 0, 1)).reshape(*batch.shape, -1).amin(-1)
            count += marks.sum(1).cpu()
    return counts.amin(0) * _BALANCE + counts.sum(0)

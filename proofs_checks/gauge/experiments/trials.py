"""Table 5's protocol as fast as matrix products allow: attention with every changed set of weights on every input.

Nothing is simplified away: each trial runs the whole layer with the changed weights and compares the outputs. All heads
are projected in one batched product, whose result the attention reads in place; buffers are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from proofs_checks.gauge.experiments.layer import Layer, Sizes
from symgauge.errors import InvalidInput

TOKENS = 64
"""Sequence length of the experiments; the source gives none."""
CARD_BYTES = 24 * 2**30
"""Memory for the buffers of one chunk of inputs on a card."""


class Biases(NamedTuple):
    """query, key (h, d_k), value (h, d_v), output (d,)."""

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor


class Packed(NamedTuple):
    """Weights as the trials multiply them.

    projections (d, h, 2 d_k + d_v): query, key and value of a head side by side; output (h d_v, d); offsets
    (h, 1, 1, 2 d_k + d_v) and output_offset (d,): biases, or None.
    """

    projections: Tensor
    output: Tensor
    offsets: Tensor | None = None
    output_offset: Tensor | None = None


def pack(layer: Layer, biases: Biases | None = None) -> Packed:
    """The same weights side by side."""
    projections = torch.cat([part.transpose(0, 1) for part in layer[:3]], -1)
    output = layer.output.flatten(0, 1)
    if biases is None:
        return Packed(projections, output)
    return Packed(projections, output, torch.cat(biases[:3], -1)[:, None, None], biases.output)


@dataclass(frozen=True)
class Form:
    """What a layer is besides its weights. angles (d_k / 2,): of the planes (2j, 2j + 1), in radians per position."""

    causal: bool = False
    angles: Tensor | None = None


PLAIN = Form()


class Evaluator:
    """Evaluates layers of one shape on chunks of inputs, in buffers of its own.

    A card does best with one product for all heads, whose result the attention of each head reads with strides; a
    processor with a product per head, each result in one piece.
    """

    def __init__(
        self,
        sizes: Sizes,
        inputs: int,
        tokens: int,
        like: Tensor,
        form: Form = PLAIN,
        *,
        heads_apart: bool | None = None,
    ) -> None:
        """inputs: at most so many at once. like: a tensor with their dtype and device. heads_apart: a product per head;
        by default on a processor."""
        h, d_k, d_v, _ = self.sizes = sizes
        self.tokens = tokens
        self.heads_apart = like.device.type == "cpu" if heads_apart is None else heads_apart
        rows, self.width = inputs * tokens, 2 * d_k + d_v
        self._projected = like.new_empty(h * rows * self.width)
        self._scores = like.new_empty(h * rows * tokens)
        self._joined = like.new_empty(rows * h * d_v)
        self._apart = like.new_empty(rows * h * d_v if self.heads_apart else 0)
        self._hidden = like.new_full((tokens, tokens), -torch.inf).triu(1) if form.causal else None
        self._turns = None if form.angles is None else _turns(form.angles, tokens, like)

    def __call__(self, weights: Packed, x: Tensor, out: Tensor) -> Tensor:
        """x (N·tokens, d) → out, of the same shape."""
        (h, _, d_v, _), n, width = self.sizes, self.tokens, self.width
        rows = len(x)
        count = rows // n
        projected = self._projected[: rows * h * width]
        scores = self._scores[: rows * h * n].view(h, count, n, n)
        joined = self._joined[: rows * h * d_v].view(count, n, h, d_v)
        if self.heads_apart:
            torch.bmm(x.expand(h, -1, -1), weights.projections.transpose(0, 1), out=projected.view(h, rows, width))
            z = projected.view(h, count, n, width)
            heads = self._apart[: rows * h * d_v].view(h * count, n, d_v)
            self._bias_and_turn(z, weights)
            self._attend(z.view(-1, n, width), scores.view(-1, n, n), heads)
            joined.copy_(heads.view(h, count, n, d_v).permute(1, 2, 0, 3))
        else:
            torch.mm(x, weights.projections.flatten(1), out=projected.view(rows, h * width))
            z = projected.view(count, n, h, width).permute(2, 0, 1, 3)
            self._bias_and_turn(z, weights)
            for head in range(h):
                self._attend(z[head], scores[head], joined[:, :, head])
        torch.mm(joined.view(rows, h * d_v), weights.output, out=out)
        if weights.output_offset is not None:
            out += weights.output_offset
        return out

    def _bias_and_turn(self, z: Tensor, weights: Packed) -> None:
        """In place on z (h, N, n, width)."""
        if weights.offsets is not None:
            z += weights.offsets
        if self._turns is not None:
            torch.view_as_complex(z.unflatten(-1, (-1, 2)))[..., : self.sizes.d_k] *= self._turns

    def _attend(self, z: Tensor, scores: Tensor, out: Tensor) -> None:
        """z (B, n, width) → out (B, n, d_v)."""
        d_k = self.sizes.d_k
        query, key, value = z[..., :d_k], z[..., d_k : 2 * d_k], z[..., 2 * d_k :]
        torch.baddbmm(scores, query, key.mT, beta=0, alpha=d_k**-0.5, out=scores)
        if self._hidden is not None:
            scores += self._hidden
        torch.softmax(scores, -1, out=scores)
        torch.bmm(scores, value, out=out)


def _turns(angles: Tensor, tokens: int, like: Tensor) -> Tensor:
    """(n, d_k): the complex factors of the planes of query and key, by position."""
    positions = torch.arange(tokens, dtype=torch.float64, device=like.device)
    phases = positions[:, None] * angles.to(positions)
    turns = torch.polar(torch.ones_like(phases), phases).repeat(1, 2)
    return turns.to(torch.complex64 if like.dtype == torch.float32 else torch.complex128)


def relative_errors(
    weights: Packed,
    changed: Iterable[Packed],
    x: Tensor,
    sizes: Sizes,
    *,
    form: Form = PLAIN,
    chunk: int | None = None,
    done: Callable[[int], None] = lambda count: None,
) -> Tensor:
    """‖Y' − Y‖_F / (‖Y‖_F + ε) of every trial (88): (E, N) for E changed sets of weights and inputs x (N, n, d).

    chunk: inputs at a time; memory is bounded by it and by the outputs Y. done: called after each set of weights.
    Raises InvalidInput without inputs or without changed weights.
    """
    count, tokens, width = x.shape
    if not count or width != sizes.d_model:
        raise InvalidInput(f"inputs have shape {tuple(x.shape)}; expected (N, n, {sizes.d_model}) with N ≥ 1")
    chunk = min(count, chunk or default_chunk(sizes, tokens, x))
    evaluate = Evaluator(sizes, chunk, tokens, x, form)
    parts = [part.reshape(-1, width) for part in x.split(chunk)]
    plain = [evaluate(weights, part, torch.empty_like(part)) for part in parts]
    norms = torch.cat([_norms(y, tokens) for y in plain]) + torch.finfo(x.dtype).eps
    other = torch.empty_like(parts[0])
    errors = []
    for number, each in enumerate(changed, 1):
        found = [
            _distances(evaluate(each, part, other[: len(part)]), y, tokens)
            for part, y in zip(parts, plain, strict=True)
        ]
        errors.append(torch.cat(found) / norms)
        done(number)
    if not errors:
        raise InvalidInput("there is no changed set of weights to compare with")
    return torch.stack(errors)


def _norms(y: Tensor, tokens: int) -> Tensor:
    return torch.linalg.vector_norm(y.view(-1, tokens * y.shape[-1]), dim=1)


def _distances(a: Tensor, b: Tensor, tokens: int) -> Tensor:
    """Frobenius norm of a − b per input, without a buffer for the difference and without expanding the square."""
    shape = (-1, 1, tokens * a.shape[-1])
    return torch.cdist(a.view(shape), b.view(shape), compute_mode="donot_use_mm_for_euclid_dist").flatten()


def default_chunk(sizes: Sizes, tokens: int, like: Tensor) -> int:
    """Inputs at a time: what fits CARD_BYTES on a card; on a processor what stays in its caches."""
    h, _, d_v, d = sizes
    if like.device.type == "cuda":
        numbers = h * (2 * sizes.d_k + d_v + tokens + 2 * d_v) + d
        return max(1, CARD_BYTES // (numbers * tokens * like.element_size()))
    # Enough rows that reading the weights is hidden behind the products, and few enough for a second-level cache.
    return max(1, max(192, 2 * d // 3) // tokens)


def operations(sizes: Sizes, tokens: int = TOKENS) -> int:
    """Floating-point operations of the matrix products of one trial."""
    h, d_k, d_v, d = sizes
    return 2 * tokens * h * (d_k + d_v) * (2 * d + tokens)

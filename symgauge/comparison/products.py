"""Heads compared by what their function depends on, the products W_Q W_Kᵀ and W_V W_O, where factors cannot be.

Where a product has less rank than its factors have columns, factors of one product need not be images of each other:
a column that meets a zero may be anything. And where channels are mixed by a map of large condition number, the map
that is found from rounded factors magnifies their rounding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.algorithms.pairs import Pair, with_pairs
from symgauge.comparison.heads import attention_of, into_roles, pairs_of
from symgauge.comparison.pieces import Normal, Piece
from symgauge.comparison.residuals import MOST, Judge
from symgauge.model_graph import Attention

_SKEWED = 4.0
"""How many times Σ ‖lᵢ‖ ‖rᵢ‖ may exceed the sum of the product's singular values, the least that factors can have."""


def with_products(judge: Judge, piece: Piece, moved: Normal, theirs: Normal) -> tuple[Normal, set[str]]:
    """A's piece with B's factors in every head (block of channels, with rotary encoding) that has the same product up
    to the rounding of both factors, and less rank than channels or far larger factors than it needs; and the roles in
    which there is one."""
    a, roles, changed = judge.a.architecture, dict(moved.roles), set()
    for s in piece.sublayers:
        if not isinstance(s, Attention):
            continue
        one, two = (attention_of(judge.seen(piece, x).roles, s, a) for x in (moved, theirs))
        chosen = []
        for p, q in zip(pairs_of(one), pairs_of(two), strict=True):
            maps = (s.value, s.output) if p.channels is None else (s.query, s.key)
            names = [m.weight for m in maps]
            exact, stored = allowed_of_product(judge, names, a.d_model)
            where = _same_product(p, q, exact, stored) & _apart(p, q, exact)
            if a.qk_norm and p.channels is not None:  # what is normed in between is no product
                where = torch.zeros_like(where)
            if bool(where.any()):
                changed |= set(names)
            mask = where[..., None, None]
            chosen.append(
                Pair(torch.where(mask, q.left, p.left), torch.where(mask, q.right, p.right), p.channels, p.what)
            )
        roles |= into_roles(with_pairs(one, chosen), s)
    return (Normal(roles, moved.scale), changed) if changed else (moved, changed)


def allowed_of_product(judge: Judge, names: list[str], length: int) -> tuple[float, float]:
    """What arithmetic may leave of a product, and what storage may."""
    both = [judge.allowed(name, length) for name in names]
    exact = sum(e for e, _ in both)
    return exact, max(exact, sum(tiers[-1][0] for _, tiers in both))


def _apart(one: Pair, two: Pair, exact: float) -> Tensor:
    """Whether the factors themselves differ (n, g)."""
    norm = torch.linalg.matrix_norm
    return (norm(one.left - two.left) > exact * norm(two.left)) | (
        norm(one.right - two.right) > exact * norm(two.right)
    )


def _same_product(one: Pair, two: Pair, exact: float, stored: float) -> Tensor:
    """In which blocks of which groups (n, g) the products are equal, and have less rank than channels or factors that
    are far larger than they need be.

    Rounding moves L Rᴴ by about ε Σ ‖lᵢ‖ ‖rᵢ‖ over the columns, at most, and by the root of the sum of squares where
    it is independent. The rank is deficient if it is to the rounding of arithmetic on one side, and to that of storage
    on the other.
    """
    norm = torch.linalg.vector_norm
    terms = [norm(p.left, dim=-2) * norm(p.right, dim=-2) for p in (one, two)]
    size = torch.maximum(*(x.sum(-1) for x in terms))
    difference = _product(torch.cat([one.left, -two.left], -1), torch.cat([one.right, two.right], -1))
    difference = torch.linalg.matrix_norm(difference)
    singular = [torch.linalg.svdvals(_product(p.left, p.right)) for p in (one, two)]
    least = [x[..., one.rank - 1] if x.shape[-1] >= one.rank else torch.zeros_like(size) for x in singular]
    deficient = (torch.minimum(*least) <= exact * size) & (torch.maximum(*least) <= stored * size)
    skewed = size > _SKEWED * singular[1].sum(-1)
    independent = stored * torch.maximum(*(norm(x, dim=-1) for x in terms))
    seen = torch.minimum(independent, MOST * norm(singular[1], dim=-1))
    return (deficient & (difference <= stored * size)) | (skewed & (difference <= seen))


def _product(left: Tensor, right: Tensor) -> Tensor:
    """L Rᴴ up to orthonormal maps from both sides: the product of the triangular factors."""
    return torch.linalg.qr(left).R @ torch.linalg.qr(right).R.mH

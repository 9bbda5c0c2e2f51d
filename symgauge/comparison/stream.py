"""The map of the stream that takes one model's tables to the other's."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from symgauge.algorithms.assignment import assignment
from symgauge.algorithms.pairs import Pair, polar
from symgauge.checkpoints.rows import Rows
from symgauge.comparison.heads import solve_pair
from symgauge.comparison.pieces import Anatomy


def candidates(
    anatomy: Anatomy, ins: tuple[Sequence[Rows], Sequence[Rows]], outs: tuple[Rows, Rows] | None, *, signed: bool
) -> Iterator[Tensor]:
    """Maps T (d, d) of the stream, from what writes it and what reads it: rows (…, d), on which T acts from the right.

    ``ins`` are the tables of both models, ``outs`` their unembeddings, gains folded in, if the stream reaches these.
    The identity comes first; then least squares on the tables, on the unembeddings, and on both, within the maps that
    the architecture allows: orthogonal ones by Procrustes (Schönemann, Psychometrika 31, 1966). Where gains stay,
    channels are renumbered at most, and ``signed`` says whether one may be negated alone, as RMSNorm lets it.
    """
    d = ins[0][0].shape[-1]
    yield torch.eye(d, dtype=torch.float64)
    if not anatomy.permutable:
        return
    if anatomy.stream == "any":
        if outs is not None:
            yield _general(ins, outs)
        return
    products = [_summed(x.gram(y) for x, y in zip(*ins, strict=True))]
    if outs is not None:
        products.append(outs[0].gram(outs[1]))
        products.append(sum(p / torch.linalg.matrix_norm(p).clamp_min(1e-300) for p in products))
    for product in products:
        if anatomy.stream is None:
            yield _permutation(product, ins, signed)
            if not signed:  # LayerNorm lets all channels be negated at once
                yield -_permutation(-product, ins, signed)
            continue
        if anatomy.stream == "fixing":
            # Along **1** the map is the identity: LayerNorm takes the mean of these channels.
            product = product - product.mean(0, keepdim=True)
            product = product - product.mean(1, keepdim=True) + torch.linalg.matrix_norm(product, 2) / d
        yield tidied(polar(product))


def _summed(terms: Iterable[Tensor]) -> Tensor:
    return functools.reduce(torch.add, terms)


def _general(ins: tuple[Sequence[Rows], Sequence[Rows]], outs: tuple[Rows, Rows]) -> Tensor:
    """Any invertible map: E T = E' and U = T U'."""
    tables = [torch.cat([x.whole() for x in side]) for side in ins]
    one, two = (Pair(e[None, None], u.whole()[None, None], None, "tables") for e, u in zip(tables, outs, strict=True))
    return tidied(solve_pair(one, two)[0, 0])


def _permutation(product: Tensor, ins: tuple[Sequence[Rows], Sequence[Rows]], signed: bool) -> Tensor:
    """The renumbering of channels, with signs if they may have some, that brings the tables nearest."""
    sizes = [_summed(x.total(lambda block: block.square().sum(0)) for x in side) for side in ins]
    signs = torch.where(product < 0, -1.0, 1.0).double() if signed else torch.ones_like(product)
    cost = sizes[0].unsqueeze(-1) + sizes[1] - 2 * signs * product
    order = torch.from_numpy(assignment(cost.numpy()))
    return signs * torch.eye(len(order), dtype=torch.float64)[:, torch.argsort(order)]


def tidied(matrix: Tensor, tolerance: float = 1e-4) -> Tensor:
    """A matrix that is a signed permutation to rounding as exactly that."""
    nearest = matrix.round()
    is_permutation = bool((nearest.abs().sum(0) == 1).all() and (nearest.abs().sum(1) == 1).all())
    return nearest if is_permutation and bool((matrix - nearest).abs().max() < tolerance) else matrix


def is_identity(matrix: Tensor) -> bool:
    return torch.equal(matrix, torch.eye(len(matrix), dtype=matrix.dtype))


def described(matrix: Tensor) -> str:
    """What kind of map it is, in words."""
    if is_identity(matrix):
        return "identity"
    eye = torch.eye(len(matrix), dtype=matrix.dtype)
    if torch.equal(matrix, matrix.round()) and bool((matrix.abs().sum(0) == 1).all()):
        moved = int((matrix.diagonal() == 0).sum())
        flipped = int((matrix < 0).sum())
        return f"permutation of {moved} channels" + (f", {flipped} of them negated" if flipped else "")
    if bool((matrix @ matrix.mT - eye).abs().max() < 1e-3):
        return f"orthogonal map, determinant {'+1' if torch.linalg.slogdet(matrix)[0] > 0 else '−1'}"
    return f"linear map of condition {float(torch.linalg.cond(matrix)):.3g}"

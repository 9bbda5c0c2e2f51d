"""The map from the last stream to logits: nothing in it moves but the stream, so it is compared a block of rows at a
time, whatever the size of the vocabulary."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from symgauge.algorithms.assignment import assignment
from symgauge.checkpoints.rows import Rows
from symgauge.comparison.acting import in_new_stream
from symgauge.comparison.element import INNER, Element
from symgauge.comparison.pieces import Piece, bias_of, is_inside_head, normal
from symgauge.comparison.residuals import Judge, Residual
from symgauge.comparison.sides import Side
from symgauge.comparison.stream import is_identity

ROLE = "unembedding.weight"


def is_unembedding(piece: Piece) -> bool:
    return [m.weight for m in piece.readers] == [ROLE]


def folded(side: Side, piece: Piece, *, centred: bool = True) -> Rows:
    """The unembedding as a table (V, d_model), the norm before it folded in."""
    gain = None if piece.norm is None else side.read(piece.norm.gain)
    sees_mean = piece.norm is None or piece.norm.kind != "layer" or not centred

    def through_norm(x: Tensor) -> Tensor:
        x = x if gain is None else x * gain
        return x if sees_mean else x - x.mean(-1, keepdim=True)

    return side.rows(ROLE).map(through_norm).settled()


def moved(side: Side, piece: Piece, element: Element, orthogonal: bool, *, centred: bool = True) -> Rows:
    """The same after the element acted."""
    own, t = folded(side, piece, centred=centred), element.tensors["stream"]
    if is_inside_head(piece):
        order = element.tensors.get(INNER)
        return own if order is None else own.map(lambda x: x[:, order]).settled()
    if is_identity(t):
        return own
    inverse = t.mT if orthogonal else torch.linalg.inv(t)
    return own.map(lambda x: x @ inverse.mT).settled()


def inner_order(judge: Judge) -> Tensor | None:
    """The order (d_model,) of A's channels behind the head's dense layer that brings the unembeddings nearest; None
    where there is no such layer, or the order is the same."""
    piece = judge.anatomy.pieces[-1]
    if not (is_unembedding(piece) and is_inside_head(piece)):
        return None
    one, two = (folded(side, piece) for side in (judge.a, judge.b))
    sizes = [x.total(lambda block: block.square().sum(0)) for x in (one, two)]
    found = assignment((sizes[1].unsqueeze(-1) + sizes[0] - 2 * two.gram(one)).numpy())
    order = torch.from_numpy(found)
    return None if torch.equal(order, torch.arange(len(order))) else order


def unembedding_residuals(judge: Judge, piece: Piece, element: Element, b: Side | None = None) -> list[Residual]:
    """Of norms that stay, of the map, and of what it adds; ``b`` is another B to be measured."""
    orthogonal, a, b = judge.anatomy.stream != "any", judge.a, judge.b if b is None else b
    rest = replace(piece, readers=(), norm=None)
    kept = in_new_stream(normal(a, rest, judge.anatomy), rest, element.tensors["stream"], orthogonal)
    found = judge.of_piece(rest, kept, normal(b, rest, judge.anatomy), {})
    through = () if piece.norm is None else tuple(r for r in (piece.norm.gain, piece.norm.offset) if r is not None)
    image = moved(a, piece, element, orthogonal)
    scale = 0.0
    if piece.norm is not None and piece.norm.kind == "layer":
        scale = max(folded(side, piece, centred=False).norm() for side in (a, b))
    found.append(judge.residual(ROLE, image, folded(b, piece), scale, through))
    own, its = constant_of(a, piece), constant_of(b, piece)
    if own is not None and its is not None:
        (mine, one), (theirs, two) = own, its
        bias = bias_of(piece.readers[0])
        found.append(judge.residual(bias, mine, theirs, max(one, two), (ROLE, *through)))
    return found


def constant_of(side: Side, piece: Piece) -> tuple[Tensor, float] | None:
    """What is added to the logits of every token, b + β U, and the size of what that was summed from."""
    bias, norm = piece.readers[0].bias, piece.norm
    parts, sizes = [], []
    if bias is not None:
        parts.append(side.read(bias))
        sizes.append(parts[0].abs())
    if norm is not None and norm.offset is not None:
        offset = side.read(norm.offset)
        parts.append(side.rows(ROLE).per_row(lambda x: x @ offset))
        sizes.append(side.rows(ROLE).per_row(lambda x: x.abs() @ offset.abs()))
    return (torch.stack(parts).sum(0), float(torch.stack(sizes).sum(0).norm())) if parts else None


def unseen_mean(judge: Judge, piece: Piece, element: Element) -> Tensor | None:
    """What B has along **1** and A's image has not (V,), where a LayerNorm lets none of it through."""
    if piece.norm is None or piece.norm.kind != "layer":
        return None
    theirs = folded(judge.b, piece, centred=False)
    image = moved(judge.a, piece, element, judge.anatomy.stream != "any", centred=False)
    shift = theirs.minus(image).per_row(lambda x: x.mean(-1))
    return shift if float(shift.abs().max()) > 1e-9 * theirs.largest() else None

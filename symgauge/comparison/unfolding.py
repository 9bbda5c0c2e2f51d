"""A piece in its normal form as the tensors that a model of its kind would store."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.comparison.element import Element
from symgauge.comparison.pieces import Normal, Piece, bias_of, inner_norms, inner_readers, softmax_routers
from symgauge.comparison.sides import Side
from symgauge.model_graph import LatentAttention, Norm


def new_norm(side: Side, norm: Norm, element: Element) -> dict[str, Tensor]:
    """Gain, and offset if there is one, that a norm has after the element acted."""
    roles = (norm.gain,) if norm.offset is None else (norm.gain, norm.offset)
    return {role: element.tensors[role] if role in element.tensors else side.read(role) for role in roles}


def unfolded(side: Side, piece: Piece, x: Normal, element: Element) -> dict[str, Tensor]:
    """The roles of a piece with the gain and offset that its norm has after the element acted."""
    roles, norm = dict(x.roles), piece.norm
    for role in [*(role for m in piece.writers for role in (m.weight, m.bias)), *(n.offset for n in piece.kept)]:
        if role is not None and f"{role}.mean" in element.tensors:
            roles[role] = roles[role] + element.tensors[f"{role}.mean"].unsqueeze(-1)
    for role in softmax_routers(side, piece):
        if f"{role}.common" in element.tensors:
            roles[role] = roles[role] + element.tensors[f"{role}.common"].unsqueeze(-1)
    for s in piece.sublayers:
        for inner in inner_norms(s):  # in the normal form gains are balanced, or in what reads them
            noted = element.tensors.get(inner.gain)
            roles[inner.gain] = side.read(inner.gain) if noted is None else noted
        for inner, reading in inner_readers(s) if isinstance(s, LatentAttention) else ():
            roles |= {role: _divided(roles[role], roles[inner.gain]) for role in reading}
    if norm is None:
        return roles
    roles |= new_norm(side, norm, element)
    gain, offset = roles[norm.gain], None if norm.offset is None else roles[norm.offset]
    for m in piece.readers:
        weight = roles[m.weight]
        if f"{m.weight}.mean" in element.tensors:
            weight = weight + element.tensors[f"{m.weight}.mean"].unsqueeze(-2)
        weight = _divided(weight, gain)
        roles[m.weight] = weight
        if bias_of(m) in roles:
            constant = roles[bias_of(m)]
            roles[bias_of(m)] = constant if offset is None else constant - offset @ weight
    return roles


def _divided(weight: Tensor, gain: Tensor) -> Tensor:
    """diag(γ)⁻¹ W, with zeros where γ is zero."""
    return torch.where(gain.unsqueeze(-1) == 0, 0.0, weight / torch.where(gain == 0, 1.0, gain).unsqueeze(-1))

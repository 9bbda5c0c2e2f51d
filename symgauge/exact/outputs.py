"""The outputs of a batch, position by position: rows of a Jacobian come from positions, whatever "
"shapes outputs have."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.jet import Jet

_COPRIME = 0x9E3779B1


def by_position(x: Tensor) -> Tensor:
    """An output of any rank ≥ 1 as (batch, positions, width); one vector per input counts as one position."""
    if x.dim() == 1:
        return x.reshape(-1, 1, 1)
    if x.dim() == 2:
        return x.reshape(x.shape[0], 1, x.shape[1])
    return x.reshape(x.shape[0], -1, x.shape[-1])


@dataclass(frozen=True)
class Positions:
    """One output's positions, numbered from ``start`` in the numbering that all outputs share."""

    jet: Jet
    start: int
    count: int
    width: int


def numbered(jets: list[Jet]) -> list[Positions]:
    """The positions of all outputs, one output after the other."""
    result, start = [], 0
    for jet in jets:
        shape = by_position(jet.shadow).shape
        result.append(Positions(jet, start, shape[1], shape[2]))
        start += shape[1]
    return result


def clean(jets: list[Jet]) -> Tensor:
    """(batch, positions): where no entry is tainted."""
    parts = []
    for each in numbered(jets):
        jet = each.jet
        shape = (jet.shape[0], each.count)
        if jet.taint is None:
            parts.append(torch.ones(shape, dtype=torch.bool))
        else:
            parts.append(~by_position(jet.taint.expand(jet.shape)).any(-1).cpu())
    return torch.cat(parts, 1)


def signatures(field: FiniteField, jets: list[Jet]) -> Tensor:
    """(batch, positions, 2): two numbers for the whole output at a position; equal ones mean equal outputs."""
    parts = []
    for each in numbered(jets):
        value = each.jet.value
        key = field.seed * 0x85EBCA6B % (1 << 62)
        weights = torch.remainder((torch.arange(1, each.width + 1) * _COPRIME) ^ key, field.p)
        column = weights[:, None].to(value.re.device)

        def fold(x: Tensor, column: Tensor = column) -> Tensor:
            return field._matmul(by_position(x.expand(each.jet.shape)), column)  # noqa: B023

        folded = Residues(value.re, value.im)
        re, im = fold(folded.re), torch.zeros(()) if folded.im is None else fold(folded.im)
        parts.append(torch.cat([re, im.to(re).expand(re.shape)], -1).cpu())
    return torch.cat(parts, 1)

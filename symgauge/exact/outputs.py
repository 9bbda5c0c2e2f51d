"""The outputs of a batch, position by position: rows of a Jacobian come from positions, whatever
shapes outputs have."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.traced_value import TracedValue

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

    element: TracedValue
    start: int
    count: int
    width: int


def numbered(elements: list[TracedValue]) -> list[Positions]:
    """The positions of all outputs, one output after the other."""
    result, start = [], 0
    for element in elements:
        shape = by_position(element.reference).shape
        result.append(Positions(element, start, shape[1], shape[2]))
        start += shape[1]
    return result


def clean(elements: list[TracedValue]) -> Tensor:
    """(batch, positions): where no entry is undefined."""
    parts = []
    for each in numbered(elements):
        element = each.element
        shape = (element.shape[0], each.count)
        if element.undefined is None:
            parts.append(torch.ones(shape, dtype=torch.bool))
        else:
            parts.append(~by_position(element.undefined.expand(element.shape)).any(-1).cpu())
    return torch.cat(parts, 1)


def finite(elements: list[TracedValue]) -> Tensor:
    """(batch, positions): where every entry is a number in float64 (no overflow, no 0/0)."""
    return torch.cat([by_position(torch.isfinite(e.reference)).all(-1).cpu() for e in elements], 1)


def signatures(field: FiniteField, elements: list[TracedValue]) -> Tensor:
    """(batch, positions, 2): two numbers for the whole output at a position; equal ones mean equal outputs."""
    parts = []
    for each in numbered(elements):
        value = each.element.value
        key = field.seed * 0x85EBCA6B % (1 << 62)
        weights = torch.remainder((torch.arange(1, each.width + 1) * _COPRIME) ^ key, field.p)
        column = weights[:, None].to(value.re.device)

        def fold(x: Tensor, column: Tensor = column) -> Tensor:
            return field._matmul(by_position(x.expand(each.element.shape)), column)  # noqa: B023

        folded = Residues(value.re, value.im)
        re, im = fold(folded.re), torch.zeros(()) if folded.im is None else fold(folded.im)
        parts.append(torch.cat([re, im.to(re).expand(re.shape)], -1).cpu())
    return torch.cat(parts, 1)

"""Jacobians that the chain rule gives, forward and back."""

from __future__ import annotations

import torch

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.tape import pull, push
from symgauge.arithmetic.traced_value import TracedValue


def both_ways(x: TracedValue, y: TracedValue, field: FiniteField) -> list[Residues]:
    """d(y)/dx, (entries of y, entries of x): by tangents of x, and by rows of y."""
    n, m, device = x.reference.numel(), y.reference.numel(), x.reference.device
    assert x.node is not None
    if y.node is None:
        return [Residues(field.zeros((m, n), device))]

    def units(k: int, shape: torch.Size) -> Residues:
        return field.identity(k, device).map(lambda t: t.reshape(k, *shape))

    (forward,) = push(field, {x.node: units(n, x.shape)}, [y.node])
    back = pull(field, [(y.node, units(m, y.shape), None)]).get(x.node)
    if forward is None or back is None:
        assert forward is back
        return [Residues(field.zeros((m, n), device))]
    return [forward.map(lambda t: t.reshape(n, m).mT), back.map(lambda t: t.reshape(m, n))]

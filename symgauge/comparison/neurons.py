"""Which hidden neuron of one feed-forward layer is which of the other, at widths of tens of thousands."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from symgauge.algorithms import FeedForwardParameters
from symgauge.algorithms.assignment import assignment
from symgauge.comparison.pieces import bias_of
from symgauge.model_graph import FeedForward

EQUAL = 1e-9
"""Relative differences up to this are none: numbers that were equal before a cast or a fold are equal after it."""
_SKETCH = 24
"""Random directions in which neurons are compared; distances keep their order up to a few per cent."""


def feed_forward_of(roles: dict[str, Tensor], f: FeedForward, activation: str) -> FeedForwardParameters:
    """The layer in the normal form of a piece."""
    tensors = {"up": roles[f.up.weight], "down": roles[f.down.weight]}
    if f.gate is not None:
        tensors["gate"] = roles[f.gate.weight]
    for name, m in (("up_bias", f.up), ("gate_bias", f.gate)):
        if m is not None and bias_of(m) in roles:
            tensors[name] = roles[bias_of(m)]
    return FeedForwardParameters(activation=activation, **tensors)


def neuron_roles(p: FeedForwardParameters, f: FeedForward) -> dict[str, Tensor]:
    """The reverse of :func:`feed_forward_of`."""
    maps = {"up": f.up, "down": f.down, "gate": f.gate}
    found = {}
    for name, tensor in p.tensors().items():
        m = maps[name.removesuffix("_bias")]
        assert m is not None
        found[bias_of(m) if name.endswith("_bias") else m.weight] = tensor
    return found


def solve_neurons(one: FeedForwardParameters, two: FeedForwardParameters, close: float) -> tuple[Tensor, Tensor]:
    """Order and factors (d_ff,) with ``one.moved(order, factors)`` nearest to ``two``.

    Neurons are compared by what no factor changes (the gate's column, or columns of length one), first with
    themselves: where that is near enough, none moves. Factors that differ from one by less than ``close`` are one,
    unless they fit much better: rounding leaves as much whatever the factor.
    """
    mine, theirs = _marks(one), _marks(two)
    order = match_rows(mine, theirs)
    if one.gate is not None:  # neurons with one gate keep their order
        first = first_alike(theirs)
        for i in torch.unique(first[first != torch.arange(len(first))]).tolist():
            alike = first == i
            order[alike] = order[alike].sort().values
    return order, _factors(one, two, order, close)


def first_alike(rows: Tensor) -> Tensor:
    """For each row the number of the first that is equal to it (n,), but for rounding in float64."""
    generator = torch.Generator().manual_seed(0)
    sketch = torch.randn(rows.shape[1], generator=generator, dtype=rows.dtype)
    values, order = (rows @ sketch).sort(stable=True)
    allowed = EQUAL * torch.linalg.vector_norm(rows[order[1:]], dim=-1)
    near = values.diff() <= allowed * rows.shape[1] ** 0.5
    there = torch.nonzero(near).flatten()
    apart = torch.linalg.vector_norm(rows[order[there + 1]] - rows[order[there]], dim=-1)
    near[there] = apart <= allowed[there]
    run = torch.cat([torch.ones(1, dtype=torch.bool), ~near]).cumsum(0) - 1
    least = torch.full((int(run[-1]) + 1,), len(rows)).scatter_reduce(0, run, order, "amin")
    return torch.empty_like(order).scatter_(0, order, least[run])


def match_rows(mine: Tensor, theirs: Tensor) -> Tensor:
    """For each row of ``theirs`` its row of ``mine`` (n,): the nearest where that is one to one, and for the rows where
    it is not the assignment of least total distance."""
    n = len(theirs)
    scale = torch.linalg.vector_norm(theirs).clamp_min(1e-300)
    if torch.linalg.vector_norm(mine - theirs) <= 1e-6 * scale:
        return torch.arange(n)
    if n <= 512:
        return torch.from_numpy(assignment(torch.cdist(theirs, mine).numpy()))
    from scipy.spatial import cKDTree

    generator = torch.Generator().manual_seed(0)
    sketch = torch.randn((mine.shape[1], _SKETCH), generator=generator, dtype=mine.dtype)
    _, found = cKDTree((mine @ sketch).numpy()).query((theirs @ sketch).numpy())
    order = torch.from_numpy(np.asarray(found, dtype=np.int64))
    count = torch.bincount(order, minlength=n)
    open_rows = torch.nonzero(count[order] > 1).flatten()
    if len(open_rows):
        taken = torch.zeros(n, dtype=torch.bool)
        taken[order[count[order] == 1]] = True
        left = torch.nonzero(~taken).flatten()
        inside = assignment(torch.cdist(theirs[open_rows], mine[left]).numpy())
        order[open_rows] = left[torch.from_numpy(inside)]
    return order


def _marks(p: FeedForwardParameters) -> Tensor:
    """One row per neuron, which factors do not change."""
    return torch.cat([p.incoming(), p.down], -1) if p.freedom == "none" else unscaled(p)


def unscaled(p: FeedForwardParameters) -> Tensor:
    """What a neuron reacts to (d_ff, …), without its free factor: gates, or columns of length one or without sign."""
    if p.gate is not None:
        return p.fixed()
    if p.freedom == "positive":
        return _unit(p.incoming())
    return _signless(p.incoming()) if p.freedom == "sign" else p.incoming()


def _unit(rows: Tensor) -> Tensor:
    return rows / torch.linalg.vector_norm(rows, dim=-1, keepdim=True).clamp_min(1e-300)


def _signless(rows: Tensor) -> Tensor:
    """Rows up to sign: their largest entry is made positive."""
    largest = rows.gather(-1, rows.abs().argmax(-1, keepdim=True))
    return torch.where(largest < 0, -rows, rows)


def _factors(one: FeedForwardParameters, two: FeedForwardParameters, order: Tensor, close: float) -> Tensor:
    """The factor of each matched neuron, by least squares on its free column."""
    free, target = one.incoming()[order], two.incoming()
    if one.freedom == "none":
        return torch.ones(len(order), dtype=free.dtype)
    product, square = (free * target).sum(-1), free.square().sum(-1)
    factors = torch.where(square > 0, product / square.clamp_min(1e-300), 1.0)
    if one.freedom == "sign":
        factors = factors.sign()
    elif one.freedom == "positive":
        factors = factors.clamp_min(0)
    factors = torch.where(factors == 0, 1.0, factors)
    with_factor, without = (
        torch.linalg.vector_norm(f.unsqueeze(-1) * free - target, dim=-1) for f in (factors, torch.ones_like(factors))
    )
    return torch.where(((factors - 1).abs() < close) & (without <= 2 * with_factor), 1.0, factors)

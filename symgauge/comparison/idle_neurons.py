"""Neurons that add nothing, and neurons that do one work together, in a form that depends on the function alone.

A neuron of which nothing goes out, or into which nothing goes, may have anything in its other weights. Neurons with one
input up to a free factor, or with one gate, are known by what they add together.
"""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.algorithms import FeedForwardParameters
from symgauge.comparison.acting import feed_forwards
from symgauge.comparison.neurons import EQUAL, feed_forward_of, first_alike, neuron_roles, unscaled
from symgauge.comparison.pieces import Normal, Piece
from symgauge.comparison.products import allowed_of_product
from symgauge.comparison.residuals import Judge


def without_idle(judge: Judge, piece: Piece, x: Normal) -> Normal | None:
    """A piece whose idle neurons are zero and whose doubled ones are as few as can be; None if it has neither."""
    a = judge.a.architecture
    roles = dict(x.roles)
    changed = False
    for f in feed_forwards(piece):
        allowed = allowed_of_product(judge, [f.up.weight, f.down.weight], a.d_model)[1]
        found = _reduced(feed_forward_of(roles, f, a.activation), allowed)
        if found is not None:
            roles |= neuron_roles(found, f)
            changed = True
    return Normal(roles, x.scale) if changed else None


def with_sums(judge: Judge, piece: Piece, moved: Normal, theirs: Normal, whole: Normal) -> Normal:
    """A's piece without idle neurons, with B's rows wherever gated neurons with one gate add the same Σ uᵢ dᵢᵀ.

    ``whole`` is B's piece as it is: rounding moves a sum by about ε Σ ‖uᵢ‖ ‖dᵢ‖, and the terms it has less neurons for
    by much more, if two of them are of about one size.
    """
    a, roles = judge.a.architecture, dict(moved.roles)
    for f in feed_forwards(piece):
        if f.gate is None:
            continue
        p, q, full = (feed_forward_of(r, f, a.activation) for r in (roles, theirs.roles, whole.roles))
        allowed = allowed_of_product(judge, [f.up.weight, f.down.weight], a.d_model)[1]
        sizes = torch.linalg.vector_norm(full.incoming(), dim=-1) * torch.linalg.vector_norm(full.down, dim=-1)
        first = first_alike(unscaled(q))
        into, down = p.incoming().clone(), p.down.clone()
        for i in torch.unique(first[first != torch.arange(q.width)]).tolist():
            group = torch.nonzero(first == i).flatten()
            difference = into[group].mT @ down[group] - q.incoming()[group].mT @ q.down[group]
            if torch.linalg.matrix_norm(difference) <= allowed * sizes[group].sum():
                into[group], down[group] = q.incoming()[group], q.down[group]
        roles |= neuron_roles(_made(p, into, p.fixed(), down), f)
    return Normal(roles, moved.scale)


def _reduced(p: FeedForwardParameters, allowed: float) -> FeedForwardParameters | None:
    silent = silent_neurons(p, EQUAL)
    first = first_alike(unscaled(p))
    merged = torch.unique(first[(first != torch.arange(p.width)) & ~silent])
    if not bool(silent.any()) and not len(merged):
        return None
    into, fixed, down = p.incoming().clone(), p.fixed().clone(), p.down.clone()
    for i in merged.tolist():
        group = torch.nonzero((first == i) & ~silent).flatten()
        if p.gate is None:
            into[group], down[group] = _as_one(p, group)
        else:
            into[group], down[group] = _few(into[group], down[group], allowed)
            fixed[group] = fixed[group[0]]
    silent |= (into == 0).all(-1) | (down == 0).all(-1)
    for rows in (into, fixed, down):
        rows[silent] = 0
    return _made(p, into, fixed, down)


def silent_neurons(p: FeedForwardParameters, unit: float) -> Tensor:
    """Where nothing goes out, or nothing goes in and nothing is added (d_ff,): act(0) = 0 for every activation."""
    sizes = [torch.linalg.vector_norm(x, dim=-1) for x in (p.down, p.incoming())]
    sizes += [] if p.gate is None else [torch.linalg.vector_norm(p.fixed(), dim=-1)]
    return torch.stack([size <= unit * size.max() for size in sizes]).any(0)


def _as_one(p: FeedForwardParameters, group: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of ungated neurons that have one input up to factors: the first does the work of all."""
    into, down = p.incoming()[group], p.down[group]
    factors = (into @ into[0]) / (into[0] @ into[0])
    rows, out = torch.zeros_like(into), torch.zeros_like(down)
    rows[0], out[0] = into[0], (factors.pow(p.power).unsqueeze(-1) * down).sum(0)
    return rows, out


def _few(into: Tensor, down: Tensor, allowed: float) -> tuple[Tensor, Tensor]:
    """Rows of gated neurons with one gate, which add Σ (x uᵢ) dᵢ: the terms of its singular value decomposition
    that rounding may not leave."""
    left, right = (torch.linalg.qr(x.mT) for x in (into, down))
    u, s, v = torch.linalg.svd(left.R @ right.R.mT)
    sizes = torch.linalg.vector_norm(into, dim=-1) * torch.linalg.vector_norm(down, dim=-1)
    s = torch.where(s > allowed * sizes.sum(), s, 0.0)
    rows, out = torch.zeros_like(into), torch.zeros_like(down)
    rows[: len(s)], out[: len(s)] = (left.Q @ u[:, : len(s)]).mT, (right.Q @ v.mT[:, : len(s)] * s).mT
    rows[: len(s)][s == 0] = 0
    return rows, out


def _made(p: FeedForwardParameters, into: Tensor, fixed: Tensor, down: Tensor) -> FeedForwardParameters:
    d = p.up.shape[0]
    tensors = {"up": into[:, :d].mT, "down": down}
    if p.up_bias is not None:
        tensors["up_bias"] = into[:, d]
    if p.gate is not None:
        tensors["gate"] = fixed[:, :d].mT
    if p.gate_bias is not None:
        tensors["gate_bias"] = fixed[:, d]
    return FeedForwardParameters(activation=p.activation, **tensors)

"""Derivatives by the chain rule, over any field: back from outputs to parameters, or forward from coordinates.

A value that depends on a parameter has a :class:`Node`: the linear maps by which small changes of other values enter
its own. :func:`pull` carries rows of a Jacobian back through them, many rows at a time, whatever the module does with
its batch; :func:`push` carries tangents forward. Neither knows torch's autograd, which user code may cut: ``detach``,
``no_grad`` and hand-written backward passes change no value, so they change no derivative here.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from symgauge.arithmetic.cotangents import Cotangent, summed
from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.linear_maps import LinearMap

_numbers = itertools.count()


@dataclass(frozen=True, eq=False)
class Node:
    """How a value of this shape depends on others; one without parents is a variable."""

    shape: torch.Size
    parents: tuple[tuple[Node, LinearMap | None], ...] = ()
    """(value, map); None is the identity."""
    number: int = field(default_factory=lambda: next(_numbers))
    """Parents have smaller ones."""


def pull(
    arithmetic: FiniteField, seeds: Sequence[tuple[Node, Residues, Tensor | None]], groups: int = 1
) -> dict[Node, Residues]:
    """Rows of a Jacobian, for each variable (n, groups, *shape): a row is the derivative of one combination of outputs.

    Args:
        arithmetic: the field.
        seeds: (output, coefficients (n, *shape), owner (*shape) in [0, groups)) for every output that counts. Row (i,
            g) is the derivative of the i-th combination of those entries that g owns: one backward pass gives n rows
            of each sequence of a batch. Without an owner coefficients are (n · groups, *shape), one for every row.
    """
    waiting: dict[Node, list[Cotangent]] = {}
    order: list[tuple[int, Node]] = []

    def give(node: Node, cotangent: Cotangent) -> None:
        if node not in waiting:
            waiting[node] = []
            heapq.heappush(order, (-node.number, node))
        waiting[node].append(cotangent)

    for node, rows, owner in seeds:
        give(node, Cotangent(rows, None if groups == 1 else owner))
    result = {}
    while order:
        _, node = heapq.heappop(order)
        total = summed(arithmetic, waiting.pop(node), groups)
        if not node.parents:
            # Not −1 for the number of rows: a tensor without entries would leave it open.
            rows = total.split(groups).rows
            result[node] = rows.map(lambda x, s=node.shape: x.reshape(len(x) // groups, groups, *s))  # type: ignore[misc]
        for parent, by in node.parents:
            give(parent, total if by is None else by.pull_owned(arithmetic, total, groups))
    return result


def push(arithmetic: FiniteField, tangents: Mapping[Node, Residues], outputs: Sequence[Node]) -> list[Residues | None]:
    """Tangents (n, *shape) of ``outputs`` from those of variables; None for what does not depend on them."""
    seen, stack = set(outputs), list(outputs)
    while stack:
        for parent, _ in stack.pop().parents:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    known = dict(tangents)
    for node in sorted(seen, key=lambda node: node.number):
        for parent, by in node.parents:
            if parent in known:
                term = known[parent] if by is None else by.push(arithmetic, known[parent])
                known[node] = term if node not in known else arithmetic.add(known[node], term)
    return [known.get(node) for node in outputs]

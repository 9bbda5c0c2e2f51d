"""Coordinates of the residual stream renumbered."""

from __future__ import annotations

import torch
from sympy import Expr, Integer, factorial
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import ModelGraph, Norm
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import DiscreteSymmetry, Output, Roles
from symgauge.symmetries.citation import Cites
from symgauge.symmetries.elements import identity
from symgauge.symmetries.examples import RMS
from symgauge.symmetries.permutations import permutation, signs


class StreamPermutation(DiscreteSymmetry):
    name = "stream-permutation"
    title = (
        "The coordinates of the residual stream are renumbered in every role that has them; without LayerNorm each may "
        "also change sign, with it all may together. Tied embeddings and gains of any kind allow this."
    )
    source = (Cites("theus2025connectivity", part="permutations"),)
    example = RMS

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return a.is_model and a.residual

    def order(self, a: Architecture) -> Expr:
        if self._through_activation(a):
            return factorial(s.d)
        return factorial(s.d) * (Integer(2) if a.norm == "layer" else Integer(2) ** s.d)

    def sample(self, a: Architecture, graph: ModelGraph, generator: torch.Generator) -> dict[str, Tensor]:
        flips = signs(a.d_model, generator)
        if a.norm == "layer":
            flips = -torch.ones_like(flips)
        return {
            "order": permutation(a.d_model, generator),
            "signs": torch.ones_like(flips) if self._through_activation(a) else flips,
        }

    def act(self, a: Architecture, graph: ModelGraph, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        table, roles = parameters["token_table"], dict(parameters)
        # Multiplied by this signed permutation matrix, stream axes move; norms' gains follow without the signs.
        matrix = (identity(a.d_model, table) * element["signs"].to(table).unsqueeze(-1))[:, element["order"]]
        reads, writes, norms = _stream_roles(graph)
        roles |= {role: matrix.mT @ roles[role] for role in reads}
        for role in (*writes, *(norm.offset for norm in norms if norm.offset is not None)):
            roles[role] = roles[role] @ matrix if roles[role].dim() > 1 else (roles[role].unsqueeze(0) @ matrix)[0]
        return roles | {norm.gain: roles[norm.gain][element["order"]] for norm in norms}

    @staticmethod
    def _through_activation(a: Architecture) -> bool:
        """Whether the tied table also reads the result of an activation, which signs would not pass."""
        return a.tied and a.head_transform


def _stream_roles(graph: ModelGraph) -> tuple[list[str], list[str], list[Norm]]:
    """Roles that read stream coordinates, roles that write them, and norms over them."""
    reads = [m.weight for branch in graph.branches() for m in branch.readers]
    writers = [m for branch in graph.branches() for m in branch.writers]
    norms = [graph.embedding_norm, graph.final_norm, *(step.stream_norm for step in graph.steps)]
    norms += [norm for branch in graph.branches() for norm in (branch.input_norm, branch.output_norm)]
    if graph.head is not None and graph.head.transform is not None:
        reads.append(graph.head.transform.weight)
        if graph.tied:
            writers.append(graph.head.transform)
            norms.append(graph.head.transform_norm)
    elif graph.head is not None and not graph.tied:
        reads.append(graph.head.unembedding.weight)
    # A parallel block with one norm hands it to several sublayers; each role moves once.
    writes = [m.weight for m in writers] + [m.bias for m in writers if m.bias is not None]
    return list(dict.fromkeys(reads)), [*graph.tables, *dict.fromkeys(writes)], [n for n in norms if n is not None]

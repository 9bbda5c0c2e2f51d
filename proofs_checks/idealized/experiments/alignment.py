"""Bringing one whole model next to another along the symmetries of both: heads, neurons, and the stream by turns."""

from __future__ import annotations

import torch
from torch import Tensor

from proofs_checks.idealized.experiments.gauges import Roles, move_stream
from symgauge.algorithms import align_model
from symgauge.architecture import Architecture
from symgauge.model_graph import Attention, FeedForward, graph_of
from symgauge.parameter_vector import ParameterVector

ROUNDS = 8


def frame(architecture: Architecture, roles: Roles) -> Tensor:
    """An orthogonal (d, d) matrix that turns with the stream and with nothing else.

    Eigenvectors of Σ (|out| / |in|) in inᵀ over the neurons of the first layer, with the sign that makes the first
    token's coordinates positive. Unique where eigenvalues differ and no coordinate vanishes.
    """
    up, down = roles["layers.0.ff.up.weight"], roles["layers.0.ff.down.weight"]
    weights = down.norm(dim=1) / up.norm(dim=0)
    _, vectors = torch.linalg.eigh((up * weights) @ up.mT)
    return vectors * (roles["token_table"][0] @ vectors).sign()


def procrustes(architecture: Architecture, reference: Roles, other: Roles) -> Tensor:
    """The orthogonal map of ``other``'s stream that brings it closest to ``reference``, all else fixed."""
    graph = graph_of(architecture)
    assert graph.head is not None
    writers, readers = list(graph.tables), [graph.head.unembedding.weight]
    for sublayer in graph.sublayers():
        assert isinstance(sublayer, (Attention, FeedForward))
        writers.append(sublayer.writer.weight)
        readers += [reader.weight for reader in sublayer.readers]
    total = torch.zeros(architecture.d_model, architecture.d_model, dtype=torch.float64)
    for name in writers:
        total += other[name].reshape(-1, architecture.d_model).mT @ reference[name].reshape(-1, architecture.d_model)
    for name in readers:
        total += _wide(other[name]) @ _wide(reference[name]).mT
    u, _, vh = torch.linalg.svd(total)
    return u @ vh


def _wide(reader: Tensor) -> Tensor:
    """(d, everything it reads), heads side by side."""
    return reader if reader.dim() == 2 else reader.transpose(0, 1).flatten(1)


def aligned(architecture: Architecture, reference: Tensor, other: Tensor, rounds: int = ROUNDS) -> Tensor:
    """``other`` (P,) moved along its symmetries as near to ``reference`` (P,) as was found.

    Two starts, the stream as it is and the stream in its frame; then heads with neurons, and the stream, by turns. The
    function stays. Exact for models that differ by heads, neurons and an orthogonal map of the stream.
    """
    flat = ParameterVector.of(architecture)
    fixed = flat.split(reference)
    best, nearest = other, float((other - reference).norm())
    given = flat.split(other)
    turned = move_stream(architecture, given, frame(architecture, given) @ frame(architecture, fixed).mT)
    for roles in (given, turned):
        for _ in range(rounds):
            roles, _ = align_model(architecture, fixed, roles)
            roles = move_stream(architecture, roles, procrustes(architecture, fixed, roles))
            distance = float((flat.join(roles) - reference).norm())
            if distance < nearest:
                best, nearest = flat.join(roles), distance
    return best

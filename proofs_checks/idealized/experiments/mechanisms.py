"""Quantities of a model that no symmetry can change: what could tell one strategy from another."""

from __future__ import annotations

from itertools import permutations

import torch
from torch import Tensor

from proofs_checks.idealized.experiments.alignment import frame
from proofs_checks.idealized.experiments.gauges import move_stream
from proofs_checks.idealized.experiments.geometry import pairs
from proofs_checks.idealized.model import Task, logits
from proofs_checks.idealized.model.training import accuracies
from symgauge.architecture import Architecture
from symgauge.parameter_vector import ParameterVector

LONGER = 6  # tokens, off the task


def attention(architecture: Architecture, theta: Tensor, inputs: Tensor) -> Tensor:
    """(S, N, h, T): attention of the first layer's last position to all, for models without norms and positions."""
    tables = []
    for one in theta:
        roles = ParameterVector.of(architecture).split(one)
        x = roles["token_table"][inputs].unsqueeze(1)
        query = x[..., -1:, :] @ roles["layers.0.attention.query.weight"]
        scores = query @ (x @ roles["layers.0.attention.key.weight"]).mT / architecture.d_k**0.5
        tables.append(scores.squeeze(-2).softmax(-1))
    return torch.stack(tables)


def attention_distances(tables: Tensor) -> Tensor:
    """(pairs,): mean total variation between attention tables (S, N, h, T), heads matched as best they can be."""
    i, j = pairs(len(tables))
    heads = range(tables.shape[2])
    matched = [
        (tables[i] - tables[j][:, :, list(order)]).abs().sum(-1).mean((1, 2)) / 2 for order in permutations(heads)
    ]
    return torch.stack(matched).amin(0)


def answers_off_task(architecture: Architecture, theta: Tensor, length: int = LONGER) -> Tensor:
    """(S, N, V): logits on all longer sequences, which training never showed; for models without positions."""
    task = Task("longer", architecture.vocabulary, length, lambda word: 0)
    return logits(architecture, theta, task.inputs)


def function_distances(outputs: Tensor) -> Tensor:
    """(pairs,): distance between functions (S, N, V), relative to their mean size; a common shift does not count."""
    centred = (outputs - outputs.mean(-1, keepdim=True)).flatten(1)
    i, j = pairs(len(outputs))
    sizes = centred.norm(dim=1)
    return (centred[i] - centred[j]).norm(dim=1) / ((sizes[i] + sizes[j]) / 2)


def equal_answers(outputs: Tensor) -> Tensor:
    """(pairs,): share of inputs on which two functions (S, N, V) give the same token."""
    answers = outputs.argmax(-1)
    i, j = pairs(len(outputs))
    return (answers[i] == answers[j]).double().mean(1)


def canonical_distances(architecture: Architecture, theta: Tensor) -> Tensor:
    """(pairs,): distance between tables E, maps E W_Q W_Kᵀ Eᵀ, ... seen from the stream's own frame, relative.

    Entries compared: token table, output map and each head's score and value products, in the frame of the stream; the
    heads matched as best they can be. Zero for models that differ by heads, neurons and a turn of the stream; other
    maps of the stream change it.
    """
    flat, forms, heads = ParameterVector.of(architecture), [], []
    for one in theta:
        roles = flat.split(one)
        roles = move_stream(architecture, roles, frame(architecture, roles))
        q, k, v, o = (roles[f"layers.0.attention.{name}.weight"] for name in ("query", "key", "value", "output"))
        forms.append(torch.cat([roles["token_table"].flatten(), roles["unembedding.weight"].flatten()]))
        heads.append(torch.cat([(q @ k.mT).flatten(1), (v @ o).flatten(1)], 1))
    form, head = torch.stack(forms), torch.stack(heads)
    i, j = pairs(len(theta))
    orders = [list(order) for order in permutations(range(architecture.heads))]
    matched = torch.stack([(head[i] - head[j][:, order]).square().sum((1, 2)) for order in orders]).amin(0)
    squares = form.square().sum(1) + head.square().sum((1, 2))
    return (((form[i] - form[j]).square().sum(1) + matched) / ((squares[i] + squares[j]) / 2)).sqrt()


def without(architecture: Architecture, theta: Tensor, task: Task, parts: tuple[str, ...]) -> Tensor:
    """(S,) accuracy with the parts named ("attention", "ff") writing nothing to the stream."""
    flat, changed = ParameterVector.of(architecture), []
    for one in theta:
        roles = dict(flat.split(one))
        for name in roles:
            if any(name.endswith(f"{part}.{'output' if part == 'attention' else 'down'}.weight") for part in parts):
                roles[name] = torch.zeros_like(roles[name])
        changed.append(flat.join(roles))
    outputs = logits(architecture, torch.stack(changed), task.inputs)
    return accuracies(outputs, task.targets.expand(len(theta), -1))

"""Magnitude pruning with retraining, of many models at once, with the mask enforced while retraining or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from proofs_checks.idealized.model import Protocol, Task, logits, train
from proofs_checks.idealized.model.training import accuracies
from symgauge.architecture import Architecture
from symgauge.model_graph import graph_of
from symgauge.parameter_vector import ParameterVector


@dataclass(frozen=True, eq=False)
class Level:
    """One level of sparsity, for all models (S,): weights kept by pruning, accuracy right after it and after
    retraining, and how many weights were not zero then."""

    kept: int
    pruned: Tensor
    retrained: Tensor
    nonzero: Tensor


def weights_kept(parameters: int, percent: float) -> int:
    """How many weights a sparsity in percent leaves, rounded."""
    return round(parameters * (100 - percent) / 100)


def largest(theta: Tensor, kept: int) -> Tensor:
    """(S, P) of 0 and 1: each model's ``kept`` largest entries by magnitude, over all its weights together."""
    order = theta.abs().argsort(dim=1, descending=True, stable=True)[:, :kept]
    return torch.zeros_like(theta).scatter(1, order, 1.0)


def prune(
    architecture: Architecture,
    tasks: Sequence[Task],
    dense: Tensor,
    kept: Sequence[int],
    protocol: Protocol,
    *,
    enforced: bool,
    iterative: bool = True,
    tick: Callable[[float], None] = lambda share: None,
) -> list[Level]:
    """Prune and retrain models dense (S, P) to each number of weights in turn.

    iterative: each level starts from the retrained models of the one before, and a model that failed there is pruned on
    without retraining; otherwise each level starts from the dense ones. enforced: pruned weights stay zero while
    retraining.
    """
    now, levels = dense, []
    targets = torch.stack([task.targets for task in tasks])
    inputs = tasks[0].inputs
    going = torch.arange(len(dense))
    for number, count in enumerate(kept):
        start = now if iterative else dense
        mask = largest(start, count)
        now = start * mask
        accuracy = accuracies(logits(architecture, now, inputs), targets)
        retrained = accuracy.clone()
        if len(going):
            chosen = [tasks[n] for n in going.tolist()]
            result = train(architecture, chosen, now[going], protocol, mask=mask[going] if enforced else None)
            now[going], retrained[going] = result.theta, result.accuracy
        levels.append(Level(count, accuracy, retrained, (now != 0).sum(1)))
        if iterative:
            going = going[retrained[going] == 1]
        tick((number + 1) / len(kept))
    return levels


def copy_last_by_hand(architecture: Architecture) -> Tensor:
    """(P,): Copy-Last for two tokens with 3 weights that are not zero; needs the residual stream.

    The stream carries ±1 in its first channel, and the output maps it to the first logit; the other logit is 0.
    """
    table = torch.zeros(2, architecture.d_model, dtype=torch.float64)
    out = torch.zeros(architecture.d_model, 2, dtype=torch.float64)
    table[0, 0], table[1, 0], out[0, 0] = 1, -1, 1
    return _built(architecture, {"token_table": table, "unembedding.weight": out})


def parity_by_hand(architecture: Architecture) -> Tensor:
    """(P,): XOR of three tokens with 13 weights that are not zero; needs the residual stream.

    Channel 0 is 1 for both tokens, channel 1 is the token. One head with zero scores takes the mean of channel 1 and
    writes the number of ones s to channel 2. Two neurons bend it: s − 2 relu(s − 1) + 2 relu(s − 2) is 0, 1, 0, 1. The
    second logit is that minus 1/2, the first is 0.
    """
    d = architecture.d_model
    shapes = graph_of(architecture).shapes
    roles = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in shapes.items()}
    roles["token_table"][:, 0], roles["token_table"][1, 1] = 1, 1
    roles["layers.0.attention.value.weight"][0, 1, 0] = 3
    roles["layers.0.attention.output.weight"][0, 0, 2] = 1
    up, down = roles["layers.0.ff.up.weight"], roles["layers.0.ff.down.weight"]
    up[2, 0], up[0, 0], down[0, 2] = 1, -1, -2
    up[2, 1], up[0, 1], down[1, 2] = 1, -2, 2
    assert d >= 3, "three channels are used"
    roles["unembedding.weight"][2, 1], roles["unembedding.weight"][0, 1] = 1, -0.5
    return _built(architecture, roles)


def _built(architecture: Architecture, given: dict[str, Tensor]) -> Tensor:
    shapes = graph_of(architecture).shapes
    zeros = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in shapes.items()}
    return ParameterVector(shapes).join(zeros | given)

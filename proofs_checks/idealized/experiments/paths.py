"""Ways between models in parameter space: the straight line, and a bent one with a trained middle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from proofs_checks.idealized.model import Task, logits
from proofs_checks.idealized.model.training import accuracies, losses
from symgauge.architecture import Architecture


@dataclass(frozen=True, eq=False)
class Along:
    """Per way (n,): the least accuracy, the largest loss and the smallest margin (right logit minus the best other)."""

    accuracy: Tensor
    loss: Tensor
    margin: Tensor

    @property
    def solving(self) -> int:
        """Ways on which every point looked at solves the task."""
        return int((self.accuracy == 1).sum())


def bend(start: Tensor, control: Tensor, end: Tensor, t: Tensor | float) -> Tensor:
    """(1 − t)² start + 2 t (1 − t) control + t² end; with the control in the middle this is the straight line."""
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end


def along(architecture: Architecture, start: Tensor, control: Tensor, end: Tensor, task: Task, points: int) -> Along:
    """What n ways (n, P) meet at this many equidistant points, ends included."""
    targets = task.targets.expand(len(start), -1)
    accuracy, loss, margin = [], [], []
    for t in torch.linspace(0, 1, points).tolist():
        outputs = logits(architecture, bend(start, control, end, t), task.inputs)
        right = outputs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        others = outputs.scatter(-1, targets.unsqueeze(-1), -torch.inf).amax(-1)
        accuracy.append(accuracies(outputs, targets))
        loss.append(losses(outputs, targets))
        margin.append((right - others).amin(-1))
    return Along(torch.stack(accuracy).amin(0), torch.stack(loss).amax(0), torch.stack(margin).amin(0))


def bent(
    architecture: Architecture,
    start: Tensor,
    end: Tensor,
    task: Task,
    steps: int = 250,
    rate: float = 3e-3,
    seed: int = 0,
    tick: Callable[[float], None] = lambda share: None,
) -> Tensor:
    """Control points (n, P), from the middle, trained by Adam on the loss at one random point of each way per step."""
    generator = torch.Generator().manual_seed(seed)
    control = ((start + end) / 2).requires_grad_()
    adam = torch.optim.Adam([control], rate)
    targets = task.targets.expand(len(start), -1)
    for step in range(steps):
        t = torch.rand(len(start), 1, generator=generator, dtype=torch.float64)
        adam.zero_grad()
        losses(logits(architecture, bend(start, control, end, t), task.inputs), targets).sum().backward()
        adam.step()
        tick((step + 1) / steps)
    return control.detach()

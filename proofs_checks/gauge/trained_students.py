"""Layers trained on the outputs of one teacher, started independently."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from proofs_checks.support.attention_layers import inputs_for, layer_outputs
from symgauge.algorithms import AttentionParameters, random_attention


@dataclass(frozen=True)
class Student:
    """A layer trained on a teacher's outputs, its training loss, and its relative error on fresh inputs."""

    parameters: AttentionParameters
    loss: float
    error: float


@dataclass(frozen=True)
class School:
    """A teacher with two heads and students of the same architecture, started independently, trained on one data set.

    48 sequences of five tokens, d = 4, d_k = d_v = 2, mean squared error, full-batch L-BFGS in float64.
    """

    teacher: AttentionParameters
    test: Tensor
    students: tuple[Student, ...]

    def error(self, p: AttentionParameters) -> float:
        """Relative error of a layer against the teacher on fresh inputs."""
        wanted = layer_outputs(self.teacher, self.test)
        return float((layer_outputs(p, self.test) - wanted).norm() / wanted.norm())

    @property
    def taught(self) -> list[Student]:
        """Those that reached the teacher's function."""
        return [s for s in self.students if s.error < 1e-6]

    @property
    def stuck(self) -> list[Student]:
        """Those that ended in another local minimum."""
        return [s for s in self.students if s.error > 1e-2]


def school(count: int = 8, faint: float = 1.0) -> School:
    """Train ``count`` students; about a third of a second each. The teacher's second head writes ``faint`` times as
    much (the students take longer then)."""
    teacher = random_attention(4, 2, 2, 2, seed=100)
    teacher = teacher.replace(query=2 * teacher.query, key=2 * teacher.key)  # attention that is not nearly uniform
    teacher = teacher.replace(output=teacher.output * torch.tensor([1.0, faint], dtype=torch.float64)[:, None, None])
    data, test = inputs_for(teacher, 0, 48), inputs_for(teacher, 1, 100)
    lesson = layer_outputs(teacher, data)
    found = School(teacher, test, ())
    students = []
    for seed in range(count):
        p, loss = _train(random_attention(4, 2, 2, 2, seed=seed), data, lesson)
        students.append(Student(p, loss, found.error(p)))
    return School(teacher, test, tuple(students))


def _train(start: AttentionParameters, data: Tensor, lesson: Tensor) -> tuple[AttentionParameters, float]:
    tensors = {name: x.clone().requires_grad_() for name, x in start.tensors().items()}
    optimizer = torch.optim.LBFGS(
        tensors.values(), max_iter=400, history_size=50, line_search_fn="strong_wolfe",
        tolerance_grad=1e-13, tolerance_change=0,
    )  # fmt: skip

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = (layer_outputs(start.replace(**tensors), data) - lesson).square().mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        last = float((layer_outputs(start.replace(**tensors), data) - lesson).square().mean())
    return start.replace(**{name: x.detach() for name, x in tensors.items()}), last

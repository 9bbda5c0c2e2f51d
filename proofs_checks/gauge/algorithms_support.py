"""What the checks on algorithms share: layers of every kind, what a layer computes, students trained on a teacher."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.func import grad

from symgauge.algorithms import AttentionParameters, random_attention
from symgauge.architecture import Architecture, Rotary
from symgauge.models.reference import forward
from symgauge.profiles import scale

ALL_BIASES = ("query_bias", "key_bias", "value_bias", "output_bias")
LAYERS: dict[str, dict[str, Any]] = {
    "plain": {"d_model": 9, "heads": 3, "d_k": 2, "d_v": 4},
    "shared": {"d_model": 11, "heads": 6, "groups": 2, "d_k": 3, "d_v": 2},
    "biases": {"d_model": 9, "heads": 4, "groups": 2, "d_k": 3, "d_v": 2, "biases": ALL_BIASES},
    "rotary": {"d_model": 13, "heads": 4, "groups": 2, "d_k": 6, "d_v": 3, "rotary": Rotary.standard(6)},
    "partly rotary": {"d_model": 13, "heads": 3, "d_k": 7, "d_v": 4, "rotary": Rotary.standard(4, unrotated=3)},
}
ABSOLUTE = ("plain", "shared", "biases")


def drawn_layers(*names: str) -> Iterator[tuple[AttentionParameters, int]]:
    """Layers of these kinds (all without any), several of each, with a seed for whatever else is drawn."""
    for name in names or tuple(LAYERS):
        for seed in range(scale(4, 20)):
            yield random_attention(**LAYERS[name], seed=seed), seed


def layer_outputs(p: AttentionParameters, inputs: Tensor) -> Tensor:
    """The reference module's outputs (B, T, d_model) at these parameters, without mask or residual stream."""
    biases: dict[str, Any] = {name: name in p.tensors() for name in ALL_BIASES}
    a = Architecture(
        p.d_model, p.heads, p.d_k, p.d_v, groups=p.groups, rotary=p.rotary, residual=False, causal=False, **biases
    )
    roles = {}
    for name, x in p.tensors().items():
        kind, _, bias = name.partition("_")
        roles[f"layers.0.attention.{kind}.{bias or 'weight'}"] = x
    return forward(a, roles, inputs)


def inputs_for(p: AttentionParameters, seed: int = 0, batch: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((batch, 5, p.d_model), generator=generator, dtype=torch.float64)


def relative_change_of_outputs(one: AttentionParameters, two: AttentionParameters, seed: int = 0) -> float:
    """‖f₂ − f₁‖ / ‖f₁‖ on random inputs."""
    x = inputs_for(one, seed)
    before = layer_outputs(one, x)
    return float((layer_outputs(two, x) - before).norm() / before.norm())


def average(one: AttentionParameters, two: AttentionParameters) -> AttentionParameters:
    return one.combine(two, lambda x, y: (x + y) / 2)


def inner(one: AttentionParameters, two: AttentionParameters) -> float:
    """⟨one, two⟩ over all parameters."""
    return float(sum((x * two.tensors()[name]).sum() for name, x in one.tensors().items()))


def gaussian_like(p: AttentionParameters, seed: int) -> AttentionParameters:
    generator = torch.Generator().manual_seed(seed)
    return p.map(lambda x: torch.randn(x.shape, generator=generator, dtype=torch.float64))


def gradient_of(p: AttentionParameters, seed: int = 0) -> AttentionParameters:
    """Gradient of a squared loss of a layer's outputs."""
    x = inputs_for(p, seed)

    def loss(tensors: dict[str, Tensor]) -> Tensor:
        return (layer_outputs(p.replace(**tensors), x) - 1).square().sum()

    return p.replace(**grad(loss)(p.tensors()))


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


def school(count: int = 8) -> School:
    """Train ``count`` students; about a third of a second each."""
    teacher = random_attention(4, 2, 2, 2, seed=100)
    teacher = teacher.replace(query=2 * teacher.query, key=2 * teacher.key)  # attention that is not nearly uniform
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

"""How much two parameter points differ as functions, and how much of that rounding explains."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.models.reference import forward, random_parameters
from symgauge.symmetries.base import Output

EPSILON = torch.finfo(torch.float64).eps
VISIBLE = 1e-3


def point(a: Architecture) -> dict[str, Tensor]:
    """Random roles at which no norm's Σ β/γ is near zero, where its null direction would add no visible constant."""
    for seed in range(200):
        roles = random_parameters(a, seed)
        sums = [(v / roles[r.removesuffix("offset") + "gain"]).sum() for r, v in roles.items() if r.endswith(".offset")]
        if all(abs(float(value)) > 0.5 for value in sums):
            return roles
    raise AssertionError("no such point among 200")


def inputs(a: Architecture, generator: torch.Generator, count: int = 12) -> Tensor:
    if a.is_model:
        return torch.randint(a.vocabulary, (count, a.context), generator=generator)
    return torch.randn(count, a.context, a.d_model, generator=generator, dtype=torch.float64)


def evaluate(a: Architecture, roles: Mapping[str, Tensor], x: Tensor, output: Output) -> Tensor:
    y = forward(a, roles, x)
    return y if output == "logits" else y.softmax(-1)


def difference(
    a: Architecture, one: Mapping[str, Tensor], two: Mapping[str, Tensor], x: Tensor, output: Output
) -> float:
    """Relative difference of the two functions on the inputs."""
    y = evaluate(a, one, x, output)
    return float((evaluate(a, two, x, output) - y).norm() / y.norm())


def rounding(
    a: Architecture, before: Mapping[str, Tensor], after: Mapping[str, Tensor], x: Tensor, output: Output
) -> float:
    """What rounding can change: ε times the response to relative perturbations, times the growth of the roles squared.

    The action rounds each role it computes, as if every entry were perturbed by a few ε; the response to a random
    perturbation of size 1e-7 measures what that does to the function. Products such as A · A⁻¹ cancel intermediate
    values that are larger than the result, by at most the growth of either factor.
    """
    generator, step, response = torch.Generator().manual_seed(1), 1e-7, 1.0
    for roles in (before, after):
        noisy = {r: v * (1 + step * torch.randn(v.shape, generator=generator, dtype=v.dtype)) for r, v in roles.items()}
        response = max(response, difference(a, roles, noisy, x, output) / step)
    growth = max(1.0, *(float(after[r].norm() / before[r].norm()) for r in before))
    return 30 * EPSILON * response * growth**2

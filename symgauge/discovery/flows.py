"""Each symmetry run as a finite motion of the module itself, in float64, with its negative controls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.linalg import expm_multiply
from torch import Tensor, nn

from symgauge.discovery.fields import Fields
from symgauge.discovery.integrated import run_to_rounding
from symgauge.exact.probes import Inputs
from symgauge.exact.result import Output
from symgauge.layout import Layout, flatten
from symgauge.module_invariance import NOISE, displaced, function_of
from symgauge.numeric.controls import FACTOR, MARGIN
from symgauge.numeric.error_model import allowed_error, conditions, relative_error, sensitivity
from symgauge.numeric.invariance import LARGEST_ALLOWED

_EPSILON = torch.finfo(torch.float64).eps
_STRIDE = 0.4
"""How far a motion goes, relative to the parameters that it moves."""

_SHORTEST = 0.1
"""Part of that which is gone where a pole lies on the way."""


@dataclass(frozen=True)
class Flow:
    """A motion exp(tX) that was run: what the function did, and what it did where one tensor was left behind."""

    change: float
    """Relative change of the function's values."""
    allowed: float
    """What rounding may cause, by the error model of :mod:`symgauge.numeric.error_model`."""
    control: float
    """Relative change under a spoiled motion: the first that shows, or the largest."""
    required: float
    """What that must exceed."""

    @property
    def ratio(self) -> float:
        """Change over what is allowed; at most 1 for a symmetry."""
        return self.change / self.allowed if math.isfinite(self.change) else math.inf

    @property
    def holds(self) -> bool:
        """Whether the function was kept, and would have been seen to change."""
        return self.change <= self.allowed <= LARGEST_ALLOWED and self.required <= self.control < math.inf


def run(
    module: nn.Module, inputs: Inputs, fields: Fields, *, output: Output, seed: int,
    derived: Callable[[Tensor], Tensor] = lambda theta: theta[:0], moving: bool = False,
) -> list[Flow]:  # fmt: skip
    """Run the motion of every field at the module's parameters θ (P,).

    The fields are on (θ, ``derived(θ)``). What is derived is a constant of each motion, which is then an exponential;
    where it is ``moving``, the motion is integrated.
    """
    theta, named = flatten(module)
    shapes = {name: p.shape for name, p in module.named_parameters()}
    layout = Layout.of(module, {name: name for name, _ in named})
    function = function_of(module, layout, inputs, output, seed)
    before = layout.read(theta)
    expected = function(before)
    longest = max(max(shape, default=1) for shape in shapes.values())
    start = _point(theta, derived(theta))
    shaken = sensitivity(function, before, {}, seed)
    generator = torch.Generator().manual_seed(seed % 2**61 + NOISE)
    flows = []
    for number in range(fields.count):
        matrix = fields.chosen([number]).matrices()[0].astype(np.float64)
        speed = matrix @ start
        live = np.nonzero(speed)[0]
        stride = _STRIDE * float(np.linalg.norm(start[live]) / np.linalg.norm(speed[live])) if len(live) else 1.0
        time = stride
        names = [name for name, x in layout.read(torch.from_numpy(speed[1 : 1 + len(theta)])).items() if bool(x.any())]

        def act(
            roles: Mapping[str, Tensor], element: Tensor, a: Any = matrix, moved: Sequence[str] = names
        ) -> Mapping[str, Tensor]:
            now = layout.write(roles, theta)
            if moving:
                end, _ = _integrated(float(element) * a, now, derived)
            else:
                end = torch.from_numpy(expm_multiply(float(element) * a, _point(now, derived(now)))[1 : 1 + len(theta)])
            after = layout.read(end)
            return {name: after[name] for name in moved}

        while moving and time > _SHORTEST * stride and not _integrated(time * matrix, theta, derived)[1]:
            time /= 2  # there is a pole on the way
        element = torch.tensor(time, dtype=torch.float64)
        after = {**before, **act(before, element)}
        condition = conditions(act, before, element, seed)
        allowed = allowed_error(_EPSILON, longest, shaken, sensitivity(function, after, condition, seed))
        change = relative_error(expected, function(after))
        control = 0.0
        required = max(MARGIN, FACTOR * allowed)
        for spoiled in _spoiled(before, after, names, generator):
            control = max(control, relative_error(expected, function(spoiled)))
            if control >= required:
                break
        flows.append(Flow(change, allowed, control, required))
    return flows


def _point(theta: Tensor, derived: Tensor) -> NDArray[np.float64]:
    return np.concatenate([[1.0], theta.numpy(), derived.numpy()])


def _integrated(matrix: Any, theta: Tensor, derived: Callable[[Tensor], Tensor]) -> tuple[Tensor, bool]:
    """Where the field with this map of (1, θ, derived) leads from θ in a time of 1, and whether that is settled."""

    def speed(at: Tensor) -> Tensor:
        return torch.from_numpy((matrix @ _point(at, derived(at)))[1 : 1 + len(theta)])

    return run_to_rounding(speed, theta)


def _spoiled(
    before: Mapping[str, Tensor], after: Mapping[str, Tensor], names: Sequence[str], generator: torch.Generator
) -> Iterator[Mapping[str, Tensor]]:
    """The motion with one tensor left behind, or displaced; last, where the function sees nothing of what moves, with
    all others displaced."""
    for name in names:
        yield {**after, name: before[name] if len(names) > 1 else displaced(after[name], generator)}
    yield {**after, **{name: displaced(x, generator) for name, x in after.items() if name not in names}}

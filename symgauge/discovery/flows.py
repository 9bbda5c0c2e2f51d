"""Each symmetry run as a finite motion of the module itself, in float64, with its negative controls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse.linalg import expm_multiply
from torch import Tensor, nn

from symgauge.discovery.fields import Fields
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
    derived: Callable[[Tensor], Tensor] = lambda theta: theta[:0],
) -> list[Flow]:  # fmt: skip
    """Run the motion of every field at the module's parameters θ (P,).

    The fields are on (θ, ``derived(θ)``), what is derived being a constant of each motion.
    """
    theta, named = flatten(module)
    shapes = {name: p.shape for name, p in module.named_parameters()}
    layout = Layout.of(module, {name: name for name, _ in named})
    function = function_of(module, layout, inputs, output, seed)
    before = layout.read(theta)
    expected = function(before)
    longest = max(max(shape, default=1) for shape in shapes.values())
    start = np.concatenate([[1.0], theta.numpy(), derived(theta).numpy()])
    shaken = sensitivity(function, before, {}, seed)
    generator = torch.Generator().manual_seed(seed % 2**61 + NOISE)
    flows = []
    for number in range(fields.count):
        matrix = fields.chosen([number]).matrices()[0].astype(np.float64)
        speed = matrix @ start
        moving = np.nonzero(speed)[0]
        time = _STRIDE * float(np.linalg.norm(start[moving]) / np.linalg.norm(speed[moving])) if len(moving) else 1.0
        names = [name for name, x in layout.read(torch.from_numpy(speed[1 : 1 + len(theta)])).items() if bool(x.any())]

        def act(
            roles: Mapping[str, Tensor], element: Tensor, a: Any = matrix, moved: Sequence[str] = names
        ) -> Mapping[str, Tensor]:
            now = layout.write(roles, theta)
            point = np.concatenate([[1.0], now.numpy(), derived(now).numpy()])
            after = layout.read(torch.from_numpy(expm_multiply(float(element) * a, point)[1 : 1 + len(theta)]))
            return {name: after[name] for name in moved}

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


def _spoiled(
    before: Mapping[str, Tensor], after: Mapping[str, Tensor], names: Sequence[str], generator: torch.Generator
) -> Iterator[Mapping[str, Tensor]]:
    """The motion with one tensor left behind, or displaced; last, where the function sees nothing of what moves, with
    all others displaced."""
    for name in names:
        yield {**after, name: before[name] if len(names) > 1 else displaced(after[name], generator)}
    yield {**after, **{name: displaced(x, generator) for name, x in after.items() if name not in names}}

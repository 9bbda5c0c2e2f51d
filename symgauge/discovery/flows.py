"""Each symmetry run as a finite motion of the module itself, in float64, with its negative controls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
from symgauge.module_invariance import displaced, function_of
from symgauge.numeric.controls import required_change
from symgauge.numeric.error_model import conditions, relative_error
from symgauge.numeric.invariance import Invariance, compare

_STRIDE = 0.4
"""How far a motion goes, relative to the parameters that it moves."""


@dataclass(frozen=True)
class Flow:
    """A motion exp(tX) that was run: what the function did, and what it did where one tensor was left behind."""

    invariance: Invariance
    control: float
    """The largest relative change of the function where one of the moved tensors is left behind."""
    required: float
    """What that must exceed."""

    @property
    def holds(self) -> bool:
        """Whether the function was kept, and would have been seen to change."""
        return self.invariance.holds and self.required <= self.control < math.inf


def run(module: nn.Module, inputs: Inputs, fields: Fields, *, output: Output, seed: int) -> list[Flow]:
    """Run the motion of every field at the module's parameters, as many as the fields' ``size``.

    Raises:
        Undecided: rounding alone may change the function too much.
    """
    theta, _ = flatten(module)
    shapes = {name: p.shape for name, p in module.named_parameters()}
    layout = Layout.by_name(module)
    function = function_of(module, layout, inputs, output, seed)
    before = layout.read(theta)
    longest = max(max(shape, default=1) for shape in shapes.values())
    generator = torch.Generator().manual_seed(seed)
    flows = []
    for number in range(fields.count):
        matrix = fields.chosen([number]).matrices()[0].astype(np.float64)
        start = np.concatenate([[1.0], theta.numpy()])
        speed = matrix @ start
        moving = np.nonzero(speed)[0]
        names = [name for name, x in layout.read(torch.from_numpy(speed[1:])).items() if bool(x.any())]
        time = _STRIDE * float(np.linalg.norm(start[moving]) / np.linalg.norm(speed[moving])) if len(moving) else 1.0

        def act(
            roles: Mapping[str, Tensor], element: Tensor, a: Any = matrix, moved: Sequence[str] = names
        ) -> Mapping[str, Tensor]:
            point = np.concatenate([[1.0], layout.write(roles, theta).numpy()])
            after = layout.read(torch.from_numpy(expm_multiply(float(element) * a, point)[1:]))
            return {name: after[name] for name in moved}

        element = torch.tensor(time, dtype=torch.float64)
        after = {**before, **act(before, element)}
        found = compare(
            function, before, after, length=longest, condition=conditions(act, before, element, seed), output=output,
            seed=seed,
        )  # fmt: skip
        expected, changes = function(before), []
        for name in names:
            put_back = before[name] if len(names) > 1 else displaced(after[name], generator)
            changes.append(relative_error(expected, function({**after, name: put_back})))
        required = required_change(found)
        if max(changes, default=0.0) < required:  # the function sees none of what moves, so it must see the rest
            others = {name: displaced(x, generator) for name, x in after.items() if name not in names}
            changes.append(relative_error(expected, function({**after, **others})))
        flows.append(Flow(found, max(changes, default=0.0), required))
    return flows

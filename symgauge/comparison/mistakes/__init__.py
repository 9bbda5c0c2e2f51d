"""Mistakes that are made when checkpoints are folded, rotated, permuted and converted, a file each.

Every file has ``recognise(scene)``: a diagnosis if the mistake, undone, leaves no more than rounding of the first
tensor that no gauge explains, else None. The order is that in which they are asked: the more special first.
"""

from __future__ import annotations

from dataclasses import replace

from symgauge.comparison.mistakes import (
    adapter_update,
    few_numbers,
    few_rows,
    gain,
    heads_apart,
    inverse_for_transpose,
    mean_subtracted,
    missing_group,
    neurons_apart,
    rotary_order,
    rounding,
    scaled,
    tied_head,
    transposed,
)
from symgauge.comparison.scene import Diagnosis, Scene

_IN_ORDER = (
    mean_subtracted, tied_head, gain, rotary_order, missing_group, inverse_for_transpose, heads_apart, neurons_apart,
    transposed, scaled, few_numbers, few_rows, adapter_update, rounding,
)  # fmt: skip


def diagnose(scene: Scene) -> Diagnosis:
    """The first known mistake that explains what no gauge does, or that none does.

    All are asked with the rounding of B alone before the rounding of A may hide something.
    """
    for allowed in dict.fromkeys((scene.allowed, max(scene.allowed, scene.residual.inherited))):
        for mistake in _IN_ORDER:
            found = mistake.recognise(replace(scene, allowed=allowed))
            if found is not None:
                return found
    return Diagnosis("no known mistake explains it")

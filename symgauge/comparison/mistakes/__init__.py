"""Mistakes that are made when checkpoints are folded, rotated, permuted and converted, a file each.

Every file has ``recognise`` of a scene, or of any difference: a diagnosis if the mistake, undone, leaves no more than
rounding of the first tensor that no gauge explains, else None. They are asked in the order below, the more special
first.
"""

from __future__ import annotations

from dataclasses import replace

from symgauge.comparison.difference import Diagnosis, Difference
from symgauge.comparison.mistakes import (
    adapter_update,
    common_shift,
    few_numbers,
    few_rows,
    gain,
    heads_apart,
    inverse_for_transpose,
    mean_subtracted,
    missing_group,
    neurons_apart,
    read_elsewhere,
    rotary_order,
    rounding,
    scaled,
    tied_head,
    transposed,
)
from symgauge.comparison.scene import Scene

_OF_ANY_TENSOR = (transposed, scaled, few_numbers, few_rows, adapter_update, rounding)
_OF_A_MODEL = (
    common_shift, mean_subtracted, tied_head, gain, rotary_order, missing_group, inverse_for_transpose, heads_apart,
    neurons_apart, read_elsewhere,
)  # fmt: skip


def diagnose(difference: Difference) -> Diagnosis:
    """The first known mistake that explains what no gauge does, or that none does.

    All are asked with the rounding of B alone before the rounding of A may hide something. Without a scene, which knows
    the architecture, only those that any tensor may have are asked.
    """
    mistakes = (*(_OF_A_MODEL if isinstance(difference, Scene) else ()), *_OF_ANY_TENSOR)
    for allowed in dict.fromkeys((difference.allowed, max(difference.allowed, difference.residual.inherited))):
        for mistake in mistakes:
            found = mistake.recognise(replace(difference, allowed=allowed))
            if found is not None:
                return found
    return Diagnosis("no known mistake explains it")

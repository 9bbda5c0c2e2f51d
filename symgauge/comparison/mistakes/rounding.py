"""A tensor rounded to fewer digits than it is stored in."""

from symgauge.comparison.difference import Diagnosis, Difference
from symgauge.comparison.rounding import UNIT, looks_like_rounding

_LEAST = 16
"""Numbers of which noise can be told from a change of some."""


def recognise(difference: Difference) -> Diagnosis | None:
    if difference.found().numel() < _LEAST:
        return None
    size, change = difference.residual.value, difference.found() - difference.expected()
    for name in ("float32", "float16", "bfloat16", "float8_e4m3fn"):
        if 0.1 * UNIT[name] <= size <= 3 * UNIT[name] and looks_like_rounding(change):
            return Diagnosis(
                f"the difference is noise of the size that rounding to {name} leaves, and neither is stored so coarsely"
            )
    return None

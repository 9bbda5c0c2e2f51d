"""A tensor rounded to fewer digits than it is stored in."""

from symgauge.comparison.rounding import UNIT, looks_like_rounding
from symgauge.comparison.scene import Diagnosis, Scene


def recognise(scene: Scene) -> Diagnosis | None:
    size = scene.residual.value
    for name in ("float32", "float16", "bfloat16", "float8_e4m3fn"):
        if 0.1 * UNIT[name] <= size <= 3 * UNIT[name] and looks_like_rounding(scene.found() - scene.expected()):
            return Diagnosis(
                f"the difference has the size and look of rounding to {name}, finer than which it is stored"
            )
    return None

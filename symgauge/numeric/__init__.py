"""Float64 and many-digit evidence: invariance with an error model, ranks with gaps, precision ladders."""

from symgauge.numeric.controls import ControlHeld, Controls, assert_changes, negative_controls, required_change
from symgauge.numeric.gaps import RankWithGap, rank_with_gap
from symgauge.numeric.inputs import random_element, random_inputs
from symgauge.numeric.invariance import (
    Invariance,
    NotInvariant,
    action,
    assert_invariant,
    compare,
    function_of,
    measure_invariance,
)
from symgauge.numeric.jacobian import FloatDimension, fibre_dimension_float, reference_jacobian
from symgauge.numeric.precision import Ladder, Rung, precision_ladder, run_module
from symgauge.numeric.tangents import generators

__all__ = [
    "ControlHeld",
    "Controls",
    "FloatDimension",
    "Invariance",
    "Ladder",
    "NotInvariant",
    "RankWithGap",
    "Rung",
    "action",
    "assert_changes",
    "assert_invariant",
    "compare",
    "fibre_dimension_float",
    "function_of",
    "generators",
    "measure_invariance",
    "negative_controls",
    "precision_ladder",
    "random_element",
    "random_inputs",
    "rank_with_gap",
    "reference_jacobian",
    "required_change",
    "run_module",
]

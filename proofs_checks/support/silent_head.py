"""A point at which more is free, for checks that count directions by singular values."""

from __future__ import annotations

import torch

from symgauge.architecture import Architecture
from symgauge.models.reference import ReferenceModel
from symgauge.numeric import fibre_dimension_float, random_inputs


def nullity_with_a_silent_head(a: Architecture, seed: int, *, batch: int) -> int:
    """The float64 nullity of a layer whose first head writes nothing: its queries, keys and values are free."""
    module = ReferenceModel(a, seed=seed)
    with torch.no_grad():
        module.get_parameter("layers__0__attention__output__weight")[0] = 0
    return fibre_dimension_float(module, random_inputs(a, seed, batch=batch)).nullity

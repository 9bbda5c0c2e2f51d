"""How a fibre's dimension is measured for a user: the exact engine."""

from __future__ import annotations

from typing import Any

from torch import nn

from symgauge.checks import check_measuring
from symgauge.exact import dimension as engine
from symgauge.exact.probes import Inputs
from symgauge.exact.result import FibreDimension


def dimension(module: nn.Module, inputs: Inputs, **options: Any) -> FibreDimension:
    """As :func:`symgauge.exact.dimension.dimension`."""
    shared = ("seed", "device", "rounds", "progress")
    check_measuring(**{name: options[name] for name in shared if name in options})
    return engine.dimension(module, inputs, **options)

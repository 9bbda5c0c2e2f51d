"""Are two checkpoints one function, by which gauge element, and if not, which tensor breaks it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from symgauge.checkpoints import Checkpoint, open_checkpoint, stored_model
from symgauge.comparison.element import Element
from symgauge.comparison.pieces import anatomy
from symgauge.comparison.residuals import Judge, Residual
from symgauge.comparison.sides import two_sides
from symgauge.comparison.solving import solve

Verdict = Literal["equal", "equal-to-stored-precision", "different"]
Source = str | Path | nn.Module | Mapping[str, Tensor] | Checkpoint


@dataclass(frozen=True, eq=False)
class Comparison:
    """The answer and what it rests on."""

    verdict: Verdict
    tensor: str | None
    """The first tensor that no gauge explains, by its name in B; None if there is none."""
    reason: str
    element: Element
    residuals: tuple[Residual, ...]
    notes: tuple[str, ...] = field(default=())

    def __bool__(self) -> bool:
        return self.verdict != "different"


def compare(
    first: Source, second: Source, *, config: Mapping[str, Any] | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Comparison:  # fmt: skip
    """Compare two checkpoints up to the symmetries of their architecture."""
    opened = [open_checkpoint(source) for source in (first, second)]
    configs = [dict(config) if config is not None else one.config for one in opened]
    shared = configs[0] or configs[1]
    models = [stored_model(one, its or shared) for one, its in zip(opened, configs, strict=True)]
    a, b, computed = two_sides(*models)
    judge, element = Judge(a, b, anatomy(a)), Element()
    residuals: list[Residual] = []
    steps = len(judge.anatomy.pieces) + 1
    with torch.no_grad():
        for done, (name, found) in enumerate(solve(judge, element)):
            residuals += found
            if progress is not None:
                progress(name, (done + 1) / steps)
    broken = [r for r in residuals if r.level == "unexplained"]
    verdict: Verdict = "equal"
    if broken or computed:
        verdict = "different"
    elif any(r.level == "stored" for r in residuals):
        verdict = "equal-to-stored-precision"
    return Comparison(verdict, broken[0].tensor if broken else None, "", element, tuple(residuals))

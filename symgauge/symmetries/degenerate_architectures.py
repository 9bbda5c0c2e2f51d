"""Degenerate cases that belong to no family but to a class of architectures."""

from __future__ import annotations

from symgauge.architecture import Experts
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.examples import ATTENTION, RMS

UNCHOSEN_EXPERT = "an expert may never be chosen, and is then free"

DEGENERATE_CASES = (
    DegenerateCase(
        "sequences (or windows) of one or two positions do not show all of attention",
        lambda a: a.context < 3 or any(0 < window < 3 for window in a.windows),
        example=ATTENTION.replace(context=1),
        beside=ATTENTION,
    ),
    DegenerateCase(
        UNCHOSEN_EXPERT,
        lambda a: a.experts is not None,
        example=RMS.replace(d_model=2, experts=Experts(6, 1, 2)),
        beside=RMS.replace(d_model=2),
    ),
)

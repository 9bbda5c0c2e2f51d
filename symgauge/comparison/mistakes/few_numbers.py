"""A handful of numbers that were changed, all others being right."""

import torch

from symgauge.comparison.difference import Diagnosis, Difference

_FEW = 1e-3
"""Share of a tensor's numbers."""


def recognise(difference: Difference) -> Diagnosis | None:
    expected, found = difference.expected(), difference.found()
    changed = (found - expected).abs()
    wrong = changed > 1e-2 * changed.max()
    count = int(wrong.sum())
    of = round(wrong.numel() / difference.share)
    if not 0 < count <= max(1, _FEW * of) or not difference.explains(torch.where(wrong, found, expected)):
        return None
    differ = "differs" if count == 1 else "differ"
    return Diagnosis(f"{count} of its {of:,} numbers {differ}, and all others agree")

"""A tensor that is a multiple of what it should be."""

import torch

from symgauge.comparison.difference import Diagnosis, Difference


def recognise(difference: Difference) -> Diagnosis | None:
    expected, found = difference.expected(), difference.found()
    square = float(expected.square().sum())
    factor = float((expected * found).sum()) / square if square else 0.0
    if factor == 0 or not torch.isfinite(torch.tensor(factor)) or not difference.explains(factor * expected):
        return Diagnosis("the tensor is zero") if square and not bool(found.any()) else None
    return Diagnosis(f"the tensor is {factor:.6g} times what it should be")

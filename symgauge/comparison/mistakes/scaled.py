"""A tensor that is a multiple of what it should be."""

import torch

from symgauge.comparison.scene import Diagnosis, Scene


def recognise(scene: Scene) -> Diagnosis | None:
    expected, found = scene.expected(), scene.found()
    square = float(expected.square().sum())
    factor = float((expected * found).sum()) / square if square else 0.0
    if factor == 0 or not torch.isfinite(torch.tensor(factor)) or not scene.explains(factor * expected):
        return Diagnosis("the tensor is zero") if square and not bool(found.any()) else None
    return Diagnosis(f"the tensor is {factor:.6g} times what it should be")

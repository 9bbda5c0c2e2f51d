"""Statistics of the groups of twenty models, and of vectors without structure to compare them with."""

from __future__ import annotations

import torch
from torch import Tensor

from proofs_checks.idealized import reported
from proofs_checks.idealized.experiments.geometry import Geometry, geometry
from proofs_checks.idealized.model import architecture, copy_last, logits
from proofs_checks.idealized.trained_models import MODELS, twenty

DRAWS = 20  # sets of isotropic vectors
ROUNDING = 1e-11  # of logits of size 10, after some hundred products


def shape(name: str) -> Geometry:
    return geometry(twenty()[name])


def isotropic(seed: int) -> Geometry:
    generator = torch.Generator().manual_seed(seed)
    return geometry(torch.randn(MODELS, reported.PARAMETERS, generator=generator, dtype=torch.float64))


def best_split(values: Tensor) -> float:
    """Largest share of the variance of numbers (n,) that a cut in two explains: near 1 for two clusters."""
    x = values.sort().values - values.mean()
    shares = [float(x[:k].sum() ** 2 / k + x[k:].sum() ** 2 / (len(x) - k)) for k in range(1, len(x))]
    return max(shares) / float(x.square().sum())


def changed(name: str) -> float:
    """How far the logits of a group of gauge copies lie apart."""
    outputs = logits(architecture(), twenty()[name], copy_last().inputs)
    return float((outputs - outputs[0]).abs().max())

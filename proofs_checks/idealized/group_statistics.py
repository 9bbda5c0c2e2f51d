"""Statistics of the groups of twenty models, and of vectors without structure to compare them with."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from proofs_checks.idealized import reported
from proofs_checks.idealized.experiments.geometry import Geometry, geometry
from proofs_checks.idealized.experiments.groups import TRAINED
from proofs_checks.idealized.model import architecture, copy_last, logits
from proofs_checks.idealized.trained_models import MODELS, twenty

DRAWS = 20  # sets of isotropic vectors
CLUSTERS = (2, 3, 4, 5, 6, 8, 10)  # of twenty models, two or more in each
ROUNDING = 1e-11  # of logits of size 10, after some hundred products


def shape(name: str) -> Geometry:
    return geometry(twenty()[name])


def isotropic(seed: int) -> Geometry:
    generator = torch.Generator().manual_seed(seed)
    return geometry(torch.randn(MODELS, reported.PARAMETERS, generator=generator, dtype=torch.float64))


def nearness(plane: Tensor) -> float:
    """Mean distance to the nearest other point over the mean distance of all pairs, for points (n, 2) in the plane of
    the first two components: small where every point has near ones, as in clusters, whatever their number."""
    distances = torch.cdist(plane, plane)
    every = torch.nn.functional.pdist(plane).mean()
    nearest = distances.fill_diagonal_(math.inf).min(1).values
    return float(nearest.mean() / every)


def without_structure() -> float:
    """``nearness`` of isotropic sets, the mean."""
    return sum(nearness(isotropic(seed).plane) for seed in range(DRAWS)) / DRAWS


def clustered(number: int) -> float:
    """``nearness`` of the trained models gathered around the first ``number`` of them, with noise."""
    theta = twenty()[TRAINED]
    noise = 0.05 * torch.randn(theta.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    return nearness(geometry(theta[torch.arange(MODELS) % number] + noise).plane)


def changed(name: str) -> float:
    """How far the logits of a group of gauge copies lie apart."""
    outputs = logits(architecture(), twenty()[name], copy_last().inputs)
    return float((outputs - outputs[0]).abs().max())
